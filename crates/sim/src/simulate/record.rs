//! A finished run as a recording.

use super::{SimulateOptions, Simulated, drive::Finished, fingerprint::fingerprint, tracing, truth::RequestTruth};
use crate::{
    deployment::Scenario,
    emit::{
        attachment::Attachment,
        calendar::WallClock,
        outputs::{self, Answer},
    },
};
use firstcheck_model::{
    TOOL,
    moment::Moment,
    recording::Recording,
    run::{CacheState, ClientHealth, Clock, ClockKind, Detail, Origin, RunInfo, WorkloadInfo},
    span::{Stage, StageSpan},
    unit::Seconds,
};
use firstcheck_workload::{hash::trace_hash, trace::Trace};

pub(super) fn assemble(finished: Finished, scenario: &Scenario, trace: &Trace, options: &SimulateOptions) -> Simulated {
    let Finished { mut requests, events, scraper, answers, truth, witness } = finished;
    let workload = WorkloadInfo {
        description: trace.description.clone(),
        arrivals: trace.arrivals.clone(),
        // Rows that were changed on their way are not those of the trace.
        trace_hash: (!scenario.client_departs()).then(|| trace_hash(trace)),
        salt: trace.salt.clone(),
        streaming: Some(true),
        warm_up: Some(options.warm_up),
        cache: CacheState::Cold,
    };
    // Virtual time has no date unless something beside the recording is dated.
    let started_unix_ns = options.artefacts.dated().then(|| WallClock::default().unix_ns(0));
    let clock = Clock { started_unix_ns, kind: ClockKind::Virtual };
    let mut info = RunInfo::new(options.run.clone(), TOOL, Origin::Simulated, clock, workload);
    info.window = Some(scraper.window(truth.end_ns));
    info.seed = Some(options.seed);
    info.slo = options.slo;
    let deployment = scenario.deployment();
    // The address answers with whichever replica it meets; the first one stands for all.
    if let Some(replica) = deployment.replicas.first() {
        info.fingerprint = fingerprint(&replica.engine);
    }
    if !options.events {
        info.detail = Detail::Requests;
    }
    info.client = Some(punctual());
    let names = match deployment.replicas.len() {
        1 => Vec::new(),
        several => (0..several).map(|replica| deployment.name_of(replica)).collect(),
    };
    let name = |replica: u32| names.get(replica as usize).cloned();
    let spans = truth.requests.iter().enumerate().flat_map(|(row, request)| spans(row as u32, request.as_ref(), name));
    let spans = spans.collect();
    let mut attachments = witness.into_attachments(deployment);
    if options.artefacts.spans {
        tracing::mark(&mut requests, options.seed);
        attachments.push(tracing::traces(&truth, &requests, deployment, options.seed));
    }
    let (signals, files) = scraper.finish();
    attachments.extend(files);
    attachments.extend(kept(&answers, scenario, options));
    let recording = Recording { info, requests, events, signals, spans };
    Simulated { recording, attachments, truth }
}

/// What the client keeps of answers. The settings of the first replica stand for all.
fn kept(answers: &[Answer], scenario: &Scenario, options: &SimulateOptions) -> Vec<Attachment> {
    let mut all = Vec::new();
    let Some(replica) = scenario.deployment().replicas.first() else { return all };
    if options.asking.is_some() {
        all.push(outputs::outputs(answers, &replica.engine.sampler));
    }
    if let Some(trainer) = options.trainer {
        all.push(outputs::trainer(answers, &replica.engine, trainer));
    }
    all
}

/// In virtual time the client is never late and takes no time.
fn punctual() -> ClientHealth {
    ClientHealth {
        send_lag_p50: Some(Seconds(0.0)),
        send_lag_p99: Some(Seconds(0.0)),
        driven_share: Some(1.0),
        ..ClientHealth::default()
    }
}

/// The stages that request spans tell: queue, prefill, decode; between two pools, the transfer. A wait after a preemption
/// lies within decode.
fn spans(row: u32, request: Option<&RequestTruth>, name: impl Fn(u32) -> Option<String>) -> Vec<StageSpan> {
    let Some(truth) = request else { return Vec::new() };
    // Of two pools, the first computes the prompt.
    let (prompt, prompt_replica) = match &truth.handed_over {
        None => (&truth.life, truth.replica),
        Some(handed_over) => (&handed_over.prefill, handed_over.prefill_replica),
    };
    let (Some(scheduled), Some(prefilled)) = (prompt.scheduled_ns, prompt.first_token_ns) else { return Vec::new() };
    let (Some(first), Some(last)) = (truth.life.first_token_ns, truth.life.last_token_ns) else { return Vec::new() };
    let span = |stage, replica, start, end| StageSpan {
        request: row,
        stage,
        start: Moment::at(start),
        end: Moment::at(end),
        replica: name(replica),
    };
    let mut spans = vec![
        span(Stage::Queue, prompt_replica, prompt.queued_ns, scheduled),
        span(Stage::Prefill, prompt_replica, scheduled, prefilled),
    ];
    if let Some(handed_over) = truth.handed_over.filter(|handed_over| handed_over.tokens > 0) {
        spans.push(span(Stage::KvTransfer, truth.replica, handed_over.transfer_start_ns, handed_over.arrived_ns));
    }
    spans.push(span(Stage::Decode, truth.replica, first, last));
    spans
}

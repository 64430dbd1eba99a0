//! A finished run as a recording.

use super::{
    SimulateOptions, Simulated, drive::Finished, fingerprint::fingerprint, prompts::PromptWatch, tracing,
    truth::RequestTruth,
};
use crate::{
    deployment::Scenario,
    emit::{
        attachment::Attachment,
        calendar::WallClock,
        outputs::{self, Answer},
    },
    request::Life,
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
    let Finished { mut requests, events, scraper, answers, truth, witness, prompts } = finished;
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
    attachments.extend(prompts.map(PromptWatch::into_attachment));
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

/// The stages that a server's account of a request tells: where its front end's time and its core's do not fit together,
/// the rest is the front end's. A wait after a preemption lies within decode.
fn spans(row: u32, request: Option<&RequestTruth>, name: impl Fn(u32) -> Option<String>) -> Vec<StageSpan> {
    let Some(truth) = request else { return Vec::new() };
    let mut spans = Vec::new();
    let mut push = |stage, replica, start, end| {
        let (start, end) = (Moment::at(start), Moment::at(end));
        spans.push(StageSpan { request: row, stage, start, end, replica: name(replica) });
    };
    let Some(own) = Told::of(&truth.life) else { return Vec::new() };
    let (prompt, replica) = match &truth.handed_over {
        None => (own, truth.replica),
        Some(handed_over) => match Told::of(&handed_over.prefill) {
            Some(told) => (told, handed_over.prefill_replica),
            None => return Vec::new(),
        },
    };
    push(Stage::FrontEnd, replica, truth.prompt_life().arrival_ns, prompt.queued_ns);
    push(Stage::Queue, replica, prompt.queued_ns, prompt.scheduled_ns);
    push(Stage::Prefill, replica, prompt.scheduled_ns, prompt.first_ns);
    if truth.handed_over.is_some() {
        push(Stage::HandOver, truth.replica, prompt.first_ns, own.scheduled_ns);
        push(Stage::FirstDecode, truth.replica, own.scheduled_ns, own.first_ns);
    }
    push(Stage::DecodePreempted, truth.replica, own.first_ns, own.decoded_ns);
    push(Stage::Detokenize, truth.replica, own.decoded_ns, own.last_ns);
    spans
}

/// A request's moments as a server's account gives them: durations, laid backwards from the first token and forwards
/// from it.
#[derive(Debug, Clone, Copy)]
struct Told {
    queued_ns: i64,
    scheduled_ns: i64,
    first_ns: i64,
    decoded_ns: i64,
    last_ns: i64,
}

impl Told {
    fn of(life: &Life) -> Option<Self> {
        let (scheduled, first, last) = (life.scheduled_ns?, life.first_token_ns?, life.last_token_ns?);
        let first_ns = life.first_seen_ns?;
        let scheduled_ns = first_ns - (first - scheduled);
        let decoded_ns = first_ns + (last - first);
        let queued_ns = scheduled_ns - (scheduled - life.queued_ns);
        Some(Self { queued_ns, scheduled_ns, first_ns, decoded_ns, last_ns: life.last_seen_ns?.max(decoded_ns) })
    }
}

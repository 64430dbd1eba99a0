//! Engine logs as a format.

use super::{LogReader, prefix, wrapper::unwrap};
use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading, What},
    hang::NcclLog,
    join::Beside,
};
use firstcheck_model::{
    engine_log::{EngineLog, StartPhase},
    fingerprint::{Fingerprint, field},
    moment::{Moment, Window},
    run::{Clock, ClockKind},
};

/// Lines of the start that are looked at.
const LOOKED_AT: usize = 400;

pub(crate) static FORMAT: Format = Format {
    id: "engine-log",
    group: Group::Logs,
    name: "log of an engine's server",
    versions: "vLLM 0.6 to 0.33, SGLang 0.4 to 0.5.23; in Docker's JSON, CRI, journald or kubectl --timestamps or bare",
    takes: "version, settings given and resolved, phases of the start, memory ledger, KV capacity, kernels chosen, \
            statistics lines as series, retractions, remarks that cost speed, failures with their root cause",
    recognise,
    action: Action::Read(read),
};

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    let (mut lines, mut logged, mut telling) = (0usize, 0usize, false);
    for line in head.lines().take(LOOKED_AT) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let text = unwrap(text);
        lines += usize::from(!text.text.trim().is_empty());
        let entry = prefix::split(&text.text);
        logged += usize::from(entry.level.is_some());
        telling |= entry.process.is_some_and(|name| {
            ["APIServer", "EngineCore", "Worker", "VllmWorker"].iter().any(|start| name.starts_with(start))
        }) || (entry.level.is_some()
            && ["vLLM", "vllm", "server_args=", "Decode batch", "Prefill batch", "non-default args"]
                .iter()
                .any(|part| entry.message.contains(part)));
    }
    match (logged, telling) {
        (1.., true) => Some(Confidence::Certain),
        (logged, false) if logged * 3 >= lines && logged > 0 => Some(Confidence::Weak),
        _ => None,
    }
}

fn read(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let mut reader = LogReader::within(artefact.path().display().to_string(), intake.limits());
    let mut nccl = NcclLog::default();
    let mut unknown: Vec<(String, u64, String)> = Vec::new();
    while let Some(line) = artefact.next_line(intake) {
        let text = String::from_utf8_lossy(line.bytes);
        if nccl.take(line.number, &text) {
            continue;
        }
        let number = line.number;
        reader.line_or(number, &text, &mut |site, message| {
            unknown.push((site.unwrap_or("(no place)").to_owned(), number, message.to_owned()));
        });
        for (site, number, message) in unknown.drain(..) {
            intake.not_understood(What::Line, &site, Some(number), &message);
        }
    }
    let (clock, latest, stride) = (reader.started_unix_ns(), reader.latest(), reader.stride());
    let log = reader.finish();
    let mut reading = reading(&log, clock, latest);
    reading.notes.extend((stride > 1).then(|| format!("every {stride}th sample of the statistics lines is held")));
    reading.notes.extend(nccl.warned());
    intake.give(stated(&log, &log.label));
    if !nccl.operations.is_empty() || !nccl.warnings.is_empty() {
        intake.give(Beside::Nccl(nccl));
    }
    intake.give(Beside::Log(Box::new(log)));
    Ok(reading)
}

/// What a report says of the log.
fn reading(log: &EngineLog, started_unix_ns: Option<i64>, latest: Option<Moment>) -> Reading {
    let mut notes = Vec::new();
    if let Some(cause) = log.root_cause() {
        let before = cause.phase.map_or_else(String::new, |phase| format!(" after {}", phase.name()));
        notes.push(format!("failed{before}, line {}: {}", cause.line, cause.text));
    } else if log.reached() == Some(StartPhase::Ready) {
        notes.push("the server came up".into());
    }
    if log.failures_dropped > 0 {
        notes.push(format!("{} failures more than are kept", log.failures_dropped));
    }
    if let Some(tokens) = log.kv.tokens {
        notes.push(format!("KV cache of {tokens} tokens"));
    }
    let replicas = log.series.iter().filter_map(|series| series.labels.get("engine")).map(str::to_owned).collect();
    Reading {
        rows: log.lines,
        unit: "lines",
        clock: Some(Clock { started_unix_ns, kind: ClockKind::Real }),
        window: latest.map(|end| Window { start: Moment::at(0), end }),
        engine: log.engine.clone(),
        version: log.version.clone(),
        replicas,
        notes,
    }
}

/// What the log states of the deployment, under the fingerprint's names.
fn stated(log: &EngineLog, from: &str) -> Fingerprint {
    const SETTINGS: [(&str, &str); 9] = [
        (field::MODEL, "model"),
        (field::MODEL, "model_path"),
        (field::MAX_MODEL_LEN, "max_seq_len"),
        (field::MAX_MODEL_LEN, "max_model_len"),
        (field::PREFIX_CACHING, "enable_prefix_caching"),
        (field::MAX_NUM_SEQS, "max_num_seqs"),
        (field::MAX_NUM_BATCHED_TOKENS, "max_num_batched_tokens"),
        (field::GPU_MEMORY_UTILIZATION, "gpu_memory_utilization"),
        (field::KV_CACHE_DTYPE, "kv_cache_dtype"),
    ];
    let mut stated = Fingerprint::default();
    let mut set = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !matches!(value.as_str(), "" | "None")) {
            stated.set(name, value, from);
        }
    };
    set(field::ENGINE, log.engine.clone());
    set(field::ENGINE_VERSION, log.version.clone());
    set(field::KV_BLOCKS, log.kv.blocks.map(|blocks| blocks.to_string()));
    for (name, setting) in SETTINGS {
        let value = log.setting(setting).map(|setting| setting.value.clone());
        // Truth values as JSON writes them, so that a log and an endpoint agree.
        set(
            name,
            value.map(|value| match value.as_str() {
                "True" => "true".into(),
                "False" => "false".into(),
                _ => value,
            }),
        );
    }
    stated
}

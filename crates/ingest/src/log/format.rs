//! Engine logs as a format.

use super::{LogReader, failure, prefix, wrapper::unwrap};
use crate::{
    Error,
    fingerprint::{from_log, from_nccl},
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading, What},
    hang::NcclLog,
    join::Beside,
    json::clip,
};
use firstcheck_model::{
    engine_log::{EngineLog, StartPhase},
    fingerprint::Fingerprint,
    moment::{Moment, Window},
    run::{Clock, ClockKind},
};
use std::{borrow::Cow, collections::HashMap};

/// Characters of an example that are kept.
const EXAMPLE: usize = 200;

/// Lines of the start that are looked at.
const LOOKED_AT: usize = 400;

pub(crate) static FORMAT: Format = Format {
    id: "engine-log",
    group: Group::Logs,
    name: "log of an engine's server",
    versions: "vLLM 0.6 to 0.33, SGLang 0.4 to 0.5.23; in Docker's JSON, CRI, journald or kubectl --timestamps or bare",
    takes: "version, settings given and resolved, phases of the start, memory ledger, KV capacity, kernels chosen, \
            statistics lines as series, what connectors did with KV (LMCache, NIXL, Mooncake), retractions, remarks that \
            cost speed, failures with their root cause",
    recognise,
    action: Action::Read(read),
};

/// How the options of a server are refused.
const REJECTED: [&str; 4] =
    ["vllm: error: ", "vllm serve: error: ", "api_server.py: error: ", "launch_server.py: error: "];

fn recognise(head: &Head<'_>) -> Option<Confidence> {
    let (mut lines, mut logged, mut telling, mut rejected) = (0usize, 0usize, false, false);
    let (mut frames, mut failed) = (false, false);
    for line in head.lines().take(LOOKED_AT) {
        let Ok(text) = std::str::from_utf8(line) else { continue };
        let text = unwrap(text);
        lines += usize::from(!text.text.trim().is_empty());
        let entry = prefix::split(&text.text);
        rejected |= REJECTED.iter().any(|start| entry.message.starts_with(start));
        frames |= failure::is_own_frame(entry.message);
        failed |= failure::is_bare(entry.message);
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
        // A start that ended at its options says little else.
        _ if rejected => Some(Confidence::Likely),
        // The last lines of a traceback, cut off from where it began.
        _ if frames && failed => Some(Confidence::Likely),
        (logged, false) if logged * 3 >= lines && logged > 0 => Some(Confidence::Weak),
        _ => None,
    }
}

fn read(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let mut reader = LogReader::within(artefact.path().display().to_string(), intake.limits());
    let mut nccl = NcclLog::default();
    let mut unknown = Unknown::default();
    while let Some(line) = artefact.next_line(intake) {
        // Nearly every line is whole UTF-8, and told so faster than it is repaired.
        let text = match std::str::from_utf8(line.bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line.bytes),
        };
        if nccl.take(line.number, &text) {
            continue;
        }
        let number = line.number;
        reader.line_or(number, &text, &mut |site, message| unknown.add(site, number, message));
    }
    unknown.tell(intake);
    let (clock, latest, stride) = (reader.started_unix_ns(), reader.latest(), reader.stride());
    let log = reader.finish();
    let mut reading = reading(&log, clock, latest);
    reading.notes.extend((stride > 1).then(|| format!("every {stride}th sample of the statistics lines is held")));
    reading.notes.extend(nccl.warned());
    let mut stated = Fingerprint::default();
    from_log(&log, &log.label, &mut stated);
    from_nccl(&nccl.network, &log.label, &mut stated);
    intake.give(stated);
    if !nccl.operations.is_empty() || !nccl.warnings.is_empty() {
        intake.give(Beside::Nccl(nccl));
    }
    intake.give(Beside::Log(Box::new(log)));
    Ok(reading)
}

/// Lines that nothing was understood of, by the file that wrote them.
#[derive(Default)]
struct Unknown(HashMap<String, One>);

/// Those of one file: how many, and the first.
struct One {
    count: u64,
    line: u64,
    message: String,
}

/// Files that are told apart.
const SITES: usize = 1_000;

impl Unknown {
    fn add(&mut self, site: Option<&str>, line: u64, message: &str) {
        let site = site.unwrap_or("(no place)");
        if let Some(known) = self.0.get_mut(site) {
            known.count += 1;
            return;
        }
        let site = if self.0.len() < SITES { site } else { "others" };
        let one =
            self.0.entry(site.to_owned()).or_insert_with(|| One { count: 0, line, message: clip(message, EXAMPLE) });
        one.count += 1;
    }

    /// In the order of the log.
    fn tell(self, intake: &mut Intake) {
        let mut all: Vec<(String, One)> = self.0.into_iter().collect();
        all.sort_by_key(|(_, one)| one.line);
        for (site, One { count, line, message }) in all {
            intake.count(What::Line, &site, Some(line), &message, count);
        }
    }
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

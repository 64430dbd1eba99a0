//! S14: the engine refuses to start although the weights fit in total GPU memory.

mod allocation;
mod causes;
mod follow_up;
mod shortage;

use crate::{
    case::Case,
    declare_check,
    measure::{
        memory_ledger::{MemoryLedger, StartLedger, gib},
        starts::{FailedStart, Start, StartOutcome, Starts},
    },
    verdict::Verdict,
};
use causes::{Failing, of_all};
use firstcheck_model::{
    engine_log::{FailureKind, Term},
    finding::Outcome,
    measurement::{Fact, Missing, Source},
    unit::Bytes,
};

declare_check! {
    /// ## What it means
    ///
    /// The server does not come up. The last traceback in the log seldom says why: the failure behind it stands far
    /// above, and no memory need be short at all.
    ///
    /// ## How it is decided
    ///
    /// First the stage that the last start reached before its failure, then the ledger of the rank with the least left: KV =
    /// may use − weights − activation peak − outside the framework − reserved for graphs. Terms that the log's level leaves
    /// out are unknown, not zero. A stage that was not reached excludes its causes.
    ///
    /// - Before the weights: more than {others_gib} not free is another process, less a share that is too high.
    /// - Loading: other processes hold more than {others_gib}, else the weights are larger than thought (more than {ratio}
    ///   times the checkpoint's part or another rank's).
    /// - Too little KV: a term is a cause if the start would succeed without its growth against a base that came up by more
    ///   than {change_gib}; without a base if halving the activations, keeping nothing for graphs, or the usual share
    ///   {usual_share} would do, and the length where {usual_kv} of the weights' size is left. What activations and libraries take together counts as the former beyond {outside_gib}.
    /// - Out of memory while capturing or warming up: what is free beside the budget is too little.
    /// - A rejected option, a taken port, a missing file, ranks that did not meet: not memory. Signal 9: host memory.
    ///
    /// ## What to do
    ///
    /// Do what the supported cause's mitigation says, one change at a time. vLLM's advice of a higher
    /// `--gpu-memory-utilization` is right for too little KV alone and makes a failed capture worse.
    ///
    /// Looks like: a start that succeeds and dies on an image, or slowly; a small KV cache (it starts, and preempts).
    pub static STARTUP_OOM = {
        code: "S14", slug: "startup-oom", family: Memory, severity: Critical,
        symptom: "the engine refuses to start although the weights fit in total GPU memory",
        needs: any_of[EngineLog],
        params: {
            others_gib: 1.0 ["GiB"] = "memory that is not free at the start and still the driver's and the engine's own",
            ratio: 1.1 ["1"] = "weights loaded over the expected ones from which they are larger than thought",
            change_gib: 0.15 ["GiB"] = "change of a term, or remainder of the ledger, that counts",
            outside_gib: 4.0 ["GiB"] = "most that libraries take outside the framework",
            usual_kv: 0.1 ["1"] = "KV cache over weights from which what is left is more than a small rest",
            usual_share: 0.9 ["1"] = "share of a device that an engine may use unless it is set lower",
        },
        causes: {
            OtherProcess: "other-process" = "another process holds memory of the device",
            WeightsLarger: "weights-larger" = "weights on a device are larger than thought: an uneven shard, an unquantised part, a draft or a tower",
            ActivationPeak: "activation-peak" = "activations of the profiling run take what the KV cache needs",
            ContextTooLong: "context-too-long" = "one sequence of the greatest length needs more KV than is left",
            GraphMemory: "graph-memory" = "captured graphs do not fit, or what is kept for them leaves too little KV",
            SamplerWarmUp: "sampler-warm-up" = "logits of a warm-up with all sequences do not fit",
            HostMemory: "host-memory" = "memory of the host ran out, not the device's",
            Rejected: "configuration-rejected" = "the configuration was rejected, memory was never asked",
            KvRequest: "kv-request" = "a KV cache of a size set by hand does not fit or holds no sequence",
            Utilization: "utilization" = "the share of the device that the engine may use is set too low, or higher than an empty device has free",
            NotMemory: "not-memory" = "a port, a file of the model or other ranks failed, not memory",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let starts = case.side.measure::<Starts>()?;
    let failed: Vec<(&Start, &FailedStart)> = starts.starts.iter().filter_map(failed).collect();
    if failed.is_empty() {
        return absent(&starts);
    }
    let base = case.base.and_then(|base| base.measure::<MemoryLedger>().ok());
    let bases: Vec<Option<StartLedger>> =
        failed.iter().map(|(start, failed)| came_up(case, start, failed, base.as_deref())).collect();
    let failing: Vec<Failing<'_>> = failed
        .iter()
        .zip(&bases)
        .map(|((start, failed), base)| Failing {
            log: &start.log,
            failed,
            base: base.as_ref(),
            evidence: case.side.evidence,
            params,
        })
        .collect();
    let mut facts: Vec<Fact> = failed.iter().flat_map(|(start, failed)| told(&start.log, failed)).collect();
    facts.extend(failed.iter().filter_map(|(_, failed)| failed.ledger.as_ref()).flat_map(ledger));
    let mut verdict = Verdict::<Cause>::new();
    for (cause, weigh) in causes::ALL {
        verdict.weigh(*cause, Ok(of_all(failing.iter().map(weigh))));
    }
    let fits = failing.iter().find_map(Failing::longest);
    Ok(verdict.present(facts, None, |cause| follow_up::of(cause, fits)))
}

/// The ledger of a start that came up: the base's, else an earlier one's in the same log. Of a run that is its own base both
/// are in one log, and the base's last start is the one that failed.
fn came_up(case: &Case<'_>, start: &Start, failed: &FailedStart, base: Option<&MemoryLedger>) -> Option<StartLedger> {
    let other = base.and_then(|base| base.starts.first()).filter(|base| failed.ledger.as_ref() != Some(base));
    other.cloned().or_else(|| {
        let log = case.side.evidence.logs.iter().find(|log| log.label == start.log)?;
        StartLedger::earlier(log)
    })
}

fn failed(start: &Start) -> Option<(&Start, &FailedStart)> {
    match &start.outcome {
        StartOutcome::Failed(failed) => Some((start, failed)),
        _ => None,
    }
}

/// No start failed: every server came up, or it cannot be told.
fn absent(starts: &Starts) -> Result<Outcome, Missing> {
    let mut why = Vec::new();
    for start in &starts.starts {
        let log = &start.log;
        match start.outcome {
            StartOutcome::Ready { line } => {
                let text =
                    if line > 0 { format!("{log}: the server came up") } else { format!("{log}: the server serves") };
                let source = Source::line(log, line.max(1));
                why.push(Fact { text, value: None, unit: None, interval: None, n: None, source });
            }
            StartOutcome::Unfinished { reached } => {
                let reached = reached.map_or("before any known step", |phase| phase.name());
                let what =
                    format!("the end of the start: {log} ends at: {reached}, without a failure and without a server");
                return Err(Missing::not_exposed(
                    what,
                    "give the log to its end and the container's exit code: kubectl describe pod POD",
                ));
            }
            StartOutcome::Failed(_) => {}
        }
    }
    Ok(Outcome::Absent { why })
}

/// Where the start ended, and by which failure.
fn told(log: &str, failed: &FailedStart) -> Vec<Fact> {
    let root = &failed.root;
    let exception = root.exception.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let said: String = root.text.chars().take(240).collect();
    // Without the failure behind it, where a start ended is not known either.
    let at = match root.kind {
        FailureKind::Consequence => String::new(),
        _ => format!(" while {}", failed.stage.name()),
    };
    let text = format!("{log}: the start failed{at}: {exception}{said}");
    let source = Source::line(log, root.line);
    vec![Fact { text, value: None, unit: None, interval: None, n: None, source }]
}

/// The ledger, term by term, with what is unknown and what is unexplained.
fn ledger(ledger: &StartLedger) -> Vec<Fact> {
    let rank = ledger.process.as_ref().map(|process| format!(" of {process}")).unwrap_or_default();
    let mut facts: Vec<Fact> = ledger
        .terms
        .iter()
        .map(|(term, stated)| stated.fact(format!("ledger{rank}: {} {:.2} GiB", term.name(), gib(stated.value.0))))
        .collect();
    let unknown: Vec<&str> = ledger.unknown().into_iter().map(Term::name).collect();
    match ledger.remainder() {
        Some(rest) if unknown.is_empty() => {
            facts.push(rest.bytes.fact(format!("ledger{rank}: unexplained {:.2} GiB", gib(rest.bytes.value.0))));
        }
        Some(rest) => {
            let together = gib(rest.bytes.value.0);
            facts.push(
                rest.bytes
                    .fact(format!("ledger{rank}: {} are unknown, {together:.2} GiB together", unknown.join(" and "))),
            );
        }
        None => {}
    }
    facts
}

/// A size in bytes with a sentence about it.
fn size(bytes: f64, like: &Fact, text: String) -> Fact {
    let unit = <Bytes as firstcheck_model::unit::Unit>::NAME;
    Fact { text, value: Some(bytes), unit: Some(unit.into()), interval: None, n: Some(1), source: like.source.clone() }
}

//! What a deployment said of itself while others used it: signals without a request of ours.

use super::pages::{Named, in_order};
use crate::{
    fingerprint,
    prometheus::{History, grows},
    vocabulary,
};
use firstcheck_model::{
    evidence::RunEvidence,
    request::Requests,
    run::{Arrivals, CacheState, Clock, ClockKind, Detail, Origin, RunId, RunInfo, WorkloadInfo},
    signal::Series,
};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Pages with times.
pub(super) fn of_history(path: &Path, history: History) -> RunEvidence {
    let History { mut series, clock, window, first, warnings, flapping, .. } = history;
    vocabulary::apply(&mut series);
    if flapping.is_some() {
        // Their growth would be that of no process; what goes up and down is still what it was when it was read.
        series.iter_mut().filter(|series| grows(series)).for_each(|series| series.signal = None);
    }
    let brief = set_brief_aside(&mut series);
    let label = path.display().to_string();
    let mut info = info(&label, clock);
    info.window = window.filter(|window| window.end > window.start);
    info.warnings = warnings;
    info.warnings.extend(flapping);
    info.warnings.extend(brief);
    fingerprint::from_page(&first, &super::name_of(path), &mut info.fingerprint);
    evidence(label, info, series)
}

/// Samples of the longest series from which a series with a single one was there but for a moment.
const MANY: usize = 10;

/// A replica that came with the last scrape has no growth yet, and must not take away that of all others: its counters are
/// left under their raw names, and how many they are is said.
fn set_brief_aside(series: &mut [Series]) -> Option<String> {
    let longest = series.iter().map(|series| series.at.len()).max().unwrap_or(0);
    let is_brief = |series: &&mut Series| series.signal.is_some() && grows(series) && series.at.len() == 1;
    let brief: Vec<&mut Series> = series.iter_mut().filter(|_| longest >= MANY).filter(is_brief).collect();
    let count = brief.len();
    brief.into_iter().for_each(|series| series.signal = None);
    (count > 0).then(|| format!("{count} counters have a single sample where others have {longest}: left aside"))
}

/// Pages without times, in the order of their counters.
pub(super) fn of_pages(folder: &Path, pages: &[Named]) -> RunEvidence {
    let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
    let label = folder.join(names.join(" → ")).display().to_string();
    let mut info = info(&label, Clock { started_unix_ns: None, kind: ClockKind::Order });
    if let Some((name, page)) = pages.last() {
        fingerprint::from_page(page, name, &mut info.fingerprint);
    }
    if pages.len() > 1 {
        info.warnings.push(format!("{} pages without times: growth is known, rates are not", pages.len()));
    }
    evidence(label, info, in_order(pages))
}

/// Beside other runs, growth that a lone page cannot show would take away that of the others: what only grows is left
/// under its raw name.
pub(crate) fn set_aside(run: &mut RunEvidence) {
    if run.info.origin != Origin::Observed || run.signals.iter().any(|series| series.at.len() > 1) {
        return;
    }
    run.signals.iter_mut().filter(|series| grows(series)).for_each(|series| series.signal = None);
    run.info.warnings.push("a single page: no growth of its counters is known".into());
}

fn info(label: &str, clock: Clock) -> RunInfo {
    let workload = WorkloadInfo {
        description: "what others asked of it".into(),
        arrivals: Arrivals::Unknown,
        trace_hash: None,
        salt: None,
        streaming: None,
        warm_up: None,
        cache: CacheState::Unknown,
    };
    let id = RunId(format!("observed-{:016x}", xxh3_64(label.as_bytes())));
    let mut info = RunInfo::new(id, "metrics pages", Origin::Observed, clock, workload);
    info.detail = Detail::Summary;
    info
}

fn evidence(label: String, info: RunInfo, signals: Vec<Series>) -> RunEvidence {
    RunEvidence { label, info, requests: Requests::default(), streams: None, signals, spans: Vec::new() }
}

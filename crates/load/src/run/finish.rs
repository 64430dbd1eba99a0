//! The end of a run: rows that were never sent, the window, the client's verdict on itself, `run.json`.

use crate::{
    error::Error,
    options::Options,
    record::journal::Written,
    run::{
        Cost, Finished,
        threads::{Driven, window_start},
    },
    shard::Common,
    steady,
    watch_self::verdict,
};
use firstcheck_bundle::{Rows, Writer};
use firstcheck_model::{
    moment::{Moment, Window},
    request::{Fate, Request},
    run::{ClientHealth, RunInfo, RunState},
    unit::Seconds,
};
use firstcheck_workload::trace::{Due, Trace};

/// Completes the bundle. `host_load`: how busy the client's host was before the run.
pub(super) fn finish(
    common: &Common,
    driven: Driven,
    written: Written,
    mut info: RunInfo,
    host_load: Option<f64>,
) -> Result<Finished, Error> {
    let Written { mut writer, seen, streams, failed } = written;
    let options = &common.options;
    let end = Moment::at(driven.offered_ns);
    let start = window_start(options);
    info.window = (start < end).then_some(Window { start, end });
    let driven_share = driven_share(common, &driven, &seen);
    let health = verdict::judge(&driven.watch, &streams, driven_share, &options.thresholds);
    info.client = Some(ClientHealth { host_load, ..health });
    info.warnings.extend(steady_warning(&driven, start));
    if let Some(reason) = common.stop.reason() {
        info.state = RunState::Interrupted { reason };
    }
    let cost = Cost {
        cpu: Seconds(driven.watch.cpu_ns as f64 * 1e-9),
        window: Seconds(driven.watch.window_ns as f64 * 1e-9),
        events: driven.watch.events,
    };
    let never_sent = never_sent(&common.trace, &seen, end);
    let appended = match failed {
        Some(error) => Err(error),
        None => writer.append(Rows { requests: &never_sent, ..Rows::default() }),
    };
    attach(&mut writer, options, &mut info);
    let dir = match appended {
        Ok(()) => writer.finish(info.clone())?,
        Err(error) => {
            let reason = error.to_string();
            // What is known by now stands in run.json as far as the disk takes it; the reason comes from `abort`.
            let updated = writer.update(&info);
            info.state = RunState::Interrupted { reason: reason.clone() };
            let dir = writer.abort(&reason)?;
            updated?;
            dir
        }
    };
    Ok(Finished { dir, info, failures: driven.failures, spans: None, cost })
}

/// Keeps the files that go with the run; one that cannot be kept costs the run nothing else.
fn attach(writer: &mut Writer, options: &Options, info: &mut RunInfo) {
    for path in &options.attach {
        let name = path.file_name().map_or_else(|| "file".into(), |name| name.to_string_lossy().into_owned());
        let kept = match std::fs::File::open(path) {
            Ok(file) => writer.attach(&name, file).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(why) = kept {
            info.warnings.push(format!("{} could not be kept with the run: {why}", path.display()));
        }
    }
}

/// Rows that the plan offered before `end` and that were never sent, and rows in between that never came due.
///
/// A turn whose session had not come so far would have been due at `end` at the earliest, so that is its moment, which
/// lies outside the window.
fn never_sent(trace: &Trace, seen: &[bool], end: Moment) -> Vec<(u32, Request)> {
    let due = |row: usize| match trace.items.get(row)?.due {
        Due::At(moment) => Some(moment),
        Due::WhenFree | Due::After { .. } => None,
    };
    let is_seen = |row: usize| seen.get(row).copied().unwrap_or(false);
    let offered = |row: usize| is_seen(row) || due(row).is_some_and(|due| due < end);
    let Some(last) = (0..trace.len()).rev().find(|row| offered(*row)) else { return Vec::new() };
    let missing = (0..=last).filter(|row| !is_seen(*row));
    let request = |row: usize| {
        let mut request = Request::offered(due(row).unwrap_or(end));
        request.fate = Fate::NeverSent;
        request.requested_tokens = trace.items.get(row).and_then(|offered| offered.max_tokens());
        request.session = trace.items.get(row).and_then(|offered| offered.session);
        request
    };
    missing.filter_map(|row| Some((u32::try_from(row).ok()?, request(row)))).collect()
}

/// Share of the planned load that was driven: of the requests that were due, those that were taken up; or of the
/// streams, those that were busy. `None` without any.
fn driven_share(common: &Common, driven: &Driven, seen: &[bool]) -> Option<f64> {
    let plan = &common.plan;
    let due: Vec<u32> =
        plan.timed.iter().filter(|(due_ns, _)| *due_ns < driven.offered_ns).map(|(_, row)| *row).collect();
    if !due.is_empty() {
        let taken = due.iter().filter(|row| seen.get(**row as usize).copied().unwrap_or(false)).count();
        return Some(taken as f64 / due.len() as f64);
    }
    let looked = driven.watch.looks as f64 * plan.streams as f64;
    (looked > 0.0).then(|| driven.watch.busy as f64 / looked)
}

fn steady_warning(driven: &Driven, start: Moment) -> Option<String> {
    let mut first_tokens = driven.watch.first_tokens.clone();
    first_tokens.retain(|(intended_ns, _)| Moment::at(*intended_ns) >= start);
    first_tokens.sort_unstable();
    let series: Vec<f64> = first_tokens.iter().map(|(_, ttft_ns)| *ttft_ns as f64 * 1e-9).collect();
    steady::warning("the time to first token", &series)
}

//! Whether the server's counters can be believed over the windows of a side.

use super::counters::growth_in;
use crate::{
    shared::{SHORTEST, STALE},
    side::{Measure, Side},
};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Missing, Why},
    request::Fate,
    signal::{Part, Series, Signal},
};

/// The counters of every run of the side can be believed: the window is long enough, samples reach from its start to its
/// end, they come from one process each, and they move while requests finish.
///
/// Everything that takes the growth of a counter asks for this first, so that a page that cannot be believed makes an
/// outcome undecided and never healthy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustedCounters;

impl Measure for TrustedCounters {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        for run in &side.evidence.runs {
            if !run.signals.iter().any(|series| series.signal.is_some()) {
                continue;
            }
            long_enough(run, side.threshold(&SHORTEST))?;
            of_one_process(run)?;
            reaching(run, side.threshold(&STALE))?;
            moving(run)?;
        }
        Ok(Self)
    }
}

fn long_enough(run: &RunEvidence, shortest: f64) -> Result<(), Missing> {
    let Some(length) = run.span().and_then(|window| window.length()) else { return Ok(()) };
    if length.0 >= shortest {
        return Ok(());
    }
    Err(Missing {
        what: format!("a window of {shortest} s: that of {} is {:.1} s long", run.label, length.0),
        why: Why::TooShort,
        obtain: "measure longer: firstcheck run --url URL --duration 60s".into(),
    })
}

/// A page behind a load balancer is now one process's and now another's: no growth of it is that of any.
fn of_one_process(run: &RunEvidence) -> Result<(), Missing> {
    let returns = |series: &&Series| {
        let changes = series.value.windows(2).filter(|pair| pair[0] != pair[1]).map(|pair| pair[1]);
        let mut seen: Vec<f64> = series.value.first().copied().into_iter().collect();
        changes.into_iter().any(|value| {
            let again = seen.contains(&value);
            seen.push(value);
            again
        })
    };
    // Without the start of the process: a counter that falls and is back at once was never reset.
    let bounces = |series: &&Series| series.value.windows(3).any(|three| three[1] < three[0] && three[2] >= three[0]);
    let restarts = run.series(Signal::ProcessStart, Part::Value).find(returns);
    let Some(series) = restarts.or_else(|| run.series(Signal::Finished, Part::Value).find(bounces)) else {
        return Ok(());
    };
    Err(Missing {
        what: format!("counters of one process: {}{} goes back and forth", series.name, series.labels.render()),
        why: Why::Mixed,
        obtain: "scrape each replica by its own address, not through a load balancer".into(),
    })
}

/// Samples must reach from the start of the window to its end.
fn reaching(run: &RunEvidence, stale: f64) -> Result<(), Missing> {
    let Some((window, length)) = run.span().and_then(|window| Some((window, window.length()?.0))) else {
        return Ok(());
    };
    for series in run.series(Signal::Finished, Part::Value) {
        let Ok(delta) = series.delta(Some(window)) else { continue };
        let late = delta.from.since(window.start).map_or(0.0, |s| s.0.abs());
        let early = window.end.since(delta.to).map_or(0.0, |s| s.0.abs());
        if late.max(early) <= stale * length {
            continue;
        }
        let what = format!(
            "samples over the whole window: those of {}{} leave {late:.1} s at its start and {early:.1} s at its end",
            series.name,
            series.labels.render()
        );
        let obtain = "scrape /metrics during the window: firstcheck run --url URL --scrape-interval 1s".into();
        return Err(Missing { what, why: Why::Stale, obtain });
    }
    Ok(())
}

/// A counter of finished requests that stands still while the client's requests finish is another server's.
fn moving(run: &RunEvidence) -> Result<(), Missing> {
    let Ok(finished) = growth_in(std::slice::from_ref(run), Signal::Finished, Part::Value) else { return Ok(()) };
    let completed = run.window().filter(|(_, r)| r.fate == Fate::Completed).count();
    if finished.value > 0.0 || completed == 0 {
        return Ok(());
    }
    Err(Missing {
        what: format!("counters that move: the page counts no finished request, the client {completed}"),
        why: Why::Stale,
        obtain: "scrape the page of the server that answers, not another's and not through a cache".into(),
    })
}

//! Whether what the server served in the windows is what the client offered.

use super::counters::{Growth, growth};
use crate::{
    shared::FOREIGN,
    side::{Measure, Side},
};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Missing, Why},
    moment::Moment,
    request::{Fate, Request},
    run::ClockKind,
    signal::{Part, Signal},
};

/// The server's finished requests against the client's.
#[derive(Debug, Clone, PartialEq)]
pub struct Served {
    /// Requests that the server finished.
    pub finished: Growth,
    /// Requests that the client knows to have completed before the window's end; `None` where no client is known.
    pub completed: Option<u64>,
    /// Finished requests that are not the client's; negative where the page misses some of them.
    pub foreign: f64,
    /// Whether others' requests are inside and nothing tells when they were served: a warm-up before the window cannot be
    /// told from traffic beside it.
    blurred: bool,
    threshold: f64,
}

impl Measure for Served {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let finished = growth(side, Signal::Finished, Part::Value)?;
        let clients = side.evidence.runs.iter().filter(|run| !run.requests.is_empty());
        let (mut completed, mut ended, mut blurred) = (0, 0, false);
        for run in clients.clone() {
            completed += count(run, |request| request.fate == Fate::Completed && ended_inside(run, request));
            ended += count(run, |request| !matches!(request.fate, Fate::NeverSent | Fate::Rejected));
            blurred |= !sampled_inside(run);
        }
        let known = clients.count() > 0;
        let foreign = match known {
            false => 0.0,
            // The server may or may not count what the client gave up.
            true => (finished.value - ended as f64).max(0.0) + (finished.value - completed as f64).min(0.0),
        };
        let completed = known.then_some(completed);
        Ok(Self { finished, completed, foreign, blurred, threshold: side.threshold(&FOREIGN) })
    }
}

impl Served {
    /// Whether the server's means and hit rates over the window are those of the client's requests.
    ///
    /// # Errors
    /// What is mixed: a warm-up or others' traffic is inside, or the page is of one replica of several.
    pub fn are_the_clients(&self) -> Result<(), Missing> {
        match self.completed {
            Some(completed) if self.foreign.abs() > self.threshold * (completed as f64).max(1.0) => {
                Err(self.mixed(completed))
            }
            _ => Ok(()),
        }
    }

    /// Whether the server's means and hit rates over the window are those of the window: others' traffic beside the
    /// client's is part of what the deployment does, a warm-up before the window is not.
    ///
    /// # Errors
    /// As [`Served::are_the_clients`], unless samples lie inside the window and so keep out what was before it.
    pub fn are_the_windows(&self) -> Result<(), Missing> {
        if self.blurred || self.foreign < 0.0 { self.are_the_clients() } else { Ok(()) }
    }

    fn mixed(&self, completed: u64) -> Missing {
        let server = self.finished.value;
        let (what, obtain) = if self.foreign > 0.0 {
            (
                format!(
                    "counters of the window alone: the server finished {server:.0} requests, the client {completed} \
                     of them; a warm-up or others' requests are inside"
                ),
                "scrape /metrics between warm-up and window: firstcheck run does",
            )
        } else {
            (
                format!(
                    "counters of the whole deployment: the page counts {server:.0} finished requests, the client \
                     {completed}"
                ),
                "scrape every replica: firstcheck run --url URL --scrape NAME=REPLICA, once each",
            )
        };
        Missing { what, why: Why::Mixed, obtain: obtain.into() }
    }
}

/// Such requests of the window.
fn count(run: &RunEvidence, wanted: impl Fn(&Request) -> bool) -> u64 {
    run.window().filter(|(_, request)| wanted(request)).count() as u64
}

/// Whether a request did not end after the window in which it was sent. Where a queue grows many do, and the page counts
/// them when the window is over.
fn ended_inside(run: &RunEvidence, request: &Request) -> bool {
    let after = |end: Moment| request.done.reached() && end.reached() && request.done > end;
    run.info.clock.kind == ClockKind::Order || !run.info.window.is_some_and(|window| after(window.end))
}

/// Whether the page was read between the window's ends, so that what came before can be kept out.
fn sampled_inside(run: &RunEvidence) -> bool {
    run.info.clock.kind != ClockKind::Order
        && run.series(Signal::Finished, Part::Value).any(|series| series.inside(run.info.window).count() > 2)
}

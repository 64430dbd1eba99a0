//! How many requests ran and waited over the window.

use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Missing, Source},
    moment::{Moment, Window},
    run::RunId,
    signal::{Part, Series, Signal},
};

/// Where a timeline comes from, and whose clock its moments are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clocked {
    /// Scraped gauges of the run of that number, on the run's clock.
    Run(usize),
    /// Statistics lines of the log of that number, on the log's own clock, which is not tied to a run's.
    Log(usize),
}

/// Running and waiting requests of one engine over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Where it comes from.
    pub clock: Clocked,
    /// Sample times, ascending, inside the window (with the samples next to its ends).
    pub at: Vec<Moment>,
    /// Running requests at each.
    pub running: Vec<f64>,
    /// Waiting requests at each; `None` where none were sampled at that moment.
    pub waiting: Vec<Option<f64>>,
    /// The series of the running requests.
    pub source: Source,
}

impl Batch {
    /// Running requests at a moment: those of the last sample before it. `None` before the first and long after the last.
    pub fn running_at(&self, moment: Moment) -> Option<f64> {
        let place = self.at.partition_point(|at| *at <= moment).checked_sub(1)?;
        (place + 1 < self.at.len() || self.at.last() == Some(&moment)).then(|| self.running[place])
    }

    /// Mean of the running requests over a span of time, as far as it was sampled; `None` where it was not.
    pub fn mean_running(&self, over: Window) -> Option<f64> {
        let (mut sum, mut length) = (0.0, 0.0);
        for (pair, running) in self.at.windows(2).zip(&self.running) {
            let (from, to) = (pair[0].max(over.start), pair[1].min(over.end));
            let part = to.since(from).map_or(0.0, |part| part.0.max(0.0));
            sum += running * part;
            length += part;
        }
        if length > 0.0 { Some(sum / length) } else { self.running_at(over.start) }
    }

    /// Most running requests that were sampled.
    pub fn peak(&self) -> f64 {
        self.running.iter().copied().fold(0.0, f64::max)
    }
}

/// The batches of every engine of a side: gauges of different engines are never added.
#[derive(Debug, Clone, PartialEq)]
pub struct BatchTimeline {
    /// One an engine and source; there is at least one.
    pub batches: Vec<Batch>,
}

impl BatchTimeline {
    /// Timelines on the clock of the run of that number.
    pub fn of_run(&self, run: usize) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(move |batch| batch.clock == Clocked::Run(run))
    }

    /// Timelines of logs.
    pub fn of_logs(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter().filter(|batch| matches!(batch.clock, Clocked::Log(_)))
    }

    /// Mean running requests of an engine over a span of a run's clock: the mean over its engines, since nothing tells
    /// which of them served a request.
    pub fn mean_running(&self, run: usize, over: Window) -> Option<f64> {
        let means: Vec<f64> = self.of_run(run).filter_map(|batch| batch.mean_running(over)).collect();
        (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
    }
}

impl Measure for BatchTimeline {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let mut batches = Vec::new();
        for (number, run) in side.evidence.runs.iter().enumerate() {
            let all: Vec<&Series> = run.signals.iter().filter(|series| series.part == Part::Value).collect();
            batches.extend(of_series(Clocked::Run(number), &run.info.id, &all, run.info.window));
        }
        for (number, log) in side.evidence.logs.iter().enumerate() {
            let all: Vec<&Series> = log.series.iter().collect();
            batches.extend(of_series(Clocked::Log(number), &RunId(log.label.clone()), &all, None));
        }
        if batches.is_empty() {
            return Err(Missing::not_exposed(
                "running requests over the window",
                "scrape /metrics during the window (firstcheck run --url URL --scrape-interval 1s), or give the server's log",
            ));
        }
        Ok(Self { batches })
    }
}

/// One timeline an engine that the series tell of.
fn of_series(clock: Clocked, of: &RunId, all: &[&Series], window: Option<Window>) -> Vec<Batch> {
    let of_signal = |signal| all.iter().copied().filter(move |series| series.signal == Some(signal));
    let timeline = |running: &Series| {
        let same = |other: &&Series| other.labels == running.labels && other.page == running.page;
        let waiting = of_signal(Signal::Waiting).find(same);
        let kept = around(&running.at, window);
        let at: Vec<Moment> = running.at.get(kept.clone())?.to_vec();
        let source = Source::Series {
            run: of.clone(),
            name: running.name.clone(),
            labels: running.labels.render(),
            from_ns: *at.first()?,
            to_ns: *at.last()?,
        };
        let waiting_at = |moment: &Moment| {
            let waiting = waiting?;
            waiting.at.binary_search(moment).ok().and_then(|place| waiting.value.get(place)).copied()
        };
        let waiting = at.iter().map(waiting_at).collect();
        Some(Batch { clock, running: running.value.get(kept)?.to_vec(), waiting, at, source })
    };
    of_signal(Signal::Running).filter_map(timeline).collect()
}

/// Samples inside the window, with the one before it and the one after.
fn around(at: &[Moment], window: Option<Window>) -> std::ops::Range<usize> {
    let Some(window) = window else { return 0..at.len() };
    let from = at.partition_point(|moment| *moment < window.start).saturating_sub(1);
    let to = (at.partition_point(|moment| *moment < window.end) + 1).min(at.len());
    from..to.max(from)
}

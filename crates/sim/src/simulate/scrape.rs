//! Samples of the metrics page over a run.

use super::{SimulateOptions, nanoseconds};
use crate::{
    config::EngineConfig,
    emit::metrics::{Process, engine_labels, families, suffix},
    engine::Engine,
};
use firstcheck_model::{
    moment::{Moment, Window},
    signal::{Labels, Series},
};
use firstcheck_workload::trace::{Due, Trace};

/// Takes samples at the run's start, at the window's start, every interval from there, at the window's end and at the
/// run's end.
#[derive(Debug)]
pub(super) struct Scraper {
    series: Vec<Series>,
    process: Process,
    start_ns: i64,
    interval_ns: i64,
    /// End of the window, where it is known before the run.
    end_ns: Option<i64>,
    regular_ns: i64,
    window_end_due: bool,
    last_ns: Option<i64>,
}

impl Scraper {
    pub(super) fn new(engine: &Engine, trace: &Trace, options: &SimulateOptions) -> Self {
        let start_ns = nanoseconds(options.warm_up);
        let end_ns = options.window_end.and_then(Moment::get).or_else(|| last_planned(trace).map(|at| at + 1));
        let mut scraper = Self {
            series: Vec::new(),
            process: process(engine.config()),
            start_ns,
            interval_ns: nanoseconds(options.scrape_interval).max(1),
            end_ns,
            regular_ns: start_ns,
            window_end_due: end_ns.is_some(),
            last_ns: None,
        };
        scraper.sample(engine, 0);
        scraper
    }

    /// Takes the samples due before `now_ns`, of the state that holds until then.
    pub(super) fn before(&mut self, engine: &Engine, now_ns: i64) {
        loop {
            let window_end = self.end_ns.filter(|_| self.window_end_due).unwrap_or(i64::MAX);
            let due = self.regular_ns.min(window_end);
            if due >= now_ns {
                return;
            }
            self.sample(engine, due);
            if due == self.regular_ns {
                self.regular_ns += self.interval_ns;
            }
            if due == window_end {
                self.window_end_due = false;
            }
        }
    }

    pub(super) fn end(&mut self, engine: &Engine, now_ns: i64) {
        self.before(engine, now_ns);
        self.sample(engine, now_ns);
        // A window that ends after the run's last event still needs a sample at its end.
        if let Some(end_ns) = self.end_ns.filter(|end_ns| self.window_end_due && *end_ns > now_ns) {
            self.sample(engine, end_ns);
        }
    }

    /// The window, given when the run ended.
    pub(super) fn window(&self, run_end_ns: i64) -> Window {
        let end_ns = self.end_ns.unwrap_or_else(|| run_end_ns.saturating_add(1)).max(self.start_ns);
        Window { start: Moment::at(self.start_ns), end: Moment::at(end_ns) }
    }

    pub(super) fn into_series(self) -> Vec<Series> {
        self.series
    }

    fn sample(&mut self, engine: &Engine, at_ns: i64) {
        if self.last_ns.is_some_and(|last| last >= at_ns) {
            return;
        }
        self.last_ns = Some(at_ns);
        let families = families(engine, &self.process);
        if self.series.is_empty() {
            self.series = skeleton(&families, &engine.config().model_name);
        }
        let values = families.iter().flat_map(|family| family.samples.iter().map(|sample| sample.value));
        for (series, value) in self.series.iter_mut().zip(values) {
            series.at.push(Moment::at(at_ns));
            series.value.push(value);
        }
    }
}

/// The last send that the trace fixes, if it fixes all of them.
fn last_planned(trace: &Trace) -> Option<i64> {
    let mut last = None;
    for item in &trace.items {
        let Due::At(at) = item.due else { return None };
        last = last.max(at.get());
    }
    last
}

/// What the page states of the process: virtual time starts with it.
fn process(config: &EngineConfig) -> Process {
    Process { start_unix_seconds: 0.0, resident_bytes: Some(config.resident_bytes) }
}

fn skeleton(families: &[crate::emit::metrics::Family<'_>], model: &str) -> Vec<Series> {
    let mut all = Vec::new();
    for family in families {
        for sample in &family.samples {
            let own = sample.labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into_owned()));
            let engine = engine_labels(family.engine_labels, model).map(|(name, value)| (name.into(), value.into()));
            all.push(Series {
                name: format!("{}{}", family.name, suffix(sample.part)),
                labels: Labels::new(own.chain(engine).collect()),
                page: "main".into(),
                kind: family.series_kind(),
                part: sample.part,
                signal: None,
                at: Vec::new(),
                value: Vec::new(),
            });
        }
    }
    all
}

//! The series of all answers, held within limits.

use super::{element::Element, scrapes};
use crate::{
    Limits,
    frame::{Intake, What},
    prometheus::{
        History, Page,
        history::{
            column::{Column, Fault, fault},
            process::{self, Starts},
            timeline::Timeline,
        },
        text::{Sample, Types, role},
    },
    replica, vocabulary,
};
use firstcheck_model::signal::{Labels, Series, SeriesKind, Signal};
use std::collections::{BTreeSet, HashMap};

/// A series and its samples.
struct Held {
    series: Series,
    column: Column,
    /// Samples seen so far.
    seen: u64,
}

/// Series of several answers.
pub(super) struct Gathered {
    limits: Limits,
    held: Vec<Held>,
    index: HashMap<String, usize>,
    samples: u64,
    kept: usize,
    /// Every how many samples of a series one is kept.
    stride: u64,
    left_out: u64,
    no_number: u64,
    negative: u64,
    unreadable: u64,
    histograms: u64,
    nameless: u64,
}

impl Gathered {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            held: Vec::new(),
            index: HashMap::new(),
            samples: 0,
            kept: 0,
            stride: 1,
            left_out: 0,
            no_number: 0,
            negative: 0,
            unreadable: 0,
            histograms: 0,
            nameless: 0,
        }
    }

    /// Samples that were read.
    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// Takes a series, or more of one that is known.
    pub(super) fn take(&mut self, mut element: Element) {
        let samples = element.samples();
        let Element { metric, unreadable, histograms, .. } = element;
        self.unreadable += unreadable;
        self.histograms += histograms;
        let mut labels: Vec<(String, String)> = metric.unwrap_or_default().into_iter().collect();
        let Some(at) = labels.iter().position(|(label, _)| label == "__name__") else {
            self.nameless += 1;
            return;
        };
        let (_, name) = labels.remove(at);
        let Some(number) = self.place(name, labels, samples.len() as u64) else { return };
        let held = &mut self.held[number];
        for (at, value) in samples {
            match fault(held.series.kind, value) {
                Some(Fault::Negative) => self.negative += 1,
                Some(Fault::NoNumber) => self.no_number += 1,
                None => {
                    self.samples += 1;
                    self.kept += held.column.push(at, value, held.seen.is_multiple_of(self.stride));
                    held.seen += 1;
                }
            }
        }
        if self.kept > self.limits.samples {
            self.stride = self.stride.saturating_mul(2);
            self.kept = self.held.iter_mut().map(|held| held.column.thin()).sum();
        }
    }

    /// The number of the series with that name and these labels; `None` where there is no room or its bound is none.
    fn place(&mut self, name: String, mut labels: Vec<(String, String)>, samples: u64) -> Option<usize> {
        let Ok((part, kind)) = role(&name, &mut labels, &Types::default()) else {
            self.unreadable += samples;
            return None;
        };
        let labels = Labels::new(labels);
        let key = format!("{name}{}{part:?}", labels.render());
        if let Some(number) = self.index.get(&key) {
            return Some(*number);
        }
        if self.held.len() >= self.limits.series {
            self.left_out += samples;
            return None;
        }
        let (at, value) = (Vec::new(), Vec::new());
        let mut all = [Series { name, labels, page: "main".into(), kind, part, signal: None, at, value }];
        // The answers state no kinds: those that the vocabulary knows have its own.
        vocabulary::apply(&mut all);
        let [series] = all;
        let column = Column::new(series.kind == SeriesKind::Counter);
        self.held.push(Held { series, column, seen: 0 });
        self.index.insert(key, self.held.len() - 1);
        Some(self.held.len() - 1)
    }

    /// The replicas and ranks that labels tell apart.
    pub(super) fn replicas(&self) -> BTreeSet<String> {
        self.held.iter().filter_map(|held| replica::of_labels(&held.series.labels)).collect()
    }

    /// Counts the series that the vocabulary does not know; what Prometheus itself says of its scrapes is used.
    pub(super) fn count_unknown(&self, intake: &mut Intake) {
        let unknown = self.held.iter().filter(|held| held.series.signal.is_none() && held.series.name != scrapes::UP);
        for Held { series, .. } in unknown {
            let example = format!("{}{}", series.name, series.labels.render());
            intake.not_understood(What::Series, &series.name, None, &example);
        }
    }

    /// What should be readable and is not, each kind with its number.
    pub(super) fn refused(&self) -> impl Iterator<Item = (u64, &'static str)> {
        [
            (self.unreadable, "samples are no time and number"),
            (self.histograms, "samples are native histograms, which this version does not read"),
            (self.nameless, "series have no name: they are results of an expression, and what it did is not known"),
            (self.negative, "samples of counters are below zero"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
    }

    pub(super) fn finish(self) -> History {
        let mut warnings = self.warnings();
        let pages = self.held.iter().map(|held| held.seen).max().unwrap_or(0);
        let columns = self.held.into_iter().map(|held| (held.series, held.column)).collect();
        let Timeline { mut series, clock, window } = Timeline::of(columns, true);
        series.iter_mut().for_each(drop_repeats);
        let starts = starts(&series);
        let flapping = process::flapping(&starts);
        warnings.extend(process::restarts(&starts).filter(|_| flapping.is_none()));
        warnings.extend(scrapes::remarks(&series, clock));
        let first = Box::new(first_page(&series));
        History { series, clock, window, first, pages, warnings, flapping }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.stride > 1 {
            let stride = self.stride;
            warnings.push(format!("every {stride}th sample of a series is held, restarts of counters aside"));
        }
        if self.left_out > 0 {
            let (limit, left_out) = (self.limits.series, self.left_out);
            warnings.push(format!("samples of series beyond the first {limit} are left out: {left_out}"));
        }
        if self.no_number > 0 {
            warnings.push(format!("{} samples of counters are no number and are left out", self.no_number));
        }
        warnings
    }
}

/// Answers over adjoining spans share the sample at their border.
fn drop_repeats(series: &mut Series) {
    if series.at.windows(2).all(|pair| pair[0] < pair[1]) {
        return;
    }
    let mut last = None;
    let keep: Vec<bool> = series.at.iter().map(|at| last.replace(*at) != Some(*at)).collect();
    let mut kept = keep.iter();
    series.at.retain(|_| kept.next().is_some_and(|keep| *keep));
    let mut kept = keep.iter();
    series.value.retain(|_| kept.next().is_some_and(|keep| *keep));
}

/// Start times of processes in the order of their samples.
fn starts(series: &[Series]) -> Starts {
    let of_process = series.iter().filter(|one| vocabulary::meaning(&one.name) == Some(Signal::ProcessStart));
    let values = |series: &Series| {
        let mut values = series.value.clone();
        values.dedup();
        values
    };
    of_process.map(|series| (series.labels.clone(), values(series))).collect()
}

/// What every series said first, as a page: settings that the deployment states in labels and gauges.
fn first_page(series: &[Series]) -> Page {
    let sample = |series: &Series| {
        Some(Sample {
            name: series.name.clone(),
            labels: series.labels.clone(),
            part: series.part,
            kind: series.kind,
            value: *series.value.first()?,
            at_unix_ms: None,
            line: 0,
        })
    };
    Page { samples: series.iter().filter_map(sample).collect(), ..Page::default() }
}

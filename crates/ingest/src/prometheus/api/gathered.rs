//! The series of all answers, held within limits.

use super::{element::Element, scrapes};
use crate::fingerprint::label_value;
use crate::{
    Limits,
    frame::Intake,
    prometheus::{
        History, Page,
        history::{
            column::Fault,
            process::{self, Starts},
            store::Store,
            timeline::Timeline,
        },
        text::{Sample, Types, role},
    },
    vocabulary,
};
use firstcheck_model::signal::{Labels, Series, Signal};
use std::collections::BTreeSet;

/// Series of several answers.
pub(super) struct Gathered {
    /// Each with how many samples of it were seen.
    store: Store<u64>,
    negative: u64,
    unreadable: u64,
    histograms: u64,
    nameless: u64,
}

impl Gathered {
    pub(super) fn new(limits: Limits) -> Self {
        Self { store: Store::new(limits), negative: 0, unreadable: 0, histograms: 0, nameless: 0 }
    }

    /// Samples that were read.
    pub(super) fn samples(&self) -> u64 {
        self.store.samples()
    }

    /// Takes a series, or more of one that is known.
    pub(super) fn take(&mut self, mut element: Element) {
        let samples = element.samples();
        let Element { metric, unreadable, histograms, .. } = element;
        self.unreadable += unreadable;
        self.histograms += histograms;
        let stated = metric.unwrap_or_default().into_iter();
        let mut labels: Vec<(String, String)> =
            stated.map(|(name, value)| (name.clone(), label_value(&name, value))).collect();
        let Some(at) = labels.iter().position(|(label, _)| label == "__name__") else {
            self.nameless += 1;
            return;
        };
        let (_, name) = labels.remove(at);
        let Ok(role) = role(&name, &mut labels, &Types::default()) else {
            self.unreadable += samples.len() as u64;
            return;
        };
        // The answers state no kinds: those that the vocabulary knows have its own.
        let Some(number) = self.store.place(name, Labels::new(labels), role, 0) else {
            return self.store.leave_out(samples.len() as u64);
        };
        for (at, value) in samples {
            let nth = self.store.at(number).of;
            match self.store.push(number, at, value, nth) {
                Ok(()) => self.store.at(number).of += 1,
                Err(Fault::Negative) => self.negative += 1,
                Err(Fault::NoNumber) => {}
            }
        }
    }

    /// The replicas and ranks that labels tell apart.
    pub(super) fn replicas(&self) -> BTreeSet<String> {
        self.store.replicas()
    }

    /// Counts the series that the vocabulary does not know; what Prometheus itself says of its scrapes is used.
    pub(super) fn count_unknown(&self, intake: &mut Intake) {
        self.store.count_unknown(intake, Some(scrapes::UP), |_| None);
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
        let mut warnings = self.store.warnings("sample of a series");
        let pages = self.store.all().iter().map(|held| held.of).max().unwrap_or(0);
        let Timeline { mut series, clock, window } = self.store.timeline(true);
        series.iter_mut().for_each(drop_repeats);
        let starts = starts(&series);
        let flapping = process::flapping(&starts);
        warnings.extend(process::restarts(&starts).filter(|_| flapping.is_none()));
        warnings.extend(scrapes::remarks(&series, clock));
        let first = Box::new(first_page(&series));
        History { series, clock, window, first, pages, warnings, flapping }
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

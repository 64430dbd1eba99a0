//! The series of pages and of answers with their samples, within limits.

use super::{
    column::{Column, Fault, fault},
    timeline::Timeline,
};
use crate::{
    Limits,
    frame::{Intake, What},
    replica, vocabulary,
};
use firstcheck_model::signal::{Labels, Part, Series, SeriesKind};
use std::collections::{BTreeSet, HashMap};

/// A series and its samples.
pub(in crate::prometheus) struct Held<T> {
    pub(in crate::prometheus) series: Series,
    pub(in crate::prometheus) column: Column,
    /// What its reader knows of it.
    pub(in crate::prometheus) of: T,
}

/// Series by number.
pub(in crate::prometheus) struct Store<T> {
    limits: Limits,
    held: Vec<Held<T>>,
    index: HashMap<String, u32>,
    /// Of how many samples (or pages) in a row one is kept.
    stride: u64,
    /// Whether the samples around restarts are kept whatever the stride.
    restarts_kept: bool,
    kept: usize,
    samples: u64,
    left_out: u64,
    no_number: u64,
}

impl<T> Store<T> {
    pub(in crate::prometheus) fn new(limits: Limits) -> Self {
        Self {
            limits,
            held: Vec::new(),
            index: HashMap::new(),
            stride: 1,
            restarts_kept: true,
            kept: 0,
            samples: 0,
            left_out: 0,
            no_number: 0,
        }
    }

    /// The number of a series, a known one or one that begins with `of`; `None` where there is no room for another.
    pub(in crate::prometheus) fn place(
        &mut self,
        name: String,
        labels: Labels,
        (part, kind): (Part, SeriesKind),
        of: T,
    ) -> Option<u32> {
        // Two texts may be one series: labels in another order.
        let key = format!("{name}{}{part:?}", labels.render());
        if let Some(number) = self.index.get(&key) {
            return Some(*number);
        }
        if self.held.len() >= self.limits.series {
            return None;
        }
        let (at, value) = (Vec::new(), Vec::new());
        let mut all = [Series { name, labels, page: "main".into(), kind, part, signal: None, at, value }];
        // The vocabulary knows the kind where the source states none.
        vocabulary::apply(&mut all);
        let [series] = all;
        let column = Column::new(series.kind == SeriesKind::Counter && self.restarts_kept);
        let number = self.held.len() as u32;
        self.held.push(Held { series, column, of });
        self.index.insert(key, number);
        Some(number)
    }

    pub(in crate::prometheus) fn at(&mut self, number: u32) -> &mut Held<T> {
        &mut self.held[number as usize]
    }

    pub(in crate::prometheus) fn all(&self) -> &[Held<T>] {
        &self.held
    }

    /// Counts samples of series for which there was no room.
    pub(in crate::prometheus) fn leave_out(&mut self, samples: u64) {
        self.left_out += samples;
    }

    /// Adds the `nth` sample of a series, or one of the `nth` page.
    ///
    /// # Errors
    /// Why a counter cannot have the value.
    pub(in crate::prometheus) fn push(&mut self, number: u32, at: i64, value: f64, nth: u64) -> Result<(), Fault> {
        let held = &mut self.held[number as usize];
        if let Some(fault) = fault(held.series.kind, value) {
            self.no_number += u64::from(fault == Fault::NoNumber);
            return Err(fault);
        }
        self.samples += 1;
        self.kept += held.column.push(at, value, nth.is_multiple_of(self.stride));
        if self.kept > self.limits.samples {
            self.thin();
        }
        Ok(())
    }

    /// Makes room for more samples.
    fn thin(&mut self) {
        self.kept = self.held.iter_mut().map(|held| held.column.thin()).sum();
        self.stride = self.stride.saturating_mul(2);
        if self.restarts_kept && self.kept > self.limits.samples / 4 * 3 {
            // Where restarts alone fill the room it would be full again at once, and for ever.
            self.restarts_kept = false;
            self.held.iter_mut().for_each(|held| held.column.drop_restarts());
            self.kept = self.held.iter_mut().map(|held| held.column.thin()).sum();
        }
    }

    /// Samples that were read.
    pub(in crate::prometheus) fn samples(&self) -> u64 {
        self.samples
    }

    /// The replicas and ranks that labels tell apart.
    pub(in crate::prometheus) fn replicas(&self) -> BTreeSet<String> {
        self.held.iter().filter_map(|held| replica::of_labels(&held.series.labels)).collect()
    }

    /// Counts the series that the vocabulary does not know and that are not `used` otherwise; `line` tells where one was
    /// seen first.
    pub(in crate::prometheus) fn count_unknown(
        &self,
        intake: &mut Intake,
        used: Option<&str>,
        line: impl Fn(&T) -> Option<u64>,
    ) {
        let unknown = self.held.iter().filter(|held| held.series.signal.is_none());
        for Held { series, of, .. } in unknown.filter(|held| used != Some(held.series.name.as_str())) {
            let example = format!("{}{}", series.name, series.labels.render());
            intake.not_understood(What::Series, &series.name, line(of), &example);
        }
    }

    /// What a reader should know of what is not held; `all` names what was thinned.
    pub(in crate::prometheus) fn warnings(&self, all: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.stride > 1 {
            let stride = self.stride;
            let restarts = if self.restarts_kept {
                ", restarts of counters aside"
            } else {
                "; counters restart so often that some restarts are lost, and growth with them"
            };
            warnings.push(format!("every {stride}th {all} is held{restarts}"));
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

    /// The series on their clock; `timed`: the times of their samples are Unix times.
    pub(in crate::prometheus) fn timeline(self, timed: bool) -> Timeline {
        Timeline::of(self.held.into_iter().map(|held| (held.series, held.column)).collect(), timed)
    }
}

//! Statistics lines as series, in bounded memory.

use firstcheck_model::{
    moment::Moment,
    signal::{Labels, Part, Series, SeriesKind, Signal},
};
use std::collections::HashMap;

/// Series that are told apart: 64 ranks with 50 fields have some 3,000.
const SERIES: usize = 20_000;

/// The series of a log.
#[derive(Debug)]
pub(super) struct Samples {
    series: Vec<Series>,
    /// Samples that each was offered.
    offered: Vec<u64>,
    /// The number of each by its name, and under it by what it is of (empty: it does not say).
    index: HashMap<String, HashMap<String, usize>>,
    /// The series that was added to last.
    last: usize,
    held: usize,
    /// Samples that are held; of a longer log every second one is, or every fourth, and so on.
    most: usize,
    stride: u64,
}

impl Samples {
    /// No series yet; at most `most` samples.
    pub(super) fn new(most: usize) -> Self {
        Self { series: Vec::new(), offered: Vec::new(), index: HashMap::new(), last: 0, held: 0, most, stride: 1 }
    }

    /// Adds a sample to the series of that name and place. The first of each is always held.
    pub(super) fn add(
        &mut self,
        name: &str,
        meaning: fn(&str) -> Option<Signal>,
        value: f64,
        place: Option<&str>,
        at: Moment,
    ) {
        let known = self.next(name, place).or_else(|| self.known(name, place));
        let Some(number) = known.or_else(|| self.begin(name, meaning(name), place)) else { return };
        self.last = number;
        let offered = self.offered[number];
        self.offered[number] += 1;
        if !offered.is_multiple_of(self.stride) {
            return;
        }
        let series = &mut self.series[number];
        // Lines of several processes come a little out of order, and the engine's clock has whole seconds only.
        series.at.push(series.at.last().map_or(at, |last| at.max(*last)));
        series.value.push(value);
        self.held += 1;
        if self.held > self.most {
            self.thin();
        }
    }

    /// The series that began after the last one, if it is the one: lines of a kind have the same fields in the same order.
    fn next(&self, name: &str, place: Option<&str>) -> Option<usize> {
        let next = self.series.get(self.last + 1)?;
        (next.name == name && next.labels.get("engine") == place).then_some(self.last + 1)
    }

    fn known(&self, name: &str, place: Option<&str>) -> Option<usize> {
        self.index.get(name)?.get(place.unwrap_or_default()).copied()
    }

    fn begin(&mut self, name: &str, signal: Option<Signal>, place: Option<&str>) -> Option<usize> {
        let number = self.series.len();
        if number == SERIES {
            return None;
        }
        self.index.entry(name.to_owned()).or_default().insert(place.unwrap_or_default().to_owned(), number);
        self.offered.push(0);
        self.series.push(Series {
            name: name.to_owned(),
            labels: Labels(place.iter().map(|place| ("engine".to_owned(), (*place).to_owned())).collect()),
            page: "log".into(),
            kind: SeriesKind::Gauge,
            part: Part::Value,
            signal,
            at: Vec::new(),
            value: Vec::new(),
        });
        Some(number)
    }

    fn thin(&mut self) {
        self.stride = self.stride.saturating_mul(2);
        self.held = 0;
        for series in &mut self.series {
            every_second(&mut series.at);
            every_second(&mut series.value);
            self.held += series.at.len();
        }
    }

    /// Of how many samples of a series one is held.
    pub(super) fn stride(&self) -> u64 {
        self.stride
    }

    pub(super) fn finish(self) -> Vec<Series> {
        self.series
    }
}

fn every_second<T>(list: &mut Vec<T>) {
    let mut keep = false;
    list.retain(|_| {
        keep = !keep;
        keep
    });
}

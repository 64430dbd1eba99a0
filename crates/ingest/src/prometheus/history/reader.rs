//! From lines to columns: which page a line is of, when that page was, what a line means.

use super::{
    History,
    column::{Column, Fault, fault},
    known::{Entry, Known},
    process, split,
    timeline::Timeline,
};
use crate::{
    Limits,
    frame::{Intake, Line, What},
    prometheus::{
        self, Page,
        line::parse as parse_line,
        text::{Types, sample_of},
    },
    replica, time, vocabulary,
};
use firstcheck_model::signal::{Labels, Part, Series, SeriesKind, Signal};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A series and its samples.
struct Held {
    series: Series,
    column: Column,
    /// The page that its newest sample is of.
    page: u64,
    line: u64,
}

/// Reads the lines of a history.
pub(super) struct Reader {
    limits: Limits,
    known: Known,
    types: Types,
    held: Vec<Held>,
    index: HashMap<String, u32>,
    /// The number of the page at hand, from 0.
    page: u64,
    /// Whether a sample of the page at hand was read.
    begun: bool,
    /// When the page at hand was scraped.
    at: Option<i64>,
    /// Where the page at hand stands if it has no time: after the one before it.
    place: i64,
    timed: u64,
    untimed: u64,
    own_times: bool,
    /// Every how many pages one is kept.
    stride: u64,
    /// Whether the samples around restarts are kept whatever the stride.
    restarts_kept: bool,
    kept: usize,
    samples: u64,
    /// The text of the first page.
    first: Vec<u8>,
    /// Its first line beyond the limit.
    first_cut: Option<u64>,
    starts: BTreeMap<Labels, Vec<f64>>,
    left_out: u64,
    no_number: u64,
}

impl Reader {
    pub(super) fn new(at: Option<i64>, limits: Limits) -> Self {
        Self {
            limits,
            known: Known::default(),
            types: Types::default(),
            held: Vec::new(),
            index: HashMap::new(),
            page: 0,
            begun: false,
            at,
            place: 0,
            timed: 0,
            untimed: 0,
            own_times: false,
            stride: 1,
            restarts_kept: true,
            kept: 0,
            samples: 0,
            first: Vec::new(),
            first_cut: None,
            starts: BTreeMap::new(),
            left_out: 0,
            no_number: 0,
        }
    }

    pub(super) fn line(&mut self, line: Line<'_>, intake: &mut Intake) {
        if self.page == 0 && self.first_cut.is_none() {
            if self.first.len() + line.bytes.len() < self.limits.page_bytes {
                self.first.extend_from_slice(line.bytes);
                self.first.push(b'\n');
            } else {
                self.first_cut = Some(line.number);
            }
        }
        if let Some((entry, rest)) = self.known.guess(line.bytes) {
            return self.entry(entry, rest, line, intake);
        }
        if line.bytes.first() == Some(&b'#') {
            return self.comment(line, intake);
        }
        match split::sample(line.bytes) {
            Some((series, rest)) => match self.known.find(series) {
                Some(entry) => self.entry(entry, rest, line, intake),
                None => self.new_series(series, rest, line, intake),
            },
            None if line.bytes.trim_ascii().is_empty() => {}
            None => match time::of_line(line.bytes) {
                Some(at) => self.begin(Some(at)),
                None => self.malformed(line, intake),
            },
        }
    }

    fn malformed(&mut self, line: Line<'_>, intake: &mut Intake) {
        let reason = match std::str::from_utf8(line.bytes) {
            Err(_) => "not UTF-8".into(),
            Ok(text) => parse_line(text.trim()).err().unwrap_or_else(|| "no sample".into()),
        };
        intake.unread(Some(line.number), reason);
    }

    fn comment(&mut self, line: Line<'_>, intake: &mut Intake) {
        if self.known.find(line.bytes).is_some() {
            return;
        }
        let text = String::from_utf8_lossy(line.bytes);
        let words: Vec<&str> = text[1..].split_ascii_whitespace().take(3).collect();
        match words.first().copied() {
            Some("EOF") => self.begin(None),
            Some("TYPE") => {
                if let Err(reason) = self.types.state(&words[1..]) {
                    intake.unread(Some(line.number), reason);
                } else {
                    self.remember(line.bytes, Entry::Quiet);
                }
            }
            Some("HELP" | "UNIT") => self.remember(line.bytes, Entry::Quiet),
            _ => {
                if let Some(at) = time::of_line(line.bytes) {
                    self.begin(Some(at));
                }
            }
        }
    }

    /// Remembers a line, as long as there is room: beyond it a line costs more, and is read all the same.
    fn remember(&mut self, bytes: &[u8], entry: Entry) {
        if self.known.len() < 2 * self.limits.series {
            self.known.learn(bytes, entry);
        }
    }

    fn new_series(&mut self, series: &[u8], rest: &[u8], line: Line<'_>, intake: &mut Intake) {
        let Some(text) = std::str::from_utf8(line.bytes).ok() else { return self.malformed(line, intake) };
        let sample = match sample_of(text.trim(), line.number as usize, &self.types) {
            Ok(sample) => sample,
            // A time that looks like a sample: `Mon Nov …`.
            Err(reason) => match time::of_line(line.bytes) {
                Some(at) => return self.begin(Some(at)),
                None => return intake.unread(Some(line.number), reason),
            },
        };
        // Two texts may be one series: labels in another order.
        let key = format!("{}{}{:?}", sample.name, sample.labels.render(), sample.part);
        let number = match self.index.get(&key) {
            Some(number) => *number,
            None if self.held.len() >= self.limits.series => {
                self.left_out += 1;
                return self.remember(series, Entry::Left);
            }
            None => {
                let mut all = [Series {
                    name: sample.name,
                    labels: sample.labels,
                    page: "main".into(),
                    kind: sample.kind,
                    part: sample.part,
                    signal: None,
                    at: Vec::new(),
                    value: Vec::new(),
                }];
                // The vocabulary knows the kind where the page states none.
                vocabulary::apply(&mut all);
                let [series] = all;
                let restarts = series.kind == SeriesKind::Counter && self.restarts_kept;
                self.held.push(Held { series, column: Column::new(restarts), page: u64::MAX, line: line.number });
                let number = self.held.len() as u32 - 1;
                self.index.insert(key, number);
                number
            }
        };
        self.remember(series, Entry::Series(number));
        self.entry(Entry::Series(number), rest, line, intake);
    }

    fn entry(&mut self, entry: Entry, rest: &[u8], line: Line<'_>, intake: &mut Intake) {
        match entry {
            Entry::Quiet => {}
            Entry::Left => self.left_out += 1,
            Entry::Series(number) => {
                if !line.ended && self.page > 0 {
                    return intake.unread(Some(line.number), "the last line has no end: its value may be cut");
                }
                match split::numbers(rest) {
                    Some((value, own)) => self.sample(number as usize, value, own, line, intake),
                    None => self.malformed(line, intake),
                }
            }
        }
    }

    fn sample(&mut self, number: usize, value: f64, own: Option<f64>, line: Line<'_>, intake: &mut Intake) {
        // OpenMetrics writes seconds where text 0.0.4 writes milliseconds; their sizes do not meet.
        let own = own.map(|own| if own.abs() < 1e11 { own * 1e9 } else { own * 1e6 }).map(|ns| ns as i64);
        let at = match (self.at, own) {
            (Some(at), _) => Some(at),
            (None, Some(own)) => {
                self.own_times = true;
                Some(own)
            }
            (None, None) => None,
        };
        let by_itself = self.at.is_none() && own.is_some();
        if self.held[number].page == self.page && !by_itself {
            // A series that comes again begins the next page.
            self.begin(None);
            return self.sample(number, value, own.map(|ns| ns as f64 * 1e-9), line, intake);
        }
        self.begun = true;
        let (page, keep) = (self.page, self.page.is_multiple_of(self.stride));
        let held = &mut self.held[number];
        held.page = page;
        match fault(held.series.kind, value) {
            None => {}
            Some(Fault::Negative) => {
                return intake
                    .unread(Some(line.number), format!("counter {} is below zero: {value}", held.series.name));
            }
            Some(Fault::NoNumber) => {
                self.no_number += 1;
                return;
            }
        }
        if held.series.signal == Some(Signal::ProcessStart) && held.column.last() != Some(value) {
            self.starts.entry(held.series.labels.clone()).or_default().push(value);
        }
        self.samples += 1;
        self.kept += held.column.push(at.unwrap_or(self.place), value, keep);
        if self.kept > self.limits.samples {
            self.thin();
        }
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

    /// Ends the page at hand; the next one is of `at`.
    fn begin(&mut self, at: Option<i64>) {
        if self.begun {
            match self.at {
                Some(_) => self.timed += 1,
                None => self.untimed += 1,
            }
            self.page += 1;
            self.place = self.at.map_or(self.place, |at| at.max(self.place)).saturating_add(1);
            self.begun = false;
            self.at = at;
        } else if at.is_some() {
            self.at = at;
        }
    }

    pub(super) fn samples(&self) -> u64 {
        self.samples
    }

    /// The replicas and ranks that labels tell apart.
    pub(super) fn replicas(&self) -> BTreeSet<String> {
        self.held.iter().filter_map(|held| replica::of_labels(&held.series.labels)).collect()
    }

    /// Counts the series that the vocabulary does not know.
    pub(super) fn count_unknown(&self, intake: &mut Intake) {
        for held in self.held.iter().filter(|held| held.series.signal.is_none()) {
            let series = &held.series;
            let example = format!("{}{}", series.name, series.labels.render());
            intake.not_understood(What::Series, &series.name, Some(held.line), &example);
        }
    }

    /// The page, where there is one without a time.
    pub(super) fn single(&self, intake: &mut Intake) -> Option<Box<Page>> {
        let one = self.page == 0 || (self.page == 1 && !self.begun);
        let no_time = self.at.is_none() && self.timed == 0 && !self.own_times;
        if !one || !no_time {
            return None;
        }
        if self.first_cut.is_some() {
            intake.unread(self.first_cut, prometheus::beyond(&self.limits));
        }
        Some(Box::new(prometheus::parse_within(&self.first, &self.limits)))
    }

    pub(super) fn finish(mut self) -> History {
        self.begin(None);
        let pages = self.page;
        let mut warnings = self.warnings();
        // Where some pages have times and others none, the others cannot be placed.
        let timed = self.own_times || (self.timed > 0 && self.untimed == 0);
        let columns = self.held.into_iter().map(|held| (held.series, held.column)).collect();
        let Timeline { series, clock, window } = Timeline::of(columns, timed);
        let flapping = process::flapping(&self.starts);
        warnings.extend(process::restarts(&self.starts).filter(|_| flapping.is_none()));
        let first = Box::new(prometheus::parse_within(&self.first, &self.limits));
        History { series, clock, window, first, pages, warnings, flapping }
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.timed > 0 && self.untimed > 0 {
            let all = self.timed + self.untimed;
            warnings.push(format!("{} of {all} pages have no time: their order is all that is known", self.untimed));
        } else if self.untimed > 1 && !self.own_times {
            warnings.push(format!("{} pages without times: growth is known, rates are not", self.untimed));
        }
        if self.stride > 1 {
            let (stride, pages) = (self.stride, self.page);
            let restarts = if self.restarts_kept {
                ", restarts of counters aside"
            } else {
                "; counters restart so often that some restarts are lost, and growth with them"
            };
            warnings.push(format!("every {stride}th of {pages} pages is held{restarts}"));
        }
        if self.left_out > 0 {
            warnings.push(format!(
                "samples of series beyond the first {} are left out: {}",
                self.limits.series, self.left_out
            ));
        }
        if self.no_number > 0 {
            warnings.push(format!("{} samples of counters are no number and are left out", self.no_number));
        }
        let (pages, kept) =
            (self.page, self.held.iter().filter(|held| held.page.saturating_add(1) < self.page && !self.own_times));
        match kept.count() {
            0 => {}
            stale => warnings.push(format!("{stale} series end before the last of {pages} pages")),
        }
        warnings
    }
}

/// Parts of a family whose values only grow.
pub(crate) fn grows(series: &Series) -> bool {
    series.kind == SeriesKind::Counter || matches!(series.part, Part::Bucket(_) | Part::Sum | Part::Count)
}

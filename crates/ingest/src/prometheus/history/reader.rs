//! From lines to columns: which page a line is of, when that page was, what a line means.

use super::{
    History,
    column::Fault,
    known::{Entry, Known},
    process, split,
    store::Store,
    timeline::Timeline,
};
use crate::{
    Limits,
    frame::{Intake, Line},
    prometheus::{
        self,
        line::parse as parse_line,
        text::{Types, sample_of},
    },
    time,
};
use firstcheck_model::signal::{Part, Series, SeriesKind, Signal};
use std::collections::BTreeSet;

/// Where a series stands.
struct Place {
    /// The page that its newest sample is of.
    page: u64,
    /// The line of its first sample.
    line: u64,
}

/// Reads the lines of a history.
pub(super) struct Reader {
    limits: Limits,
    known: Known,
    types: Types,
    store: Store<Place>,
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
    /// The text of the first page.
    first: Vec<u8>,
    /// Its first line beyond the limit.
    first_cut: Option<u64>,
    starts: process::Starts,
}

impl Reader {
    pub(super) fn new(at: Option<i64>, limits: Limits) -> Self {
        Self {
            limits,
            known: Known::default(),
            types: Types::default(),
            store: Store::new(limits),
            page: 0,
            begun: false,
            at,
            place: 0,
            timed: 0,
            untimed: 0,
            own_times: false,
            first: Vec::new(),
            first_cut: None,
            starts: process::Starts::new(),
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
        let place = Place { page: u64::MAX, line: line.number };
        let Some(number) = self.store.place(sample.name, sample.labels, (sample.part, sample.kind), place) else {
            self.store.leave_out(1);
            return self.remember(series, Entry::Left);
        };
        self.remember(series, Entry::Series(number));
        self.entry(Entry::Series(number), rest, line, intake);
    }

    fn entry(&mut self, entry: Entry, rest: &[u8], line: Line<'_>, intake: &mut Intake) {
        match entry {
            Entry::Quiet => {}
            Entry::Left => self.store.leave_out(1),
            Entry::Series(number) => {
                if !line.ended && self.page > 0 {
                    return intake.unread(Some(line.number), "the last line has no end: its value may be cut");
                }
                match split::numbers(rest) {
                    Some((value, own)) => self.sample(number, value, own, line, intake),
                    None => self.malformed(line, intake),
                }
            }
        }
    }

    fn sample(&mut self, number: u32, value: f64, own: Option<f64>, line: Line<'_>, intake: &mut Intake) {
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
        let held = self.store.at(number);
        if held.of.page == self.page && !by_itself {
            // A series that comes again begins the next page.
            self.begin(None);
            return self.sample(number, value, own.map(|ns| ns as f64 * 1e-9), line, intake);
        }
        if held.of.page == self.page && self.page == 0 && self.first_cut.is_none() {
            // Of a series that comes again with its own time the first page states what it said first.
            self.first.truncate(self.first.len() - line.bytes.len() - 1);
        }
        self.begun = true;
        held.of.page = self.page;
        let started = held.series.signal == Some(Signal::ProcessStart) && held.column.last() != Some(value);
        match self.store.push(number, at.unwrap_or(self.place), value, self.page) {
            Ok(()) if started => {
                let labels = self.store.at(number).series.labels.clone();
                self.starts.entry(labels).or_default().push(value);
            }
            Ok(()) | Err(Fault::NoNumber) => {}
            Err(Fault::Negative) => {
                let name = &self.store.at(number).series.name;
                intake.unread(Some(line.number), format!("counter {name} is below zero: {value}"));
            }
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
        self.store.samples()
    }

    /// The replicas and ranks that labels tell apart.
    pub(super) fn replicas(&self) -> BTreeSet<String> {
        self.store.replicas()
    }

    /// Counts the series that the vocabulary does not know.
    pub(super) fn count_unknown(&self, intake: &mut Intake) {
        self.store.count_unknown(intake, None, |place| Some(place.line));
    }

    /// Whether there is one page alone, without a time.
    pub(super) fn is_single(&self, intake: &mut Intake) -> bool {
        let one = self.page == 0 || (self.page == 1 && !self.begun);
        let no_time = self.at.is_none() && self.timed == 0 && !self.own_times;
        if !one || !no_time {
            return false;
        }
        if self.first_cut.is_some() {
            intake.unread(self.first_cut, prometheus::beyond(&self.limits));
        }
        true
    }

    pub(super) fn finish(mut self) -> History {
        self.begin(None);
        let pages = self.page;
        let mut warnings = self.warnings();
        // Where some pages have times and others none, the others cannot be placed.
        let timed = self.own_times || (self.timed > 0 && self.untimed == 0);
        let Timeline { series, clock, window } = self.store.timeline(timed);
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
        let pages = self.page;
        warnings.extend(self.store.warnings(&format!("of {pages} pages")));
        let ended = |place: &Place| place.page.saturating_add(1) < pages && !self.own_times;
        let kept = self.store.all().iter().filter(|held| ended(&held.of));
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

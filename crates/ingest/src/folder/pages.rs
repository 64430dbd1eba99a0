//! Metrics pages beside a result: which of them lie before and after the run.
//!
//! Neither names nor file times are trusted (a copied folder has lost its times). Pages of one process are put in order
//! by their counters: a page is later when no counter is smaller and one is larger. Of all ordered pairs, the one that
//! belongs to a run is that whose growth of generated tokens is the smallest that still covers the tokens of the run's
//! answers. Its first page counts as scraped at the window's start, its second at the window's end; what happened on the
//! server in between and was not this run's (a client's warm-up) is inside, and a warning says how much.

use crate::{
    Error, Limits, fingerprint,
    guarded::read_start,
    prometheus::{self, Page, SeriesSet},
    vocabulary,
};
use firstcheck_model::{
    recording::Recording,
    report::Unread,
    signal::{Labels, Part, SeriesKind, Signal},
};
use std::{
    cmp::Ordering,
    collections::HashMap,
    path::{Path, PathBuf},
};

/// Pages of a folder that are put in order at most; more are not the pages before and after a run.
const MOST: usize = 64;

/// A page with the name of its file.
type Named = (String, Page);

/// The engine's pages of a folder, each with the name of its file.
pub(super) struct Pages {
    pages: Vec<Named>,
}

impl Pages {
    /// Reads the pages; lines that cannot be read are added to `unread`.
    pub(super) fn read(paths: &[PathBuf], limits: &Limits, unread: &mut Vec<Unread>) -> Result<Self, Error> {
        let mut pages = Vec::new();
        for path in paths.iter().take(MOST) {
            let bytes = read_start(path, limits.page_bytes as u64 + 1)?;
            let page = prometheus::parse_within(&bytes, limits);
            let of_file = |line: &prometheus::Unreadable| Unread {
                path: path.display().to_string(),
                line: Some(line.line),
                reason: line.reason.clone(),
            };
            unread.extend(page.unread.iter().map(of_file));
            if growth_of(&page, Signal::GenerationTokens).is_some() {
                pages.push((name_of(path), page));
            }
        }
        Ok(Self { pages })
    }

    /// Gives a run the signals and the fingerprint that the pages show.
    pub(super) fn attach(&self, recording: &mut Recording) {
        if self.pages.is_empty() {
            return;
        }
        let pair = self.pair(recording);
        let stated = match (pair, &self.pages[..]) {
            (Some((_, after)), _) | (None, [after]) => Some(after),
            (None, _) => None,
        };
        if let Some((name, page)) = stated {
            fingerprint::from_page(page, name, &mut recording.info.fingerprint);
        }
        let (Some((before, after)), Some(window)) = (pair, recording.info.window) else {
            recording.info.warnings.push(format!(
                "of {} metrics pages beside the result no two lie before and after this run: no signals",
                self.pages.len()
            ));
            return;
        };
        let mut series = SeriesSet::default();
        series.add(&before.1, "main", window.start);
        series.add(&after.1, "main", window.end);
        recording.signals = series.finish();
        let finished = |page: &Page| growth_of(page, Signal::Finished);
        let answered = recording.requests.0.iter().filter(|r| r.output_tokens.is_some()).count();
        let served = finished(&after.1).zip(finished(&before.1)).map(|(after, before)| after - before);
        if let Some(served) = served.filter(|served| answered > 0 && *served != answered as f64) {
            recording.info.warnings.push(format!(
                "{served} requests finished between {} and {}, the result has {answered}: the client's warm-up and \
                 others are in the signals",
                before.0, after.0
            ));
        }
    }

    /// The pages before and after a run.
    fn pair(&self, recording: &Recording) -> Option<(&Named, &Named)> {
        let tokens: u64 = recording.requests.0.iter().filter_map(|r| r.output_tokens).map(u64::from).sum();
        // Without rows the run's tokens are not known: only a single pair leaves no choice.
        if tokens == 0 && self.pages.len() != 2 {
            return None;
        }
        let generated = |page: &Page| growth_of(page, Signal::GenerationTokens);
        let mut best: Option<(f64, usize, usize)> = None;
        for (i, (_, before)) in self.pages.iter().enumerate() {
            for (j, (_, after)) in self.pages.iter().enumerate() {
                if i == j || order(before, after) != Some(Ordering::Less) {
                    continue;
                }
                let Some(growth) = generated(after).zip(generated(before)).map(|(a, b)| a - b) else { continue };
                let covers = growth > 0.0 && growth >= tokens as f64;
                if covers && best.is_none_or(|(least, ..)| growth < least) {
                    best = Some((growth, i, j));
                }
            }
        }
        best.map(|(_, before, after)| (&self.pages[before], &self.pages[after]))
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The sum of a counter over the page's replicas.
fn growth_of(page: &Page, signal: Signal) -> Option<f64> {
    let of_signal = page.samples.iter().filter(|sample| sample.part == Part::Value && sample.value.is_finite());
    let values: Vec<f64> = of_signal
        .filter(|sample| vocabulary::meaning(&sample.name) == Some(signal))
        .map(|sample| sample.value)
        .collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

/// Whether a page was scraped before another one of the same process; `None` when they are of different processes, or
/// nothing tells.
fn order(one: &Page, other: &Page) -> Option<Ordering> {
    let start = |page: &Page| page.get("process_start_time_seconds").next().map(|sample| sample.value);
    if start(one).zip(start(other)).is_some_and(|(one, other)| one != other) {
        return None;
    }
    let counters = |page: &Page| -> HashMap<(String, Labels, String), f64> {
        let counters = page.samples.iter().filter(|s| s.kind == SeriesKind::Counter && !s.value.is_nan());
        counters.map(|s| ((s.name.clone(), s.labels.clone(), format!("{:?}", s.part)), s.value)).collect()
    };
    let (ours, theirs) = (counters(one), counters(other));
    let (mut smaller, mut larger) = (false, false);
    for (key, value) in &ours {
        if let Some(value_of_other) = theirs.get(key) {
            smaller |= value < value_of_other;
            larger |= value > value_of_other;
        }
    }
    match (smaller, larger) {
        (true, false) => Some(Ordering::Less),
        (false, true) => Some(Ordering::Greater),
        (false, false) | (true, true) => None,
    }
}

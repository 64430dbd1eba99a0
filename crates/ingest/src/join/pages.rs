//! Metrics pages beside a result: which of them lie before and after the run.
//!
//! Neither names nor file times are trusted (a copied folder has lost its times). Pages of one process are put in order
//! by their counters: a page is later when no counter is smaller and one is larger. Of all ordered pairs, the one that
//! belongs to a run is that whose growth of generated tokens is the smallest that still covers the tokens of the run's
//! answers. Its first page counts as scraped at the window's start, its second at the window's end; what happened on the
//! server in between and was not this run's (a client's warm-up) is inside, and a warning says how much.

use crate::{
    fingerprint,
    prometheus::{Page, SeriesSet},
    vocabulary,
};
use firstcheck_model::{
    moment::Moment,
    recording::Recording,
    signal::{Labels, Part, Series, SeriesKind, Signal},
};
use std::{cmp::Ordering, collections::HashMap};

/// Pages of a folder that are put in order at most; more are not the pages before and after a run.
const MOST: usize = 64;

/// A page with the name of its file.
pub(super) type Named = (String, Page);

/// The engine's pages of a folder, each with the name of its file.
pub(super) struct Pages {
    pages: Vec<Named>,
}

impl Pages {
    /// The pages that are an engine's.
    pub(super) fn new(pages: &[Named]) -> Self {
        let engines = pages.iter().filter(|(_, page)| growth_of(page, Signal::GenerationTokens).is_some());
        Self { pages: engines.take(MOST).cloned().collect() }
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

/// Pages of one process in the order of their counters; those of which no order is known stand alone.
pub(super) fn chains(pages: Vec<Named>) -> Vec<Vec<Named>> {
    let mut chains: Vec<Vec<Named>> = Vec::new();
    for page in pages {
        let place = chains.iter_mut().find_map(|chain| {
            let orders: Option<Vec<Ordering>> = chain.iter().map(|known| order(&known.1, &page.1)).collect();
            let at = orders?.iter().filter(|order| **order == Ordering::Less).count();
            Some((chain, at))
        });
        match place {
            Some((chain, at)) => chain.insert(at, page),
            None => chains.push(vec![page]),
        }
    }
    chains
}

/// The pages of a chain as series; moments say their order alone.
pub(super) fn in_order(chain: &[Named]) -> Vec<Series> {
    let mut series = SeriesSet::default();
    for (at, (_, page)) in chain.iter().enumerate() {
        series.add(page, "main", Moment::at(at as i64));
    }
    series.finish()
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

//! The values of every slice of a pair, from one sort a metric.

use super::{Dimension, Slice, Slices};
use crate::compare::{
    columns::Line,
    pair::{Both, Pair},
    plan::Key,
    reading::{Cell, Reading},
    view::{Values, View},
};
use firstcheck_model::metric::{Metric, Stat};
use firstcheck_stats::{goodput::Counts, quantile::rank};
use std::collections::BTreeSet;

/// One run's requests of a slice.
#[derive(Debug, Clone)]
pub(in crate::compare) struct Side {
    offered: u64,
    unanswered: u64,
    good: Option<Counts>,
    cells: Vec<Cell>,
}

/// A slice of a pair.
#[derive(Debug, Clone)]
pub(in crate::compare) struct SliceCells {
    pub slice: Slice,
    base: Side,
    candidate: Side,
}

impl SliceCells {
    /// The pair, seen through this slice.
    pub fn view<'p>(&'p self, pair: &'p Pair) -> View<'p> {
        let values = |side: &'p Side| Values {
            offered: side.offered,
            unanswered: side.unanswered,
            good: side.good,
            cells: &side.cells,
        };
        View { pair, base: values(&self.base), candidate: values(&self.candidate) }
    }
}

/// Which slice each request is of, by position in the list of slices.
struct Labels {
    slices: Vec<Slice>,
    /// One list a dimension; [`NONE`] where it cannot be told.
    of: Vec<Vec<u16>>,
}

const NONE: u16 = u16::MAX;

/// Slices that one pair may have: what is named by the requests themselves has to end somewhere.
const MOST: usize = 200;

/// The slices of a pair whose runs replayed one trace. A way of slicing that puts every request into one slice says
/// nothing that the whole does not, and is left out.
pub(in crate::compare) fn of_pair(
    common: &[Both<'_>],
    (base, candidate): (&Reading, &Reading),
    (keys, wanted): (&[Key], &[Key]),
    slices: &Slices,
) -> Vec<SliceCells> {
    if wanted.is_empty() {
        return Vec::new();
    }
    let labels = label(common, slices);
    if labels.slices.is_empty() {
        return Vec::new();
    }
    let b = side(common.iter().map(|(b, _)| *b), &labels, base, (keys, wanted));
    let c = side(common.iter().map(|(_, c)| *c), &labels, candidate, (keys, wanted));
    let sides = labels.slices.into_iter().zip(b.into_iter().zip(c));
    sides.map(|(slice, (base, candidate))| SliceCells { slice, base, candidate }).collect()
}

fn label(common: &[Both<'_>], slices: &Slices) -> Labels {
    let mut labels = Labels { slices: Vec::new(), of: Vec::new() };
    for dimension in Dimension::of(slices) {
        let found: Vec<Option<Slice>> = common.iter().map(|(b, c)| dimension.slice(slices, b, c)).collect();
        let mut all: BTreeSet<Slice> = found.iter().flatten().copied().collect();
        let conversations = dimension == Dimension::Tenant && all.len() > slices.most_tenants;
        if all.len() < 2 || conversations {
            continue;
        }
        all.extend(dimension.all(slices));
        let all: Vec<Slice> = all.into_iter().take(MOST - labels.slices.len()).collect();
        let first = labels.slices.len();
        let place = |slice: &Slice| all.binary_search(slice).ok().and_then(|at| u16::try_from(first + at).ok());
        labels.of.push(found.iter().map(|slice| slice.as_ref().and_then(place).unwrap_or(NONE)).collect());
        labels.slices.extend(all);
    }
    labels
}

fn side<'l>(
    lines: impl Iterator<Item = &'l Line> + Clone,
    labels: &Labels,
    whole: &Reading,
    (keys, wanted): (&[Key], &[Key]),
) -> Vec<Side> {
    let mut sides: Vec<Side> = (0..labels.slices.len())
        .map(|_| Side { offered: 0, unanswered: 0, good: None, cells: vec![Cell::default(); wanted.len()] })
        .collect();
    let mut good = vec![0; sides.len()];
    for of in &labels.of {
        for (line, label) in lines.clone().zip(of) {
            let Some(side) = sides.get_mut(usize::from(*label)) else { continue };
            side.offered += 1;
            side.unanswered += u64::from(!line.complete);
            good[usize::from(*label)] += u64::from(line.good == Some(true));
        }
    }
    for (side, good) in sides.iter_mut().zip(good).filter(|_| whole.good.is_some()) {
        side.good = Counts::new(good, side.offered).ok();
    }
    let mut metrics: Vec<Metric> = wanted.iter().map(|key| key.metric).collect();
    metrics.dedup();
    for metric in metrics {
        let of_metric: Vec<(usize, Key)> =
            wanted.iter().copied().enumerate().filter(|(_, key)| key.metric == metric).collect();
        match metric {
            Metric::GoodShare => shares(&mut sides, &of_metric, |side| side.good.map(Counts::share)),
            Metric::FailedShare => shares(&mut sides, &of_metric, |side| {
                (side.offered > 0).then(|| side.unanswered as f64 / side.offered as f64)
            }),
            _ => quantiles(&mut sides, &of_metric, lines.clone(), labels),
        }
    }
    // What the whole run cannot speak of, no part of it can.
    for (at, key) in wanted.iter().enumerate() {
        let Some(place) = keys.iter().position(|other| other == key) else { continue };
        let doubt = &whole.cells[place].doubt;
        let unknown = whole.cells[place].value.is_none();
        for side in &mut sides {
            side.cells[at].doubt.clone_from(doubt);
            side.cells[at].value = side.cells[at].value.filter(|_| !unknown);
        }
    }
    sides
}

fn shares(sides: &mut [Side], keys: &[(usize, Key)], share: impl Fn(&Side) -> Option<f64>) {
    for side in sides {
        let value = share(side);
        for (at, _) in keys {
            side.cells[*at] = Cell::over(value, side.offered);
        }
    }
}

/// Inverse-CDF quantiles of every slice: the requests are sorted once, and each slice counts its own on the way up.
fn quantiles<'l>(sides: &mut [Side], keys: &[(usize, Key)], lines: impl Iterator<Item = &'l Line>, labels: &Labels) {
    let Some((_, first)) = keys.first() else { return };
    let known = |(row, line): (usize, &Line)| Some((line.latency(first.metric).filter(|v| !v.is_nan())?, row));
    let mut sorted: Vec<(f64, usize)> = lines.enumerate().filter_map(known).collect();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts = vec![0_usize; sides.len()];
    let of =
        |row: usize| labels.of.iter().map(move |of| usize::from(of[row])).filter(|label| *label != usize::from(NONE));
    sorted.iter().flat_map(|(_, row)| of(*row)).for_each(|label| counts[label] += 1);
    let mut seen = vec![0_usize; sides.len()];
    for (value, row) in &sorted {
        for label in of(*row) {
            seen[label] += 1;
            for (at, key) in keys {
                if let Stat::Quantile(p) = key.stat
                    && rank(counts[label], p) == Some(seen[label])
                {
                    sides[label].cells[*at] = Cell::over(Some(*value), counts[label] as u64);
                }
            }
        }
    }
}

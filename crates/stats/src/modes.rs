//! Two modes of a distribution of positive values, told by the valley between them on a logarithmic axis.

use crate::error::Error;

/// Two modes with the valley between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoModes {
    /// Median of the values below the valley.
    pub low: f64,
    /// Median of the values above it.
    pub high: f64,
    /// Share of the values above it.
    pub share: f64,
    /// Where the valley is.
    pub at: f64,
    /// Density in the valley over that of the lower of the two peaks: 0 for modes that do not touch, at most 1.
    pub depth: f64,
}

/// Cells of the axis an `ln` unit of resolution.
const CELLS: f64 = 2.0;

/// Cells of the axis at most: values further apart than this share the outermost ones.
const MOST_CELLS: usize = 1 << 14;

/// The valley that splits `values` (each with how often it occurs) best, if there is one at all: the local minimum of
/// the density over ln(value), smoothed by a Gaussian of standard deviation `resolution`, whose two sides differ most
/// (largest variance between them) among those at most `deepest` as high as the lower of the two peaks beside them.
///
/// Values that are not above 0 have no place on the axis and are left out. `None`: one mode.
///
/// # Errors
/// [`Error::NotPositive`] for a resolution that is none.
///
/// # Example: one value in ten is ten times as large
/// ```
/// use firstcheck_stats::modes::two_modes;
/// let values = (0..100).map(|i| (if i % 10 == 0 { 0.1 } else { 0.01 } * (1.0 + 0.001 * f64::from(i)), 1));
/// let modes = two_modes(values, 0.1, 0.5).unwrap().unwrap();
/// assert!((modes.share - 0.1).abs() < 1e-9 && modes.depth < 0.01);
/// assert!((modes.high / modes.low - 10.0).abs() < 0.5);
/// ```
pub fn two_modes(
    values: impl IntoIterator<Item = (f64, u64)>,
    resolution: f64,
    deepest: f64,
) -> Result<Option<TwoModes>, Error> {
    if !(resolution.is_finite() && resolution > 0.0) {
        return Err(Error::NotPositive { what: "the resolution", value: resolution });
    }
    let placed = values.into_iter().filter(|(v, times)| v.is_finite() && *v > 0.0 && *times > 0);
    let mut values: Vec<(f64, u64)> = placed.collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return Ok(None) };
    let (start, cell) = (first.0.ln(), resolution / CELLS);
    let cells = (((last.0.ln() - start) / cell) as usize).min(MOST_CELLS - 1) + 1;
    let cell_of = |value: f64| (((value.ln() - start) / cell) as usize).min(cells - 1);
    let mut counts = vec![0.0; cells];
    for (value, times) in &values {
        counts[cell_of(*value)] += *times as f64;
    }
    let density = smoothed(&counts);
    let best = valleys(&density).filter(|valley| valley.depth <= deepest).max_by(|a, b| {
        let apart = |valley: &Valley| between(&counts, valley.cell);
        apart(a).total_cmp(&apart(b))
    });
    let Some(valley) = best else { return Ok(None) };
    let at = (start + (valley.cell as f64 + 0.5) * cell).exp();
    let split = values.partition_point(|(value, _)| cell_of(*value) <= valley.cell);
    let (low, high) = values.split_at(split);
    let total = |part: &[(f64, u64)]| part.iter().map(|(_, times)| *times).sum::<u64>();
    let (Some(below), Some(above)) = (median(low), median(high)) else { return Ok(None) };
    let share = total(high) as f64 / total(&values) as f64;
    Ok(Some(TwoModes { low: below, high: above, share, at, depth: valley.depth }))
}

/// A local minimum of the density.
struct Valley {
    cell: usize,
    depth: f64,
}

/// Gaussian smoothing with a standard deviation of [`CELLS`] cells.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let reach = (3.0 * CELLS).ceil() as usize;
    let kernel: Vec<f64> = (0..=reach).map(|d| (-0.5 * (d as f64 / CELLS).powi(2)).exp()).collect();
    let mut density = vec![0.0; counts.len()];
    for (cell, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0.0) {
        let (from, to) = (cell.saturating_sub(reach), (cell + reach).min(counts.len() - 1));
        for (place, slot) in density.iter_mut().enumerate().take(to + 1).skip(from) {
            *slot += count * kernel[place.abs_diff(cell)];
        }
    }
    density
}

/// Every local minimum between two peaks; of a flat one its middle.
fn valleys(density: &[f64]) -> impl Iterator<Item = Valley> {
    let before: Vec<f64> = running_max(density.iter().copied());
    let mut after: Vec<f64> = running_max(density.iter().rev().copied());
    after.reverse();
    let mut found = Vec::new();
    let mut at = 0;
    while at < density.len() {
        let flat = density[at..].iter().take_while(|d| **d == density[at]).count();
        let (here, end) = (density[at], at + flat);
        let falls = at > 0 && density[at - 1] > here;
        let rises = end < density.len() && density[end] > here;
        if falls && rises {
            found.push(Valley { cell: at + flat / 2, depth: here / before[at].min(after[end]) });
        }
        at = end;
    }
    found.into_iter()
}

fn running_max(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut largest = 0.0_f64;
    values
        .map(|value| {
            largest = largest.max(value);
            largest
        })
        .collect()
}

/// Variance between the cells up to `cell` and those behind it.
fn between(counts: &[f64], cell: usize) -> f64 {
    let moments = |part: &[f64], from: usize| {
        let n: f64 = part.iter().sum();
        let sum: f64 = part.iter().enumerate().map(|(at, count)| (from + at) as f64 * count).sum();
        (n, sum / n)
    };
    let (low, high) = counts.split_at(cell + 1);
    let ((below, mean_below), (above, mean_above)) = (moments(low, 0), moments(high, cell + 1));
    if below > 0.0 && above > 0.0 { below * above * (mean_above - mean_below).powi(2) } else { 0.0 }
}

/// Median of sorted values with how often each occurs.
fn median(values: &[(f64, u64)]) -> Option<f64> {
    let half = values.iter().map(|(_, times)| *times).sum::<u64>().div_ceil(2);
    let mut seen = 0;
    values.iter().find_map(|(value, times)| {
        seen += times;
        (seen >= half).then_some(*value)
    })
}

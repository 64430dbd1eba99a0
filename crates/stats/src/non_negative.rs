//! Least squares with slopes that cannot be negative, and what each column adds.

use crate::error::{Error, finite};

/// Columns at most: every subset of them is tried.
pub const MOST_COLUMNS: usize = 12;

/// A fit `y ≈ intercept + Σ slope · column` with slopes ≥ 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Its value where all columns are zero.
    pub intercept: f64,
    /// One a column; 0 for a column that would only fit with a negative one, or that others express.
    pub slopes: Vec<f64>,
    /// Sum of squares that is left.
    pub residual: f64,
    /// Sum of squares about the mean.
    pub total: f64,
}

/// The best fit with slopes ≥ 0.
///
/// The best one is the ordinary fit of some subset of the columns (the conditions of Karush, Kuhn and Tucker; Lawson and
/// Hanson, *Solving Least Squares Problems*, chapter 23), so all subsets are fitted and the best admissible one is taken.
/// A subset whose columns express each other is passed over: a smaller one says the same.
///
/// # Errors
/// [`Error::Length`] for a column of another length than `y` or more than [`MOST_COLUMNS`] of them,
/// [`Error::TooFewValues`] for fewer values than columns and two, [`Error::NotFinite`], [`Error::Overflow`].
///
/// # Example: what would only fit with a negative slope gets none
/// ```
/// use firstcheck_stats::non_negative::fit;
/// let (time, falling) = ([0.0, 1.0, 2.0, 3.0], [9.0, 4.0, 1.0, 0.0]);
/// let found = fit(&[&time, &falling], &[5.0, 7.0, 9.0, 11.0]).unwrap();
/// assert!((found.intercept - 5.0).abs() < 1e-9 && (found.slopes[0] - 2.0).abs() < 1e-9);
/// assert_eq!(found.slopes[1], 0.0);
/// ```
pub fn fit(columns: &[&[f64]], y: &[f64]) -> Result<Fit, Error> {
    let problem = Problem::new(columns, y)?;
    Ok(problem.best(|_| true))
}

/// What each column adds to the others: the share of what the best fit without it leaves that goes with it (its partial
/// R²), 0 to 1. 0 for a column that the others express, and where nothing is left to explain.
///
/// # Errors
/// As [`fit`].
///
/// # Example: two columns that say the same add nothing to each other
/// ```
/// use firstcheck_stats::non_negative::partial_r2;
/// let (one, twice, y) = ([0.0, 1.0, 2.0, 4.0], [0.0, 2.0, 4.0, 8.0], [1.0, 2.0, 3.0, 5.0]);
/// assert!(partial_r2(&[&one, &twice], &y).unwrap().iter().all(|share| *share == 0.0));
/// assert!(partial_r2(&[&one], &y).unwrap()[0] > 0.999);
/// ```
pub fn partial_r2(columns: &[&[f64]], y: &[f64]) -> Result<Vec<f64>, Error> {
    let problem = Problem::new(columns, y)?;
    let whole = problem.best(|_| true);
    // Below this the squares are rounding.
    let nothing = whole.total * 1e-20;
    let share = |column| {
        let without = problem.best(|other| other != column).residual;
        if without <= nothing { 0.0 } else { ((without - whole.residual) / without).clamp(0.0, 1.0) }
    };
    Ok((0..columns.len()).map(share).collect())
}

/// Columns about their means, each with its length, and the values about theirs.
struct Problem {
    columns: Vec<Vec<f64>>,
    lengths: Vec<f64>,
    means: Vec<f64>,
    y: Vec<f64>,
    mean: f64,
    total: f64,
}

/// Share of a column that must be left when others are taken out of it, for it to say anything of its own.
const OWN: f64 = 1e-9;

impl Problem {
    fn new(columns: &[&[f64]], y: &[f64]) -> Result<Self, Error> {
        if columns.len() > MOST_COLUMNS {
            return Err(Error::Length { what: "the list of columns", expected: MOST_COLUMNS, found: columns.len() });
        }
        if y.len() < columns.len() + 2 {
            return Err(Error::TooFewValues { what: "the values to fit", found: y.len(), needed: columns.len() + 2 });
        }
        finite("the values to fit", y)?;
        let (mut own, mut lengths, mut means) = (Vec::new(), Vec::new(), Vec::new());
        for column in columns {
            if column.len() != y.len() {
                return Err(Error::Length { what: "a column", expected: y.len(), found: column.len() });
            }
            finite("a column", column)?;
            let (mean, about) = centred(column);
            let length = dot(&about, &about).sqrt();
            if !length.is_finite() {
                return Err(Error::Overflow { what: "a column" });
            }
            // Of length 1, so that what is small is so against the column itself.
            own.push(about.iter().map(|value| if length > 0.0 { value / length } else { 0.0 }).collect());
            lengths.push(length);
            means.push(mean);
        }
        let (mean, about) = centred(y);
        let total = dot(&about, &about);
        if !total.is_finite() {
            return Err(Error::Overflow { what: "the values to fit" });
        }
        Ok(Self { columns: own, lengths, means, y: about, mean, total })
    }

    /// The best admissible fit of a subset of the columns that `allowed` lets in.
    fn best(&self, allowed: impl Fn(usize) -> bool) -> Fit {
        let allowed: Vec<usize> = (0..self.columns.len()).filter(|column| allowed(*column)).collect();
        let mut best = (self.total, vec![0.0; self.columns.len()]);
        for subset in 1u32..1 << allowed.len() {
            let chosen: Vec<usize> =
                allowed.iter().enumerate().filter(|(bit, _)| subset & (1 << bit) != 0).map(|(_, at)| *at).collect();
            let Some((slopes, residual)) = self.ordinary(&chosen) else { continue };
            if residual < best.0 && slopes.iter().all(|slope| *slope >= 0.0) {
                let mut all = vec![0.0; self.columns.len()];
                chosen.iter().zip(&slopes).for_each(|(column, slope)| all[*column] = slope / self.lengths[*column]);
                best = (residual, all);
            }
        }
        let (residual, slopes) = best;
        let intercept = self.mean - slopes.iter().zip(&self.means).map(|(slope, mean)| slope * mean).sum::<f64>();
        Fit { intercept, slopes, residual, total: self.total }
    }

    /// The ordinary fit of the chosen columns by Gram and Schmidt's orthogonalisation; `None` where they express each
    /// other.
    fn ordinary(&self, chosen: &[usize]) -> Option<(Vec<f64>, f64)> {
        let mut directions: Vec<Vec<f64>> = Vec::new();
        let mut upper: Vec<Vec<f64>> = Vec::new();
        let mut left = self.y.clone();
        let mut along = Vec::new();
        for column in chosen {
            let mut own = self.columns[*column].clone();
            let mut shares = Vec::new();
            for direction in &directions {
                let share = dot(direction, &own);
                take(&mut own, direction, share);
                shares.push(share);
            }
            let length = dot(&own, &own).sqrt();
            if length < OWN {
                return None;
            }
            own.iter_mut().for_each(|value| *value /= length);
            shares.push(length);
            let share = dot(&own, &left);
            take(&mut left, &own, share);
            along.push(share);
            directions.push(own);
            upper.push(shares);
        }
        // Back substitution: column j is Σ upper[j][i] · direction i.
        let mut slopes = vec![0.0; chosen.len()];
        for at in (0..chosen.len()).rev() {
            let others: f64 = (at + 1..chosen.len()).map(|later| upper[later][at] * slopes[later]).sum();
            slopes[at] = (along[at] - others) / upper[at][at];
        }
        Some((slopes, dot(&left, &left)))
    }
}

fn centred(values: &[f64]) -> (f64, Vec<f64>) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, values.iter().map(|value| value - mean).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn take(from: &mut [f64], direction: &[f64], share: f64) {
    from.iter_mut().zip(direction).for_each(|(value, direction)| *value -= share * direction);
}

//! Where a falling (or rising) share crosses a level, with its interval.
//!
//! Runs at several x, each with good ones among the offered: quasi-binomial regression
//! `logit(share) = a + b·x`, whose dispersion the runs tell, since those of a run share a queue and are no independent
//! draws. The crossing's interval holds every x at which the level lies within the confidence band of the line (Fieller
//! 1954); where the slope cannot be told from none it has no end, and there is no interval.

use crate::{
    Error,
    error::{finite, probability},
    estimate::Interval,
    goodput::Counts,
    student,
};

/// Where the share crosses the level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// The x.
    pub at: f64,
    /// Its interval; `None`: the slope cannot be told from none.
    pub interval: Option<Interval>,
    /// Slope of the logit.
    pub slope: f64,
    /// How many times a run's share varies more than independent draws would; at least 1.
    pub dispersion: f64,
    /// Runs behind it.
    pub runs: usize,
}

/// Fewest runs of a line with an interval.
pub const LEAST_RUNS: usize = 4;
/// Most steps of the fit.
const STEPS: usize = 60;
/// Change of the coefficients at which the fit has ended.
const CONVERGED: f64 = 1e-10;

/// Where the share of `runs` crosses `level`; `None` where there is no line: fewer than [`LEAST_RUNS`] runs, all at one x, or
/// no fit.
///
/// # Errors
/// [`Error::NotFinite`] for an x that is none, [`Error::Probability`] unless 0 < `level` < 1 and 0 < `confidence` < 1.
///
/// # Example: half good between 3 and 4
/// ```
/// use firstcheck_stats::{crossing::crossing, goodput::Counts};
/// let run = |x: f64, good| (x, Counts::new(good, 100).unwrap());
/// let runs = [run(2.0, 97), run(3.0, 80), run(4.0, 19), run(5.0, 4)];
/// let found = crossing(&runs, 0.5, 0.95).unwrap().unwrap();
/// assert!((found.at - 3.5).abs() < 0.05, "{found:?}");
/// ```
pub fn crossing(runs: &[(f64, Counts)], level: f64, confidence: f64) -> Result<Option<Crossing>, Error> {
    let (level, confidence) = (probability("a level", level)?, probability("confidence", confidence)?);
    let xs: Vec<f64> = runs.iter().map(|(x, _)| *x).collect();
    finite("an x", &xs)?;
    if runs.len() < LEAST_RUNS {
        return Ok(None);
    }
    // Around their mean the coefficients are nearly independent, and the fit is well conditioned.
    let centre = xs.iter().sum::<f64>() / xs.len() as f64;
    let points: Vec<Point> = runs.iter().map(|(x, counts)| Point::of(x - centre, *counts)).collect();
    let Some(fit) = fit(&points) else { return Ok(None) };
    let nu = (runs.len() - 2) as f64;
    let pearson: f64 = points.iter().map(|point| point.pearson(&fit)).sum();
    let dispersion = (pearson / nu).max(1.0);
    let wanted = (level / (1.0 - level)).ln();
    let at = centre + (wanted - fit.a) / fit.b;
    if fit.b == 0.0 || !at.is_finite() {
        return Ok(None);
    }
    let t = student::quantile(f64::midpoint(1.0, confidence), nu)?;
    let interval = fit.band(wanted, t * t * dispersion);
    let interval = interval.map(|Interval { lo, hi }| Interval { lo: lo + centre, hi: hi + centre });
    Ok(Some(Crossing { at, interval, slope: fit.b, dispersion, runs: runs.len() }))
}

/// A run, with half a request added to both counts, so that an all-good one has a finite logit.
struct Point {
    x: f64,
    good: f64,
    offered: f64,
}

impl Point {
    fn of(x: f64, counts: Counts) -> Self {
        let offered = counts.offered() as f64;
        Self { x, good: counts.share() * offered + 0.5, offered: offered + 1.0 }
    }

    fn expected(&self, a: f64, b: f64) -> f64 {
        1.0 / (1.0 + (-(a + b * self.x)).exp())
    }

    /// Squared residual over the variance of independent draws.
    fn pearson(&self, fit: &Fit) -> f64 {
        let p = self.expected(fit.a, fit.b);
        let variance = self.offered * p * (1.0 - p);
        if variance > 0.0 { (self.good - self.offered * p).powi(2) / variance } else { 0.0 }
    }
}

/// The line, with the inverse of its information: variances and covariance of independent draws.
struct Fit {
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
}

impl Fit {
    /// Every x at which the band of that squared width holds `wanted`.
    fn band(&self, wanted: f64, width: f64) -> Option<Interval> {
        let d = self.a - wanted;
        let quadratic = self.b * self.b - width * self.bb;
        let linear = 2.0 * (d * self.b - width * self.ab);
        let constant = d * d - width * self.aa;
        let discriminant = linear * linear - 4.0 * quadratic * constant;
        (quadratic > 0.0 && discriminant >= 0.0).then(|| {
            let root = discriminant.sqrt();
            Interval { lo: (-linear - root) / (2.0 * quadratic), hi: (-linear + root) / (2.0 * quadratic) }
        })
    }
}

/// Newton's steps to the largest likelihood, halved while it falls; `None` where they do not end.
fn fit(points: &[Point]) -> Option<Fit> {
    let likelihood = |a: f64, b: f64| -> f64 {
        let of = |point: &Point| {
            let eta = a + b * point.x;
            // ln(1 + eᵑ) without overflow.
            point.good * eta - point.offered * (eta.max(0.0) + (-eta.abs()).exp().ln_1p())
        };
        points.iter().map(of).sum()
    };
    let (mut a, mut b) = (0.0, 0.0);
    for _ in 0..STEPS {
        let (mut g_a, mut g_b, mut w, mut wx, mut wxx) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for point in points {
            let p = point.expected(a, b);
            let (residual, weight) = (point.good - point.offered * p, point.offered * p * (1.0 - p));
            g_a += residual;
            g_b += residual * point.x;
            w += weight;
            wx += weight * point.x;
            wxx += weight * point.x * point.x;
        }
        let determinant = w * wxx - wx * wx;
        if !(determinant.is_finite() && determinant > f64::EPSILON * w * wxx) {
            return None;
        }
        let (mut step_a, mut step_b) = ((wxx * g_a - wx * g_b) / determinant, (w * g_b - wx * g_a) / determinant);
        let before = likelihood(a, b);
        while likelihood(a + step_a, b + step_b) < before && step_a.abs() + step_b.abs() > CONVERGED {
            (step_a, step_b) = (step_a / 2.0, step_b / 2.0);
        }
        (a, b) = (a + step_a, b + step_b);
        if step_a.abs() + step_b.abs() <= CONVERGED * (1.0 + a.abs() + b.abs()) {
            return Some(Fit { a, b, aa: wxx / determinant, ab: -wx / determinant, bb: w / determinant });
        }
    }
    None
}

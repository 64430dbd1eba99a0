//! Looking before the last pair: O'Brien–Fleming spending over t tests.
//!
//! By look i, at information K_i/K_last, a share
//! `2 − 2Φ(z_{1−α/2} / √(K_i/K_last))` of α may be spent (Lan & DeMets 1983).
//! The levels are exact for t statistics, not their normal approximation,
//! which would overspend at so few pairs.
//!
//! Without covariates the differences of look i span n = K − c dimensions, and
//! the paired t is a function of the cosine C between them and the direction
//! of the effect. m further pairs add m dimensions, and on the null
//!
//! `C' = √(K/K')·√B·C + √(m/K')·√(1−B)·W`
//!
//! with B ~ Beta(n/2, m/2) and W the first coordinate of a uniform unit vector
//! in m dimensions, both independent of everything before: a Markov chain,
//! carried forward on a grid of angles. (Covariates must be balanced within
//! each step for this to hold exactly.)

use std::f64::consts::{FRAC_PI_2, PI};

use statrs::distribution::{ContinuousCDF, Normal};

use crate::Error;
use crate::error::probability;

/// The most looks a plan may have.
pub const MAX_LOOKS: usize = 5;

/// Cells of the grid of angles, and nodes of the integral over B: levels are
/// right to 0.00002 (against a grid three times as fine).
const CELLS: usize = 240;
const NODES: usize = 40;
/// A single added pair has W = ±1, and the integrand a step.
const NODES_WITH_STEP: usize = 240;

/// One planned look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// Pairs at this look.
    pub pairs: usize,
    /// α spent up to and including this look.
    pub spent: f64,
    /// The one-sided p value of the paired t below which this look decides.
    pub p: f64,
}

/// The looks of a plan at the given numbers of pairs, with `covariates` fitted
/// at each, for a one-sided error `alpha` over all looks together.
///
/// # Errors
/// [`Error::Looks`] for no look, more than [`MAX_LOOKS`], pairs that do not
/// increase; [`Error::TooFewPairs`] when the first look leaves no degree of
/// freedom; [`Error::Probability`] unless 0 < `alpha` < 1.
pub fn plan(looks: &[usize], covariates: usize, alpha: f64) -> Result<Vec<Look>, Error> {
    let alpha = probability("alpha", alpha)?;
    let refuse = |reason| Error::Looks { looks: looks.to_vec(), reason };
    let (Some(&first), Some(&last)) = (looks.first(), looks.last()) else {
        return Err(refuse("at least one look is needed"));
    };
    if looks.len() > MAX_LOOKS {
        return Err(refuse("at most five looks can be planned"));
    }
    if looks.windows(2).any(|w| w[0] >= w[1]) {
        return Err(refuse("the pairs must increase from look to look"));
    }
    let needed = covariates + 2;
    if first < needed {
        return Err(Error::TooFewPairs { pairs: first, covariates, needed });
    }

    let mut planned = Vec::with_capacity(looks.len());
    let mut chain = Chain::start(first, covariates);
    let mut before = 0.0;
    for (i, &pairs) in looks.iter().enumerate() {
        if i > 0 {
            chain = chain.step(pairs);
        }
        let spent = spending(pairs as f64 / last as f64, alpha);
        let boundary = chain.boundary(spent - before);
        planned.push(Look { pairs, spent, p: angle_cdf(chain.dimensions, -boundary) });
        if pairs < last {
            chain = chain.stop_above(boundary);
        }
        before = spent;
    }
    Ok(planned)
}

/// The share of α that may be spent at `information` in (0, 1].
fn spending(information: f64, alpha: f64) -> f64 {
    let normal = Normal::standard();
    // The last look spends exactly α, without the rounding of Φ(Φ⁻¹).
    if information >= 1.0 {
        return alpha;
    }
    2.0 * normal.cdf(normal.inverse_cdf(alpha / 2.0) / information.sqrt())
}

/// P(angle ≤ θ) for the first coordinate sin θ of a uniform unit vector in
/// `dimensions` dimensions; the density of θ is ∝ cos^{dimensions−2} θ.
fn angle_cdf(dimensions: usize, theta: f64) -> f64 {
    if dimensions == 1 {
        // The vector is ±1: half of the mass at either end.
        return if theta >= FRAC_PI_2 {
            1.0
        } else if theta < -FRAC_PI_2 {
            0.0
        } else {
            0.5
        };
    }
    let (sin, cos) = theta.clamp(-FRAC_PI_2, FRAC_PI_2).sin_cos();
    let cos = cos.max(0.0);
    let k = dimensions - 2;
    // ∫cosᵏ from 0 by the reduction formula, and the same over the half range.
    let (mut part, mut whole) =
        if k.is_multiple_of(2) { (theta.clamp(-FRAC_PI_2, FRAC_PI_2), FRAC_PI_2) } else { (sin, 1.0) };
    let mut power = if k.is_multiple_of(2) { cos } else { cos * cos };
    let mut j = if k.is_multiple_of(2) { 2 } else { 3 };
    while j <= k {
        let factor = (j - 1) as f64 / j as f64;
        part = power * sin / j as f64 + factor * part;
        whole *= factor;
        power *= cos * cos;
        j += 2;
    }
    0.5 + 0.5 * part / whole
}

/// The mass that no look has stopped, over the angle of the cosine C.
struct Chain {
    pairs: usize,
    dimensions: usize,
    /// Cell i spans edges[i] .. edges[i + 1]; empty until the look has stopped
    /// what it stops.
    edges: Vec<f64>,
    mass: Vec<f64>,
    /// How the next value arises, `None` at the first look, where the
    /// distribution is known.
    from: Option<Box<(Chain, Step)>>,
}

/// The move from one look to the next.
struct Step {
    added: usize,
    /// (weight, factor of C, factor of W) for each node of the integral over B.
    nodes: Vec<(f64, f64, f64)>,
}

impl Step {
    fn new(before: &Chain, pairs: usize) -> Self {
        let added = pairs - before.pairs;
        let keep = (before.pairs as f64 / pairs as f64).sqrt();
        let bring = (added as f64 / pairs as f64).sqrt();
        // With √B = sin φ the density of φ is ∝ sin^{n−1}φ·cos^{m−1}φ: smooth.
        let count = if added == 1 { NODES_WITH_STEP } else { NODES };
        let mut nodes: Vec<(f64, f64, f64)> = (0..count)
            .map(|i| {
                let (sin, cos) = ((i as f64 + 0.5) * FRAC_PI_2 / count as f64).sin_cos();
                let weight = sin.powi(before.dimensions as i32 - 1) * cos.powi(added as i32 - 1);
                (weight, keep * sin, bring * cos)
            })
            .collect();
        let total: f64 = nodes.iter().map(|n| n.0).sum();
        nodes.iter_mut().for_each(|n| n.0 /= total);
        Self { added, nodes }
    }

    /// P(C' ≤ to | C = from).
    fn cdf(&self, from: f64, to: f64) -> f64 {
        self.nodes
            .iter()
            .map(|(weight, c, w)| {
                let at = (to - c * from) / w;
                let below = if at >= 1.0 {
                    1.0
                } else if at < -1.0 {
                    0.0
                } else {
                    angle_cdf(self.added, at.asin())
                };
                weight * below
            })
            .sum()
    }
}

impl Chain {
    fn start(pairs: usize, covariates: usize) -> Self {
        Self { pairs, dimensions: pairs - covariates, edges: Vec::new(), mass: Vec::new(), from: None }
    }

    /// The chain at the next look, before anything stops there.
    fn step(self, pairs: usize) -> Self {
        let step = Step::new(&self, pairs);
        let dimensions = self.dimensions + pairs - self.pairs;
        Self { pairs, dimensions, edges: Vec::new(), mass: Vec::new(), from: Some(Box::new((self, step))) }
    }

    /// The mass with an angle of at most θ.
    fn below(&self, theta: f64) -> f64 {
        match self.from.as_deref() {
            None => angle_cdf(self.dimensions, theta),
            Some((before, step)) => {
                let to = theta.sin();
                before.centres().map(|(centre, mass)| mass * step.cdf(centre.sin(), to)).sum()
            }
        }
    }

    fn centres(&self) -> impl Iterator<Item = (f64, f64)> {
        self.edges.windows(2).zip(&self.mass).map(|(edge, mass)| ((edge[0] + edge[1]) / 2.0, *mass))
    }

    /// The angle above which exactly `spend` of the mass lies.
    fn boundary(&self, spend: f64) -> f64 {
        let alive = self.below(FRAC_PI_2);
        let (mut lo, mut hi) = (-FRAC_PI_2, FRAC_PI_2);
        // A half range of π halved 40 times is far below the grid's own error.
        for _ in 0..40 {
            let middle = f64::midpoint(lo, hi);
            if alive - self.below(middle) > spend {
                lo = middle;
            } else {
                hi = middle;
            }
        }
        f64::midpoint(lo, hi)
    }

    /// Puts what lies below the boundary on the grid; the rest has stopped.
    fn stop_above(self, boundary: f64) -> Self {
        let width = (boundary + PI / 2.0) / CELLS as f64;
        let edges: Vec<f64> = (0..=CELLS).map(|i| -FRAC_PI_2 + width * i as f64).collect();
        let below: Vec<f64> = edges.iter().map(|e| self.below(*e)).collect();
        let mass = below.windows(2).map(|w| (w[1] - w[0]).max(0.0)).collect();
        Self { edges, mass, from: None, ..self }
    }
}

//! Failing any of several metrics: maxT by rotation.
//!
//! With the covariates taken out, metric j leaves the vector
//! Y_j = Qᵀ(d_j − M_j·1). Were every effect exactly at its margin, Y would be
//! spherical, whatever the correlation between metrics: each unit vector u
//! could as well have been the direction z of the effect. The largest
//! t_i(u) over all metrics, over many random u, is therefore the distribution
//! against which each observed t_j(z) is held. t_j(z) is exactly the paired t.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::Error;
use crate::design::{Design, dot, norm};
use crate::normal::Normal;

/// The least number of rotations.
pub const MIN_ROTATIONS: usize = 9_999;

/// One metric of the family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metric<'a> {
    /// One difference a pair, worse positive, in the order of the design.
    pub differences: &'a [f64],
    /// Its margin on the same scale.
    pub margin: f64,
}

/// The verdict on one metric, in the order given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// The paired t against the margin; `None` when the differences are
    /// identical.
    pub t: Option<f64>,
    /// The p value against "no metric exceeds its margin", corrected for the
    /// size of the family.
    pub p: f64,
}

/// Adjusted p values of all metrics: (1 + rotations whose largest t reaches
/// t_j) / (1 + rotations), the one being the arrangement observed.
///
/// All metrics are over the same pairs. A metric that lies exactly on its
/// margin without any spread gets p = 1.
///
/// # Errors
/// [`Error::Rotations`] for fewer than [`MIN_ROTATIONS`]; [`Error::Length`] and
/// [`Error::NotFinite`] for differences that do not fit the design.
pub fn adjusted(design: &Design, metrics: &[Metric<'_>], rotations: usize, seed: u64) -> Result<Vec<Adjusted>, Error> {
    if rotations < MIN_ROTATIONS {
        return Err(Error::Rotations { asked: rotations, needed: MIN_ROTATIONS });
    }
    let z = design.unit_direction();
    let family = metrics.iter().map(|m| Member::new(design, m, &z)).collect::<Result<Vec<_>, _>>()?;
    let mut largest = largest_cosines(design, &family, rotations, seed);
    largest.sort_unstable_by(f64::total_cmp);
    Ok(family
        .iter()
        .map(|member| {
            let reached = match &member.unit {
                Some(_) => rotations - largest.partition_point(|c| *c < member.cosine),
                None => rotations,
            };
            Adjusted { t: member.t, p: (1 + reached) as f64 / (1 + rotations) as f64 }
        })
        .collect())
}

struct Member {
    t: Option<f64>,
    /// Y_j / ‖Y_j‖, or `None` when Y_j is nothing but rounding.
    unit: Option<Vec<f64>>,
    /// zᵀY_j / ‖Y_j‖. t is an increasing function of it, common to all
    /// metrics, so the largest t is where the largest cosine is.
    cosine: f64,
}

impl Member {
    fn new(design: &Design, metric: &Metric<'_>, z: &[f64]) -> Result<Self, Error> {
        crate::error::finite("the margins", &[metric.margin])?;
        let split = design.split(metric.differences)?;
        let beyond = split.delta - metric.margin;
        if split.s == 0.0 {
            // Rounding would be drawn as a direction: the sign is all there is.
            let negligible = beyond.abs() <= 1e-12 * metric.margin.abs().max(1.0);
            let sign = beyond.signum();
            let unit = (!negligible).then(|| z.iter().map(|v| sign * v).collect());
            return Ok(Self { t: None, unit, cosine: sign });
        }
        let mut y: Vec<f64> = metric.differences.iter().map(|d| d - metric.margin).collect();
        design.project_out(&mut y);
        let length = norm(&y);
        y.iter_mut().for_each(|v| *v /= length);
        let t = beyond * design.effective_pairs().sqrt() / split.s;
        Ok(Self { t: Some(t), cosine: dot(z, &y), unit: Some(y) })
    }
}

fn largest_cosines(design: &Design, family: &[Member], rotations: usize, seed: u64) -> Vec<f64> {
    let units: Vec<&[f64]> = family.iter().filter_map(|m| m.unit.as_deref()).collect();
    let mut normal = Normal::new(ChaCha8Rng::seed_from_u64(seed));
    let mut u = vec![0.0; design.pairs()];
    (0..rotations)
        .map(|_| {
            // A normal vector without the covariates points in a direction
            // that is uniform over the space they leave.
            u.iter_mut().for_each(|v| *v = normal.next());
            design.project_out(&mut u);
            let length = norm(&u);
            let most = units.iter().map(|y| dot(&u, y)).fold(f64::NEG_INFINITY, f64::max);
            if length > 0.0 { most / length } else { f64::INFINITY }
        })
        .collect()
}

//! Effects of factors over blocks of runs.

use super::{
    grid::{Contrast, Layout},
    taken::{Key, Taken, Weight},
};
use firstcheck_model::isolation::{EffectClaim, EffectKind, EffectRow};
use firstcheck_stats::{Error, design::Design, holm, mde, paired, paired::PairedEstimate};

/// One run of each arm, one after the other on one trace.
#[derive(Debug, Clone)]
pub struct Block {
    /// What was taken of each arm's run; `None` where it is not there.
    pub arms: Vec<Option<Taken>>,
    /// Its place in the block.
    pub order: Vec<f64>,
}

/// What decides a claim on factors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FactorPolicy {
    /// Error over all claims of a kind together.
    pub alpha: f64,
    /// Smallest effect that is named, and smallest interaction that keeps a factor from being named: relative.
    pub least: f64,
    /// Confidence of the intervals that are shown.
    pub confidence: f64,
}

impl Default for FactorPolicy {
    fn default() -> Self {
        Self { alpha: 0.05, least: 0.02, confidence: 0.95 }
    }
}

/// A contrast on a metric, with what the blocks say of it.
struct Fitted {
    row: EffectRow,
    estimate: Option<PairedEstimate>,
}

/// All effects of a layout on all metrics.
///
/// # Errors
/// Numbers of which nothing can be computed.
pub fn effects(
    layout: &Layout,
    blocks: &[Block],
    keys: &[Key],
    policy: &FactorPolicy,
) -> Result<Vec<EffectRow>, Error> {
    let mut fitted: Vec<Fitted> = Vec::new();
    for (at, key) in keys.iter().enumerate() {
        for contrast in &layout.contrasts {
            fitted.push(fit(contrast, blocks, (at, key), policy)?);
        }
    }
    let least = policy.least.ln_1p();
    let named = |kind| matches!(kind, EffectKind::Main | EffectKind::Step);
    claim(
        &mut fitted,
        named,
        policy.alpha,
        |estimate| estimate.effect.p_above(0.0),
        |row, estimate, significant| {
            if significant && estimate.effect.delta >= least {
                row.claim = EffectClaim::Worse;
            }
        },
    )?;
    let better = |estimate: &PairedEstimate| estimate.effect.p_below(0.0);
    claim(&mut fitted, named, policy.alpha, better, |row, estimate, significant| {
        if significant && estimate.effect.delta <= -least {
            row.claim = EffectClaim::Better;
        }
    })?;
    let interacts = |kind| kind == EffectKind::Interaction;
    let two_sided = |estimate: &PairedEstimate| {
        let (above, below) = (estimate.effect.p_above(0.0)?, estimate.effect.p_below(0.0)?);
        Ok(above.zip(below).map(|(above, below)| (2.0 * above.min(below)).min(1.0)))
    };
    claim(&mut fitted, interacts, policy.alpha, two_sided, |row, estimate, significant| {
        let excluded = row.interval.is_some_and(|[low, high]| low > 1.0 || high < 1.0);
        row.claim = match estimate.effect.delta.abs() >= least {
            true if significant => EffectClaim::Interacts,
            true if excluded => EffectClaim::MayInteract,
            _ => EffectClaim::Nothing,
        };
    })?;
    Ok(fitted.into_iter().map(|fitted| fitted.row).collect())
}

fn fit(
    contrast: &Contrast,
    blocks: &[Block],
    (at, key): (usize, &Key),
    policy: &FactorPolicy,
) -> Result<Fitted, Error> {
    let usable: Vec<(f64, f64)> = blocks.iter().filter_map(|block| of_block(contrast, block, at)).collect();
    let mut row = EffectRow {
        effect: contrast.effect.clone(),
        kind: contrast.kind,
        metric: key.metric,
        stat: key.stat.to_string(),
        scale: if key.scale() == Weight::Odds { "odds" } else { "ratio" }.into(),
        ratio: None,
        interval: None,
        confidence: policy.confidence,
        blocks: usable.len() as u64,
        mde: None,
        p: None,
        claim: match contrast.kind {
            EffectKind::Alone | EffectKind::Whole => EffectClaim::Shown,
            _ => EffectClaim::Nothing,
        },
        note: None,
    };
    if usable.len() < blocks.len() {
        let missing = blocks.len() - usable.len();
        let taken = blocks.iter().flat_map(|block| block.arms.iter().flatten());
        let doubt = taken.filter_map(|taken| taken.doubts[at].as_deref()).next();
        let doubt = doubt.map_or(String::new(), |doubt| format!(": {doubt}"));
        row.note = Some(format!("{missing} of {} blocks have no value for it{doubt}", blocks.len()));
    }
    let (differences, places): (Vec<f64>, Vec<f64>) = usable.into_iter().unzip();
    let design = match Design::with_columns(differences.len(), &[places]) {
        Ok(design) => design,
        Err(Error::TooFewPairs { .. }) => return Ok(Fitted { row, estimate: None }),
        Err(error) => return Err(error),
    };
    let estimate = paired::estimate(&design, &differences)?;
    // Worse is positive there; a ratio is of the values as they are.
    let sign = key.worse();
    let interval = estimate.interval(policy.confidence)?;
    let mut ends = [(sign * interval.lo).exp(), (sign * interval.hi).exp()];
    ends.sort_by(f64::total_cmp);
    row.ratio = Some((sign * estimate.effect.delta).exp());
    row.interval = Some(ends);
    row.mde = mde::mde(estimate.s_d, estimate.pairs, estimate.covariates).ok();
    Ok(Fitted { row, estimate: Some(estimate) })
}

/// The contrast in one block, and how far its arms were apart in time; `None` where an arm that it needs has no value.
fn of_block(contrast: &Contrast, block: &Block, at: usize) -> Option<(f64, f64)> {
    let (mut difference, mut place) = (0.0, 0.0);
    for (arm, weight) in contrast.weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        let taken = block.arms.get(arm)?.as_ref().filter(|taken| taken.invalid.is_empty())?;
        difference += weight * taken.scaled[at]?;
        place += weight * block.order.get(arm)?;
    }
    Some((difference, place))
}

/// Settles the claims of one family: p values over all of its effects on all metrics together.
fn claim(
    fitted: &mut [Fitted],
    family: impl Fn(EffectKind) -> bool,
    alpha: f64,
    p: impl Fn(&PairedEstimate) -> Result<Option<f64>, Error>,
    settle: impl Fn(&mut EffectRow, &PairedEstimate, bool),
) -> Result<(), Error> {
    let (mut members, mut values) = (Vec::new(), Vec::new());
    for (at, one) in fitted.iter().enumerate().filter(|(_, one)| family(one.row.kind)) {
        if let Some(estimate) = &one.estimate {
            // Differences that do not vary have no t: an effect is one, and none is none.
            let certain = if estimate.effect.delta == 0.0 { 1.0 } else { 0.0 };
            members.push(at);
            values.push(p(estimate)?.unwrap_or(certain).clamp(0.0, 1.0));
        }
    }
    for (at, adjusted) in members.into_iter().zip(holm::adjusted(&values)?) {
        let Fitted { row, estimate } = &mut fitted[at];
        let Some(estimate) = estimate else { continue };
        row.p = Some(row.p.map_or(adjusted, |before: f64| before.min(adjusted)));
        settle(row, estimate, adjusted <= alpha);
    }
    Ok(())
}

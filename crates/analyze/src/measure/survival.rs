//! How long a block of the prefix cache survives.

use super::{
    counters::{growth, watched},
    kv_pool::KvPool,
    replicas::replicas,
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::{Seconds, Tokens, TokensPerSecond},
};

/// Survival of cached blocks: what the pool has for them over what is written, on one replica.
///
/// `T = C / w` with `C = pool tokens × (1 − share of live requests)` and `w` the tokens that are computed (prompt tokens that
/// were not cached, and answers) a second. A least-recently-used cache forgets what is not asked again within `T`.
#[derive(Debug, Clone, PartialEq)]
pub struct Survival {
    /// `T`.
    pub time: Measurement<Seconds>,
    /// `w`.
    pub written: Measurement<TokensPerSecond>,
    /// `C`.
    pub room: Measurement<Tokens>,
    /// Length of the windows.
    pub window: f64,
    /// Prompt tokens a second, cached or not.
    pub prompts: f64,
    /// Tokens of answers a second.
    pub answers: f64,
}

impl Measure for Survival {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let pool = side.measure::<KvPool>()?;
        let prompt = growth(side, Signal::PromptTokens, Part::Value)?;
        let hits = growth(side, Signal::PrefixHits, Part::Value)?;
        let answers = growth(side, Signal::GenerationTokens, Part::Value)?;
        let window = watched(runs);
        let replicas = replicas(runs) as f64;
        let written = ((prompt.value - hits.value).max(0.0) + answers.value) / window / replicas;
        if !(written > 0.0 && written.is_finite()) {
            return Err(Missing {
                what: "tokens written into the KV pool in the window".into(),
                why: Why::ZeroDenominator,
                obtain: "measure a window with traffic: firstcheck run --url URL".into(),
            });
        }
        let room = pool.tokens.value.0 * (1.0 - live(runs).unwrap_or(0.0));
        let source = Source::Derived {
            by: "pool without live requests / tokens written a second".into(),
            from: vec![pool.tokens.source.clone(), prompt.source, hits.source, answers.source],
        };
        let n = pool.tokens.n;
        Ok(Self {
            time: Measurement { value: Seconds(room / written), interval: None, n, source: source.clone() },
            written: Measurement { value: TokensPerSecond(written), interval: None, n, source: source.clone() },
            room: Measurement { value: Tokens(room), interval: None, n, source },
            window,
            prompts: prompt.value / window / replicas,
            answers: answers.value / window / replicas,
        })
    }
}

impl Survival {
    /// Survival if that share of the prompt tokens were cached: what the load alone does to it.
    pub fn at_hit_rate(&self, rate: f64) -> f64 {
        self.room.value.0 / (self.prompts * (1.0 - rate) + self.answers).max(1e-9)
    }
}

/// Mean share of the pool that live requests hold: over the scrapes of all replicas inside the windows.
fn live(runs: &[RunEvidence]) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0_u32);
    for run in runs {
        for series in run.series(Signal::KvCacheUsage, Part::Value) {
            for (_, usage) in series.inside(run.info.window) {
                sum += usage;
                n += 1;
            }
        }
    }
    (n > 0).then(|| (sum / f64::from(n)).clamp(0.0, 1.0))
}

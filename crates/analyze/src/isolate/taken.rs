//! What is compared of a run: one number a metric, on the scale on which effects add up.

use crate::compare::{Policy, describe};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::{Metric, Stat, Worse},
    report::{Claim, Quantity},
};
use firstcheck_stats::goodput::Counts;

/// A metric with its statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Key {
    /// The metric.
    pub metric: Metric,
    /// Its statistic.
    pub stat: Stat,
}

/// What a metric's effects multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// Its value: the logarithm is compared.
    Ratio,
    /// Its odds: the logit is compared.
    Odds,
}

impl Key {
    /// What a policy gates, in its order.
    pub fn gated(policy: &Policy) -> Vec<Self> {
        policy.gates.iter().map(|gate| Self { metric: gate.metric, stat: gate.stat() }).collect()
    }

    /// What its effects multiply.
    pub fn scale(&self) -> Weight {
        match self.metric {
            Metric::GoodShare | Metric::FailedShare => Weight::Odds,
            _ => Weight::Ratio,
        }
    }

    /// 1 where a larger value is worse, −1 where a smaller one is.
    pub fn worse(&self) -> f64 {
        if self.metric.worse() == Worse::Higher { 1.0 } else { -1.0 }
    }

    /// `TTFT p95`.
    pub fn label(&self) -> String {
        match self.stat {
            Stat::Total => self.metric.label().to_owned(),
            stat => format!("{} {stat}", self.metric.label()),
        }
    }

    /// `ttft p95`.
    pub fn name(&self) -> String {
        format!("{} {}", self.metric, self.stat)
    }
}

/// What is compared of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// Each key's value as it is; `None`: missing, or not to be claimed.
    pub values: Vec<Option<Quantity>>,
    /// The same on the scale on which effects add up, worse positive; `None` where it is missing, unbounded or not to be
    /// claimed.
    pub scaled: Vec<Option<f64>>,
    /// Why a value may not be claimed, where it may not.
    pub doubts: Vec<Option<String>>,
    /// Why the run may not be believed; empty: it may.
    pub invalid: Vec<String>,
}

impl Taken {
    /// Takes what `keys` name from a run.
    pub fn of(run: &RunEvidence, keys: &[Key], policy: &Policy) -> Self {
        let report = describe(run, policy);
        let row = |key: &Key| report.metric(key.metric, &key.stat.to_string());
        let values: Vec<Option<Quantity>> = keys.iter().map(|key| row(key)?.candidate).collect();
        let doubt = |key: &Key| {
            let row = row(key).filter(|row| row.claim == Claim::NotClaimable)?;
            Some(row.note.clone().unwrap_or_else(|| "it may not be claimed".into()))
        };
        let doubts: Vec<Option<String>> = keys.iter().map(doubt).collect();
        let scaled = keys.iter().zip(&values).zip(&doubts).map(|((key, value), doubt)| {
            let n = row(key)?.n[1];
            scaled(key, value.as_ref().filter(|_| doubt.is_none())?.finite()?, n)
        });
        Self { scaled: scaled.collect(), values, doubts, invalid: report.invalid }
    }
}

fn scaled(key: &Key, value: f64, n: Option<u64>) -> Option<f64> {
    let on_its_scale = match key.scale() {
        Weight::Ratio => (value > 0.0).then(|| value.ln())?,
        Weight::Odds => {
            let offered = n?;
            let counted = Counts::new(((value * offered as f64).round() as u64).min(offered), offered).ok()?;
            counted.logit()
        }
    };
    on_its_scale.is_finite().then_some(key.worse() * on_its_scale)
}

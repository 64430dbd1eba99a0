//! Margins of slices that are held to others than everybody.

use super::{Dimension, Slices};
use crate::compare::{
    plan,
    policy::{self, Gate, Policy, PolicyError},
};
use firstcheck_model::metric::{Metric, Stat};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How much worse a gated metric may be in one slice, in place of its gate's margin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceMargin {
    /// The slice, as reports name it: `prompt above 8192`.
    pub slice: String,
    /// Which metric.
    pub metric: Metric,
    /// Which quantile, as its gate has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// How much worse it may be, in the unit of its gate's margin.
    pub margin: f64,
}

impl SliceMargin {
    /// The gate that it takes the place of, with its margin.
    fn gate(&self) -> Gate {
        Gate { metric: self.metric, quantile: self.quantile, margin: self.margin, required: true }
    }

    pub(in crate::compare) fn stat(&self) -> Stat {
        self.gate().stat()
    }

    fn is_of(&self, metric: Metric, stat: Stat) -> bool {
        self.metric == metric && self.stat() == stat
    }
}

impl Policy {
    /// The policy by which the slice of that name is judged.
    pub(in crate::compare) fn of_slice(&self, name: &str) -> Cow<'_, Self> {
        let own: Vec<&SliceMargin> = self.slices.margins.iter().filter(|margin| margin.slice == name).collect();
        if own.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut policy = self.clone();
        for gate in &mut policy.gates {
            if let Some(own) = own.iter().find(|margin| margin.is_of(gate.metric, gate.stat())) {
                gate.margin = own.margin;
            }
        }
        Cow::Owned(policy)
    }

    /// That every margin of a slice is of a slice that may be there, and of a gate that is.
    pub(in crate::compare) fn check_slice_margins(&self) -> Result<(), PolicyError> {
        let known = names(&self.slices);
        for (at, own) in self.slices.margins.iter().enumerate() {
            let gate = format!("{} {} of the slice `{}`", own.metric, own.stat(), own.slice);
            let is_there = known.contains(&own.slice) || self.slices.tenant && is_tenant(&own.slice);
            if !is_there {
                return Err(PolicyError::Slice { name: own.slice.clone(), known: known.join(", ") });
            }
            if !plan::of_slices(self).iter().any(|key| own.is_of(key.metric, key.stat)) {
                return Err(PolicyError::Gate { name: gate, why: "has a margin, and slices are not gated on it" });
            }
            if self.slices.margins[..at]
                .iter()
                .any(|other| other.slice == own.slice && other.is_of(own.metric, own.stat()))
            {
                return Err(PolicyError::Gate { name: gate, why: "is given twice" });
            }
            policy::check_gates(&[own.gate()])?;
        }
        Ok(())
    }
}

/// All slices that have a name before any request is seen.
fn names(slices: &Slices) -> Vec<String> {
    let all = Dimension::of(slices).into_iter().flat_map(|dimension| dimension.all(slices));
    all.map(|slice| slice.name(slices)).collect()
}

fn is_tenant(name: &str) -> bool {
    name.strip_prefix("tenant ").is_some_and(|number| number.parse::<u32>().is_ok())
}

//! Speculative verification is right and the next step diverges (S36). Each fault turns speculation on where it is off.

use super::share;
use crate::{
    config::sampler::{Flaw, Verification},
    fault::{FaultSpec, Param, Rig, Values, scene},
};

const SHARE: Param = share([0.2, 1.0, 1.0], "share of the steps open to it in which it strikes");

fn flawed(values: &Values, rig: &mut Rig<'_>, flaw: Flaw) {
    let share = values.get("share");
    rig.deployment.each_engine(|engine| {
        engine.speculation.get_or_insert_default();
        engine.sampler.verification = Verification { flaw, share };
    });
}

pub(in crate::fault) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "rejected-draft-kept",
        symptom: "S36",
        cause: "rejection-not-rolled-back",
        acts_in: "model state",
        doc: "a rejected draft stays in the model's state",
        scene: scene::PLAIN,
        params: &[SHARE],
        apply: |values, rig| flawed(values, rig, Flaw::KeepsRejected),
    },
    FaultSpec {
        slug: "bonus-token-lost",
        symptom: "S36",
        cause: "bonus-token-missing",
        acts_in: "model state",
        doc: "after a full acceptance of two drafts or more the model's state lacks the bonus token",
        scene: scene::PLAIN,
        params: &[SHARE],
        apply: |values, rig| flawed(values, rig, Flaw::LosesBonus),
    },
    FaultSpec {
        slug: "stale-state-column",
        symptom: "S36",
        cause: "stale-state-column",
        acts_in: "model state",
        doc: "a step without a draft after one that accepted two or more reads the state from before it",
        scene: scene::PLAIN,
        params: &[SHARE],
        apply: |values, rig| flawed(values, rig, Flaw::StaleColumn),
    },
    FaultSpec {
        slug: "tokens-past-end",
        symptom: "S36",
        cause: "end-inside-run",
        acts_in: "verification",
        doc: "tokens accepted behind one that ends the answer are handed out",
        scene: scene::PLAIN,
        params: &[SHARE],
        apply: |values, rig| flawed(values, rig, Flaw::RunsPastEnd),
    },
    FaultSpec {
        slug: "tokens-past-limit",
        symptom: "S36",
        cause: "limit-inside-run",
        acts_in: "verification",
        doc: "tokens accepted beyond the request's limit are handed out",
        scene: scene::PLAIN,
        params: &[SHARE],
        apply: |values, rig| flawed(values, rig, Flaw::RunsPastLimit),
    },
];

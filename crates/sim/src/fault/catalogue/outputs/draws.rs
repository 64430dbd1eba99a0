//! A seeded request changes when the batch is reordered (S37).

use crate::{
    config::sampler::SeedUse,
    fault::{FaultSpec, Rig, scene},
};

fn draws(rig: &mut Rig<'_>, seed_use: SeedUse) {
    rig.deployment.each_engine(|engine| engine.sampler.seed_use = seed_use);
}

pub(in crate::fault) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "draws-by-row",
        symptom: "S37",
        cause: "row-keyed",
        acts_in: "sampler",
        doc: "draws come from the first row's seed and the row",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| draws(rig, SeedUse::ByRow),
    },
    FaultSpec {
        slug: "unseeded-neighbour",
        symptom: "S37",
        cause: "unseeded-neighbour",
        acts_in: "sampler",
        doc: "one request without a seed in the batch makes all draw from the shared generator",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| draws(rig, SeedUse::SharedIfAnyUnseeded),
    },
    FaultSpec {
        slug: "engine-counter",
        symptom: "S37",
        cause: "global-counter",
        acts_in: "sampler",
        doc: "draws are counted by the engine's steps, which other requests advance",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| draws(rig, SeedUse::EngineCounter),
    },
    FaultSpec {
        slug: "seeded-on-change",
        symptom: "S37",
        cause: "reseeded-on-change",
        acts_in: "sampler",
        doc: "the generator is seeded again only by a seed that differs from the one before",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| draws(rig, SeedUse::OnChange),
    },
    FaultSpec {
        slug: "stream-restarts",
        symptom: "S37",
        cause: "resume-restarts-stream",
        acts_in: "sampler",
        doc: "a request's draws begin again from the first after a preemption",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| draws(rig, SeedUse::RestartOnResume),
    },
    FaultSpec {
        slug: "drafts-advance-draws",
        symptom: "S37",
        cause: "several-draws-a-token",
        acts_in: "sampler",
        doc: "rejected drafts advance a request's draws; speculation is turned on where it is off",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| {
            rig.deployment.each_engine(|engine| {
                engine.speculation.get_or_insert_default();
            });
            draws(rig, SeedUse::ByDraw);
        },
    },
];

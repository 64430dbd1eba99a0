//! Rollout log probabilities disagree with the trainer's (S34).

use super::spread;
use crate::{
    config::sampler::LogprobsMode,
    fault::{FaultSpec, Param, param, scene},
};

const PERIOD: Param =
    param("update_seconds", "s", [2.0, 2.0, 2.0], [1e-3, 1e6], "time between two updates of the weights");

pub(in crate::fault) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "warm-default",
        symptom: "S34",
        cause: "temperature",
        acts_in: "sampling defaults",
        doc: "requests that name no temperature are drawn at one below 1, and log probabilities are returned raw",
        scene: scene::PLAIN,
        params: &[param("temperature", "", [0.8, 0.6, 0.3], [0.01, 10.0], "the temperature")],
        apply: |values, rig| {
            let temperature = values.get("temperature");
            rig.deployment.each_engine(|engine| {
                engine.sampler.defaults.temperature = Some(temperature);
                engine.sampler.logprobs_mode = LogprobsMode::RawLogprobs;
            });
        },
    },
    FaultSpec {
        slug: "renormalised-support",
        symptom: "S34",
        cause: "support",
        acts_in: "sampler",
        doc: "log probabilities are returned over the kept tokens only, while the trainer has all",
        scene: scene::PLAIN,
        params: &[param("top_p", "", [0.98, 0.9, 0.7], [0.01, 1.0], "probability kept")],
        apply: |values, rig| {
            let top_p = values.get("top_p");
            rig.deployment.each_engine(|engine| {
                engine.sampler.defaults.top_p = Some(top_p);
                engine.sampler.logprobs_mode = LogprobsMode::ProcessedLogprobs;
            });
        },
    },
    FaultSpec {
        slug: "rollout-penalty",
        symptom: "S34",
        cause: "penalties",
        acts_in: "sampling defaults",
        doc: "a repetition penalty that the trainer does not know is in the returned log probabilities",
        scene: scene::PLAIN,
        params: &[param("repetition_penalty", "", [1.03, 1.1, 1.3], [0.01, 100.0], "the penalty")],
        apply: |values, rig| {
            let penalty = values.get("repetition_penalty");
            rig.deployment.each_engine(|engine| {
                engine.sampler.defaults.repetition_penalty = Some(penalty);
                engine.sampler.logprobs_mode = LogprobsMode::ProcessedLogprobs;
            });
        },
    },
    FaultSpec {
        slug: "rollout-precision",
        symptom: "S34",
        cause: "numerics",
        acts_in: "output layer",
        doc: "the engine's output layer is less precise than the trainer's",
        scene: scene::PLAIN,
        params: &[spread([0.005, 0.03, 0.1], "spread of logits")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| {
                (engine.sampler.numerics.build_sd, engine.sampler.numerics.build) = (sd, 1);
            });
        },
    },
    FaultSpec {
        slug: "stale-weights",
        symptom: "S34",
        cause: "stale-weights",
        acts_in: "weight updates",
        doc: "updates of the weights no longer reach the engine",
        scene: scene::PLAIN,
        params: &[PERIOD, spread([0.02, 0.05, 0.15], "change of a logit in an update")],
        apply: |values, rig| {
            let (update_seconds, update_sd) = (values.get("update_seconds"), values.get("sd"));
            rig.deployment.each_engine(|engine| {
                let weights = &mut engine.sampler.weights;
                (weights.update_seconds, weights.update_sd, weights.last_loaded) = (update_seconds, update_sd, Some(0));
            });
        },
    },
    FaultSpec {
        slug: "shifted-logprobs",
        symptom: "S34",
        cause: "index-shift",
        acts_in: "log probabilities",
        doc: "each token is given the log probability of one before it",
        scene: scene::PLAIN,
        params: &[param("places", "tokens", [1.0, 1.0, 2.0], [1.0, 100.0], "by how many places")],
        apply: |values, rig| {
            let places = values.count("places");
            rig.deployment.each_engine(|engine| engine.sampler.logprob_lag = places);
        },
    },
];

//! Quality dropped and answers end early after an engine migration (S30).

use super::{share, spread};
use crate::{
    fault::{FaultSpec, param, scene},
    language::special::{END_OF_TEXT, END_OF_TURN},
};

pub(in crate::fault) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "double-bos",
        symptom: "S30",
        cause: "prompt-ids",
        acts_in: "tokeniser",
        doc: "the template writes the token that begins a text, and the tokeniser puts another in front",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| rig.deployment.each_engine(|engine| engine.sampler.prompt.bos_tokens = 2),
    },
    FaultSpec {
        slug: "other-template",
        symptom: "S30",
        cause: "prompt-ids",
        acts_in: "chat template",
        doc: "the new engine's chat template writes a system block of its own and another hand-over to the model",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [4.0, 24.0, 120.0], [1.0, 1e5], "length of the system block")],
        apply: |values, rig| {
            let tokens = values.count("tokens");
            rig.deployment.each_engine(|engine| {
                let prompt = &mut engine.sampler.prompt;
                (prompt.head_tokens, prompt.tail_tokens) = (tokens, prompt.tail_tokens + 3);
            });
        },
    },
    FaultSpec {
        slug: "left-truncation",
        symptom: "S30",
        cause: "prompt-ids",
        acts_in: "tokeniser",
        doc: "long prompts lose their beginning, the system prompt with it",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [512.0, 256.0, 64.0], [1.0, 1e6], "longest prompt that stays whole")],
        apply: |values, rig| {
            let tokens = values.count("tokens");
            rig.deployment.each_engine(|engine| {
                (engine.sampler.prompt.truncate_to, engine.sampler.prompt.truncate_left) = (tokens, true);
            });
        },
    },
    FaultSpec {
        slug: "generation-config",
        symptom: "S30",
        cause: "sampling-settings",
        acts_in: "sampling defaults",
        doc: "the model's generation_config.json fills in what requests do not say",
        scene: scene::PLAIN,
        params: &[
            param("repetition_penalty", "", [1.05, 1.1, 1.3], [0.01, 100.0], "repetition penalty that it brings"),
            param("top_p", "", [0.95, 0.9, 0.8], [0.01, 1.0], "probability that it keeps"),
        ],
        apply: |values, rig| {
            let (penalty, top_p) = (values.get("repetition_penalty"), values.get("top_p"));
            rig.deployment.each_engine(|engine| {
                let defaults = &mut engine.sampler.defaults;
                (defaults.repetition_penalty, defaults.top_p) = (Some(penalty), Some(top_p));
            });
        },
    },
    FaultSpec {
        slug: "lost-stop-token",
        symptom: "S30",
        cause: "stop-handling",
        acts_in: "stop tokens",
        doc: "the new engine does not stop at the token that ends a turn: answers ramble until their limit",
        scene: scene::PLAIN,
        params: &[],
        apply: |_, rig| rig.deployment.each_engine(|engine| engine.sampler.stop_token_ids = vec![END_OF_TEXT]),
    },
    FaultSpec {
        slug: "false-stop-token",
        symptom: "S30",
        cause: "stop-handling",
        acts_in: "stop tokens",
        doc: "an ordinary word is in the new engine's list of stop tokens: answers end early",
        scene: scene::PLAIN,
        params: &[param("words", "", [2.0, 8.0, 32.0], [1.0, 1024.0], "how many words of the vocabulary are")],
        apply: |values, rig| {
            let words = values.count("words");
            rig.deployment.each_engine(|engine| {
                engine.sampler.stop_token_ids = [END_OF_TURN, END_OF_TEXT].into_iter().chain(0..words).collect();
            });
        },
    },
    FaultSpec {
        slug: "default-max-tokens",
        symptom: "S30",
        cause: "stop-handling",
        acts_in: "sampling defaults",
        doc: "the new engine limits every answer",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [128.0, 64.0, 16.0], [1.0, 1e6], "the limit")],
        apply: |values, rig| {
            let tokens = values.count("tokens").max(1);
            rig.deployment.each_engine(|engine| engine.sampler.defaults.max_tokens = Some(tokens));
        },
    },
    FaultSpec {
        slug: "lost-rope-scaling",
        symptom: "S30",
        cause: "weights-or-precision",
        acts_in: "model configuration",
        doc: "the new engine reads another position encoding: log probabilities drift with position",
        scene: scene::PLAIN,
        params: &[spread([0.1, 0.3, 1.0], "spread of logits a thousand tokens of position")],
        apply: |values, rig| {
            let sd = values.get("sd");
            rig.deployment.each_engine(|engine| engine.sampler.numerics.position = sd);
        },
    },
    FaultSpec {
        slug: "lossy-top-k",
        symptom: "S30",
        cause: "sampler-bug",
        acts_in: "sampler",
        doc: "an approximate top-k loses the likeliest token in a share of draws",
        scene: scene::PLAIN,
        params: &[share([0.02, 0.1, 0.3], "share of draws")],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| engine.sampler.drop_top_share = share);
        },
    },
];

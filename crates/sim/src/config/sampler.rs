//! How tokens are chosen and what is told of it: the defaults are those of a healthy engine.
//!
//! What an engine may do wrong is a parameter here like any other, with a healthy default.

use super::error::{ConfigError, share, within};
use crate::language::special::{END_OF_TEXT, END_OF_TURN};
use serde::{Deserialize, Serialize};

/// How tokens are chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sampler {
    /// Seed of the generator that all requests without a seed of their own share.
    pub seed: u64,
    /// What a returned log probability is the logarithm of.
    pub logprobs_mode: LogprobsMode,
    /// Most log probabilities a token that a request may ask for.
    pub max_logprobs: u32,
    /// Places by which returned log probabilities lag behind their tokens; healthy: 0.
    pub logprob_lag: u32,
    /// Tokens that end an answer.
    pub stop_token_ids: Vec<u32>,
    /// What the server makes of a prompt before the model sees it.
    pub prompt: PromptForm,
    /// Sampling settings of requests that do not say: what `generation_config.json` brings.
    pub defaults: GenerationDefaults,
    /// What a seeded draw depends on.
    pub seed_use: SeedUse,
    /// Share of draws that lose the likeliest token, as an approximate top-k does; healthy: 0.
    pub drop_top_share: f64,
    /// What logits depend on besides the context.
    pub numerics: Numerics,
    /// The weights that are loaded.
    pub weights: Weights,
    /// What a verification of drafts leaves behind.
    pub verification: Verification,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            seed: 0,
            logprobs_mode: LogprobsMode::default(),
            max_logprobs: 20,
            logprob_lag: 0,
            stop_token_ids: vec![END_OF_TURN, END_OF_TEXT],
            prompt: PromptForm::default(),
            defaults: GenerationDefaults::default(),
            seed_use: SeedUse::default(),
            drop_top_share: 0.0,
            numerics: Numerics::default(),
            weights: Weights::default(),
            verification: Verification::default(),
        }
    }
}

/// What a returned log probability is the logarithm of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogprobsMode {
    /// The model's own distribution over the whole vocabulary, whatever the sampling settings.
    #[default]
    RawLogprobs,
    /// The distribution that was drawn from: after penalties, temperature and truncation, over what was kept.
    ProcessedLogprobs,
}

/// What the server makes of a prompt before the model sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptForm {
    /// Tokens that begin a text, put in front.
    pub bos_tokens: u32,
    /// Tokens of a system or tool block, put behind those.
    pub head_tokens: u32,
    /// Tokens that hand the turn to the model, put at the end.
    pub tail_tokens: u32,
    /// Which template the tokens of head and tail come from.
    pub template: u64,
    /// Longest prompt; 0: any.
    pub truncate_to: u32,
    /// Whether a prompt too long loses its beginning; else its end.
    pub truncate_left: bool,
}

/// Sampling settings of requests that do not say; `None`: the engine's neutral value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GenerationDefaults {
    /// Softness of the distribution.
    pub temperature: Option<f64>,
    /// Likeliest tokens kept.
    pub top_k: Option<u32>,
    /// Probability kept.
    pub top_p: Option<f64>,
    /// Least probability kept, as a share of the likeliest token's.
    pub min_p: Option<f64>,
    /// Divisor of the logits of tokens seen before.
    pub repetition_penalty: Option<f64>,
    /// Most tokens to generate.
    pub max_tokens: Option<u32>,
}

/// What a seeded draw depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeedUse {
    /// The request's seed and the token's position: nothing else.
    #[default]
    PerRequest,
    /// The seed of the batch's first row, and the row.
    ByRow,
    /// The request's own, unless a neighbour in the batch has no seed: then the shared generator's.
    SharedIfAnyUnseeded,
    /// The request's seed and the engine's count of steps.
    EngineCounter,
    /// One generator, seeded again only by a seed that differs from the one before.
    OnChange,
    /// The request's own, counted from the start again after each preemption.
    RestartOnResume,
    /// The request's own, counted in draws: drafts that were verified count too.
    ByDraw,
}

/// What logits depend on besides the context, as standard deviations of a logit (nats). Healthy: 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Numerics {
    /// By the kernel that is chosen for the number of rows; not monotone in it. A row alone is the reference.
    pub batch_shape: f64,
    /// By nothing that repeats: a race, or memory that was never written.
    pub race: f64,
    /// By how much of the prompt was found in the cache.
    pub prefix_hit: f64,
    /// By how often the request was preempted and computed again.
    pub recompute: f64,
    /// By hardware, kernels or precision: the same for all requests of an engine with one [`Self::build`].
    pub build_sd: f64,
    /// Which build.
    pub build: u64,
    /// By position in the sequence, a thousand tokens of it.
    pub position: f64,
    /// By the largest activation of the batch, a doubling over the row's own: one scale for the whole tensor.
    pub tensor_scale: f64,
    /// By which of two kernels is chosen at [`Self::switch_rows`].
    pub kernel_switch: f64,
    /// Rows from which the other kernel is chosen; 0: never.
    pub switch_rows: u32,
    /// By which prompt came first after the start: a scale calibrated on it.
    pub first_prompt: f64,
}

/// The weights that are loaded, and a trainer that makes new ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// Updates made before the start.
    pub version: u64,
    /// Standard deviation of a logit's change in an update, nats.
    pub update_sd: f64,
    /// Time between two updates, seconds; 0: there are none.
    pub update_seconds: f64,
    /// The last update that reaches the engine; `None`: all do.
    pub last_loaded: Option<u64>,
}

impl Weights {
    /// Updates made by a moment, nanoseconds.
    pub fn made_at(&self, now_ns: i64) -> u64 {
        let made = if self.update_seconds > 0.0 { (now_ns as f64 / 1e9 / self.update_seconds) as u64 } else { 0 };
        self.version.saturating_add(made)
    }

    /// The update that the engine runs on at a moment, nanoseconds.
    pub fn loaded_at(&self, now_ns: i64) -> u64 {
        self.made_at(now_ns).min(self.last_loaded.unwrap_or(u64::MAX))
    }
}

/// What a verification of drafts leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verification {
    /// What goes wrong; healthy: nothing.
    pub flaw: Flaw,
    /// Share of the steps open to it in which it does.
    pub share: f64,
}

impl Default for Verification {
    fn default() -> Self {
        Self { flaw: Flaw::Nothing, share: 1.0 }
    }
}

/// What goes wrong at the boundary between two verified steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flaw {
    /// Nothing.
    #[default]
    Nothing,
    /// A rejected draft stays in the model's state.
    KeepsRejected,
    /// After a full acceptance of two drafts or more the model's state lacks the bonus token.
    LosesBonus,
    /// A step without a draft after one that accepted two or more reads the state from before it.
    StaleColumn,
    /// Tokens accepted behind one that ends the answer are handed out.
    RunsPastEnd,
    /// Tokens accepted beyond the request's limit are handed out.
    RunsPastLimit,
}

impl Sampler {
    /// Whether an engine can start with it.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let (numerics, defaults) = (&self.numerics, &self.defaults);
        let spreads = [
            ("sampler.numerics.batch_shape", numerics.batch_shape),
            ("sampler.numerics.race", numerics.race),
            ("sampler.numerics.prefix_hit", numerics.prefix_hit),
            ("sampler.numerics.recompute", numerics.recompute),
            ("sampler.numerics.build_sd", numerics.build_sd),
            ("sampler.numerics.position", numerics.position),
            ("sampler.numerics.tensor_scale", numerics.tensor_scale),
            ("sampler.numerics.kernel_switch", numerics.kernel_switch),
            ("sampler.numerics.first_prompt", numerics.first_prompt),
            ("sampler.weights.update_sd", self.weights.update_sd),
        ];
        for (name, value) in spreads {
            within(name, value, 0.0, 100.0, "0 to 100")?;
        }
        within("sampler.weights.update_seconds", self.weights.update_seconds, 0.0, 1e9, "0 to 1e9 s")?;
        share("sampler.drop_top_share", self.drop_top_share)?;
        share("sampler.verification.share", self.verification.share)?;
        let form = &self.prompt;
        for (name, tokens) in [
            ("sampler.prompt.bos_tokens", form.bos_tokens),
            ("sampler.prompt.head_tokens", form.head_tokens),
            ("sampler.prompt.tail_tokens", form.tail_tokens),
        ] {
            within(name, tokens, 0, 1 << 20, "0 to 1048576")?;
        }
        let optional = [
            ("sampler.defaults.temperature", defaults.temperature, 0.0, 100.0, "0 to 100"),
            ("sampler.defaults.top_p", defaults.top_p, f64::MIN_POSITIVE, 1.0, "above 0, up to 1"),
            ("sampler.defaults.min_p", defaults.min_p, 0.0, 1.0, "0 to 1"),
            ("sampler.defaults.repetition_penalty", defaults.repetition_penalty, 0.01, 100.0, "0.01 to 100"),
        ];
        for (name, value, least, most, expected) in optional {
            value.map_or(Ok(()), |value| within(name, value, least, most, expected))?;
        }
        if defaults.max_tokens == Some(0) {
            let (name, expected) = ("sampler.defaults.max_tokens", "1 or more");
            return Err(ConfigError::OutOfRange { name, value: "0".into(), expected });
        }
        Ok(())
    }
}

impl GenerationDefaults {
    /// The settings as the engine's warning at its start lists them, a Python dictionary; `None` when there is none.
    pub fn python_dict(&self) -> Option<String> {
        let real = |value: Option<f64>| value.map(|value| format!("{value:?}"));
        let whole = |value: Option<u32>| value.map(|value| value.to_string());
        let fields = [
            ("repetition_penalty", real(self.repetition_penalty)),
            ("temperature", real(self.temperature)),
            ("top_k", whole(self.top_k)),
            ("top_p", real(self.top_p)),
            ("min_p", real(self.min_p)),
            ("max_tokens", whole(self.max_tokens)),
        ];
        let given: Vec<_> =
            fields.into_iter().filter_map(|(name, value)| Some(format!("'{name}': {}", value?))).collect();
        (!given.is_empty()).then(|| format!("{{{}}}", given.join(", ")))
    }
}

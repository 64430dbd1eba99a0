//! An LLM-serving engine in virtual time: the scheduler and KV cache of vLLM V1 for dense full-attention models, step
//! times from a calibrated roofline, and the metrics page it would show.
//!
//! The [`Engine`] knows no clock: [`simulate()`] drives one in virtual time, [`simulate_scenario`] a [`Deployment`] of
//! several with whatever goes wrong in it ([`fault`]), the `serve` feature one behind HTTP. It copies
//! control flow, not numerics: tokens come from a toy [`language`] model.
//!
//! **What is modelled** of vLLM V1: continuous batching with a token budget and chunked prefill, admission in order of
//! arrival or priority with the full-prompt gate, paged KV blocks with chained hashes and lazy eviction, preemption by
//! recompute, steps decided ahead of results, drafts and their verification, structured output, a second KV tier, images;
//! of SGLang: its scheduler over a radix tree. Of both: CUDA graphs, ranks that wait for one another, attention
//! ranks with requests of their own, host and frontend
//! time, pauses, spread of step times. Everything that can misbehave is a named parameter of [`EngineConfig`] whose
//! default is healthy. **What is not**: other attention kinds, LoRA, pipelined layers.
//!
//! # Example: one request, alone
//! ```
//! use firstcheck_sim::{Engine, EngineConfig, NewRequest};
//! let mut engine = Engine::new(EngineConfig::default(), 0)?;
//! engine.submit(0, NewRequest::forced(7, vec![1; 100], 2))?;
//! let mut now = engine.next_ready_ns().unwrap_or(0);
//! let mut tokens = 0;
//! while let Some(end) = engine.begin_step(now) {
//!     tokens += engine.finish_step(end).outputs.len();
//!     now = end;
//! }
//! assert_eq!(tokens, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod clock;
pub mod config;
mod core;
pub mod deployment;
pub mod emit;
pub mod encoder;
pub mod engine;
pub mod fault;
mod frontend;
mod grammar;
pub mod kv_cache;
pub mod language;
pub mod memory;
pub mod radix_cache;
pub mod request;
pub mod rollout;
pub mod router;
mod scheduler;
#[cfg(feature = "serve")]
pub mod serve;
pub mod sglang;
pub mod simulate;
mod speculation;
pub mod step;
pub mod timing;

pub use config::{
    AllReduce, ClassAcceptance, ConfigError, DataRank, Defects, Encoder, EngineConfig, EngineKind, Experts, Frontend,
    GraphMode, Graphs, Host, LateRank, Offload, Parallel, Pause, PauseClock, Policy, SchedulePolicy, Sglang, SlowRank,
    Speculation, Structured,
};
pub use deployment::{Deployment, DeploymentError, Scenario};
pub use engine::{Death, Engine, Finished, Output, Refusal, Spoken, StepResult};
pub use request::{Features, FinishReason, Images, Life, NewRequest, RequestId};
pub use simulate::{
    Attachment, RequestTruth, SimError, SimulateOptions, Simulated, Truth, simulate, simulate_scenario,
    simulate_with_truth,
};
pub use step::{GraphUse, RankStep, StepRecord};
pub use timing::{ExpertParallel, Linear, Noise, Preset, Roofline, Shape, StepShape, Timing};

//! What a failed allocation of device memory says of itself.

use crate::side::{Measure, Side};
use firstcheck_model::{
    engine_log::{Failure, FailureKind, StartPhase},
    evidence::Kind,
    measurement::{Fact, Missing, Source},
    unit::{Bytes, Unit},
};

/// Where an allocation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    /// The encoder of images, video or sound, or its projector.
    Encoder,
    /// The language model.
    LanguageModel,
    /// A front end: it has no part in serving tokens.
    FrontEnd,
    /// The frames do not tell.
    Unknown,
}

/// The last failed allocation of a server that was ready, from its log.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceMemoryFailure {
    /// Bytes asked for.
    pub tried: Option<Bytes>,
    /// Bytes of the device.
    pub total: Option<Bytes>,
    /// Bytes that were free.
    pub free: Option<Bytes>,
    /// Bytes that the failing process held.
    pub own: Option<Bytes>,
    /// Where it failed.
    pub within: Within,
    /// The frame that tells where.
    pub frame: Option<String>,
    /// The process that tells it.
    pub process: Option<String>,
    /// Where it is written.
    pub source: Source,
}

/// Parts of functions of an encoder, by their engines and models.
const ENCODER: [&str; 10] = [
    "mm_encoder",
    "multimodal",
    "get_image_feature",
    "image_input",
    "video_input",
    "audio_input",
    "image_embed",
    "vision",
    "visual",
    "pixel",
];

/// Parts of functions of a language model's step.
const LANGUAGE_MODEL: [&str; 6] =
    ["execute_model", "forward_batch_generation", "run_batch", "forward_extend", "forward_decode", "_model_forward"];

impl DeviceMemoryFailure {
    /// Bytes that other processes held: all that is neither free nor its own. Not all of them are listed in the message.
    pub fn others(&self) -> Option<f64> {
        Some((self.total?.0 - self.free?.0 - self.own?.0).max(0.0))
    }

    /// A sentence with a number of bytes from it.
    pub fn fact(&self, text: impl Into<String>, bytes: Option<Bytes>) -> Fact {
        let value = bytes.map(|bytes| bytes.0);
        let unit = value.map(|_| Bytes::NAME.to_owned());
        Fact { value, unit, n: value.map(|_| 1), ..Fact::told(text, self.source.clone()) }
    }
}

/// What logs say of failed allocations: `None` where they hold none after the start.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceMemory(pub Option<DeviceMemoryFailure>);

impl Measure for DeviceMemory {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        if let Some(missing) = side.evidence.lacks(Kind::EngineLog) {
            return Err(missing);
        }
        let mut all =
            side.evidence.logs.iter().flat_map(|log| log.failures.iter().map(move |failure| (&log.label, failure)));
        let ran = |failure: &Failure| {
            failure.kind == FailureKind::OutOfMemory && failure.phase.is_some_and(|phase| phase >= StartPhase::Ready)
        };
        Ok(Self(all.rfind(|(_, failure)| ran(failure)).map(|(label, failure)| of(label, failure))))
    }
}

fn of(label: &str, failure: &Failure) -> DeviceMemoryFailure {
    let memory = failure.memory.unwrap_or_default();
    let named =
        |parts: &[&str]| failure.functions.iter().find(|function| parts.iter().any(|part| function.contains(part)));
    let front_end = failure.process.as_deref().is_some_and(|process| {
        process.starts_with("APIServer") || process.contains("okenizer") || process.contains("rocessor")
    });
    let (within, frame) = match (named(&ENCODER), named(&LANGUAGE_MODEL)) {
        _ if front_end => (Within::FrontEnd, failure.frame.clone()),
        (Some(frame), _) => (Within::Encoder, Some(frame.clone())),
        (None, Some(frame)) => (Within::LanguageModel, Some(frame.clone())),
        (None, None) => (Within::Unknown, failure.frame.clone()),
    };
    DeviceMemoryFailure {
        tried: memory.tried,
        total: memory.total,
        free: memory.free.map(|free| Bytes(free.0.max(0.0))),
        own: memory.own,
        within,
        frame,
        process: failure.process.clone(),
        source: Source::line(label, failure.line),
    }
}

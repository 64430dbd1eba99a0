//! What really happened in a simulated run.

use crate::{deployment::HandedOver, fault::Fault, request::Life};
use serde::Serialize;

/// The engine's own account of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Truth {
    /// One row a request; `None` for one that did not end in the engine (refused, given up, never sent).
    pub requests: Vec<Option<RequestTruth>>,
    /// Steps.
    pub steps: u64,
    /// Time spent in steps, nanoseconds.
    pub busy_ns: i64,
    /// Preemptions.
    pub preemptions: u64,
    /// Tokens computed a second time, over the requests that ended.
    pub recomputed_tokens: u64,
    /// Tokens generated.
    pub generation_tokens: u64,
    /// Highest share of KV blocks referenced at a step's end.
    pub peak_kv_usage: f64,
    /// End of the run, nanoseconds.
    pub end_ns: i64,
    /// Each replica by itself, since its last start.
    pub replicas: Vec<ReplicaTruth>,
    /// What was made to go wrong.
    pub faults: Vec<FaultTruth>,
}

/// A replica's own account of a run, since its last start.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplicaTruth {
    /// Its name.
    pub name: String,
    /// Steps.
    pub steps: u64,
    /// Time spent in steps, nanoseconds.
    pub busy_ns: i64,
    /// Preemptions.
    pub preemptions: u64,
    /// Tokens generated.
    pub generation_tokens: u64,
    /// Highest share of KV blocks referenced at a step's end.
    pub peak_kv_usage: f64,
    /// How often its process was started again.
    pub restarts: u32,
}

/// A fault as it acted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultTruth {
    /// The fault in its text form.
    pub fault: String,
    /// Code of the symptom.
    pub symptom: String,
    /// The cause that a check should find.
    pub cause: String,
    /// From when, nanoseconds.
    pub start_ns: i64,
    /// Until when, nanoseconds; `None`: to the end.
    pub end_ns: Option<i64>,
}

/// The engine's own account of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RequestTruth {
    /// The replica that answered.
    pub replica: u32,
    /// Attempts that the client made.
    pub attempts: u8,
    /// Prompt tokens.
    pub prompt_tokens: u32,
    /// Tokens generated.
    pub output_tokens: u32,
    /// What its client knows of it.
    pub seen: Seen,
    /// Its course; of two pools, in the one that answered.
    pub life: Life,
    /// How it came from one pool to the other, where there are two.
    pub handed_over: Option<HandedOver>,
}

/// Moments of a request at its client, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// When it was to be sent.
    pub intended_ns: i64,
    /// When it was sent.
    pub sent_ns: i64,
    /// When its first token came.
    pub first_token_ns: i64,
    /// When its last token came.
    pub last_token_ns: i64,
}

impl RequestTruth {
    /// Its course where its prompt was computed.
    pub fn prompt_life(&self) -> &Life {
        self.handed_over.as_ref().map_or(&self.life, |handed_over| &handed_over.prefill)
    }

    /// Between arrival and the core's taking it in, nanoseconds.
    pub fn engine_input_ns(&self) -> i64 {
        self.life.queued_ns - self.life.arrival_ns
    }

    /// Between being taken in and first scheduled, nanoseconds.
    pub fn queue_ns(&self) -> Option<i64> {
        Some(self.life.scheduled_ns? - self.life.queued_ns)
    }

    /// Between first scheduled and first token, nanoseconds.
    pub fn prefill_ns(&self) -> Option<i64> {
        Some(self.life.first_token_ns? - self.life.scheduled_ns?)
    }

    /// Between first and last token, nanoseconds; preempted waits lie within.
    pub fn decode_ns(&self) -> Option<i64> {
        Some(self.life.last_token_ns? - self.life.first_token_ns?)
    }
}

impl From<&Fault> for FaultTruth {
    fn from(fault: &Fault) -> Self {
        Self {
            fault: fault.to_string(),
            symptom: fault.spec.symptom.into(),
            cause: fault.spec.cause.into(),
            start_ns: fault.start_ns,
            end_ns: fault.end_ns,
        }
    }
}

//! Per-request stage spans.

use crate::moment::Moment;
use serde::{Deserialize, Serialize};

macro_rules! stages {
    ($($(#[$meta:meta])* $variant:ident = $name:literal, $label:literal $(= [$($part:ident),+])?;)+) => {
        /// A stage of a request's life, or several that a source does not tell apart.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Stage { $($(#[$meta])* $variant),+ }

        impl Stage {
            /// All stages, in the order of a request's life.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// The name in reports: what it contains.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$variant => $label),+ }
            }

            /// The stages that it does not tell apart; itself alone where it is one.
            pub const fn contains(self) -> &'static [Self] {
                match self { $(Self::$variant => stages!(@parts $variant $(= [$($part),+])?)),+ }
            }
        }
    };
    (@parts $variant:ident) => { &[Self::$variant] };
    (@parts $variant:ident = [$($part:ident),+]) => { &[$(Self::$part),+] };
}

stages! {
    /// Within the client: from the intended to the actual send.
    Client = "client", "client wait";
    /// Between the client and the server: network, gateway, router.
    Network = "network", "gateway/network";
    /// From the client's send to the engine's queue, where nothing tells of what lies between.
    Intake = "intake", "gateway/network and input" = [Network, Tokenize, EngineInput];
    /// All that the client sees and the server does not, where no span says on which side of the server it lies.
    Outside = "outside", "gateway/network and flush" = [Network, Flush];
    /// Tokenising the prompt.
    Tokenize = "tokenize", "tokenise";
    /// Waiting to be taken in by the engine's core, which looks for requests between two steps.
    EngineInput = "engine_input", "engine input";
    /// What an engine's account leaves between arrival and first token beside queue and prefill.
    FrontEnd = "front_end", "front end and engine input" = [Tokenize, EngineInput, Detokenize];
    /// Waiting to be scheduled for the first time.
    Queue = "queue", "queue";
    /// First scheduled to first token; of two pools, in the first.
    Prefill = "prefill", "prefill";
    /// A gateway's hop to the pool that computes prompts.
    PrefillPool = "prefill_pool", "prefill pool incl. its queue" = [Tokenize, EngineInput, Queue, Prefill];
    /// Transfer of KV between pools, with the hops and hand-shakes that it takes.
    KvTransfer = "kv_transfer", "KV transfer";
    /// From the end of one pool's prefill until the other pool schedules the request.
    HandOver = "hand_over", "KV transfer incl. queue" = [KvTransfer, Tokenize, EngineInput, Queue];
    /// The first step of a request in the pool that decodes.
    FirstDecode = "first_decode", "first decode";
    /// A gateway's hop to the pool that decodes.
    DecodePool = "decode_pool", "decode pool incl. KV transfer"
        = [KvTransfer, EngineInput, Queue, FirstDecode, Decode, Preempted, Detokenize];
    /// First to last token.
    Decode = "decode", "decode";
    /// First to last token, where the waits after a preemption are not told from the work: an engine's queue ends at the
    /// first scheduling.
    DecodePreempted = "decode_preempted", "decode incl. preemption" = [Decode, Preempted];
    /// Waiting after a preemption, and computing again what it lost.
    Preempted = "preempted", "preempted";
    /// From the engine's token to its leaving the server.
    Detokenize = "detokenize", "detokenise";
    /// From the server to the client.
    Flush = "flush", "flush";
    /// From the engine's token to the client.
    Delivery = "delivery", "flush incl. detokenise" = [Detokenize, Flush];
}

impl Stage {
    /// The stage of that name.
    ///
    /// # Example: what a name stands for
    /// ```
    /// use firstcheck_model::span::Stage;
    /// let stage = Stage::from_name("decode_preempted").unwrap();
    /// assert_eq!(stage.label(), "decode incl. preemption");
    /// assert_eq!(stage.contains(), [Stage::Decode, Stage::Preempted]);
    /// assert_eq!(Stage::Queue.contains(), [Stage::Queue]);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|stage| stage.name() == name)
    }

    /// Whether the request has its first token when the stage begins.
    pub const fn follows_first_token(self) -> bool {
        matches!(self, Self::Decode | Self::DecodePreempted)
    }
}

/// One stage of one request. Spans of one request may lie within each other: the one that began last says more.
#[derive(Debug, Clone, PartialEq)]
pub struct StageSpan {
    /// Row of its request.
    pub request: u32,
    /// Which stage.
    pub stage: Stage,
    /// Its start.
    pub start: Moment,
    /// Its end.
    pub end: Moment,
    /// Replica that ran it, where it is known.
    pub replica: Option<String>,
}

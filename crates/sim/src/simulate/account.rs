//! Where a request's time really went.

use super::truth::RequestTruth;
use crate::request::Life;
use firstcheck_model::span::Stage;

/// The time of one request until a token reached its client, in the stages that the simulator knows apart. They add up
/// to what the client waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageAccount {
    parts: [(Stage, i64); 12],
}

impl StageAccount {
    /// Time in a stage, nanoseconds; of one that contains several, their sum.
    pub fn of_ns(&self, stage: Stage) -> i64 {
        let inside = self.parts.iter().filter(|(part, _)| stage.contains().contains(part));
        inside.map(|(_, ns)| ns).sum()
    }

    /// All of it, nanoseconds.
    pub fn total_ns(&self) -> i64 {
        self.parts.iter().map(|(_, ns)| ns).sum()
    }
}

/// Which token ends the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Until {
    First,
    Last,
}

impl RequestTruth {
    /// From the intended send to the first token at the client; `None` for a request without one.
    pub fn to_first_token(&self) -> Option<StageAccount> {
        self.account(Until::First)
    }

    /// From the intended send to the last token at the client; `None` for a request without one.
    pub fn to_last_token(&self) -> Option<StageAccount> {
        self.account(Until::Last)
    }

    fn account(&self, until: Until) -> Option<StageAccount> {
        let (seen, own) = (&self.seen, &self.life);
        let prompt = self.prompt_life();
        let (scheduled_ns, prefilled_ns) = (prompt.scheduled_ns?, prompt.first_token_ns?);
        let (first_ns, last_ns) = (own.first_token_ns?, own.last_token_ns?);
        // Of two pools, both have a front end and a queue.
        let second = self.handed_over.as_ref().map(|_| own);
        let both = |part: fn(&Life) -> Option<i64>| Some(part(prompt)? + second.map_or(Some(0), part)?);
        let tokenize_ns = both(|life| Some(life.tokenised_ns - life.arrival_ns))?;
        let engine_input_ns = both(|life| Some(life.queued_ns - life.tokenised_ns))?;
        let queue_ns = both(|life| Some(life.scheduled_ns? - life.queued_ns))?;
        let mut preempted_ns = both(|life| Some(life.preempted_in_prefill_ns))?;
        let kv_transfer_ns = second.map_or(0, |life| life.arrival_ns - prefilled_ns);
        let first_step_ns = first_ns - own.scheduled_ns? - own.preempted_in_prefill_ns;
        let first_decode_ns = second.map_or(0, |_| first_step_ns);
        let (mut decode_ns, left_ns, from_server_ns, arrived_ns) = match until {
            Until::First => (0, first_ns, own.first_seen_ns?, seen.first_token_ns),
            Until::Last => (last_ns - first_ns, last_ns, own.last_seen_ns?, seen.last_token_ns),
        };
        if until == Until::Last {
            let waited_ns = own.preempted_ns - own.preempted_in_prefill_ns;
            decode_ns -= waited_ns;
            preempted_ns += waited_ns;
        }
        let parts = [
            (Stage::Client, seen.sent_ns - seen.intended_ns),
            (Stage::Network, prompt.arrival_ns - seen.sent_ns),
            (Stage::Tokenize, tokenize_ns),
            (Stage::EngineInput, engine_input_ns),
            (Stage::Queue, queue_ns),
            (Stage::Prefill, prefilled_ns - scheduled_ns - prompt.preempted_in_prefill_ns),
            (Stage::KvTransfer, kv_transfer_ns),
            (Stage::FirstDecode, first_decode_ns),
            (Stage::Decode, decode_ns),
            (Stage::Preempted, preempted_ns),
            (Stage::Detokenize, from_server_ns - left_ns),
            (Stage::Flush, arrived_ns - from_server_ns),
        ];
        Some(StageAccount { parts })
    }
}

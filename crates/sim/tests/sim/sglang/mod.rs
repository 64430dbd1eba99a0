//! SGLang's scheduler and radix cache.

mod admission;
mod cache;
mod emit;
mod invariants;
mod overlap;
mod queue;
mod retraction;
mod run;
mod scheduling;
mod versus;

use crate::play::{Play, small};
use firstcheck_sim::{EngineConfig, EngineKind, RequestId, Sglang};

/// A small SGLang engine with round numbers: 10 ms a step and 1 ms a token, chunks of 64 tokens, no overlap.
pub fn small_sglang(rules: Sglang) -> EngineConfig {
    EngineConfig { engine: EngineKind::Sglang, sglang: rules, ..small() }
}

/// Its rules.
pub fn rules() -> Sglang {
    Sglang {
        max_total_num_tokens: 256,
        max_running_requests: 8,
        chunked_prefill_size: Some(64),
        disable_overlap_schedule: true,
        ..Sglang::default()
    }
}

/// An engine whose requests have names of one letter.
pub struct Named {
    pub play: Play,
    names: Vec<(RequestId, char)>,
}

impl Named {
    pub fn new(rules: Sglang) -> Self {
        Self::with(small_sglang(rules))
    }

    pub fn with(config: EngineConfig) -> Self {
        Self { play: Play::new(config), names: Vec::new() }
    }

    pub fn submit(&mut self, name: char, prompt: Vec<u32>, output: u32) -> RequestId {
        let id = self.play.submit(u64::from(u32::from(name)), prompt, output);
        self.names.push((id, name));
        id
    }

    pub fn name(&self, id: RequestId) -> char {
        self.names.iter().find(|(known, _)| *known == id).expect("a named request").1
    }

    /// The batch of the step in hand, or of the last one: `a:64 b:1`.
    pub fn batch(&self) -> String {
        let rows = self.play.engine.batch().map(|(id, tokens)| format!("{}:{tokens}", self.name(id)));
        rows.collect::<Vec<_>>().join(" ")
    }

    /// Names in the waiting queue.
    pub fn waiting(&self) -> String {
        self.play.engine.waiting().map(|id| self.name(id)).collect()
    }

    /// Runs one step and tells its batch; `-` if there is nothing to do.
    pub fn step(&mut self) -> String {
        if self.play.step() { self.batch() } else { "-".into() }
    }

    /// Batches of so many steps.
    pub fn steps(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.step()).collect()
    }

    /// Runs to the end; batches of all steps, repetitions counted: `3× a:1`.
    pub fn run(&mut self) -> Vec<String> {
        let mut told: Vec<(usize, String)> = Vec::new();
        loop {
            let batch = self.step();
            if batch == "-" {
                return told
                    .into_iter()
                    .map(|(n, batch)| if n > 1 { format!("{n}× {batch}") } else { batch })
                    .collect();
            }
            match told.last_mut() {
                Some((count, last)) if *last == batch => *count += 1,
                _ => told.push((1, batch)),
            }
        }
    }
}

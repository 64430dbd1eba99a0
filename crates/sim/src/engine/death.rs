//! The end of an engine's core.

use super::{Engine, Finished, counters};
use crate::{core::Core, encoder::OutOfMemory, frontend::ApiServers, grammar::Grammars, request::FinishReason};

/// Why an engine's core has died.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Death {
    /// It was made to.
    Killed,
    /// Images needed more memory than there was.
    OutOfMemory(OutOfMemory),
}

impl Engine {
    /// Why its core has died, if it has.
    pub fn death(&self) -> Option<&Death> {
        self.death.as_ref()
    }

    /// Every request fails; nothing is left.
    pub(super) fn fail_all(&mut self) {
        for slot in self.slots.live() {
            let id = self.slots.id_of(slot);
            let request = &self.slots[slot];
            self.finished.push(Finished {
                id,
                tag: request.tag,
                reason: FinishReason::Error,
                prompt_tokens: request.prompt_len(),
                output_tokens: request.output_len,
                life: request.life,
            });
            self.stats.finished_error += 1;
            self.slots.remove(slot);
        }
        self.core = Core::new(&self.config, self.seed);
        self.incoming.clear();
        self.prefilling_tokens = 0;
        self.speaking = 0;
    }

    /// Ends the requests that the core has given up; returns whether there were any.
    pub(super) fn give_up(&mut self, now_ns: i64) -> bool {
        let failed = self.core.take_failed();
        for id in &failed {
            if let Some(slot) = self.slots.slot_of(*id) {
                self.end(slot, FinishReason::Error, now_ns);
            }
        }
        !failed.is_empty()
    }

    /// The core and the servers before it start anew: nothing is cached, counters begin at zero.
    pub(super) fn restart(&mut self) {
        self.death = None;
        self.core = Core::new(&self.config, self.seed);
        self.servers = ApiServers::default();
        self.grammars = Grammars::default();
        self.stats = counters::fresh(&self.config);
    }
}

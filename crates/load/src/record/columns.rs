//! The rows of one shard since they were last handed over. Nothing here is shared, locked or waits.

use super::journal::{Batch, Inlet};
use firstcheck_model::{event::Event, request::Request};

/// Events after which rows are handed over before their time: what is written soon is still in the cache.
const EVENTS: usize = 32 << 10;

/// Rows of one shard.
#[derive(Debug)]
pub(crate) struct Columns {
    events: Vec<Event>,
    requests: Vec<(u32, Request)>,
    inlet: Inlet,
}

impl Columns {
    pub fn new(inlet: Inlet) -> Self {
        Self { events: Vec::with_capacity(EVENTS + (EVENTS >> 1)), requests: Vec::new(), inlet }
    }

    /// Adds an event. Its kernel stamp is added by [`Self::stamp`] when the read is done.
    #[inline]
    pub fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Where the next event will stand.
    #[inline]
    pub fn mark(&self) -> usize {
        self.events.len()
    }

    /// Puts `kernel_ns` on the last event since `mark`, if there is one.
    #[inline]
    pub fn stamp(&mut self, mark: usize, kernel_ns: i64) {
        if let Some(event) = self.events[mark..].last_mut() {
            event.kernel_ns = Some(kernel_ns);
        }
    }

    /// Adds the state of a request; a later one of the same row replaces it.
    pub fn request(&mut self, row: u32, request: Request) {
        self.requests.push((row, request));
    }

    /// Hands the rows over if there are many.
    #[inline]
    pub fn flush_if_many(&mut self) {
        if self.events.len() >= EVENTS {
            self.flush();
        }
    }

    /// Hands the rows over.
    pub fn flush(&mut self) {
        if self.events.is_empty() && self.requests.is_empty() {
            return;
        }
        let fresh = self.inlet.spare().unwrap_or_else(|| Vec::with_capacity(self.events.capacity()));
        let events = std::mem::replace(&mut self.events, fresh);
        let requests = std::mem::take(&mut self.requests);
        self.inlet.send(Batch { events, requests, ..Batch::default() });
    }
}

//! The processes between the network and the engine's core: they do one thing at a time.

use crate::config::Frontend;

/// API servers with the moments until which each is busy.
#[derive(Debug, Clone, Default)]
pub(crate) struct ApiServers {
    busy_until_ns: Vec<i64>,
    turn: usize,
}

impl ApiServers {
    /// Takes a request in at `now_ns`: which server does, and when its prompt is tokenised.
    pub(crate) fn accept(&mut self, frontend: &Frontend, now_ns: i64, prompt_tokens: u32) -> (u32, i64) {
        self.busy_until_ns.resize(frontend.processes as usize, i64::MIN);
        self.turn = (self.turn + 1) % self.busy_until_ns.len().max(1);
        (self.turn as u32, self.work(self.turn, now_ns, frontend.work_seconds(prompt_tokens)))
    }

    /// Does `seconds` of work on an answer: when that is done.
    pub(crate) fn render(&mut self, server: u32, now_ns: i64, seconds: f64) -> i64 {
        if seconds == 0.0 && self.is_idle(server, now_ns) {
            return now_ns;
        }
        self.work(server as usize, now_ns, seconds)
    }

    fn is_idle(&self, server: u32, now_ns: i64) -> bool {
        self.busy_until_ns.get(server as usize).is_none_or(|until_ns| *until_ns <= now_ns)
    }

    fn work(&mut self, server: usize, now_ns: i64, seconds: f64) -> i64 {
        // A server that is gone since the request came has left its work to the first.
        let place = if server < self.busy_until_ns.len() { server } else { 0 };
        let Some(busy_until_ns) = self.busy_until_ns.get_mut(place) else { return now_ns };
        *busy_until_ns = now_ns.max(*busy_until_ns).saturating_add((seconds * 1e9).round() as i64);
        *busy_until_ns
    }
}

impl Frontend {
    /// Work to take a request in, seconds.
    pub(crate) fn work_seconds(&self, prompt_tokens: u32) -> f64 {
        self.request_seconds + self.prompt_token_seconds * f64::from(prompt_tokens)
    }

    /// Work to take in `tokens` tokens of an answer, and to write an event if one is due, seconds.
    pub(crate) fn render_seconds(&self, tokens: u32, event: bool) -> f64 {
        let event_seconds = if event { self.event_seconds } else { 0.0 };
        event_seconds + self.token_seconds * f64::from(tokens)
    }
}

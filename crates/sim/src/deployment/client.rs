//! The client: what it does when answers are late, and what of it distorts its own figures.

use super::error::{DeploymentError, in_range};
use serde::{Deserialize, Serialize};

/// A client of a deployment. Its default waits for every answer and asks once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Client {
    /// Time from the send after which a request without its full answer is given up, seconds.
    pub timeout_seconds: Option<f64>,
    /// Time from the send after which a request without a first token is given up, seconds.
    pub first_token_timeout_seconds: Option<f64>,
    /// How often a request that failed before its first token is sent again.
    pub retries: u32,
    /// How long it waits before it does.
    pub backoff: Backoff,
    /// Whether something between client and server (a gateway that reads on) hides that the client has gone: the server
    /// then computes what nobody waits for to its end.
    pub hidden_hang_ups: bool,
    /// Most requests in flight; further ones wait within the client. `None`: no such limit.
    pub concurrency_gate: Option<u32>,
    /// Whether the wait at the gate is left out of the times that the client records: it then notes as the intended
    /// moment the one at which it let the request go.
    pub gate_outside_timer: bool,
    /// Share of requests whose user goes away before the answer's end, 0 to 1.
    pub abort_share: f64,
    /// How long after the send such a user goes away, seconds.
    pub abort_after_seconds: f64,
    /// What think times of a session are multiplied by.
    pub think_factor: f64,
    /// Interval at which something between server and client passes on what has gathered, seconds; 0: at once.
    pub flush_seconds: f64,
}

/// Exponential back-off with jitter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backoff {
    /// Wait before the first retry, seconds.
    pub first_seconds: f64,
    /// What each further wait is multiplied by.
    pub factor: f64,
    /// Longest wait, seconds.
    pub most_seconds: f64,
    /// Share of the wait that is drawn at random, 0 to 1.
    pub jitter: f64,
}

impl Default for Client {
    fn default() -> Self {
        Self {
            timeout_seconds: None,
            first_token_timeout_seconds: None,
            retries: 0,
            backoff: Backoff::default(),
            hidden_hang_ups: false,
            concurrency_gate: None,
            gate_outside_timer: false,
            abort_share: 0.0,
            abort_after_seconds: 1.0,
            think_factor: 1.0,
            flush_seconds: 0.0,
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first_seconds: 0.5, factor: 2.0, most_seconds: 8.0, jitter: 0.25 }
    }
}

impl Backoff {
    /// Wait before retry number `retry` (from 0), seconds, given a uniform draw from 0 to 1.
    pub fn seconds(&self, retry: u32, uniform: f64) -> f64 {
        let wait = self.first_seconds * self.factor.powi(retry.min(64) as i32);
        wait.min(self.most_seconds) * (1.0 - self.jitter * uniform)
    }
}

impl Client {
    pub(super) fn validate(&self) -> Result<(), DeploymentError> {
        const TIME: &str = "above 0 and at most 1e6 s";
        in_range("client.timeout_seconds", self.timeout_seconds.unwrap_or(1.0), 1e-9, 1e6, TIME)?;
        let first = self.first_token_timeout_seconds.unwrap_or(1.0);
        in_range("client.first_token_timeout_seconds", first, 1e-9, 1e6, TIME)?;
        in_range("client.retries", f64::from(self.retries), 0.0, 100.0, "0 to 100")?;
        let gate = f64::from(self.concurrency_gate.unwrap_or(1));
        in_range("client.concurrency_gate", gate, 1.0, 1e6, "1 to 1000000")?;
        in_range("client.abort_share", self.abort_share, 0.0, 1.0, "0 to 1")?;
        in_range("client.abort_after_seconds", self.abort_after_seconds, 0.0, 1e6, "0 to 1e6 s")?;
        in_range("client.think_factor", self.think_factor, 0.0, 1e3, "0 to 1000")?;
        in_range("client.flush_seconds", self.flush_seconds, 0.0, 60.0, "0 to 60 s")?;
        let backoff = &self.backoff;
        in_range("client.backoff.first_seconds", backoff.first_seconds, 0.0, 1e4, "0 to 10000 s")?;
        in_range("client.backoff.factor", backoff.factor, 1.0, 100.0, "1 to 100")?;
        in_range("client.backoff.most_seconds", backoff.most_seconds, 0.0, 1e4, "0 to 10000 s")?;
        in_range("client.backoff.jitter", backoff.jitter, 0.0, 1.0, "0 to 1")
    }
}

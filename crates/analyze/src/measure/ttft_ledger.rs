//! The ledger of a first token: where its mean time went.

use super::{
    counters::means_can_be_told,
    server_ledger::{ServerLedger, Whole, difference, mean_over},
};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing},
    request::Request,
    unit::Seconds,
};

/// Terms of the mean time to first token:
///
/// `client = client_wait + outside + front_end + queue + prefill`, and `server = front_end + queue + prefill`, the
/// server's part being a [`ServerLedger`].
#[derive(Debug, Clone, PartialEq)]
pub struct TtftLedger {
    /// The server's terms; its whole is there.
    pub server: ServerLedger,
    /// The client's terms; missing without requests.
    pub client: Result<ClientTerms, Missing>,
}

/// The part of the ledger that only a client sees. Means over the completed requests of the window.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientTerms {
    /// Intended send to first token.
    pub ttft: Measurement<Seconds>,
    /// Intended send to actual send.
    pub wait: Measurement<Seconds>,
    /// What the client sees after its send and the server does not: gateway and network, before the first byte and after.
    pub outside: Measurement<Seconds>,
}

impl TtftLedger {
    /// The ledger over the windows of `runs`.
    ///
    /// # Errors
    /// The engine does not count its time to first token.
    pub fn of(runs: &[RunEvidence]) -> Result<Self, Missing> {
        let server = ServerLedger::of(runs, Whole::Ttft)?;
        let client = ClientTerms::of(runs, server.whole.as_ref().map_err(Clone::clone)?);
        Ok(Self { server, client })
    }
}

impl ClientTerms {
    fn of(runs: &[RunEvidence], server: &Measurement<Seconds>) -> Result<Self, Missing> {
        let ttft = mean_over(runs, "mean time to first token of requests", Request::ttft)?;
        // A client that does not tell when it meant to send, sent when it meant to.
        let wait = mean_over(runs, "mean wait in the client", |request| {
            request.first_token.since(request.origin())?;
            Some(request.send_lag().unwrap_or(Seconds(0.0)))
        })?;
        let outside = difference("client − wait in the client − server", &ttft, &[&wait, server]);
        Ok(Self { ttft, wait, outside })
    }
}

impl Measure for TtftLedger {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        means_can_be_told(side)?;
        Self::of(&side.evidence.runs)
    }
}

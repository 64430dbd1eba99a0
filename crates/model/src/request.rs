//! Requests as columns: one row an offered request, nothing left out.

use crate::{
    moment::{Moment, Window},
    slo::Slo,
    unit::Seconds,
};
use serde::{Deserialize, Serialize};

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// Answered in full: a finish reason came, and a forced length was reached.
    Completed,
    /// The stream ended without a finish reason, or short of a forced length.
    Truncated,
    /// Refused by the server (429, 503, an admission error).
    Rejected,
    /// A connection, protocol or server error.
    Failed,
    /// The client's time limit passed.
    TimedOut,
    /// Cancelled by the client (Ctrl-C, end of the run).
    Cancelled,
    /// Offered by the plan, but the client never sent it.
    NeverSent,
}

impl Fate {
    /// All fates, in the order of their codes on disk.
    pub const ALL: [Self; 7] = [
        Self::Completed,
        Self::Truncated,
        Self::Rejected,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::NeverSent,
    ];

    /// The name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Truncated => "truncated",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::NeverSent => "never_sent",
        }
    }

    /// The fate of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fate| fate.name() == name)
    }
}

/// Why generation stopped, as the server said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// A stop token or string.
    Stop,
    /// The length limit.
    Length,
    /// A tool call.
    ToolCalls,
    /// A content filter.
    ContentFilter,
    /// Aborted by the server.
    Abort,
    /// Another reason.
    Other,
}

impl Finish {
    /// The name in files and in the OpenAI protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Abort => "abort",
            Self::Other => "other",
        }
    }

    /// The reason of that name; anything unknown is [`Finish::Other`].
    pub fn from_name(name: &str) -> Self {
        match name {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "tool_calls" | "function_call" => Self::ToolCalls,
            "content_filter" => Self::ContentFilter,
            "abort" => Self::Abort,
            _ => Self::Other,
        }
    }
}

/// One offered request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// When the plan wanted it sent. In a closed loop: when its slot became free. [`Moment::NEVER`]: not known.
    pub intended: Moment,
    /// When its bytes were handed to the kernel.
    pub sent: Moment,
    /// First byte of the response.
    pub first_byte: Moment,
    /// First event that carries a token.
    pub first_token: Moment,
    /// Last event that carries a token.
    pub last_token: Moment,
    /// End of the response, or of the attempt.
    pub done: Moment,
    /// How it ended.
    pub fate: Fate,
    /// What failed, in words (`connection refused`, `http 429`); `None` when nothing did.
    pub error: Option<String>,
    /// Why generation stopped, if the server said so.
    pub finish: Option<Finish>,
    /// Prompt tokens as the server counted them, else as the workload asked.
    pub prompt_tokens: Option<u32>,
    /// Prompt tokens found in the prefix cache, if the server said so.
    pub cached_tokens: Option<u32>,
    /// Generated tokens as the server counted them.
    pub output_tokens: Option<u32>,
    /// The length asked for (`max_tokens`).
    pub requested_tokens: Option<u32>,
    /// Hash of the prompt's bytes as sent, salt included.
    pub prompt_hash: Option<u64>,
    /// Session (conversation, user) it belongs to.
    pub session: Option<u32>,
    /// W3C trace id sent with it, 32 hex digits.
    pub trace_id: Option<String>,
    /// Hash of the schema (or grammar) that its answer was asked to keep to; `None`: of none, or it is not known.
    pub schema: Option<u64>,
    /// Share of the answer's characters that are white space, where its text was seen.
    pub blank_share: Option<f32>,
}

impl Request {
    /// An offered request of which nothing happened yet.
    pub fn offered(intended: Moment) -> Self {
        Self {
            intended,
            sent: Moment::NEVER,
            first_byte: Moment::NEVER,
            first_token: Moment::NEVER,
            last_token: Moment::NEVER,
            done: Moment::NEVER,
            fate: Fate::NeverSent,
            error: None,
            finish: None,
            prompt_tokens: None,
            cached_tokens: None,
            output_tokens: None,
            requested_tokens: None,
            prompt_hash: None,
            session: None,
            trace_id: None,
            schema: None,
            blank_share: None,
        }
    }

    /// The moment from which its latencies count: the intended send, or the actual one where no plan is known.
    pub fn origin(&self) -> Moment {
        if self.intended.reached() { self.intended } else { self.sent }
    }

    /// Time to first token from the intended send; `+∞` unless [`Fate::Completed`]; `None` where it is not known.
    pub fn ttft(&self) -> Option<Seconds> {
        self.answered(self.first_token.since(self.origin()))
    }

    /// Time to first token from the actual send; `+∞` unless completed.
    pub fn ttft_from_sent(&self) -> Option<Seconds> {
        self.answered(self.first_token.since(self.sent))
    }

    /// From the intended send to the last token (to the end of the response where no token was seen); `+∞` unless completed.
    pub fn e2e(&self) -> Option<Seconds> {
        let end = if self.last_token.reached() { self.last_token } else { self.done };
        self.answered(end.since(self.origin()))
    }

    /// Mean time per output token after the first: `(last − first) / (tokens − 1)`. `+∞` unless completed; `None` for a
    /// completed request with fewer than two tokens or an unknown count.
    pub fn tpot(&self) -> Option<Seconds> {
        let tokens = self.output_tokens.filter(|n| *n > 1);
        let mean = tokens.and_then(|n| Some(Seconds(self.last_token.since(self.first_token)?.0 / f64::from(n - 1))));
        self.answered(mean)
    }

    /// Time the client was late: actual minus intended send.
    pub fn send_lag(&self) -> Option<Seconds> {
        self.sent.since(self.intended)
    }

    fn answered(&self, value: Option<Seconds>) -> Option<Seconds> {
        if self.fate == Fate::Completed { value } else { Some(Seconds(f64::INFINITY)) }
    }

    /// Whether it meets every bound of `slo`; `longest_gap` is its stream's. `None`: a bound cannot be told.
    ///
    /// A request with a single token has no TPOT and no gap: it meets those bounds.
    pub fn meets(&self, slo: &Slo, longest_gap: Option<Seconds>) -> Option<bool> {
        if self.fate != Fate::Completed {
            return Some(false);
        }
        let single = self.output_tokens.is_some_and(|n| n < 2);
        let bounds = [
            (slo.ttft, self.ttft(), false),
            (slo.tpot, self.tpot(), single),
            (slo.e2e, self.e2e(), false),
            (slo.gap, longest_gap, single),
        ];
        let mut all = Some(true);
        for (bound, value, vacuous) in bounds {
            match (bound, value) {
                (None, _) => {}
                (Some(bound), Some(value)) if value.0 > bound.0 => return Some(false),
                (Some(_), Some(_)) => {}
                (Some(_), None) if vacuous => {}
                (Some(_), None) => all = None,
            }
        }
        all
    }
}

/// All requests of a run in the order of the plan; row *i* is the *i*-th offered request of its trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requests(pub Vec<Request>);

impl Requests {
    /// Number of offered requests.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing was offered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Rows with their requests whose origin lies in `window` (all rows without one).
    ///
    /// A request that has no known origin counts as inside: nothing offered is left out.
    pub fn in_window(&self, window: Option<Window>) -> impl Iterator<Item = (usize, &Request)> {
        self.0
            .iter()
            .enumerate()
            .filter(move |(_, r)| window.is_none_or(|w| !r.origin().reached() || w.contains(r.origin())))
    }
}

impl std::ops::Index<usize> for Requests {
    type Output = Request;

    fn index(&self, row: usize) -> &Request {
        &self.0[row]
    }
}

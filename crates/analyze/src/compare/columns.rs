//! The requests of a run's window as columns, in the order of the plan.

use super::{
    attribute::{ServerMeans, StageTimes},
    policy::Policy,
};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::Metric,
    request::{Fate, Request},
    run::Detail,
    slo::Slo,
    unit::Seconds,
};
use firstcheck_stats::goodput::Counts;

/// What a comparison needs of one request. Latencies are in seconds, `+∞` unless it completed, `None` where unknown.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    /// Its place in the trace.
    pub row: usize,
    pub origin: Option<f64>,
    pub send_lag: Option<f64>,
    pub complete: bool,
    pub ttft: Option<f64>,
    pub from_sent: Option<f64>,
    pub tpot: Option<f64>,
    pub gap: Option<f64>,
    pub e2e: Option<f64>,
    pub prompt: Option<u32>,
    pub requested: Option<u32>,
    pub output: Option<u32>,
    /// Prompt tokens that a cache held.
    pub cached: Option<u32>,
    /// Whose request it is: its session.
    pub tenant: Option<u32>,
    /// Whether it meets the SLO; `None` without one, or where a bound cannot be told.
    pub good: Option<bool>,
    /// First to last token and the tokens after the first.
    pub decode: Option<(f64, u32)>,
}

/// All offered requests of the window. Empty where the file holds summaries or a sample only.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    pub lines: Vec<Line>,
    /// Stage times of each line, where there are spans.
    pub stages: StageTimes,
    /// The engine's own means over the window.
    pub server: Option<ServerMeans>,
}

impl Line {
    fn of(row: usize, request: &Request, longest_gap: Option<Seconds>, streams: bool, slo: Option<&Slo>) -> Self {
        let complete = request.fate == Fate::Completed;
        let decode = request.last_token.since(request.first_token).map(|s| s.0);
        let after_first = request.output_tokens.filter(|n| complete && *n > 1).map(|n| n - 1);
        Self {
            row,
            origin: request.origin().seconds(),
            send_lag: request.send_lag().map(|s| s.0),
            complete,
            ttft: request.ttft().map(|s| s.0),
            from_sent: request.ttft_from_sent().map(|s| s.0),
            tpot: request.tpot().map(|s| s.0),
            gap: if complete { longest_gap.map(|s| s.0) } else { streams.then_some(f64::INFINITY) },
            e2e: request.e2e().map(|s| s.0),
            prompt: request.prompt_tokens,
            requested: request.requested_tokens,
            output: request.output_tokens,
            cached: request.cached_tokens,
            tenant: request.session,
            good: slo.and_then(|slo| request.meets(slo, longest_gap)),
            decode: decode.zip(after_first),
        }
    }

    /// The latency of that metric, one a request.
    pub fn latency(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Ttft => self.ttft,
            Metric::TtftFromSent => self.from_sent,
            Metric::Tpot => self.tpot,
            Metric::LongestGap => self.gap,
            Metric::E2e => self.e2e,
            Metric::SendLag => self.send_lag,
            _ => None,
        }
    }
}

impl Columns {
    /// The columns of a run's window.
    pub fn of(run: &RunEvidence, slo: Option<&Slo>, policy: &Policy) -> Self {
        if !matches!(run.info.detail, Detail::Events | Detail::Requests) {
            return Self { server: Some(ServerMeans::of(run)), ..Self::default() };
        }
        let streams = run.streams.is_some();
        let lines = run.window().map(|(row, r)| Line::of(row, r, run.longest_gap(row), streams, slo)).collect();
        Self { lines, stages: StageTimes::of(run, policy), server: Some(ServerMeans::of(run)) }
    }

    /// The latencies of that metric in the order of the plan; none where no completed request has one, so that
    /// unanswered requests alone never stand for a metric that the source does not know.
    pub fn series(&self, metric: Metric) -> Vec<f64> {
        let known = self.lines.iter().any(|line| line.latency(metric).is_some_and(f64::is_finite));
        let nothing_complete = !self.lines.iter().any(|line| line.complete);
        if !known && !nothing_complete {
            return Vec::new();
        }
        self.lines.iter().filter_map(|line| line.latency(metric)).filter(|v| !v.is_nan()).collect()
    }

    /// Good requests among the offered; `None` without requests, or where a bound cannot be told of one of them.
    pub fn good(&self) -> Option<Counts> {
        let good = self.lines.iter().map(|line| line.good.map(u64::from)).sum::<Option<u64>>()?;
        Counts::new(good, self.lines.len() as u64).ok()
    }

    /// Completed requests without a first token.
    pub fn silent(&self) -> u64 {
        self.lines.iter().filter(|line| line.complete && line.ttft.is_none()).count() as u64
    }

    /// Requests that did not complete.
    pub fn unanswered(&self) -> u64 {
        self.lines.iter().filter(|line| !line.complete).count() as u64
    }
}

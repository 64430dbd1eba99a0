//! Evidence with one piece taken away or spoilt, and what checks may say of it then.

use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    finding::{Cause, Finding, Outcome},
    moment::{Moment, Window},
    signal::{Series, SeriesKind, Signal},
};

/// What is missing, or not to be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// No metrics page was given.
    Metrics,
    /// No log.
    Log,
    /// Requests without events of their streams.
    Events,
    /// No requests: only what the servers say of themselves.
    Requests,
    /// No spans.
    Spans,
    /// No memory of processes, no GPUs, no container.
    Machine,
    /// No stacks and no flight records.
    Dumps,
    /// No prompts.
    Prompts,
    /// A metrics page that shows no engine.
    EmptyPage,
    /// A page whose counters stay at zero.
    ZeroCounters,
    /// A window of five seconds.
    FiveSeconds,
    /// A page that was last read in the first third of the window.
    StaleScrape,
    /// A page behind a load balancer, which shows another replica each time.
    LoadBalancer,
}

impl Lack {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Metrics,
        Self::Log,
        Self::Events,
        Self::Requests,
        Self::Spans,
        Self::Machine,
        Self::Dumps,
        Self::Prompts,
        Self::EmptyPage,
        Self::ZeroCounters,
        Self::FiveSeconds,
        Self::StaleScrape,
        Self::LoadBalancer,
    ];

    /// The evidence as it is then.
    pub fn of(self, evidence: &Evidence) -> Evidence {
        let mut evidence = evidence.clone();
        match self {
            Self::Log => {
                evidence.logs.clear();
                evidence.nccl.clear();
            }
            Self::Spans => evidence.traces.clear(),
            Self::Machine => {
                evidence.memory.clear();
                evidence.gpus.clear();
            }
            Self::Dumps => {
                evidence.stacks.clear();
                evidence.flights.clear();
            }
            Self::Prompts => evidence.prompts.clear(),
            _ => {}
        }
        evidence.runs.iter_mut().for_each(|run| self.spoil(run));
        evidence
    }

    fn spoil(self, run: &mut RunEvidence) {
        match self {
            Self::Metrics => run.signals.retain(is_of_the_machine),
            Self::Events => run.streams = None,
            Self::Requests => {
                run.requests.0.clear();
                run.streams = None;
                run.spans.clear();
            }
            Self::Spans => run.spans.clear(),
            Self::Machine => run.signals.retain(|series| !is_of_the_machine(series)),
            Self::EmptyPage => run.signals.retain(|series| series.signal == Some(Signal::ProcessStart)),
            Self::ZeroCounters => {
                let counters = run.signals.iter_mut().filter(|series| series.kind == SeriesKind::Counter);
                counters.for_each(|series| series.value.fill(0.0));
            }
            Self::FiveSeconds => run.info.window = run.info.window.map(|window| first(window, 5.0, 1.0)),
            Self::StaleScrape => {
                let until = run.info.window.map(|window| first(window, f64::INFINITY, 1.0 / 3.0).end);
                run.signals.iter_mut().for_each(|series| keep_until(series, until));
            }
            Self::LoadBalancer => run.signals = balanced(&run.signals),
            Self::Log | Self::Dumps | Self::Prompts => {}
        }
    }
}

/// Whether it is a container's, a process's or a GPU's, and not the engine's.
fn is_of_the_machine(series: &Series) -> bool {
    series.signal.is_some_and(|signal| !signal.is_of_an_engine())
}

/// The first part of a window: at most so many seconds, and at most this share.
fn first(window: Window, seconds: f64, share: f64) -> Window {
    let length = window.length().map_or(0.0, |length| length.0);
    let kept = (length * share).min(seconds);
    let end = window.start.get().map_or(window.end, |start| Moment::at(start + (kept * 1e9) as i64));
    Window { start: window.start, end }
}

fn keep_until(series: &mut Series, until: Option<Moment>) {
    let kept = series.at.iter().filter(|at| until.is_none_or(|until| **at <= until)).count();
    series.at.truncate(kept);
    series.value.truncate(kept);
}

/// The series of the first page, each with every other sample from the second page's series of that name: what one
/// address shows behind which two replicas answer in turn.
fn balanced(all: &[Series]) -> Vec<Series> {
    let key = |series: &Series| (series.name.clone(), series.part);
    let Some(page) = all.iter().find(|series| series.signal == Some(Signal::Finished)).map(|one| one.page.clone())
    else {
        return all.to_vec();
    };
    let (own, others): (Vec<&Series>, Vec<&Series>) = all.iter().partition(|series| series.page == page);
    let mixed = |series: &&Series| {
        let mut mixed = (*series).clone();
        let other = others.iter().find(|other| key(other) == key(series));
        for (at, value) in mixed.value.iter_mut().enumerate().filter(|(at, _)| at % 2 == 1) {
            *value = other.and_then(|other| other.value.get(at)).copied().unwrap_or(*value);
        }
        mixed
    };
    own.iter().map(mixed).collect()
}

/// What may not be said with less evidence: a symptom that was there and now is not, one that was not there and now is, a
/// cause that was not supported and now is.
pub fn contradictions(full: &[Finding], less: &[Finding]) -> Vec<String> {
    let mut all = Vec::new();
    for now in less {
        let Some(before) = full.iter().find(|finding| finding.code == now.code) else { continue };
        match (&before.outcome, &now.outcome) {
            (Outcome::Present { causes, .. }, Outcome::Present { causes: less, .. }) => {
                let supported = |cause: &&Cause| cause.is_supported();
                let known: Vec<&str> = causes.iter().filter(supported).map(Cause::id).collect();
                let new = less.iter().filter(supported).map(Cause::id).filter(|id| !known.contains(id));
                all.extend(new.map(|id| format!("{} supports {id}, which it did not with all evidence", now.code)));
            }
            (Outcome::Present { .. }, Outcome::Absent { .. }) => {
                all.push(format!("{} is absent, and was present with all evidence", now.code));
            }
            (Outcome::Absent { .. }, Outcome::Present { .. }) => {
                all.push(format!("{} is present, and was absent with all evidence", now.code));
            }
            (Outcome::Undecided { .. }, Outcome::Absent { .. } | Outcome::Present { .. }) => {
                all.push(format!("{} is decided, and was not with all evidence", now.code));
            }
            _ => {}
        }
    }
    all
}

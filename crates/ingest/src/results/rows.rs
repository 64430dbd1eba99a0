//! What the importers share: a run's description, times, events out of gaps.

use crate::Error;
use firstcheck_model::{
    event::Event,
    fingerprint::{Fingerprint, field},
    moment::{Moment, Window},
    recording::Recording,
    request::Requests,
    run::{Arrivals, CacheState, Clock, ClockKind, Detail, Origin, Reported, RunId, RunInfo, WorkloadInfo},
};
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Longest duration that is believed, seconds (three years): beyond it a time is taken for a damaged one.
const LONGEST_SECONDS: f64 = 1e8;

/// Where fingerprint fields of a result file come from.
const FROM: &str = "result file";

/// What a result file says of its run.
pub(super) struct Described<'a> {
    /// The tool, as reports name it.
    pub(super) tool: &'a str,
    /// The tool's version, if the file says it.
    pub(super) version: Option<&'a str>,
    /// What makes this run's content its own.
    pub(super) content: u64,
    /// Unix time of the run's moment 0.
    pub(super) started_unix_ns: Option<i64>,
    /// Model as asked for.
    pub(super) model: Option<&'a str>,
    /// What was offered, in words.
    pub(super) description: String,
    /// How it was offered.
    pub(super) arrivals: Arrivals,
    /// Whether answers were streamed.
    pub(super) streaming: Option<bool>,
}

impl Described<'_> {
    /// The run's description; how much it knows is for the importer to say.
    pub(super) fn info(self, detail: Detail, reported: Vec<Reported>) -> RunInfo {
        let slug: String = self.tool.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let tool = self.version.map_or_else(|| self.tool.to_owned(), |version| format!("{} {version}", self.tool));
        let workload = WorkloadInfo {
            description: self.description,
            arrivals: self.arrivals,
            trace_hash: None,
            salt: None,
            streaming: self.streaming,
            warm_up: None,
            cache: CacheState::Unknown,
        };
        let clock = Clock { started_unix_ns: self.started_unix_ns, kind: ClockKind::Real };
        let origin = Origin::Imported { tool: self.tool.to_owned() };
        let mut info = RunInfo::new(RunId(format!("{slug}-{:016x}", self.content)), tool, origin, clock, workload);
        let mut fingerprint = Fingerprint::default();
        if let Some(model) = self.model.filter(|model| !model.is_empty()) {
            fingerprint.set(field::MODEL, model, FROM);
        }
        info.fingerprint = fingerprint;
        info.detail = detail;
        info.reported = reported;
        info
    }
}

/// A run that knows summaries only.
pub(super) fn summary_only(info: RunInfo) -> Recording {
    Recording { info, requests: Requests::default(), events: Vec::new(), signals: Vec::new(), spans: Vec::new() }
}

/// The window of a run that took `seconds`, if that is a duration.
pub(super) fn whole(seconds: Option<f64>) -> Option<Window> {
    let seconds = seconds.filter(|s| *s > 0.0 && *s <= LONGEST_SECONDS)?;
    Some(Window { start: Moment::at(0), end: Moment::from_seconds(seconds) })
}

/// Hash of texts, each ended by a byte that no text contains.
pub(super) fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> u64 {
    let mut all = Vec::new();
    for part in parts {
        all.extend_from_slice(part.as_bytes());
        all.push(0xff);
    }
    xxh3_64(&all)
}

/// Where a number stands in a file, for errors.
pub(super) struct At<'a> {
    pub(super) path: &'a Path,
    pub(super) line: Option<u64>,
    pub(super) format: &'static str,
}

impl At<'_> {
    /// An error at this place.
    pub(super) fn error(&self, reason: impl Into<String>) -> Error {
        Error::malformed(self.path, self.line, self.format, reason)
    }

    /// A duration that is finite, not negative and believable, nanoseconds.
    pub(super) fn nanoseconds(&self, what: &str, row: usize, seconds: f64) -> Result<i64, Error> {
        if (0.0..=LONGEST_SECONDS).contains(&seconds) {
            Ok((seconds * 1e9).round() as i64)
        } else {
            Err(self.error(format!("{what} of request {row} is {seconds:?} s, which is no duration")))
        }
    }

    /// A number of tokens.
    pub(super) fn tokens(&self, what: &str, row: usize, value: f64) -> Result<u32, Error> {
        if value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0 {
            Ok(value as u32)
        } else {
            Err(self.error(format!("{what} of request {row} is {value}, which is no number of tokens")))
        }
    }

    /// Events of a stream: the first at `first`, each further one its gap later (seconds, as the client wrote them).
    /// Returns when the last one came, seconds since sent.
    pub(super) fn events(&self, row: usize, first: f64, gaps: &[f64], into: &mut Vec<Event>) -> Result<f64, Error> {
        let request = u32::try_from(row).map_err(|_| self.error("more than 4 billion requests"))?;
        let mut at = first;
        let mut push = |seconds: f64| -> Result<(), Error> {
            let since_sent_ns = self.nanoseconds("an event", row, seconds)?;
            // How many tokens an event carried is known of the whole stream only.
            into.push(Event { request, since_sent_ns, tokens: None, kernel_ns: None });
            Ok(())
        };
        push(at)?;
        for gap in gaps {
            if gap.is_nan() || *gap < 0.0 {
                return Err(self.error(format!("a gap of request {row} is {gap} s, which is no duration")));
            }
            at += gap;
            push(at)?;
        }
        Ok(at)
    }
}

/// A moment of Unix time on a clock that began at `start_ns`, both nanoseconds of Unix time.
pub(super) fn on_clock(at_ns: i64, start_ns: i64) -> Moment {
    Moment::at(at_ns.saturating_sub(start_ns))
}

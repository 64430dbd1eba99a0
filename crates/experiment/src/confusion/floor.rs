//! How much of its own metric a fault must change to be visible.
//!
//! The floors are stated before anything is played, and no check is asked: each is a metric of the symptom as a user or an
//! operator would name it, taken from the recording and from what the simulator knows of its own engine.

mod metric;

use super::Played;
use firstcheck_sim::fault::FaultSpec;
use std::fmt;

/// The least change of a metric that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Change {
    /// It must be this many times what it was, and so much more at least.
    Times(f64, f64),
    /// It must rise by so much.
    Rises(f64),
    /// It must fall by so much.
    Falls(f64),
    /// This share of what it was must be lost.
    Loses(f64),
    /// It must be so much, and half as much again as it was.
    Reaches(f64),
}

impl Change {
    /// Whether `now` is that far from `before`.
    pub fn is_reached(self, before: f64, now: f64) -> bool {
        match self {
            Self::Times(factor, least) => now >= before * factor && now - before >= least,
            Self::Rises(least) => now - before >= least,
            Self::Falls(least) => before - now >= least,
            Self::Loses(share) => now <= before * (1.0 - share),
            Self::Reaches(least) => now >= least && now >= 1.5 * before,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(factor, 0.0) => write!(f, "× {factor}"),
            Self::Times(factor, least) => write!(f, "× {factor} and + {least}"),
            Self::Rises(least) => write!(f, "+ {least}"),
            Self::Falls(least) => write!(f, "− {least}"),
            Self::Loses(share) => write!(f, "− {:.0} %", share * 100.0),
            Self::Reaches(least) => write!(f, "to {least} and × 1.5"),
        }
    }
}

/// A symptom's metric, and how far it must change.
#[derive(Clone, Copy)]
pub struct Floor {
    /// The symptom.
    pub symptom: &'static str,
    /// The faults it holds for; empty: all of the symptom that no other floor names.
    pub faults: &'static [&'static str],
    /// The metric with its unit.
    pub metric: &'static str,
    /// How far it must change.
    pub least: Change,
    /// Whether a fault of another symptom may bring it about: a latency, a hit rate or a counter that anything may move.
    /// The others say in themselves what went wrong.
    common: bool,
    of: Metric,
}

/// A metric of a run, where need be beside the healthy one.
#[derive(Clone, Copy)]
enum Metric {
    Own(fn(&Played) -> Option<f64>),
    Beside(fn(&Played, &Played) -> Option<f64>),
}

impl fmt::Debug for Floor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Floor({} {}: {} {})", self.symptom, self.faults.join(" "), self.metric, self.least)
    }
}

impl Floor {
    /// The floor of a fault; `None`: none is stated for its symptom.
    pub fn of(spec: &FaultSpec) -> Option<&'static Self> {
        let own = |floor: &&Self| floor.faults.contains(&spec.slug);
        let common = |floor: &&Self| floor.symptom == spec.symptom && floor.faults.is_empty();
        FLOORS.iter().find(own).or_else(|| FLOORS.iter().find(common))
    }

    /// The metric of a run beside the healthy one, which may be itself.
    pub fn measure(&self, run: &Played, healthy: &Played) -> Option<f64> {
        match self.of {
            Metric::Own(of) => of(run),
            Metric::Beside(of) => of(run, healthy),
        }
    }

    /// Whether a run has changed by so much; `None` where the metric is missing on a side.
    pub fn is_reached(&self, healthy: &Played, run: &Played) -> Option<bool> {
        Some(self.least.is_reached(self.measure(healthy, healthy)?, self.measure(run, healthy)?))
    }
}

/// Whether a run's symptom `code` is there by any of its floors that anything may reach, whatever was made to go wrong.
pub(super) fn is_there(code: &str, healthy: &Played, run: &Played) -> bool {
    let mut floors = FLOORS.iter().filter(|floor| floor.common && floor.symptom == code);
    floors.any(|floor| floor.is_reached(healthy, run) == Some(true))
}

/// A floor of what went wrong.
const fn floor(symptom: &'static str, metric: &'static str, least: Change, of: fn(&Played) -> Option<f64>) -> Floor {
    Floor { symptom, faults: &[], metric, least, common: false, of: Metric::Own(of) }
}

/// A floor of what anything may move.
const fn common(symptom: &'static str, metric: &'static str, least: Change, of: fn(&Played) -> Option<f64>) -> Floor {
    Floor { common: true, ..floor(symptom, metric, least, of) }
}

/// A floor of what anything may move, told beside the healthy run.
const fn beside(
    symptom: &'static str,
    metric: &'static str,
    least: Change,
    of: fn(&Played, &Played) -> Option<f64>,
) -> Floor {
    Floor { symptom, faults: &[], metric, least, common: true, of: Metric::Beside(of) }
}

/// A wait that is seen as one, seconds: what is shorter seems to come at once.
const SEEN: f64 = 0.1;

/// All floors, by symptom.
pub const FLOORS: &[Floor] = &[
    floor("S01", "median TTFT, s", Change::Times(1.15, 0.002), |run| metric::ttft(run, 0.5)),
    common("S02", "p99 wait before the first step, s", Change::Times(1.5, 0.05), |run| metric::wait(run, 0.99)),
    // What is saturated has a queue that grows, so that in the end everybody waits.
    Floor {
        faults: &["gpu-saturated"],
        ..common("S02", "median wait before the first step in the last third, s", Change::Rises(0.2), metric::late_wait)
    },
    Floor {
        faults: &["admission-blocked"],
        ..floor("S02", "share of the waiting behind a head that does not fit", Change::Reaches(0.3), metric::held_up)
    },
    common("S03", "cached share of the prompt tokens", Change::Falls(0.1), metric::cached_share),
    common(
        "S04",
        "median TTFT a window later, as the last third goes on, s",
        Change::Times(2.0, 0.2),
        metric::settled_ttft,
    ),
    floor("S05", "wait for the second tier over computing what it had", Change::Reaches(1.2), metric::tier_wait),
    // Waits that are a tenth of the time between tokens make it a ninth longer.
    floor("S06", "mean ITL, s", Change::Times(1.11, 0.0), metric::itl),
    beside(
        "S07",
        "share of the streams' time in gaps above three usual ones",
        Change::Reaches(0.02),
        metric::spent_in_slow_gaps,
    ),
    // Steps without a graph take about twice as long as those with one.
    Floor {
        faults: &["graphs-too-small"],
        ..beside(
            "S07",
            "share of the streams' time lost in gaps above one and a half usual ones",
            Change::Reaches(0.25),
            metric::lost_in_slow_gaps,
        )
    },
    common("S08", "p95 longest gap of a stream, s", Change::Times(1.5, 0.02), |run| metric::longest_gap(run, 0.95)),
    common(
        "S09",
        "share of the streams that stand still for 0.25 s and 20 usual gaps",
        Change::Reaches(0.01),
        metric::froze,
    ),
    // Drafts make a token take a few milliseconds: an answer is late by its share, however little that is a token.
    floor("S10", "p99 TPOT, s", Change::Times(1.1, 0.0), |run| metric::tpot(run, 0.99)),
    floor("S11", "p95 E2E, s", Change::Times(1.2, 0.05), |run| metric::e2e(run, 0.95)),
    Floor {
        faults: &["schema-compile"],
        ..floor("S11", "p95 TTFT of requests with a schema, s", Change::Rises(SEEN), |run| {
            metric::schema_ttft(run, 0.95)
        })
    },
    Floor {
        faults: &["schema-compile-blocks"],
        ..floor("S11", "share of the streams that stand still for 0.1 s", Change::Rises(0.05), |run| {
            metric::stood_still(run, SEEN)
        })
    },
    // Who asks for a schema is sure to be in a batch with one.
    Floor {
        faults: &["schema-mask"],
        ..floor("S11", "median TPOT of requests with a schema, s", Change::Times(1.1, 0.0), |run| {
            metric::schema_tpot(run, 0.5)
        })
    },
    floor("S12", "tokens an event", Change::Times(1.5, 0.0), metric::tokens_per_event),
    Floor {
        faults: &["parser-holds"],
        ..floor("S12", "median TTFT, s", Change::Times(1.3, 0.02), |run| metric::ttft(run, 0.5))
    },
    Floor {
        faults: &["proxy-gathers"],
        ..common("S12", "share of gaps under 0.05 ms", Change::Rises(0.05), metric::coalesced)
    },
    floor("S13", "mean hand-over, s", Change::Times(1.5, 0.01), metric::hand_over),
    floor("S14", "share not answered", Change::Rises(0.5), metric::unanswered),
    common("S15", "preemptions a finished request, in the window", Change::Rises(0.05), metric::preemptions),
    floor("S16", "KV blocks of a replica", Change::Loses(0.1), metric::blocks),
    floor("S17", "growth of the container's memory, MiB/min", Change::Rises(5.0), metric::memory_growth),
    floor("S18", "share taken and not answered", Change::Rises(0.02), metric::lost),
    floor("S19", "longest TTFT, s", Change::Rises(2.0), |run| metric::ttft(run, 1.0)),
    // Who asks first after the start waits, and nobody afterwards: in the window it is long over.
    Floor {
        faults: &["first-request-compiles"],
        ..floor("S19", "TTFT of the first request after the start, s", Change::Rises(2.0), metric::first_ttft)
    },
];

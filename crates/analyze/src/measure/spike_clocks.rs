//! Spikes of streams on three clocks: wall time, engine steps, requests; and on a fourth, the tokens of each request.

use super::{
    episodes::{Episode, Episodes},
    live_streams::LiveStreams,
    served::Served,
    stalls::Stalls,
    step_pace::StepPace,
};
use crate::side::Side;
use firstcheck_model::{
    measurement::{Missing, Why},
    moment::Moment,
    unit::Seconds,
};
use firstcheck_stats::period::{FEWEST, Period, regular};
use std::collections::{BTreeMap, BTreeSet};

/// A clock that something may be set by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Clock {
    /// Seconds.
    Wall,
    /// Steps of the engine.
    Steps,
    /// Requests that arrived.
    Requests,
    /// Tokens of the request itself, its prompt included or not.
    Tokens,
}

/// The spikes of one engine, and how regular they are on each clock.
#[derive(Debug, Clone)]
pub struct SpikeClocks {
    /// The spikes, in order.
    pub spikes: Vec<Episode>,
    /// Slow steps of each: those that follow one another are one spike.
    pub steps_each: Vec<u32>,
    /// The clocks on which they could be placed, with the most regular period of each; its chance is corrected for the
    /// clocks, engines and heights of spike that were tried.
    pub periods: Vec<(Clock, Period)>,
    /// The clocks on which they could not.
    pub unknown: Vec<(Clock, Missing)>,
}

/// Spikes that are placed on the clocks at most: the work grows with their square.
const MOST: usize = 400;

/// Heights that are tried, in multiples of the lowest: what is regular may stand out of what is not.
const HEIGHTS: [f64; 4] = [1.0, 2.0, 4.0, 8.0];

/// Share of others' requests from which the client's are not the clock of all.
const FOREIGN: f64 = 0.1;

impl SpikeClocks {
    /// The most regular train of stalls above `limit`, of any engine of the side, at any height; `Ok(None)` where there are
    /// fewer than three spikes at all.
    ///
    /// # Errors
    /// Stalls that cannot be placed, or too few of them to tell a period.
    pub fn of(side: &Side<'_>, limit: Seconds) -> Result<Option<Self>, Missing> {
        let (live, stalls) = (side.measure::<LiveStreams>()?, side.measure::<Stalls>()?);
        let (mut best, mut tried, mut most) = (None::<Self>, BTreeSet::new(), 0);
        for height in HEIGHTS {
            let mut trains: BTreeMap<(usize, &str), Vec<Episode>> = BTreeMap::new();
            for spike in Episodes::above(side, Seconds(limit.0 * height))?.0 {
                trains.entry((spike.run, live.replica(spike.run, spike.row))).or_default().push(spike);
            }
            for ((run, replica), spikes) in trains {
                most = most.max(spikes.len());
                if spikes.len() < FEWEST {
                    continue;
                }
                // A height that leaves the train as it is tries nothing new.
                if !tried.insert((run, replica.to_owned(), spikes.len())) {
                    continue;
                }
                let mut spikes = joined(spikes, stalls.usual);
                if spikes.len() < FEWEST {
                    continue;
                }
                spikes.truncate(MOST);
                let found = Self::placed(side, run, replica, spikes);
                let better = best.as_ref().is_none_or(|known| found.chance() < known.chance());
                best = if better { Some(found) } else { best };
            }
        }
        match best {
            Some(mut best) => {
                let tests = tried.len() as f64 * best.periods.len() as f64;
                best.periods.iter_mut().for_each(|(_, period)| period.p = (period.p * tests).min(1.0));
                Ok(Some(best))
            }
            None if most < 3 => Ok(None),
            None => Err(Missing {
                what: "spikes of the streams, to tell a period".into(),
                why: Why::TooFew { have: most as u64, need: FEWEST as u64 },
                obtain: "measure over at least six periods: firstcheck run --url URL --duration 10m".into(),
            }),
        }
    }

    fn placed(side: &Side<'_>, run: usize, replica: &str, joined: Vec<(Episode, u32)>) -> Self {
        let (spikes, steps_each): (Vec<Episode>, Vec<u32>) = joined.into_iter().unzip();
        let (mut periods, mut unknown) = (Vec::new(), Vec::new());
        let mut place = |clock, places: Result<Vec<f64>, Missing>| match places {
            // A counter that ticks once for so many counts does not tick twice at one.
            Ok(places) if clock != Clock::Tokens && !moves(&places) => {}
            Ok(places) => periods.extend(regular(&places, shortest(clock)).ok().map(|period| (clock, period))),
            Err(missing) => unknown.push((clock, missing)),
        };
        let starts: Vec<Moment> = spikes.iter().map(|spike| spike.start).collect();
        place(Clock::Wall, Ok(starts.iter().filter_map(|start| start.seconds()).collect()));
        place(Clock::Steps, steps(side, run, replica, &starts));
        place(Clock::Requests, requests(side, run, replica, &starts));
        let (frozen, all) = spikes.iter().fold((0, 0), |(f, l), spike| (f + spike.frozen, l + spike.live));
        // What several streams share is not set by one request's tokens.
        if 2 * frozen < all {
            for prompt_too in [false, true] {
                place(Clock::Tokens, Ok(tokens(side, &spikes, prompt_too)));
            }
        }
        Self { spikes, steps_each, periods, unknown }
    }

    /// The smallest chance of any clock.
    fn chance(&self) -> f64 {
        self.periods.iter().map(|(_, period)| period.p).fold(1.0, f64::min)
    }

    /// The most regular period of a clock.
    pub fn period(&self, clock: Clock) -> Option<&Period> {
        let of_clock = self.periods.iter().filter(|(known, _)| *known == clock).map(|(_, period)| period);
        of_clock.min_by(|a, b| a.jitter().total_cmp(&b.jitter()))
    }
}

/// The shortest period that is sought on a clock: on one that counts, a few counts; what happens at every tenth step is
/// no spike.
fn shortest(clock: Clock) -> f64 {
    match clock {
        Clock::Wall => 0.0,
        Clock::Steps => 10.0,
        Clock::Requests | Clock::Tokens => 4.0,
    }
}

/// Whether a clock goes on between most of the spikes.
fn moves(places: &[f64]) -> bool {
    let on = places.windows(2).filter(|pair| pair[1] > pair[0]).count();
    on as f64 >= MOVES * places.len().saturating_sub(1) as f64
}

/// Share of the spikes between which a clock must go on.
const MOVES: f64 = 0.9;

/// Episodes with those that follow within a usual gap joined to one, and how many steps each was.
fn joined(episodes: Vec<Episode>, usual: Seconds) -> Vec<(Episode, u32)> {
    let mut all: Vec<(Episode, u32)> = Vec::new();
    for episode in episodes {
        match all.last_mut() {
            Some((last, steps)) if episode.start.since(last.end).is_some_and(|apart| apart.0 < usual.0) => {
                last.end = last.end.max(episode.end);
                last.frozen = last.frozen.max(episode.frozen);
                last.live = last.live.max(episode.live);
                *steps += 1;
            }
            _ => all.push((episode, 1)),
        }
    }
    all
}

/// Steps of the engine before each moment.
fn steps(side: &Side<'_>, run: usize, replica: &str, at: &[Moment]) -> Result<Vec<f64>, Missing> {
    let (stalls, live) = (side.measure::<Stalls>()?, side.measure::<LiveStreams>()?);
    if stalls.shortest.0 < 0.5 * stalls.usual.0 && live.tells_replicas() {
        // Every gap is known: tokens of one step come together, so each distinct moment is a step.
        let near_ns = (stalls.usual.0 * 1e9 / 4.0) as i64;
        let mine = stalls.stalls.iter().filter(|s| s.run == run && live.replica(s.run, s.row) == replica);
        let mut ends: Vec<Moment> = mine.map(|stall| stall.end).collect();
        let rows = side.evidence.runs.get(run).map(|run| &run.requests.0);
        let firsts = rows.into_iter().flatten().zip(0..).filter(|(_, row)| live.replica(run, *row) == replica);
        ends.extend(firsts.map(|(request, _)| request.first_token).filter(|first| first.reached()));
        ends.sort_unstable();
        let mut last = Moment::NEVER;
        ends.retain(|end| {
            let new = end.ns_since(last).is_none_or(|apart| apart > near_ns);
            last = if new { *end } else { last };
            new
        });
        return Ok(at.iter().map(|moment| ends.partition_point(|end| end <= moment) as f64).collect());
    }
    // Of a run with more gaps than are listed the streams' own counts tell the steps between those that are.
    let pace = StepPace::of(side, run, replica)?;
    Ok(at.iter().filter_map(|moment| moment.seconds()).map(|moment| pace.by(moment)).collect())
}

/// Requests of the client that had arrived by each moment.
fn requests(side: &Side<'_>, run: usize, replica: &str, at: &[Moment]) -> Result<Vec<f64>, Missing> {
    if let Ok(served) = side.measure::<Served>()
        && let Some(completed) = served.completed
        && served.foreign > FOREIGN * completed as f64
    {
        return Err(Missing {
            what: "arrivals of everybody's requests: others sent some as well".into(),
            why: Why::Mixed,
            obtain: "measure without other traffic: firstcheck run --url URL".into(),
        });
    }
    let live = side.measure::<LiveStreams>()?;
    if !live.tells_replicas() {
        return Err(Missing::not_exposed(
            "which replica served which request",
            "start the engine with its OpenTelemetry exporter on",
        ));
    }
    let rows = side.evidence.runs.get(run).map(|run| &run.requests.0);
    let mine = rows.into_iter().flatten().zip(0..).filter(|(_, row)| live.replica(run, *row) == replica);
    let mut sent: Vec<Moment> = mine.map(|(request, _)| request.sent).filter(|sent| sent.reached()).collect();
    sent.sort_unstable();
    Ok(at.iter().map(|moment| sent.partition_point(|sent| sent <= moment) as f64).collect())
}

/// Tokens of its request before each spike's first stall.
fn tokens(side: &Side<'_>, spikes: &[Episode], prompt_too: bool) -> Vec<f64> {
    let place = |spike: &Episode| {
        let request = side.evidence.runs.get(spike.run)?.requests.0.get(spike.row as usize)?;
        let prompt = if prompt_too { f64::from(request.prompt_tokens?) } else { 0.0 };
        Some(prompt + f64::from(spike.after_events))
    };
    spikes.iter().filter_map(place).collect()
}

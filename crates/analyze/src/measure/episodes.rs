//! Long stalls as episodes: what stood still at the same time.

use super::{
    counters::runs_of,
    live_streams::LiveStreams,
    stalls::{Stall, Stalls},
};
use crate::side::Side;
use firstcheck_model::{
    measurement::{Fact, Measurement, Missing, Source},
    moment::Moment,
    unit::{Ratio, Seconds},
};

/// Stalls that overlap by more than half of the longer, on one replica.
#[derive(Debug, Clone, PartialEq)]
pub struct Episode {
    /// Its run.
    pub run: usize,
    /// Its first stall's row.
    pub row: u32,
    /// Last event before it.
    pub start: Moment,
    /// First event after it.
    pub end: Moment,
    /// Its longest stall.
    pub length: Seconds,
    /// Token-bearing events of its first stall's stream before it.
    pub after_events: u32,
    /// Streams that stood still.
    pub frozen: usize,
    /// Streams that were under way on that replica.
    pub live: usize,
}

/// The episodes of a side's stalls above a length, in the order of their ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Episodes(pub Vec<Episode>);

impl Episodes {
    /// Episodes of the stalls longer than `above`.
    ///
    /// # Errors
    /// Stalls whose moments are not known, or too many of them to list.
    pub fn above(side: &Side<'_>, above: Seconds) -> Result<Self, Missing> {
        let (stalls, live) = (side.measure::<Stalls>()?, side.measure::<LiveStreams>()?);
        let long = stalls.stalls.iter().filter(|stall| stall.length.0 > above.0);
        if long.clone().any(|stall| !stall.start.reached()) {
            return Err(Missing::not_exposed("moments at which requests were sent", "firstcheck run --url URL"));
        }
        let mut found: Vec<Episode> = Vec::new();
        for stall in long {
            // The latest of the replica that this one overlaps; ends are in order, so few have to be looked at.
            let replica = live.replica(stall.run, stall.row);
            let same = |episode: &&mut Episode| {
                episode.run == stall.run && live.replica(episode.run, episode.row) == replica && overlap(episode, stall)
            };
            match found.iter_mut().rev().take(LOOK_BACK).find(same) {
                Some(episode) => {
                    episode.frozen += 1;
                    episode.end = stall.end;
                    if stall.length.0 > episode.length.0 {
                        (episode.length, episode.start) = (stall.length, stall.start);
                    }
                }
                None => found.push(Episode {
                    run: stall.run,
                    row: stall.row,
                    start: stall.start,
                    end: stall.end,
                    length: stall.length,
                    after_events: stall.after_events,
                    frozen: 1,
                    live: 0,
                }),
            }
        }
        for episode in &mut found {
            let half_ns = episode.end.ns_since(episode.start).unwrap_or(0) / 2;
            episode.live = live.beside(episode.run, episode.row, episode.start.plus_ns(half_ns)).max(episode.frozen);
        }
        Ok(Self(found))
    }

    /// Share of the live streams that stood still at once, over episodes with at least two of them; times the number of
    /// engines where nothing tells which of them served which stream.
    ///
    /// # Errors
    /// No episode with two streams.
    pub fn together(&self, side: &Side<'_>) -> Result<Measurement<Ratio>, Missing> {
        let live = side.measure::<LiveStreams>()?;
        let shared = self.0.iter().filter(|episode| episode.live > 1);
        let (frozen, all, n) = shared.fold((0, 0, 0), |(f, l, n), e| (f + e.frozen, l + e.live, n + 1));
        if all == 0 {
            let obtain = "firstcheck run --url URL with more than one stream at a time";
            return Err(Missing::not_exposed("a freeze while two streams or more were under way", obtain));
        }
        let hidden = if live.tells_replicas() { 1.0 } else { live.engines as f64 };
        let value = Ratio((hidden * frozen as f64 / all as f64).min(1.0));
        let by = "streams that stood still / streams under way".into();
        let source = Source::Derived { by, from: runs_of(&side.evidence.runs) };
        Ok(Measurement { value, interval: None, n, source })
    }

    /// What [`Episodes::together`] says.
    pub fn fact(together: &Measurement<Ratio>) -> Fact {
        together.fact(format!("{:.0} % of the live streams stood still at the same time", together.value.0 * 100.0))
    }

    /// Median length.
    pub fn median(&self) -> Option<Seconds> {
        let mut lengths: Vec<f64> = self.0.iter().map(|episode| episode.length.0).collect();
        lengths.sort_by(f64::total_cmp);
        lengths.get(lengths.len() / 2).copied().map(Seconds)
    }
}

/// Episodes that may go on at the same time, at most.
const LOOK_BACK: usize = 64;

fn overlap(episode: &Episode, stall: &Stall) -> bool {
    let length = |from: Moment, to: Moment| to.since(from).map_or(0.0, |length| length.0.max(0.0));
    let both = length(episode.start.max(stall.start), episode.end.min(stall.end));
    let longer = length(episode.start, episode.end).max(length(stall.start, stall.end));
    both > 0.5 * longer
}

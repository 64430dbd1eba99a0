//! Gaps of streams, less what was only delivered late.

use super::event_pacing::EventPacing;
use crate::side::{Measure, Side};
use firstcheck_model::{
    distribution::Distribution,
    event::{COALESCED_NS, LongGap},
    evidence::{Kind, RunEvidence},
    measurement::{Missing, Source},
    moment::Moment,
    unit::Seconds,
};

/// A gap of a stream with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stall {
    /// Number of its run on the side.
    pub run: usize,
    /// Row of its request.
    pub row: u32,
    /// The event before it; [`Moment::NEVER`] where the send is not known.
    pub start: Moment,
    /// The event after it.
    pub end: Moment,
    /// How long the server sent nothing: the gap, less the pace of every event that came in a burst behind it.
    pub length: Seconds,
    /// Token-bearing events of the stream before it.
    pub after_events: u32,
}

/// The longest gaps of the streams of a side, in the order of their ends.
///
/// A client or proxy that reads late sees a gap and then a burst: the server paced the events of the burst while nobody
/// read. A gap of a server is followed by events at their usual pace. So of each gap the usual pace
/// ([`EventPacing::pace`]) times the events that came too early behind it is taken off. Where the list of gaps holds no
/// zero ones, because a run has too many, they are told by how soon the next long gap comes; that is done only where
/// events were coalesced at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Stalls {
    /// The stalls.
    pub stalls: Vec<Stall>,
    /// Every gap longer than this is among them.
    pub shortest: Seconds,
    /// The pace that they are measured against.
    pub pace: Seconds,
    /// A usual gap: the median, or the pace where events came in bursts.
    pub usual: Seconds,
    /// The longest stall of each stream of the window with a gap, seconds.
    pub longest: Vec<f64>,
    /// Streams of the window with a gap, with their source.
    pub source: Source,
}

impl Measure for Stalls {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let pacing = side.measure::<EventPacing>()?;
        let pace = pacing.pace.value;
        let (mut stalls, mut longest, mut shortest) = (Vec::new(), Vec::new(), 0);
        let undo = |listed_ns: i64| (listed_ns < COALESCED_NS || pacing.coalesced()).then_some(pace.0);
        for (number, run) in side.evidence.runs.iter().enumerate() {
            let Some(streams) = &run.streams else { continue };
            shortest = shortest.max(streams.long_gaps.shortest_ns);
            let gaps = &streams.long_gaps.gaps;
            for (row, _) in run.window() {
                let from = gaps.partition_point(|gap| (gap.request as usize) < row);
                let to = gaps.partition_point(|gap| (gap.request as usize) <= row);
                let before = stalls.len();
                of_stream(
                    number,
                    run,
                    row,
                    gaps.get(from..to).unwrap_or(&[]),
                    undo(streams.long_gaps.shortest_ns),
                    &mut stalls,
                );
                let mine = stalls[before..].iter().map(|stall: &Stall| stall.length.0).fold(0.0, f64::max);
                // Of a stream whose gaps were too short to be listed, the longest is known all the same.
                let unlisted = run.longest_gap(row).filter(|_| stalls.len() == before);
                longest.extend(run.longest_gap(row).map(|_| unlisted.map_or(mine, |gap| gap.0)));
            }
        }
        if longest.is_empty() {
            return Err(Missing::not_exposed("gaps of streams in the window", Kind::Events.obtain()));
        }
        stalls.sort_by_key(|stall| stall.end);
        let source = pacing.pace.source.clone();
        let mut all = Distribution::default();
        side.evidence.runs.iter().filter_map(|run| run.streams.as_ref()).for_each(|run| all.merge(&run.event_gaps));
        let usual = all.quantile(0.5).filter(|_| !pacing.coalesced()).unwrap_or(pace);
        Ok(Self { stalls, usual, shortest: Seconds(shortest as f64 * 1e-9), pace, longest, source })
    }
}

/// Stalls of one stream, from its gaps in order; bursts behind them are undone at `pace`, if at all.
fn of_stream(
    run: usize,
    evidence: &RunEvidence,
    row: usize,
    gaps: &[LongGap],
    pace: Option<f64>,
    into: &mut Vec<Stall>,
) {
    let Some(request) = evidence.requests.0.get(row) else { return };
    let events = evidence.streams.as_ref().and_then(|streams| streams.events.get(row)).copied().unwrap_or(0);
    let last_ns = request.last_token.ns_since(request.sent);
    let mut paced = gaps.iter().filter(|gap| gap.length_ns >= COALESCED_NS).peekable();
    while let Some(gap) = paced.next() {
        let end_ns = gap.since_sent_ns.saturating_add(gap.length_ns);
        // Until the next gap that is listed, or to the stream's end.
        let (until_ns, until_events) = match paced.peek() {
            Some(next) => (Some(next.since_sent_ns), next.after_events),
            None => (last_ns, events),
        };
        let behind = f64::from(until_events.saturating_sub(gap.after_events).saturating_sub(1));
        let took = until_ns.map_or(0.0, |until| until.saturating_sub(end_ns).max(0) as f64 * 1e-9);
        let made_up = pace.map_or(0.0, |pace| (behind * pace - took).max(0.0));
        let length = gap.length_ns as f64 * 1e-9 - made_up;
        if length > 0.0 {
            into.push(Stall {
                run,
                row: row as u32,
                start: request.sent.plus_ns(gap.since_sent_ns),
                end: request.sent.plus_ns(end_ns),
                length: Seconds(length),
                after_events: gap.after_events,
            });
        }
    }
}

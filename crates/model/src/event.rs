//! Events of a stream, and what they fold into.

use crate::{
    distribution::Distribution,
    moment::{Moment, Window},
    request::Requests,
    unit::Seconds,
};

/// One SSE `data:` chunk as the client received it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Row of its request.
    pub request: u32,
    /// Nanoseconds since that request was sent.
    pub since_sent_ns: i64,
    /// Tokens it carries: `Some(0)` for a role-only, usage or empty chunk; `None` when it carries text and the server
    /// did not say how many tokens.
    pub tokens: Option<u16>,
    /// Kernel receive time in nanoseconds since sent, on the last event that ended in a read.
    pub kernel_ns: Option<i64>,
}

impl Event {
    /// Whether it carries at least one token.
    pub fn bears_tokens(&self) -> bool {
        self.tokens != Some(0)
    }
}

/// Two events of one stream closer than this arrived in one read or one segment: the server did not pace them.
pub const COALESCED_NS: i64 = 50_000;

/// Folds events, in any interleaving of streams but in order within each, into distributions and one row a stream.
///
/// Definitions. **Event gap**: between two consecutive token-bearing events of a stream. **ITL**: the same per token: an
/// event of k tokens gives its gap to one token and zero to k − 1. Where the server states only the stream's total, the
/// tokens beyond one an event give zeros just so: the distribution does not depend on which event carried them.
#[derive(Debug, Clone)]
pub struct StreamFold {
    last_ns: Vec<Option<i64>>,
    tokens: Vec<u32>,
    unstated: Vec<bool>,
    streams: Streams,
}

/// A long gap, with its place: what a period, a freeze of all streams at once or a coincidence is told from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongGap {
    /// Row of its request.
    pub request: u32,
    /// Nanoseconds from that request's send to the event before the gap.
    pub since_sent_ns: i64,
    /// Its length, nanoseconds.
    pub length_ns: i64,
    /// Token-bearing events of the stream before it.
    pub after_events: u32,
}

/// The longest event gaps of a run. All that are longer than `shortest_ns` are there: a gap that is not listed was not
/// longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LongGaps {
    /// The gaps, by the request's row and then by time, once the fold has ended.
    pub gaps: Vec<LongGap>,
    /// Every gap longer than this is listed, nanoseconds; 0: every gap is.
    pub shortest_ns: i64,
}

/// Long gaps that a run keeps at most (32 bytes each).
pub const LONG_GAPS: usize = 1 << 16;

impl LongGaps {
    /// Adds a gap; the shortest are given up where there are too many.
    fn add(&mut self, gap: LongGap) {
        if gap.length_ns <= self.shortest_ns {
            return;
        }
        self.gaps.push(gap);
        if self.gaps.len() >= 2 * LONG_GAPS {
            self.cut();
        }
    }

    /// Keeps the longest.
    fn cut(&mut self) {
        if self.gaps.len() <= LONG_GAPS {
            return;
        }
        self.gaps.select_nth_unstable_by_key(LONG_GAPS, |gap| std::cmp::Reverse(gap.length_ns));
        self.shortest_ns = self.shortest_ns.max(self.gaps[LONG_GAPS].length_ns);
        // Of equals some are in and some are out: all of that length go, so that the list stays complete above it.
        let shortest = self.shortest_ns;
        self.gaps.retain(|gap| gap.length_ns > shortest);
    }

    fn finish(&mut self) {
        self.cut();
        self.gaps.sort_unstable_by_key(|gap| (gap.request, gap.since_sent_ns));
        self.gaps.shrink_to_fit();
    }
}

/// What the events of a run's streams fold into. Distributions hold the streams of requests inside the window only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Streams {
    /// Longest event gap, one a request; `None` for fewer than two token-bearing events.
    pub longest_gap: Vec<Option<Seconds>>,
    /// Token-bearing events, one a request.
    pub events: Vec<u32>,
    /// Gaps between consecutive token-bearing events.
    pub event_gaps: Distribution,
    /// Inter-token latencies.
    pub itl: Distribution,
    /// Kernel receive time to the client's read, for the events that carry a stamp.
    pub client_delay: Distribution,
    /// Events inside the window, of whatever kind.
    pub total_events: u64,
    /// Event gaps shorter than [`COALESCED_NS`].
    pub coalesced: u64,
    /// The longest event gaps with their places.
    pub long_gaps: LongGaps,
    /// Streams whose server stated no token count at all: their ITL counts one token an event.
    pub uncounted_streams: u64,
}

impl Streams {
    /// Share of event gaps that are too short to have been paced by a server; `None` without gaps.
    pub fn coalesced_share(&self) -> Option<f64> {
        (self.event_gaps.count() > 0).then(|| self.coalesced as f64 / self.event_gaps.count() as f64)
    }

    /// Tokens an event, over the streams inside the window; `None` without events.
    pub fn tokens_per_event(&self) -> Option<f64> {
        let gaps = self.event_gaps.count();
        (gaps > 0).then(|| self.itl.count() as f64 / gaps as f64)
    }
}

impl StreamFold {
    /// A fold for a run of `requests` rows.
    pub fn new(requests: usize) -> Self {
        Self {
            last_ns: vec![None; requests],
            tokens: vec![0; requests],
            unstated: vec![false; requests],
            streams: Streams { longest_gap: vec![None; requests], events: vec![0; requests], ..Streams::default() },
        }
    }

    /// Adds the next event; `inside`: its request counts (it was offered in the window). An event whose row does not
    /// exist is ignored and `false` returned.
    pub fn add(&mut self, event: &Event, inside: bool) -> bool {
        let row = event.request as usize;
        let Some(last) = self.last_ns.get_mut(row) else { return false };
        if inside {
            self.streams.total_events += 1;
            if let Some(kernel) = event.kernel_ns {
                self.streams.client_delay.add_ns(event.since_sent_ns.saturating_sub(kernel), 1);
            }
        }
        if !event.bears_tokens() {
            return true;
        }
        let tokens = u32::from(event.tokens.unwrap_or(1));
        self.unstated[row] |= event.tokens.is_none();
        self.tokens[row] = self.tokens[row].saturating_add(tokens);
        self.streams.events[row] = self.streams.events[row].saturating_add(1);
        if let Some(last) = last.replace(event.since_sent_ns) {
            let gap = event.since_sent_ns.saturating_sub(last);
            let longest = &mut self.streams.longest_gap[row];
            *longest = Some(Seconds(longest.map_or(0.0, |s| s.0).max(gap.max(0) as f64 * 1e-9)));
            if inside {
                self.streams.event_gaps.add_ns(gap, 1);
                let after_events = self.streams.events[row] - 1;
                let request = event.request;
                self.streams.long_gaps.add(LongGap { request, since_sent_ns: last, length_ns: gap, after_events });
                self.streams.itl.add_ns(gap, 1);
                self.streams.coalesced += u64::from(gap < COALESCED_NS);
            }
        }
        if inside {
            self.streams.itl.add_ns(0, u64::from(tokens.saturating_sub(1)));
        }
        true
    }

    /// Ends the fold: streams whose events did not state their tokens get the zeros that their total implies.
    pub fn finish(mut self, requests: &Requests, window: Option<Window>) -> Streams {
        self.streams.long_gaps.finish();
        for (row, request) in requests.in_window(window) {
            if !self.unstated.get(row).copied().unwrap_or(false) {
                continue;
            }
            match request.output_tokens {
                Some(total) => self.streams.itl.add_ns(0, u64::from(total.saturating_sub(self.tokens[row]))),
                None => self.streams.uncounted_streams += 1,
            }
        }
        self.streams
    }
}

/// Folds all `events` of a run at once.
pub fn fold(events: &[Event], requests: &Requests, window: Option<Window>) -> Streams {
    let inside = inside_window(requests, window);
    let mut fold = StreamFold::new(requests.len());
    for event in events {
        let counts = inside.get(event.request as usize).copied().unwrap_or(false);
        fold.add(event, counts);
    }
    fold.finish(requests, window)
}

/// For each row, whether its request counts as inside the window.
pub fn inside_window(requests: &Requests, window: Option<Window>) -> Vec<bool> {
    let mut inside = vec![false; requests.len()];
    for (row, _) in requests.in_window(window) {
        inside[row] = true;
    }
    inside
}

/// The moment of an event on the run's clock.
pub fn moment_of(event: &Event, requests: &Requests) -> Moment {
    requests.0.get(event.request as usize).map_or(Moment::NEVER, |r| r.sent.plus_ns(event.since_sent_ns))
}

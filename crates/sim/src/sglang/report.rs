//! What the scheduler reports: with every prefill batch, and with every so many decode batches. Between two reports its
//! gauges stand still.

use super::{Mode, Sglang};
use crate::{core::Bench, request::RequestId};

/// What the log tells of a prefill batch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PrefillNote {
    /// Requests in it.
    pub new_seqs: u32,
    /// Tokens computed.
    pub new_tokens: u32,
    /// Tokens found in the cache.
    pub cached_tokens: u32,
    /// Of the computed ones, those of requests that had been retracted.
    pub again_tokens: u32,
    /// Of those found, those of requests that had been retracted.
    pub again_cached_tokens: u32,
    /// Running requests beside it.
    pub running: u32,
    /// Share of remaining output reserved for running requests.
    pub new_token_ratio: f64,
}

/// What the log tells of a retraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retraction {
    /// Requests thrown out.
    pub requests: u32,
    /// Their prompt tokens.
    pub input_tokens: u64,
    /// Their output tokens.
    pub output_tokens: u64,
    /// Tokens that became free.
    pub gained: u32,
    /// The share reserved until then.
    pub ratio_before: f64,
    /// The share reserved from then on.
    pub ratio_after: f64,
}

/// Levels as the last report set them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauges {
    /// Running requests: beside a prefill batch, or in a decode batch.
    pub running: u32,
    /// Waiting requests.
    pub queue: u32,
    /// Share of the pool that is used.
    pub usage: f64,
    /// Used tokens.
    pub used: u32,
    /// Free tokens.
    pub available: u32,
    /// Cached tokens that nobody uses.
    pub evictable: u32,
    /// Share of the tokens of the last prefill batch that were found, those of retracted requests left out.
    pub cache_hit_rate: f64,
    /// Tokens a second over the last decode batches that were reported together.
    pub gen_throughput: f64,
    /// Share of remaining output reserved for running requests.
    pub new_token_ratio: f64,
    /// Requests retracted between the last two reports.
    pub retracted: u32,
    /// Context of all requests of the last decode batch that was reported.
    pub decode_tokens: u64,
    /// Whether the last batch was replayed from a graph.
    pub graph: bool,
}

/// What only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Prompt tokens computed, those computed again included.
    pub prefill_compute: u64,
    /// Prompt tokens found at admission, those found again included.
    pub prefill_cache: u64,
    /// Rows of decode batches.
    pub decode: u64,
    /// Prompt tokens computed for the first time.
    pub effective_input: u64,
    /// Prompt tokens found at first admissions.
    pub effective_hit: u64,
    /// Retractions.
    pub retracted: u64,
    /// Prompt tokens of retracted requests.
    pub retracted_input: u64,
    /// Output tokens of retracted requests.
    pub retracted_output: u64,
    /// Prefill batches.
    pub prefill_passes: u64,
    /// Decode batches replayed from a graph.
    pub graph_passes: u64,
    /// Other decode batches.
    pub eager_passes: u64,
}

/// Something that the log tells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Report {
    /// When, on the engine's clock.
    pub at_ns: i64,
    /// What.
    pub told: Told,
}

/// What a report tells.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// A prefill batch.
    Prefill {
        /// The batch.
        note: PrefillNote,
        /// Share of the pool that is used.
        usage: f64,
        /// Waiting requests.
        queue: u32,
        /// Their tokens, and what is left of a prompt in chunks.
        pending: u64,
        /// Computed tokens a second since the last prefill batch.
        throughput: f64,
    },
    /// A decode batch, for all since the last such report.
    Decode {
        /// Its requests.
        running: u32,
        /// Used tokens.
        used: u32,
        /// Share of the pool that is used.
        usage: f64,
        /// Waiting requests.
        queue: u32,
        /// Whether it was replayed from a graph.
        graph: bool,
        /// Tokens a second since the last such report.
        throughput: f64,
    },
    /// Requests thrown out.
    Retraction(Retraction),
    /// A request given up: the last one, for which there is no memory either.
    GaveUp(RequestId),
}

/// What was reported, and what the next report counts from.
#[derive(Debug, Clone, Default)]
pub(super) struct Reporter {
    pub(super) gauges: Gauges,
    pub(super) totals: Totals,
    /// Reports since the end of the step before the last one.
    pub(super) latest: Vec<Report>,
    /// Reports before those.
    pub(super) earlier: u64,
    decodes: u64,
    generated: u64,
    retracted: u32,
    last_prefill_ns: i64,
    last_decode_ns: i64,
}

impl Sglang {
    /// A step has ended and its results are in.
    pub(crate) fn ended(&mut self, bench: &Bench<'_>) {
        self.reporter.earlier += self.reporter.latest.len() as u64;
        self.reporter.latest.clear();
        match self.step.mode {
            _ if self.step.rows.is_empty() => {}
            Mode::Extend => self.report_prefill(bench),
            Mode::Decode => self.report_decode(bench),
        }
    }

    fn report_prefill(&mut self, bench: &Bench<'_>) {
        let (note, now_ns) = (self.step.note, bench.now_ns);
        let chunk_rest = self.chunked.map_or(0, |slot| {
            let request = &bench.slots[slot];
            u64::from(request.num_tokens().saturating_sub(request.num_computed))
        });
        let waiting: u64 = self.waiting.iter().map(|slot| u64::from(bench.slots[*slot].num_tokens())).sum();
        let throughput = rate(u64::from(note.new_tokens), now_ns - self.reporter.last_prefill_ns);
        self.reporter.last_prefill_ns = now_ns;
        self.set_levels(note.running);
        let (input, hit) =
            (note.new_tokens - note.again_tokens, note.cached_tokens.saturating_sub(note.again_cached_tokens));
        let reporter = &mut self.reporter;
        let totals = &mut reporter.totals;
        totals.prefill_compute += u64::from(note.new_tokens);
        totals.prefill_cache += u64::from(note.cached_tokens);
        totals.effective_input += u64::from(input);
        totals.effective_hit += u64::from(hit);
        totals.prefill_passes += 1;
        reporter.gauges.cache_hit_rate = f64::from(hit) / f64::from((input + hit).max(1));
        reporter.gauges.new_token_ratio = note.new_token_ratio;
        reporter.gauges.graph = false;
        let (usage, queue) = (reporter.gauges.usage, reporter.gauges.queue);
        let told = Told::Prefill { note, usage, queue, pending: waiting + chunk_rest, throughput };
        reporter.latest.push(Report { at_ns: now_ns, told });
    }

    fn report_decode(&mut self, bench: &Bench<'_>) {
        let (rules, now_ns) = (&bench.config.sglang, bench.now_ns);
        let running = self.step.rows.len() as u32;
        let largest = bench.config.graphs.sizes(rules.max_running_requests).last().copied().unwrap_or(0);
        let graph = running <= largest;
        let reporter = &mut self.reporter;
        reporter.totals.decode += u64::from(running);
        *(if graph { &mut reporter.totals.graph_passes } else { &mut reporter.totals.eager_passes }) += 1;
        reporter.generated += u64::from(running);
        reporter.decodes += 1;
        if !reporter.decodes.is_multiple_of(u64::from(rules.decode_log_interval)) {
            return;
        }
        let throughput = rate(std::mem::take(&mut reporter.generated), now_ns - reporter.last_decode_ns);
        reporter.last_decode_ns = now_ns;
        self.set_levels(running);
        let decode_tokens = self.step.shape.kv_read_tokens;
        let reporter = &mut self.reporter;
        let gauges = &mut reporter.gauges;
        gauges.gen_throughput = throughput;
        gauges.decode_tokens = decode_tokens;
        gauges.graph = graph;
        gauges.cache_hit_rate = 0.0;
        let told =
            Told::Decode { running, used: gauges.used, usage: gauges.usage, queue: gauges.queue, graph, throughput };
        reporter.latest.push(Report { at_ns: now_ns, told });
    }

    /// Levels that every report sets.
    fn set_levels(&mut self, running: u32) {
        let (used, available, evictable) = (self.pool.used(), self.pool.free(), self.pool.tree().evictable());
        let usage = self.usage();
        let gauges = &mut self.reporter.gauges;
        (gauges.running, gauges.queue) = (running, self.waiting.len() as u32);
        (gauges.usage, gauges.used, gauges.available, gauges.evictable) = (usage, used, available, evictable);
        gauges.retracted = std::mem::take(&mut self.reporter.retracted);
    }

    /// The engine rests: its idle loop reports that nothing is left.
    pub(super) fn report_rest(&mut self) {
        self.set_levels(0);
        self.reporter.gauges.gen_throughput = 0.0;
    }

    pub(super) fn report_retraction(&mut self, at_ns: i64, retraction: Retraction, given_up: Option<RequestId>) {
        let reporter = &mut self.reporter;
        reporter.retracted += retraction.requests;
        reporter.totals.retracted += u64::from(retraction.requests);
        reporter.totals.retracted_input += retraction.input_tokens;
        reporter.totals.retracted_output += retraction.output_tokens;
        if let Some(id) = given_up {
            reporter.latest.push(Report { at_ns, told: Told::GaveUp(id) });
        }
        reporter.latest.push(Report { at_ns, told: Told::Retraction(retraction) });
    }
}

/// Tokens a second; 0 over no time at all.
fn rate(tokens: u64, ns: i64) -> f64 {
    if ns > 0 { tokens as f64 * 1e9 / ns as f64 } else { 0.0 }
}

//! The line of statistics that a server prints every ten seconds.

use super::{
    LogOptions,
    style::{Level, Line, Process, Site, Style},
};
use crate::{
    emit::{features::Speculation, stats::Stats},
    engine::Engine,
};

const SECOND: i64 = 1_000_000_000;

/// Counters at the last line.
#[derive(Debug, Clone, Default)]
struct Before {
    prompt_tokens: u64,
    generation_tokens: u64,
    speculation: Option<Speculation>,
}

/// When the next line is due, and what it counts from.
#[derive(Debug, Clone)]
pub(super) struct Interval {
    rank: u32,
    every_ns: i64,
    next_ns: i64,
    before: Before,
    /// Whether the last line was of an idle interval: the next idle one is said at DEBUG only.
    idle: bool,
}

/// What a line shows.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    rank: u32,
    kind: Kind,
    level: Level,
}

#[derive(Debug, Clone)]
enum Kind {
    Throughput {
        prompt: f64,
        generation: f64,
        running: usize,
        waiting: usize,
        deferred: usize,
        usage: f64,
        /// `None` before the first lookup.
        hits: Option<f64>,
        /// `None` while nothing was looked up elsewhere.
        external: Option<f64>,
    },
    Speculation {
        counts: Speculation,
        seconds: f64,
    },
}

impl Interval {
    pub(super) fn new(options: &LogOptions, rank: u32) -> Self {
        let every_ns = i64::from(options.interval_seconds.max(1)) * SECOND;
        Self { rank, every_ns, next_ns: every_ns, before: Before::default(), idle: true }
    }

    /// Counts from zero again.
    pub(super) fn restart(&mut self) {
        (self.before, self.idle) = (Before::default(), true);
    }

    /// The lines due next, if that is before `now_ns`.
    pub(super) fn due(&mut self, engine: &Engine, now_ns: i64) -> Option<(i64, Vec<Shown>)> {
        let at_ns = self.next_ns;
        if at_ns >= now_ns {
            return None;
        }
        self.next_ns += self.every_ns;
        let stats = engine.stats();
        let seconds = self.every_ns as f64 / SECOND as f64;
        // Since 0.16 only computed prompt tokens count; the line of one version is not another's.
        let computed = stats.prompt_tokens.saturating_sub(stats.cached_prompt_tokens);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        let prompt = rate(computed, self.before.prompt_tokens);
        let generation = rate(stats.generation_tokens, self.before.generation_tokens);
        let silent = prompt == 0.0 && generation == 0.0;
        let level = if silent && self.idle { Level::Debug } else { Level::Info };
        let rank = self.rank;
        let mut lines = vec![Shown { rank, kind: throughput(stats, prompt, generation), level }];
        if let Some(counts) = speculated(stats, &self.before) {
            lines.push(Shown { rank, kind: Kind::Speculation { counts, seconds }, level });
        }
        self.idle = silent;
        self.before = Before {
            prompt_tokens: computed,
            generation_tokens: stats.generation_tokens,
            speculation: stats.speculation.clone(),
        };
        Some((at_ns, lines))
    }
}

fn throughput(stats: &Stats, prompt: f64, generation: f64) -> Kind {
    let external = stats.external;
    let levels = stats.gauges;
    Kind::Throughput {
        prompt,
        generation,
        running: levels.running,
        waiting: levels.waiting,
        deferred: levels.deferred,
        usage: levels.kv_usage,
        hits: (!stats.recent_hits.is_empty()).then(|| stats.recent_hits.share()),
        external: (external.queries > 0).then(|| external.hits as f64 / external.queries as f64),
    }
}

/// Rounds since the last line; `None` when there were none.
fn speculated(stats: &Stats, before: &Before) -> Option<Speculation> {
    let now = stats.speculation.as_ref()?;
    let Some(before) = &before.speculation else { return (now.drafts > 0).then(|| now.clone()) };
    let since = |now: u64, before: u64| now.saturating_sub(before);
    let counts = Speculation {
        drafts: since(now.drafts, before.drafts),
        draft_tokens: since(now.draft_tokens, before.draft_tokens),
        accepted: since(now.accepted, before.accepted),
        accepted_at: now
            .accepted_at
            .iter()
            .zip(&before.accepted_at)
            .map(|(now, before)| since(*now, *before))
            .collect(),
    };
    (counts.drafts > 0).then_some(counts)
}

impl Shown {
    pub(super) fn text(&self, style: &Style) -> Line {
        let (site, message) = match &self.kind {
            Kind::Throughput { prompt, generation, running, waiting, deferred, usage, hits, external } => {
                let mut parts = vec![
                    format!("Avg prompt throughput: {prompt:.1} tokens/s"),
                    format!("Avg generation throughput: {generation:.1} tokens/s"),
                    format!("Running: {running} reqs"),
                    format!("Waiting: {waiting} reqs"),
                ];
                if *deferred > 0 && style.since(20) {
                    parts.push(format!("Deferred: {deferred} reqs"));
                }
                parts.push(format!("GPU KV cache usage: {:.1}%", usage * 100.0));
                // The newest lines leave it out while there is nothing to tell.
                if hits.is_some() || !style.since(33) {
                    parts.push(format!("Prefix cache hit rate: {:.1}%", hits.unwrap_or(0.0) * 100.0));
                }
                if let Some(share) = external {
                    parts.push(format!("External prefix cache hit rate: {:.1}%", share * 100.0));
                }
                (Site("v1/metrics/", "loggers.py", 259, 335), format!("Engine {:03}: {}", self.rank, parts.join(", ")))
            }
            Kind::Speculation { counts, seconds } => {
                (Site("v1/spec_decode/", "metrics.py", 100, 120), speculation(counts, *seconds))
            }
        };
        Line { process: Process::Api, level: self.level, site, message }
    }
}

fn speculation(counts: &Speculation, seconds: f64) -> String {
    let (drafts, drafted, accepted) = (counts.drafts as f64, counts.draft_tokens as f64, counts.accepted as f64);
    let positions: Vec<String> = counts.accepted_at.iter().map(|at| format!("{:.3}", *at as f64 / drafts)).collect();
    let share = if drafted > 0.0 { format!("{:.1}", accepted / drafted * 100.0) } else { "nan".into() };
    format!(
        "SpecDecoding metrics: Mean acceptance length: {:.2}, Accepted throughput: {:.2} tokens/s, Drafted throughput: \
         {:.2} tokens/s, Accepted: {accepted} tokens, Drafted: {drafted} tokens, Per-position acceptance rate: {}, Avg \
         Draft acceptance rate: {share}%",
        1.0 + accepted / drafts,
        accepted / seconds,
        drafted / seconds,
        positions.join(", "),
    )
}

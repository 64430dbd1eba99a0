//! What the attention ranks of one server did between two readings of its page.

use super::trusted_counters::TrustedCounters;
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Missing, Source},
    moment::Moment,
    signal::{Part, Series, Signal},
};
use std::collections::{BTreeMap, BTreeSet};

/// Labels by which the ranks of a server are told apart.
const RANK_LABELS: [&str; 2] = ["dp_rank", "engine"];

/// The work of every rank over time, and over the whole window.
#[derive(Debug, Clone, PartialEq)]
pub struct RankSteps {
    /// What a rank did in one span, of all ranks and spans.
    pub cells: Vec<Cell>,
    /// What each rank did over the windows, by rank.
    pub totals: Vec<RankTotal>,
    /// The series behind it.
    pub source: Source,
}

/// What one rank did between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Mean gap between two tokens of its requests, seconds.
    pub gap: f64,
    /// Gaps behind it.
    pub gaps: f64,
    /// Prompt tokens that it computed, a step of the server.
    pub prompts: f64,
    /// The same of all other ranks together.
    pub other_prompts: f64,
    /// Context that its decodes read, tokens a step.
    pub context: f64,
    /// What the rank with the most context reads beyond that.
    pub excess: f64,
    /// What that rank reads beyond the mean of all ranks.
    pub uneven: f64,
}

/// What one rank did over the windows of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct RankTotal {
    /// Its label's value.
    pub rank: String,
    /// Requests that ended.
    pub finished: f64,
    /// Prompt tokens of requests that got their first token, found ones included.
    pub prompt_tokens: f64,
    /// Tokens generated.
    pub generated: f64,
}

impl RankTotal {
    /// Context of a request in the middle of its answer, tokens; `None` where none ended.
    pub fn context(&self) -> Option<f64> {
        (self.finished > 0.0).then(|| (self.prompt_tokens + self.generated / 2.0) / self.finished)
    }

    /// Context that its decodes read over the windows, tokens.
    pub fn context_read(&self) -> f64 {
        self.generated * self.context().unwrap_or(0.0)
    }
}

/// Most ranks that one page of the side shows; fewer than 2: none that could wait for another.
pub fn shown(side: &Side<'_>) -> usize {
    side.evidence.runs.iter().flat_map(servers).map(|ranks| ranks.len()).max().unwrap_or(0)
}

impl Measure for RankSteps {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        side.measure::<TrustedCounters>()?;
        let (mut cells, mut from) = (Vec::new(), Vec::new());
        let mut totals: BTreeMap<String, RankTotal> = BTreeMap::new();
        for run in &side.evidence.runs {
            for server in servers(run).filter(|ranks| ranks.len() > 1) {
                let ranks: Vec<Readings> =
                    server.iter().map(|rank| Readings::of(run, rank)).collect::<Result<_, _>>()?;
                let ranks = at_the_same_moments(ranks);
                from.extend(server.iter().map(|rank| rank.source(run)));
                for (rank, readings) in server.iter().zip(&ranks) {
                    let total = totals.entry(rank.name.clone()).or_insert_with(|| RankTotal {
                        rank: rank.name.clone(),
                        finished: 0.0,
                        prompt_tokens: 0.0,
                        generated: 0.0,
                    });
                    total.finished += readings.grown(|r| r.finished);
                    total.prompt_tokens += readings.grown(|r| r.prompt_tokens);
                    total.generated += readings.grown(|r| r.generated);
                }
                cells.extend(cells_of(&ranks));
            }
        }
        if cells.is_empty() {
            let what = "gaps, steps and prompt tokens of each attention rank, read several times in the window";
            return Err(Missing::not_exposed(what, "firstcheck run --url URL --scrape-interval 1s"));
        }
        let source = Source::Derived { by: "growth of each rank's counters between readings".into(), from };
        Ok(Self { cells, totals: totals.into_values().collect(), source })
    }
}

/// A rank, by the series of the tokens that it generates.
struct Rank<'r> {
    name: String,
    label: &'static str,
    series: &'r Series,
}

/// A server by its page and the labels that its ranks share.
type Server<'r> = (&'r str, Vec<(&'r str, &'r str)>);

/// The ranks of each server that the pages of a run show.
fn servers(run: &RunEvidence) -> impl Iterator<Item = Vec<Rank<'_>>> {
    let mut servers: BTreeMap<Server<'_>, Vec<Rank<'_>>> = BTreeMap::new();
    // What every engine shows of each rank: a level of its scheduler.
    for series in run.series(Signal::Running, Part::Value) {
        let Some(label) = RANK_LABELS.into_iter().find(|label| series.labels.get(label).is_some()) else { continue };
        // A rank of attention is a rank of other splits as well.
        let rest = series.labels.0.iter().filter(|(name, _)| *name != label && !name.ends_with("_rank"));
        let rest = rest.map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let name = series.labels.get(label).unwrap_or_default().to_owned();
        let ranks = servers.entry((series.page.as_str(), rest)).or_default();
        // Of the tensor ranks of an attention rank one stands for all.
        if ranks.iter().all(|rank| rank.name != name) {
            ranks.push(Rank { name, label, series });
        }
    }
    servers.into_values()
}

impl Rank<'_> {
    /// Whether a series is of this rank, and of the split that stands for it.
    fn has(&self, other: &Series) -> bool {
        let same = |label: &str| other.labels.get(label) == self.series.labels.get(label);
        let no_other_split = |(label, value): &(String, String)| {
            !label.ends_with("_rank") || self.series.labels.get(label).is_none_or(|own| own == value)
        };
        other.page == self.series.page
            && ["instance", "pod", self.label].into_iter().all(same)
            && other.labels.0.iter().all(no_other_split)
    }

    fn source(&self, run: &RunEvidence) -> Source {
        Source::Series {
            run: run.info.id.clone(),
            name: self.series.name.clone(),
            labels: self.series.labels.render(),
            from_ns: self.series.at.first().copied().unwrap_or(Moment::NEVER),
            to_ns: self.series.at.last().copied().unwrap_or(Moment::NEVER),
        }
    }
}

/// Counters of a rank at one reading.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    at: Moment,
    gap_seconds: f64,
    gaps: f64,
    steps: f64,
    prompt_tokens: f64,
    found_tokens: f64,
    generated: f64,
    finished: f64,
}

/// The readings of a rank inside the window, in order of time.
struct Readings(Vec<Reading>);

impl Readings {
    fn of(run: &RunEvidence, rank: &Rank<'_>) -> Result<Self, Missing> {
        let summed = |signal: Signal, part: Part| -> Result<BTreeMap<Moment, f64>, Missing> {
            let mut sum: BTreeMap<Moment, f64> = BTreeMap::new();
            for series in run.series(signal, part).filter(|series| rank.has(series)) {
                for (at, value) in series.inside(run.info.window).filter(|(_, value)| value.is_finite()) {
                    *sum.entry(at).or_default() += value * series.unit_factor();
                }
            }
            if sum.is_empty() {
                let what = format!("`{}` of each attention rank", signal.name());
                return Err(Missing::not_exposed(what, "an engine whose page counts it for each rank"));
            }
            Ok(sum)
        };
        let (gap_seconds, gaps) = (summed(Signal::Itl, Part::Sum)?, summed(Signal::Itl, Part::Count)?);
        let steps = summed(Signal::IterationTokens, Part::Count)?;
        let (prompt, generated) =
            (summed(Signal::PromptTokens, Part::Value)?, summed(Signal::GenerationTokens, Part::Value)?);
        let finished = summed(Signal::Finished, Part::Value)?;
        // An engine without a prefix cache counts no hits.
        let found = summed(Signal::PrefixHits, Part::Value).unwrap_or_default();
        let reading = |(at, gap_seconds): (&Moment, &f64)| {
            Some(Reading {
                at: *at,
                gap_seconds: *gap_seconds,
                gaps: *gaps.get(at)?,
                steps: *steps.get(at)?,
                prompt_tokens: *prompt.get(at)?,
                found_tokens: found.get(at).copied().unwrap_or(0.0),
                generated: *generated.get(at)?,
                finished: *finished.get(at)?,
            })
        };
        Ok(Self(gap_seconds.iter().filter_map(reading).collect()))
    }

    fn moments(&self) -> BTreeSet<Moment> {
        self.0.iter().map(|reading| reading.at).collect()
    }

    /// Growth over all readings; a counter that restarted has grown from nothing to what it shows.
    fn grown(&self, of: fn(&Reading) -> f64) -> f64 {
        let step = |pair: &[Reading]| {
            let (from, to) = (of(&pair[0]), of(&pair[1]));
            if to >= from { to - from } else { to }
        };
        self.0.windows(2).map(step).sum()
    }
}

/// The readings that all ranks of a server have: one that a rank lacks says nothing of the others' share.
fn at_the_same_moments(mut ranks: Vec<Readings>) -> Vec<Readings> {
    let Some(mut common) = ranks.first().map(Readings::moments) else { return ranks };
    for rank in &ranks {
        let own = rank.moments();
        common.retain(|at| own.contains(at));
    }
    ranks.iter_mut().for_each(|rank| rank.0.retain(|reading| common.contains(&reading.at)));
    ranks
}

/// Growth of one rank between two readings, and whether no counter restarted.
fn between(pair: &[Reading]) -> Option<Reading> {
    let (from, to) = (pair.first()?, pair.get(1)?);
    let grown = Reading {
        at: to.at,
        gap_seconds: to.gap_seconds - from.gap_seconds,
        gaps: to.gaps - from.gaps,
        steps: to.steps - from.steps,
        prompt_tokens: to.prompt_tokens - from.prompt_tokens,
        found_tokens: to.found_tokens - from.found_tokens,
        generated: to.generated - from.generated,
        finished: to.finished - from.finished,
    };
    let all = [grown.gap_seconds, grown.gaps, grown.steps, grown.prompt_tokens, grown.generated, grown.finished];
    all.iter().all(|value| *value >= 0.0).then_some(grown)
}

/// The cells of a server whose ranks were read at the same moments.
fn cells_of(ranks: &[Readings]) -> Vec<Cell> {
    let contexts: Vec<f64> = ranks.iter().map(context).collect();
    let mut cells = Vec::new();
    for place in 0..ranks.first().map_or(0, |rank| rank.0.len().saturating_sub(1)) {
        let spans = ranks.iter().map(|rank| between(rank.0.get(place..place + 2)?));
        let Some(spans) = spans.collect::<Option<Vec<Reading>>>() else { continue };
        // A rank with nothing to do takes empty steps, which no engine counts.
        let steps = spans.iter().map(|span| span.steps).fold(0.0, f64::max);
        if steps <= 0.0 {
            continue;
        }
        let computed = |span: &Reading| (span.prompt_tokens - span.found_tokens).max(0.0) / steps;
        let read: Vec<f64> =
            spans.iter().zip(&contexts).map(|(span, tokens)| span.generated / steps * tokens).collect();
        let (all, most) = (spans.iter().map(computed).sum::<f64>(), read.iter().copied().fold(0.0, f64::max));
        let uneven = most - read.iter().sum::<f64>() / read.len() as f64;
        for (span, context) in spans.iter().zip(read).filter(|(span, _)| span.gaps > 0.0) {
            cells.push(Cell {
                gap: span.gap_seconds / span.gaps,
                gaps: span.gaps,
                prompts: computed(span),
                other_prompts: all - computed(span),
                context,
                excess: most - context,
                uneven,
            });
        }
    }
    cells
}

/// Context of a request of a rank in the middle of its answer, tokens; 0 where none ended.
fn context(rank: &Readings) -> f64 {
    let total = RankTotal {
        rank: String::new(),
        finished: rank.grown(|r| r.finished),
        prompt_tokens: rank.grown(|r| r.prompt_tokens),
        generated: rank.grown(|r| r.generated),
    };
    total.context().unwrap_or(0.0)
}

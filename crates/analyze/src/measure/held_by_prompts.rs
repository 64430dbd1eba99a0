//! Whether prompts that were computed explain why streams stood still.

use super::{
    episodes::{Episode, Episodes},
    prompt_cost::{PromptCost, own},
};
use crate::{case::Case, verdict::MOST};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Fact, Missing, Source},
    moment::Moment,
    request::{Fate, Request},
    signal::{Part, Signal},
};

/// How prompts hold streams up.
#[derive(Debug, Clone, PartialEq)]
pub enum Held {
    /// One chunk of a prompt at a time, each in a step with the streams.
    ByChunks(Fact),
    /// A whole prompt at once, with no token of a stream before its end.
    ByWholes(Fact),
    /// No prompt of the window takes as long.
    Not(Fact),
}

/// What the window's prompts say of `episodes`: whether those that take as long, to a factor, were computed when the
/// streams stood still (the client's own) or are about as many (others', of which only lengths are known).
///
/// With a base a prompt token takes at most a few times what it takes there: where all requests met a standstill, none shows
/// what its prompt takes by itself.
///
/// # Errors
/// What is missing where the client's own prompts do not explain them and others' are not known.
pub fn held_by_prompts(case: &Case<'_>, episodes: &Episodes, factor: f64) -> Result<Held, Missing> {
    let side = case.side;
    let before = case.base.and_then(|base| base.measure::<PromptCost>().ok());
    let cost = PromptCost::clone(&*side.measure::<PromptCost>()?).at_most(before.as_deref());
    let Some(length) = episodes.median() else {
        return Err(Missing::not_exposed("streams that stood still", "firstcheck run --url URL"));
    };
    let near = |time: f64| (1.0 / factor..=factor).contains(&(length.0 / time));
    let matches = |tokens: f64| near(cost.step_takes(tokens)) || near(cost.takes(tokens));
    let windows: Vec<Vec<Prompt>> = side.evidence.runs.iter().map(|run| prompts(run, matches)).collect();
    let during = |episode: &&Episode| windows.get(episode.run).is_some_and(|run| run.iter().any(|p| p.during(episode)));
    let covered = episodes.0.iter().filter(during).count();
    let all = episodes.0.len() as f64;
    let own_count: usize = windows.iter().map(Vec::len).sum();
    let typical = |tokens: f64, count: f64| {
        let (step, whole) = (cost.step_takes(tokens), cost.takes(tokens));
        let chunked = cost.steps(tokens) > 1.0 && (length.0 / step).ln().abs() <= (length.0 / whole).ln().abs();
        let time = if chunked { step } else { whole };
        let what = if chunked { "a chunk of a prompt" } else { "a whole prompt" };
        let text = format!(
            "{what} of {tokens:.0} tokens takes about {:.0} ms, and streams stood still for {:.0} ms; {count:.0} such \
             prompts, {all:.0} times",
            time * 1e3,
            length.0 * 1e3
        );
        let fact = fact(text, time, count, &cost);
        if chunked { Held::ByChunks(fact) } else { Held::ByWholes(fact) }
    };
    if covered as f64 >= MOST * all {
        let mut lengths: Vec<f64> = windows.iter().flatten().map(|prompt| prompt.tokens).collect();
        lengths.sort_by(f64::total_cmp);
        return Ok(typical(lengths[lengths.len() / 2], own_count as f64));
    }
    let buckets = cost.everybodys.as_ref().map_err(Clone::clone)?;
    let middle = |(above, up_to): (f64, f64)| if up_to.is_finite() { (above.max(1.0) * up_to).sqrt() } else { above };
    let fits = |bucket: &&(f64, f64, f64)| {
        let (above, up_to, count) = **bucket;
        count >= 1.0
            && [above, middle((above, up_to)), up_to].into_iter().any(|t| t > 0.0 && t.is_finite() && matches(t))
    };
    let fitting: Vec<&(f64, f64, f64)> = buckets.iter().filter(fits).collect();
    // A border of a bucket may fit where the client's own prompts in it do not: of those only who was under way counts.
    let began: Vec<Vec<Moment>> = (0..side.evidence.runs.len()).map(|run| starts(episodes, run)).collect();
    let own: Vec<f64> = side.evidence.runs.iter().zip(&began).flat_map(|(run, began)| beside(run, began)).collect();
    let of_others = |bucket: &(f64, f64, f64)| {
        let mine = own.iter().filter(|tokens| holds(bucket, **tokens)).count() as f64;
        let others = bucket.2 - mine;
        if others >= f64::max(1.0, MISCOUNTED * mine) { others } else { 0.0 }
    };
    let others: Vec<(f64, f64)> = fitting
        .iter()
        .map(|bucket| (middle((bucket.0, bucket.1)), of_others(bucket)))
        .filter(|one| one.1 > 0.0)
        .collect();
    let steps: f64 = others.iter().map(|(tokens, count)| count * cost.steps(*tokens)).sum();
    if let Some((tokens, _)) = others.last()
        && steps >= MOST * all
    {
        return Ok(typical(*tokens, others.iter().map(|(_, count)| count).sum()));
    }
    let longest = buckets.iter().rfind(|(.., count)| *count >= 1.0).map_or(0.0, |(_, up_to, _)| *up_to);
    let text = format!(
        "streams stood still for {:.0} ms, {all:.0} times; prompts of up to {longest:.0} tokens were computed, a token in \
         {:.0} µs, and they do not account for it",
        length.0 * 1e3,
        cost.per_token.value.0 * 1e6
    );
    Ok(Held::Not(fact(text, length.0, all, &cost)))
}

/// Share of the client's own prompts by which the server's count of them may be off.
const MISCOUNTED: f64 = 0.02;

fn holds((above, up_to, _): &(f64, f64, f64), tokens: f64) -> bool {
    tokens > *above && tokens <= *up_to
}

/// When the episodes of a run began, in order.
fn starts(episodes: &Episodes, run: usize) -> Vec<Moment> {
    let mut began: Vec<Moment> = episodes.0.iter().filter(|one| one.run == run).map(|one| one.start).collect();
    began.sort_unstable();
    began
}

/// Lengths, cached tokens included, of the client's own prompts that were finished while the server's histogram was watched
/// and under way at none of the moments at which streams `began` to stand still.
fn beside<'r>(run: &'r RunEvidence, began: &'r [Moment]) -> impl Iterator<Item = f64> + 'r {
    let watched = run.series(Signal::PromptLength, Part::Count).filter_map(|series| {
        let delta = series.delta(run.info.window).ok()?;
        Some((delta.from, delta.to))
    });
    let watched = watched.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let done = run.requests.0.iter().filter(move |request| {
        request.fate == Fate::Completed && watched.is_some_and(|(from, to)| request.done > from && request.done <= to)
    });
    let under_way = |request: &Request| {
        let next = began.get(began.partition_point(|at| *at < request.sent));
        next.is_some_and(|at| *at < request.first_token)
    };
    done.filter(move |request| !under_way(request)).filter_map(|request| request.prompt_tokens.map(f64::from))
}

fn fact(text: String, seconds: f64, n: f64, cost: &PromptCost) -> Fact {
    let source = Source::Derived {
        by: "prompt tokens × time of a prompt token".into(),
        from: vec![cost.per_token.source.clone()],
    };
    Fact { text, value: Some(seconds), unit: Some("s".into()), interval: None, n: Some(n.round() as u64), source }
}

/// A prompt of the client's own, from its send to its first token.
struct Prompt {
    tokens: f64,
    sent: Moment,
    first_token: Moment,
}

impl Prompt {
    /// Whether it was being computed when the streams went on: its first token is not yet there or came with them.
    fn during(&self, episode: &Episode) -> bool {
        self.sent < episode.end && self.first_token > episode.start
    }
}

/// Prompts of a run whose length fits.
fn prompts(run: &RunEvidence, fits: impl Fn(f64) -> bool) -> Vec<Prompt> {
    let known = run.requests.0.iter().filter_map(|request| {
        let (tokens, _) = own(request)?;
        fits(tokens).then_some(Prompt { tokens, sent: request.sent, first_token: request.first_token })
    });
    known.collect()
}

//! S10: speculative decoding is faster in the middle and slower in the tail.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters,
        gap_histogram::GapHistogram,
        preemptions::Preemptions,
        speculation_rounds::{Rounds, SpeculationRounds},
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    signal::{Part, Signal},
};
use firstcheck_stats::{linear, rank::spearman};

declare_check! {
    /// ## What it means
    ///
    /// Drafts are verified in rounds: a round takes longer than a plain step and yields more tokens. Where it yields few,
    /// or takes much longer, the requests concerned are slower than without: the median improves and the tail does not.
    ///
    /// ## How it is decided
    ///
    /// No engine counts acceptance per request, so tokens a round are taken from streams that send an event a round.
    /// The base is the same workload without speculation, or with a healthy one. The symptom: the 99th percentile of the
    /// time per output token is {slower} of itself above the base's, or that of the gaps is while the time per token is
    /// not.
    ///
    /// The slowest tenth is split: `time per token = time of a round / tokens a round`. Against a base with
    /// speculation, its tokens a round and its round time at equal batch are the reference; against one without, those
    /// of the side's own faster half, and if that is slower too, the base's step.
    ///
    /// - Fewer tokens a round explain {part} of it or more: acceptance by class, where the slowest tenth has less than
    ///   {class} of the others' tokens a round; the draft's cache, where longer answers have fewer: more than
    ///   chance, and the longest third loses {decay} of the shortest third's, which the base's does not.
    /// - A longer round explains it: a fixed cost, where {part} of it is there at a batch of one; else the batch.
    /// - More preemptions than the base, {preempted} a request: the draft takes memory.
    /// - The resolved graph mode differs: graphs.
    /// - Only gaps are longer, against a base without speculation: measured by chunk.
    ///
    /// ## What to do
    ///
    /// Batch: switch drafts off above the batch where they lose. Class: switch them off for it. Fixed cost: speculation
    /// loses below `time of a round / time of a step` tokens a round; shorter drafts, or none.
    ///
    /// Looks like: chunks (S12); preemption (S15).
    pub static SPECULATION_TAIL = {
        code: "S10", slug: "speculation-tail", family: Stream, severity: Major,
        symptom: "speculative decoding is faster in the middle and slower in the tail",
        needs: all_of[Events],
        params: {
            slower: 0.1 ["1"] = "rise of the 99th percentile that counts as slower",
            part: 0.5 ["1"] = "share from which a part explains the whole",
            class: 0.8 ["1"] = "share of the others' tokens a round below which requests are of another class",
            decay: 0.05 ["1"] = "share of a short answer's tokens a round that long ones lose, beyond the base's, from which the draft decays",
            preempted: 0.05 ["1"] = "more preemptions a request than the base's that count",
        },
        causes: {
            BatchEffect: "batch-effect" = "verification competes with decoding when the batch is large",
            AcceptanceByClass: "acceptance-by-class" = "drafts of one class of requests are seldom accepted",
            FixedCost: "fixed-cost" = "each round costs more time than accepted tokens pay for",
            DraftMemory: "draft-memory" = "the draft's memory leaves less KV cache, and requests are preempted",
            GraphDowngrade: "graph-downgrade" = "verification cannot use the graphs that plain decoding does",
            MeasuredByChunk: "measured-by-chunk" = "the gap between chunks grew, the time per token did not",
            DraftCache: "draft-cache" = "the draft's own cache goes wrong: acceptance falls along an answer",
        },
        run: check,
    }
}

/// The slowest tenth against its reference, in logarithms.
struct Split {
    /// What fewer tokens a round explain.
    tokens: f64,
    /// What a longer round explains.
    time: f64,
    /// Share of the longer round that is there at a batch of one; `None` where batches did not vary.
    fixed: Option<f64>,
    /// Tokens a round of the slowest tenth over those of the others.
    class: f64,
    words: String,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let now = case.side.measure::<SpeculationRounds>()?;
    if !speculates(case.side, &now) {
        return Ok(Outcome::NotApplicable { why: "nothing shows speculative decoding".into() });
    }
    let base = case.base_for("times per token of the same workload without speculation, or")?;
    let before = base.measure::<SpeculationRounds>()?;
    let tail = |of: &SpeculationRounds| of.quantile(0.99, |one| one.tpot);
    let middle = |of: &SpeculationRounds| of.quantile(0.5, |one| one.tpot);
    let rise = tail(&now) / tail(&before) - 1.0;
    let fact = fact(
        &now,
        Some(rise),
        format!(
            "time per token p99 {:.2} ms, base {:.2} ({:+.0} %); p50 {:.2} ms, base {:.2}",
            tail(&now) * 1e3,
            tail(&before) * 1e3,
            rise * 100.0,
            middle(&now) * 1e3,
            middle(&before) * 1e3
        ),
    );
    let gaps = gap_rise(case.side, base);
    let slower = rise >= params.slower;
    // Against a base that speculates as well, chunks are the same on both sides.
    let by_chunk = !slower && is_plain(&before) && gaps.as_ref().is_some_and(|(rise, _)| *rise >= params.slower);
    if !slower && !by_chunk {
        return Ok(Outcome::Absent { why: vec![fact] });
    }
    let mut verdict = Verdict::<Cause>::new();
    let split = split(&now, &before);
    let whole = || vec![self::fact(&now, Some(split.tokens), split.words.clone())];
    let weigh = |supported: bool| Weighed::by(supported, whole());
    let total = split.tokens + split.time;
    let (few, long) = (slower && split.tokens >= params.part * total, slower && split.time >= params.part * total);
    let decays = decay(&now, &before, params);
    let class = split.class < params.class;
    verdict.weigh(
        Cause::DraftCache,
        match &decays {
            Some((true, fact)) if few => Ok(Weighed::Supports(vec![fact.clone()])),
            Some((_, fact)) => Ok(Weighed::Excludes(vec![fact.clone()])),
            None => Err(Missing::not_exposed(
                "answers of different lengths",
                "firstcheck run --url URL --output-tokens uniform:50-500",
            )),
        },
    );
    let decaying = matches!(&decays, Some((true, _)));
    verdict.weigh(Cause::AcceptanceByClass, Ok(weigh(few && class && !decaying)));
    verdict.weigh(Cause::FixedCost, cost(&split, long, |fixed| fixed >= params.part, &weigh));
    verdict.weigh(Cause::BatchEffect, cost(&split, long, |fixed| fixed < params.part, &weigh));
    verdict.weigh(Cause::DraftMemory, memory(case.side, base, params));
    verdict.weigh(Cause::GraphDowngrade, graphs(case.side, base));
    verdict.weigh(
        Cause::MeasuredByChunk,
        match gaps {
            Some((_, fact)) => Ok(Weighed::by(by_chunk, vec![fact])),
            None => Err(Missing::not_exposed("gaps between events of both sides", "firstcheck run --url URL")),
        },
    );
    Ok(verdict.present(vec![fact], None, follow_up))
}

fn fact(of: &SpeculationRounds, value: Option<f64>, text: String) -> Fact {
    let n = Some(of.requests.len() as u64);
    Fact { value, unit: value.map(|_| "1".into()), n, ..Fact::told(text, of.source.clone()) }
}

/// Drafts were counted, or streams carry more than a token an event. An engine that tells of its speculation on each page
/// shows by it that it has none, and several tokens an event are then another matter (S12).
fn speculates(side: &Side<'_>, rounds: &SpeculationRounds) -> bool {
    match counters::growth_in(&side.evidence.runs, Signal::Drafts, Part::Value) {
        Ok(drafts) => drafts.value > 0.0,
        Err(_) => !says_it_has_none(side) && !is_plain(rounds),
    }
}

/// Whether an engine shows by what it does not count that it drafts nothing: vLLM counts drafts wherever it drafts, and
/// SGLang sets the tokens that a round yields with all its gauges, to 0 where there are no rounds.
fn says_it_has_none(side: &Side<'_>) -> bool {
    let series = || side.evidence.runs.iter().flat_map(|run| &run.signals);
    let mut yields = series().filter(|series| series.name == "sglang:spec_accept_length").peekable();
    let none_yielded = yields.peek().is_some() && yields.all(|series| series.value.iter().all(|value| *value <= 0.0));
    none_yielded || series().any(|series| series.name.starts_with("vllm:"))
}

/// Whether an event carries no more than a token.
fn is_plain(rounds: &SpeculationRounds) -> bool {
    rounds.quantile(0.5, |one| one.tokens) <= SPECULATES
}

/// Tokens an event from which rounds yield more than one.
const SPECULATES: f64 = 1.1;

fn mean(all: &[Rounds], of: fn(&Rounds) -> f64) -> f64 {
    all.iter().map(of).sum::<f64>() / all.len().max(1) as f64
}

/// Round time as a line over the batch: at none, and for each request.
fn line(rounds: &SpeculationRounds) -> Option<(f64, f64)> {
    let rows: Vec<Vec<f64>> = rounds.requests.iter().map(|one| vec![1.0, one.beside]).collect();
    let times: Vec<f64> = rounds.requests.iter().map(|one| one.time).collect();
    let fit = linear::fit(&rows, &times).ok().flatten()?;
    Some((fit.coefficients[0], fit.coefficients[1]))
}

fn split(now: &SpeculationRounds, before: &SpeculationRounds) -> Split {
    let (tail, fast) = (now.tail(), now.fast());
    let others = &now.requests[..now.requests.len() - tail.len()];
    let plain = is_plain(before);
    let at = |fitted: Option<(f64, f64)>, beside: f64, all: &SpeculationRounds| {
        fitted.map_or_else(|| mean(&all.requests, |one| one.time), |(none, each)| none + each * beside)
    };
    let (ours, theirs) = (line(now), line(before));
    let beside = mean(tail, |one| one.beside);
    let step = at(theirs, beside, before).max(1e-9);
    let (tokens, time) = (mean(tail, |one| one.tokens), mean(tail, |one| one.time));
    let (usual, ratio) = if plain {
        let usual = mean(fast, |one| one.tokens);
        let of_fast = mean(fast, |one| one.time) / at(theirs, mean(fast, |one| one.beside), before).max(1e-9);
        // Where even the faster half loses, the round itself is what costs.
        (usual, if of_fast <= usual { of_fast } else { 1.0 })
    } else {
        (mean(&before.requests, |one| one.tokens), 1.0)
    };
    let longer = |beside: f64| at(ours, beside, now) - at(theirs, beside, before);
    // A round that accepted tokens do not pay for alone costs too much whatever the batch.
    let alone = at(ours, 1.0, now) / at(theirs, 1.0, before).max(1e-9);
    let loses_alone = plain && alone > mean(&now.requests, |one| one.tokens);
    let share = ours.zip(theirs).map(|_| longer(1.0) / longer(beside).max(1e-9));
    let fixed = if loses_alone { Some(1.0) } else { share };
    let class = tokens / mean(others, |one| one.tokens).max(1e-9);
    Split {
        tokens: (usual / tokens.max(1e-9)).ln(),
        time: (time / step / ratio).ln(),
        fixed,
        class,
        words: format!(
            "the slowest tenth has {tokens:.2} tokens a round (usual {usual:.2}), {:.2} ms a round beside {beside:.1} \
             requests (base {:.2} ms)",
            time * 1e3,
            step * 1e3
        ),
    }
}

fn cost(
    split: &Split,
    long: bool,
    is: impl Fn(f64) -> bool,
    weigh: &impl Fn(bool) -> Weighed,
) -> Result<Weighed, Missing> {
    match (long, split.fixed) {
        (false, _) => Ok(weigh(false)),
        (true, Some(fixed)) => Ok(weigh(is(fixed))),
        (true, None) => {
            Err(Missing::not_exposed("rounds at different batches", "firstcheck run --url URL at two rates"))
        }
    }
}

/// Whether longer answers have fewer tokens a round, and the base's do not; `None` where lengths do not vary.
fn decay(now: &SpeculationRounds, before: &SpeculationRounds, params: &Params) -> Option<(bool, Fact)> {
    let correlation = |of: &SpeculationRounds| {
        let lengths: Vec<f64> = of.requests.iter().map(|one| one.length).collect();
        let tokens: Vec<f64> = of.requests.iter().map(|one| one.tokens).collect();
        spearman(&lengths, &tokens).ok().flatten()
    };
    // The longest third's tokens a round over the shortest third's.
    let kept = |of: &SpeculationRounds| {
        let mut all = of.requests.clone();
        all.sort_by(|a, b| a.length.total_cmp(&b.length));
        let third = (all.len() / 3).max(1);
        mean(&all[all.len() - third..], |one| one.tokens) / mean(&all[..third], |one| one.tokens).max(1e-9)
    };
    let (ours, left, before) = (correlation(now)?, kept(now), kept(before));
    let text = format!(
        "tokens a round against the length of the answer: rank correlation {ours:.2}; the longest third has {left:.2} of the \
         shortest third's, the base's {before:.2}"
    );
    let beyond_chance = ours < -SIGMAS / (now.requests.len().max(2) as f64 - 1.0).sqrt();
    let falls = beyond_chance && left <= 1.0 - params.decay && left <= (1.0 - params.decay) * before;
    Some((falls, fact(now, Some(left), text)))
}

/// Standard deviations of a rank correlation of nothing (1 / √(n − 1)) beyond which it is no chance.
const SIGMAS: f64 = 3.0;

fn memory(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let (now, before) = (side.measure::<Preemptions>()?, base.measure::<Preemptions>()?);
    let (ours, theirs) = (now.rate.value.0, before.rate.value.0);
    let fact = now.rate.fact(format!("{ours:.2} preemptions a request, base {theirs:.2}"));
    Ok(Weighed::by(ours - theirs > params.preempted, vec![fact]))
}

fn graphs(side: &Side<'_>, base: &Side<'_>) -> Result<Weighed, Missing> {
    let mode = |side: &Side<'_>| {
        let of_log = |log: &firstcheck_model::engine_log::EngineLog| {
            let named = |setting: &&firstcheck_model::engine_log::Setting| setting.name.ends_with("cudagraph_mode");
            let setting = log.resolved.iter().rev().find(named)?;
            Some((setting.value.clone(), log.label.clone(), setting.line))
        };
        side.evidence.logs.iter().find_map(of_log)
    };
    let (Some((ours, label, line)), Some((theirs, ..))) = (mode(side), mode(base)) else {
        return Err(Missing::not_exposed(
            "the resolved graph mode of both sides",
            "give both servers' logs from their start on",
        ));
    };
    let fact = Fact::told(format!("graph mode {ours}, base {theirs}"), Source::line(label, line));
    Ok(Weighed::by(ours != theirs, vec![fact]))
}

/// Rise of the 99th percentile of the gaps.
fn gap_rise(side: &Side<'_>, base: &Side<'_>) -> Option<(f64, Fact)> {
    let (now, before) = (side.measure::<GapHistogram>().ok()?, base.measure::<GapHistogram>().ok()?);
    let (ours, theirs) = (now.p99.value.0, before.p99.value.0);
    let rise = ours / theirs.max(1e-9) - 1.0;
    let text =
        format!("gaps between events p99 {:.1} ms, base {:.1} ms ({:+.0} %)", ours * 1e3, theirs * 1e3, rise * 100.0);
    Some((rise, now.p99.fact(text)))
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::BatchEffect => (
            "the same workload at several rates, with drafts and without: the batch where they cross is the limit",
            "firstcheck ab --base URL-WITHOUT --candidate URL-WITH --rate RATE",
            400,
            Some("switch drafts off above that batch (disable_by_batch_size, or shorter drafts)"),
        ),
        Cause::AcceptanceByClass => (
            "split the requests by what they ask for, and compare tokens a round",
            "firstcheck report RUN --format json",
            0,
            Some("switch drafts off for the class, or train the draft on it"),
        ),
        Cause::FixedCost => (
            "one request at a time, with drafts and without: tokens a round must exceed time of a round over time of a step",
            "firstcheck ab --base URL-WITHOUT --candidate URL-WITH --concurrency 1",
            40,
            Some("shorter drafts, or no speculation on this link"),
        ),
        Cause::DraftMemory => (
            "compare the KV pools of both start-up logs",
            "grep -E 'KV cache size|Available KV cache' BASE.log CANDIDATE.log",
            0,
            Some("lower --max-num-seqs by the share of the pool that the draft took"),
        ),
        Cause::GraphDowngrade => {
            ("compare the resolved graph modes of both sides", "grep -i cudagraph_mode BASE.log CANDIDATE.log", 0, None)
        }
        Cause::MeasuredByChunk => (
            "compare the time per output token, or gaps over the tokens that they carry",
            "firstcheck compare --base RUN --candidate RUN",
            0,
            None,
        ),
        Cause::DraftCache => (
            "one text asked for at lengths of 100 and 2,000 tokens: tokens a round must be equal",
            "firstcheck run --url URL --output-tokens fixed:2000",
            20,
            Some("restart with the draft's prefix caching off"),
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(str::to_owned) }
}

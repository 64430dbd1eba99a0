//! S07: the first token is quick, then the stream stutters.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters::growth,
        episodes::Episodes,
        event_pacing::EventPacing,
        gap_histogram::GapHistogram,
        held_by_prompts::{Held, held_by_prompts},
        largest_graph::LargestGraph,
        live_streams::LiveStreams,
        server_gaps::ServerGaps,
        stalls::{Stall, Stalls},
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    evidence::Kind,
    finding::{FollowUp, Outcome},
    measurement::{Fact, Measurement, Missing},
    signal::{Part, Signal},
    unit::{Ratio, Seconds},
};

declare_check! {
    /// ## What it means
    ///
    /// The first token comes quickly, and then tokens come in fits: most gaps are short, some are many times as long.
    /// Something takes whole steps from the streams.
    ///
    /// ## How it is decided
    ///
    /// By the histogram of event gaps, once it is known to be the server's (S12): at least {touched} of the streams have a
    /// gap above {apart} usual ones, and gaps above {beside} take {spent} of the streams' time; or it has two modes a factor
    /// {wide} apart, with {short} of the gaps, or the base's usual one, in the fast mode, and slow gaps cost {lost} of that
    /// time; or, with a base, {some} of the streams have a gap above {beside} usual ones, which take {spent} of it. A single
    /// slow mode is no stutter, nor what a base has as well, up to a factor {rise}.
    ///
    /// - Prompts: one whose chunk (budget × time of a prompt token) or whole takes as long as the slow gaps, to a factor
    ///   {factor}, was computed then, or the server counts about as many of them. Chunks share steps with streams; a
    ///   whole one, or a run of chunks, stands between their tokens, and smaller chunks alone do not help.
    /// - Pauses: at least {together} of the live streams wait at once and no prompt explains it.
    /// - Graphs: {agree} of the slow gaps fall where more streams run than the largest captured graph holds, and {agree} of
    ///   the others do not; where there are too many to list, the base ran such batches in graphs that hold them.
    /// - Preemption: at most twice as many slow gaps as preemptions. Delivery: the server's histogram holds not half of them.
    /// - Speculation: rounds that take longer yield as many more tokens.
    ///
    /// ## What to do
    ///
    /// Halve `--max-num-batched-tokens`: slow gaps must halve, the time to first token rises. Between decodes: let the
    /// engine interleave. Graphs: raise the capture sizes. Looks like: gaps on a regular period (S08), few streams that
    /// freeze (S09), chunks of several tokens (S12).
    pub static STREAM_STUTTER = {
        code: "S07", slug: "stream-stutter", family: Stream, severity: Major,
        symptom: "the first token comes quickly, then the stream stutters",
        needs: all_of[Events],
        params: {
            apart: 5.0 ["1"] = "usual gaps from which a gap is a slow one",
            touched: 0.15 ["1"] = "share of the streams that must have a slow gap",
            wide: 1.5 ["1"] = "ratio of the two modes from which they count as apart",
            short: 0.1 ["1"] = "share of the gaps in the fast mode: with fewer, slow gaps are the usual ones",
            lost: 0.25 ["1"] = "share of the streams' time that the slow mode must cost",
            beside: 3.0 ["1"] = "usual gaps from which a gap takes of the streams' time; beside a base from which it is a slow one",
            some: 0.05 ["1"] = "share of the streams that must have one beside a base",
            spent: 0.02 ["1"] = "share of their time that streams must spend in them",
            rise: 1.5 ["1"] = "times the base's cost of slow gaps from which it counts as more than the base's",
            factor: 2.0 ["1"] = "factor between a slow gap and the time of a prompt that explains it",
            together: 0.8 ["1"] = "share of the live streams that must wait at once for a pause of the engine",
            agree: 0.8 ["1"] = "share of the gaps that must fall on their side of the largest graph",
        },
        causes: {
            SharedSteps: "prefill-shares-steps" = "chunks of prompts share steps with the streams",
            BetweenDecodes: "prefill-between-decodes" = "whole prompts, or runs of their chunks, are computed between two tokens",
            Preempted: "preemption" = "requests are thrown out of the batch and computed again",
            Delivery: "delivery" = "the server is regular, and something behind it delivers in fits",
            EnginePauses: "engine-pauses" = "the engine stands still now and then",
            GraphBucket: "graph-bucket" = "batches grow beyond the largest captured graph",
            SpecRounds: "spec-rounds" = "rounds of speculation differ in what they take and yield",
        },
        consequence_of: {
            SharedSteps: "S01",
            SharedSteps: "S02",
            SharedSteps: "S03",
            SharedSteps: "S04",
            SharedSteps: "S06",
            BetweenDecodes: "S01",
            BetweenDecodes: "S02",
            BetweenDecodes: "S03",
            BetweenDecodes: "S04",
            BetweenDecodes: "S06",
            Preempted: "S15",
            Delivery: "S12",
            EnginePauses: "S08",
            EnginePauses: "S09",
        },
        // Rounds of drafts and masks of schemas make some steps longer than others.
        unexplained_under: ["S10", "S11"],
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let usual_of_base = case.base.and_then(|base| Some(base.measure::<Stalls>().ok()?.usual));
    let slow = match Slow::of(case.side, usual_of_base, params)? {
        Ok(slow) => slow,
        Err(why) => match Slow::beside(case, params) {
            Some(Ok(slow)) => slow,
            Some(Err(more)) => return Ok(Outcome::Absent { why: why.into_iter().chain(more).collect() }),
            None => return Ok(Outcome::Absent { why }),
        },
    };
    let mut facts = slow.facts.clone();
    if let Some(Ok(Ok(base))) = case.base.map(|base| Slow::of(base, None, params)) {
        let (cost, before) = (slow.cost * 100.0, base.cost * 100.0);
        facts.push(
            base.share.fact(format!("slow gaps cost {cost:.1} % of the streams' time, the base's {before:.1} %")),
        );
        if slow.cost <= params.rise * base.cost {
            return Ok(Outcome::Absent { why: facts });
        }
    }
    let server = ServerGaps::above(case.side, slow.limit);
    if case.side.measure::<EventPacing>()?.coalesced() {
        let server = server.clone()?;
        facts.push(server.fact());
        if !server.confirms() {
            return Ok(Outcome::Absent { why: facts });
        }
    }
    let episodes = Episodes::above(case.side, slow.limit);
    let held = episodes.as_ref().map_err(Clone::clone).and_then(|all| held_by_prompts(case, all, params.factor));
    let together = episodes.as_ref().map_err(Clone::clone).and_then(|all| all.together(case.side));
    let graphs = graph_bucket(case, &slow, params);
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::SharedSteps, held.clone().map(|held| by_prompts(held, true)));
    verdict.weigh(Cause::BetweenDecodes, held.clone().map(|held| by_prompts(held, false)));
    verdict
        .weigh(Cause::Preempted, super::preempted(case.side, (slow.share.n, "slow gaps"), &together, params.together));
    verdict.weigh(Cause::Delivery, server.map(|server| super::delivery(&server)));
    verdict.weigh(Cause::EnginePauses, pauses(&together, &held, &graphs, &slow, params));
    verdict.weigh(Cause::GraphBucket, graphs);
    verdict.weigh(Cause::SpecRounds, spec_rounds(case.side, &slow));
    Ok(verdict.present(facts, None, follow_up))
}

/// The slow gaps of a side.
struct Slow {
    /// From which length.
    limit: Seconds,
    /// Their median over a usual one.
    ratio: f64,
    /// Their share.
    share: Measurement<Ratio>,
    /// Share of the streams' time that they take beyond usual gaps.
    cost: f64,
    facts: Vec<Fact>,
}

/// Share of the gaps up to which they may be pauses: an engine that paused in more of its steps would be slow.
const RARE: f64 = 0.1;

impl Slow {
    /// The slow gaps, or why there are none to speak of.
    fn of(side: &Side<'_>, of_base: Option<Seconds>, params: &Params) -> Result<Result<Self, Vec<Fact>>, Missing> {
        let (gaps, stalls) = (side.measure::<GapHistogram>()?, side.measure::<Stalls>()?);
        let pacing = side.measure::<EventPacing>()?;
        let limit = params.apart * stalls.usual.0;
        let touched = stalls.longest.iter().filter(|longest| **longest > limit).count();
        let of_streams = touched as f64 / stalls.longest.len() as f64;
        let beyond = |limit: f64| gaps.cells.iter().filter(move |(gap, _)| *gap > limit);
        let mut facts = vec![
            gaps.median.fact(format!("a usual gap is {:.1} ms", stalls.usual.0 * 1e3)),
            gaps.median.fact(format!(
                "{touched} of {} streams have a gap above {:.0} ms",
                stalls.longest.len(),
                limit * 1e3
            )),
        ];
        // A line of several tokens has gaps of its own kind, but for speculation, whose rounds are looked at below.
        let one_by_one = pacing.tokens_per_event.as_ref().is_ok_and(|tokens| tokens.value.0 <= ONE_TOKEN)
            || growth(side, Signal::Drafts, Part::Value).is_ok_and(|drafts| drafts.value > 0.0);
        let spent = gaps.spent_above(params.beside * stalls.usual.0);
        let many = of_streams >= params.touched && spent >= params.spent;
        if of_streams >= params.touched && !many {
            facts.push(gaps.p99.fact(format!(
                "streams spend {:.1} % of their time in gaps above {} usual ones",
                spent * 100.0,
                params.beside
            )));
        }
        let apart = gaps.modes.as_ref().filter(|modes| {
            let wide = modes.slow.value.0 >= params.wide * modes.fast.value.0;
            let slow: u64 = beyond(modes.valley.0).map(|(_, times)| times).sum();
            let two = slow as f64 <= (1.0 - params.short) * gaps.median.n as f64
                || of_base.is_some_and(|usual| usual.0 <= modes.valley.0);
            wide && two && modes.lost.value.0 >= params.lost && one_by_one && !pacing.coalesced()
        });
        let (limit, usual) = match apart {
            _ if many => (limit, stalls.usual.0),
            Some(modes) => (modes.valley.0, modes.fast.value.0),
            None => return Ok(Err(facts)),
        };
        let mut slow = Self::above(&gaps, limit, usual, facts);
        if let Some(modes) = apart {
            slow.facts
                .push(modes.lost.fact(format!("they cost {:.0} % of the streams' time", modes.lost.value.0 * 100.0)));
        }
        Ok(Ok(slow))
    }

    /// Slow gaps that a base shows to be unusual, though they are too few or too near to a usual one to tell by themselves;
    /// or why there are none. `None` without a base to tell by, or where gaps are not those of single tokens.
    fn beside(case: &Case<'_>, params: &Params) -> Option<Result<Self, Vec<Fact>>> {
        let base = case.base?;
        let read = |side: &Side<'_>| {
            let pacing = side.measure::<EventPacing>().ok().filter(|pacing| !pacing.coalesced())?;
            pacing.tokens_per_event.as_ref().ok().filter(|tokens| tokens.value.0 <= ONE_TOKEN)?;
            Some((side.measure::<GapHistogram>().ok()?, side.measure::<Stalls>().ok()?))
        };
        let ((gaps, stalls), (before, stalls_before)) = (read(case.side)?, read(base)?);
        // Steps that are slower as a whole are no stutter.
        let limit = params.beside * stalls.usual.0.max(stalls_before.usual.0);
        let touched = stalls.longest.iter().filter(|longest| **longest > limit).count() as f64;
        let of_streams = touched / stalls.longest.len() as f64;
        let (now, then) = (gaps.spent_above(limit), before.spent_above(limit));
        let fact = gaps.p99.fact(format!(
            "{:.0} % of the streams have a gap above {:.0} ms; streams spend {:.1} % of their time in such, the base's \
             {:.1} %",
            of_streams * 100.0,
            limit * 1e3,
            now * 100.0,
            then * 100.0
        ));
        if of_streams < params.some || now < params.spent || now <= params.rise * then {
            return Some(Err(vec![fact]));
        }
        let usual = gaps.median.fact(format!("a usual gap is {:.1} ms", stalls.usual.0 * 1e3));
        Some(Ok(Self::above(&gaps, limit, stalls.usual.0, vec![usual, fact])))
    }

    /// The gaps above a limit, with what they cost beyond `usual` ones.
    fn above(gaps: &GapHistogram, limit: f64, usual: f64, mut facts: Vec<Fact>) -> Self {
        let beyond = || gaps.cells.iter().filter(|(gap, _)| *gap > limit);
        let count: u64 = beyond().map(|(_, times)| times).sum();
        let half = count.div_ceil(2);
        let mut seen = 0;
        let middle = beyond().find(|(_, times)| {
            seen += times;
            seen >= half
        });
        let median = middle.map_or(limit, |(gap, _)| *gap);
        let share = Measurement {
            value: Ratio(count as f64 / gaps.median.n as f64),
            interval: None,
            n: count,
            source: gaps.median.source.clone(),
        };
        facts.push(share.fact(format!(
            "slow gaps: {:.2} % of all, {:.0} ms in the middle, {:.1} times a fast one",
            share.value.0 * 100.0,
            median * 1e3,
            median / usual
        )));
        let more: f64 = beyond().map(|(gap, times)| (gap - usual) * *times as f64).sum();
        Self { limit: Seconds(limit), ratio: median / usual, share, cost: more / gaps.total, facts }
    }
}

/// Tokens an event up to which its gap is that of a token.
const ONE_TOKEN: f64 = 1.1;

fn by_prompts(held: Held, chunks: bool) -> Weighed {
    match (held, chunks) {
        (Held::ByChunks(fact), true) | (Held::ByWholes(fact), false) => Weighed::Supports(vec![fact]),
        (Held::ByChunks(fact) | Held::ByWholes(fact) | Held::Not(fact), _) => Weighed::Excludes(vec![fact]),
    }
}

fn pauses(
    together: &Result<Measurement<Ratio>, Missing>,
    held: &Result<Held, Missing>,
    graphs: &Result<Weighed, Missing>,
    slow: &Slow,
    params: &Params,
) -> Result<Weighed, Missing> {
    if slow.share.value.0 > RARE {
        let text = format!("{:.0} % of the gaps are slow: no pauses", slow.share.value.0 * 100.0);
        return Ok(Weighed::Excludes(vec![slow.share.fact(text)]));
    }
    match (together, held, graphs) {
        (Ok(share), ..) if share.value.0 < params.together => Ok(Weighed::Excludes(vec![Episodes::fact(share)])),
        (_, Ok(Held::ByChunks(fact) | Held::ByWholes(fact)), _) => Ok(Weighed::Excludes(vec![fact.clone()])),
        (_, _, Ok(Weighed::Supports(facts))) => Ok(Weighed::Excludes(facts.clone())),
        (Ok(share), Ok(Held::Not(fact)), _) => Ok(Weighed::Supports(vec![Episodes::fact(share), fact.clone()])),
        (Err(missing), ..) | (_, Err(missing), _) => Err(missing.clone()),
    }
}

/// Whether slow gaps are those of batches beyond the largest graph.
fn graph_bucket(case: &Case<'_>, slow: &Slow, params: &Params) -> Result<Weighed, Missing> {
    let side = case.side;
    let graph = side.measure::<LargestGraph>()?;
    let largest = graph.batch.value.0;
    if largest <= 0.0 {
        return Ok(Weighed::Excludes(vec![graph.batch.fact("graphs are off")]));
    }
    let (stalls, live) = (side.measure::<Stalls>()?, side.measure::<LiveStreams>()?);
    let mut beyond = [[0u64; 2]; 2];
    for stall in &stalls.stalls {
        let batch = live.beside(stall.run, stall.row, middle(stall)) as f64;
        beyond[usize::from(stall.length.0 > slow.limit.0)][usize::from(batch > largest)] += 1;
    }
    let share = |slow: usize, beyond: [[u64; 2]; 2]| {
        let all = beyond[slow][0] + beyond[slow][1];
        (all > 0).then(|| beyond[slow][1] as f64 / all as f64)
    };
    let (of_slow, of_fast) = (share(1, beyond), share(0, beyond));
    let Some(of_slow) = of_slow else {
        return Err(Missing::not_exposed("the slow gaps with their places", Kind::Events.obtain()));
    };
    let others = match of_fast {
        Some(share) => format!(" and {:.0} % of the others", share * 100.0),
        None => "; no other is listed".to_owned(),
    };
    let fact = graph.batch.fact(format!(
        "the largest captured graph holds {largest:.0} requests; more streams than that ran in {:.0} % of the slow gaps{others}",
        of_slow * 100.0,
    ));
    if of_slow < params.agree {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    // The streams of all engines may be more than a graph holds where those of one are not.
    if !live.tells_replicas() {
        return Err(Missing::not_exposed("which replica served which stream", Kind::Spans.obtain()));
    }
    if of_fast.is_some_and(|share| share > 1.0 - params.agree) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    // Fast gaps that are not listed tell nothing of the other side.
    if of_fast.is_some() && stalls.shortest.0 <= slow.limit.0 / 2.0 {
        return Ok(Weighed::Supports(vec![fact]));
    }
    let held = stalls.stalls.iter().filter(|stall| stall.length.0 > slow.limit.0);
    let most = held.map(|stall| live.beside(stall.run, stall.row, middle(stall))).max();
    match case.base.zip(most).and_then(|(base, most)| larger_graphs(base, largest, most)) {
        Some(larger) => Ok(Weighed::Supports(vec![fact, larger])),
        None => {
            let what = "every gap of a run: this one has too many for its fast ones to be placed";
            Err(Missing::not_exposed(what, "firstcheck run --url URL --requests 500"))
        }
    }
}

/// That a base, which loses less to slow gaps, ran batches beyond `largest` too, in graphs that hold as many as `most`.
fn larger_graphs(base: &Side<'_>, largest: f64, most: usize) -> Option<Fact> {
    let graph = base.measure::<LargestGraph>().ok()?;
    let live = base.measure::<LiveStreams>().ok().filter(|live| live.tells_replicas())?;
    let ran = live.most();
    let holds = graph.batch.value.0;
    (most as f64 <= holds && ran as f64 > largest).then(|| {
        graph.batch.fact(format!("the base's graphs hold {holds:.0} requests, of which up to {ran} ran at once"))
    })
}

fn middle(stall: &Stall) -> firstcheck_model::moment::Moment {
    stall.start.plus_ns(stall.end.ns_since(stall.start).unwrap_or(0) / 2)
}

/// Whether speculation is on, and a slow round yields as many more tokens as it takes longer.
fn spec_rounds(side: &Side<'_>, slow: &Slow) -> Result<Weighed, Missing> {
    if let Some(missing) = side.evidence.lacks(Kind::EngineMetrics) {
        return Err(missing);
    }
    let Ok(drafts) = growth(side, Signal::Drafts, Part::Value) else {
        let fact = slow.share.fact("no speculation: the server counts no rounds");
        return Ok(Weighed::Excludes(vec![fact]));
    };
    if drafts.value <= 0.0 {
        return Ok(Weighed::Excludes(vec![slow.share.fact("no round of speculation was run")]));
    }
    let tokens = growth(side, Signal::DraftTokens, Part::Value)?;
    let most = 1.0 + tokens.value / drafts.value;
    let fact = slow.share.fact(format!(
        "a round yields up to {most:.1} tokens, a slow one takes {:.1} times as long as a fast one",
        slow.ratio
    ));
    Ok(Weighed::by(slow.ratio <= most, vec![fact]))
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::SharedSteps => (
            "halve the token budget: the slow gaps must halve, the time to first token rises",
            "vllm serve … --max-num-batched-tokens 1024, then firstcheck run --url URL",
            200,
            Some("lower --max-num-batched-tokens"),
        ),
        Cause::BetweenDecodes => (
            "send one long prompt while a stream runs: its gap must be as long as the prompt takes",
            "firstcheck run --url URL --input-tokens fixed:8000 --output-tokens fixed:4 --rate 0.1",
            6,
            Some(
                "compute prompts in chunks that share steps with decoding (SGLang: --enable-mixed-chunk), or in a pool of their own",
            ),
        ),
        Cause::Preempted => (
            "repeat with fewer running requests: slow gaps and preemptions must vanish together",
            "firstcheck run --url URL --rate RATE",
            200,
            Some("lower --max-num-seqs"),
        ),
        Cause::Delivery => (
            "read one stream on the server's own host, past every proxy",
            "curl -N http://127.0.0.1:8000/v1/completions -d '{\"model\": \"M\", \"prompt\": \"x\", \"stream\": true}'",
            1,
            None,
        ),
        Cause::EnginePauses => (
            "see whether they come on a period (S08); take stacks of the engine's core during one",
            "py-spy dump --pid PID, repeated",
            0,
            None,
        ),
        Cause::GraphBucket => (
            "repeat with larger graphs: the slow mode must vanish",
            "vllm serve … --cuda-graph-sizes 512, then firstcheck run --url URL",
            200,
            Some("raise the capture sizes, or keep the batch below them with --max-num-seqs"),
        ),
        Cause::SpecRounds => {
            ("repeat without speculation: the slow mode must vanish", "firstcheck run --url URL", 200, None)
        }
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(str::to_owned) }
}

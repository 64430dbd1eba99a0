//! S09: streams freeze although P99 ITL is as it was.

use crate::{
    case::Case,
    declare_check,
    measure::{
        episodes::Episodes,
        event_pacing::EventPacing,
        gap_histogram::GapHistogram,
        held_by_prompts::{Held, held_by_prompts},
        prompt_cost::PromptCost,
        server_gaps::ServerGaps,
        stalls::{Stall, Stalls},
    },
    side::Side,
    verdict::{MOST, Verdict, Weighed},
};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    measurement::{Fact, Measurement, Missing, Source},
    run::{Detail, Origin},
    unit::{Ratio, Seconds},
};
use firstcheck_stats::quantile::Sample;

declare_check! {
    /// ## What it means
    ///
    /// Some streams stand still for a second or more while the pooled P99 of inter-token gaps looks as it always did: a
    /// stream of hundreds of gaps hides one freeze from it. Users see a frozen answer.
    ///
    /// ## How it is decided
    ///
    /// By the longest gap of each stream, over streams: more than {share} of them stood still for more than {times}
    /// usual gaps and {least}. What a burst behind a gap made up is taken off, since the server went on meanwhile
    /// (S12); where events were coalesced, the server's own histogram must hold these gaps too.
    ///
    /// - Prompts: one that takes as long, to a factor {factor}, was computed when the streams stood still, or the server
    ///   counts about as many of them.
    /// - Engine-wide: at least {together} of the live streams stood still at the same time, and no prompt explains it.
    /// - Preemption: some streams only, at most twice as many freezes as preemptions. The wait for being resumed
    ///   dominates where computing prompt and answer again takes less than half of the freeze.
    /// - Collapse: after the freeze a token takes more than {collapse} times as long as before.
    /// - Delivery: the server's histogram holds fewer than half of these gaps.
    /// - Definition: the base's figure is another tool's summary: P99 over gaps and over request means do not compare.
    ///
    /// ## What to do
    ///
    /// Report P95 of the longest gap beside P99 ITL. Preemption: lower `--max-num-seqs` (S15). A prompt: a smaller token
    /// budget, or decode steps between its chunks (S07). Engine-wide: a periodic pause (S08), else stacks in a freeze.
    ///
    /// Looks like: a stutter that most streams have (S07), preemption at peak (S15), a client that reads late (S12).
    pub static FROZEN_STREAMS = {
        code: "S09", slug: "frozen-streams", family: Stream, severity: Major,
        symptom: "streams stand still in the middle although the P99 of inter-token gaps is as it was",
        needs: all_of[Events],
        params: {
            share: 0.01 ["1"] = "share of the streams that must have stood still",
            times: 20.0 ["1"] = "usual gaps that a freeze must last",
            least: 0.25 ["s"] = "shortest freeze",
            together: 0.8 ["1"] = "share of the live streams that must stand still at once for the engine to have stopped",
            factor: 2.0 ["1"] = "factor between a freeze and the time of a prompt that explains it",
            collapse: 3.0 ["1"] = "times the usual gap from which decoding counts as collapsed after a freeze",
        },
        causes: {
            Preempted: "preemption" = "requests were thrown out of the batch and computed again",
            ResumeWaits: "resume-waits" = "preempted requests wait behind new prompts before they go on",
            EngineFreeze: "engine-wide-freeze" = "the whole engine stood still",
            DecodeCollapse: "decode-collapse" = "decoding stays slow after the freeze",
            LongPrompt: "long-prompt" = "a prompt was computed while the streams stood still",
            Delivery: "delivery" = "the server went on, and something behind it held the events back",
            Definition: "definition" = "the two figures that are compared are defined differently",
        },
        consequence_of: {
            Preempted: "S15",
            ResumeWaits: "S15",
            LongPrompt: "S07",
            LongPrompt: "S01",
            LongPrompt: "S02",
            LongPrompt: "S04",
            EngineFreeze: "S08",
            EngineFreeze: "S11",
            Delivery: "S12",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let freezes = Freezes::of(case.side, params)?;
    let mut facts = freezes.facts(case.side);
    if let Some(base) = case.base.and_then(|base| Freezes::of(base, params).ok()) {
        facts.push(base.frozen.fact(format!(
            "base: longest gap of a stream {}, {:.1} % of the streams stood still",
            base.quantiles(),
            base.frozen.value.0 * 100.0
        )));
    }
    if freezes.frozen.value.0 < params.share {
        return Ok(Outcome::Absent { why: facts });
    }
    let server = ServerGaps::above(case.side, freezes.limit);
    if case.side.measure::<EventPacing>()?.coalesced() {
        let server = server.clone()?;
        facts.push(server.fact());
        if !server.confirms() {
            return Ok(Outcome::Absent { why: facts });
        }
    }
    let episodes = Episodes::above(case.side, freezes.limit);
    let held = episodes.as_ref().map_err(Clone::clone).and_then(|all| held_by_prompts(case, all, params.factor));
    let together = episodes.as_ref().map_err(Clone::clone).and_then(|all| all.together(case.side));
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::LongPrompt, held.clone().map(long_prompt));
    verdict.weigh(Cause::EngineFreeze, engine_freeze(&together, &held, params));
    verdict.weigh(Cause::Delivery, server.map(|server| super::delivery(&server)));
    let preempted = super::preempted(case.side, (freezes.stalls.len() as u64, "freezes"), &together, params.together);
    verdict.weigh(Cause::ResumeWaits, resume_waits(case.side, &freezes, &preempted));
    verdict.weigh(Cause::Preempted, preempted);
    verdict.weigh(Cause::DecodeCollapse, collapse(case.side, &freezes, params));
    verdict.weigh(Cause::Definition, Ok(definition(case)));
    Ok(verdict.present(facts, None, follow_up))
}

/// The freezes of a side's streams.
struct Freezes {
    limit: Seconds,
    usual: Seconds,
    longest: Sample,
    frozen: Measurement<Ratio>,
    stalls: Vec<Stall>,
}

impl Freezes {
    fn of(side: &Side<'_>, params: &Params) -> Result<Self, Missing> {
        let stalls = side.measure::<Stalls>()?;
        let limit = Seconds((params.times * stalls.usual.0).max(params.least));
        let n = stalls.longest.len() as u64;
        let frozen = stalls.longest.iter().filter(|longest| **longest > limit.0).count();
        let longest = Sample::new(stalls.longest.clone())
            .map_err(|error| Missing::not_exposed(error.to_string(), "firstcheck run --url URL"))?;
        let (value, source) = (Ratio(frozen as f64 / n as f64), stalls.source.clone());
        Ok(Self {
            limit,
            usual: stalls.usual,
            longest,
            frozen: Measurement { value, interval: None, n, source },
            stalls: stalls.stalls.iter().filter(|stall| stall.length.0 > limit.0).copied().collect(),
        })
    }

    /// `0.05 s at p50, 0.29 s at p90, 1.3 s at most`.
    fn quantiles(&self) -> String {
        let at = |(p, name): (f64, &str)| Some(format!("{:.2} s at {name}", self.longest.quantile(p)?));
        [(0.5, "p50"), (0.9, "p90"), (1.0, "most")].into_iter().filter_map(at).collect::<Vec<_>>().join(", ")
    }

    fn facts(&self, side: &Side<'_>) -> Vec<Fact> {
        let share = self.frozen.value.0 * 100.0;
        let limit = self.limit.0;
        let mut facts = vec![
            self.frozen.fact(format!("longest gap of a stream: {}", self.quantiles())),
            self.frozen.fact(format!("{share:.1} % of the streams stood still for more than {limit:.2} s")),
        ];
        if let Ok(gaps) = side.measure::<GapHistogram>() {
            let p99 = gaps.p99.value.0;
            let hidden = if p99 < limit { ", which hides it" } else { "" };
            facts.push(gaps.p99.fact(format!("P99 of all gaps: {:.0} ms{hidden}", p99 * 1e3)));
        }
        facts
    }
}

fn long_prompt(held: Held) -> Weighed {
    match held {
        Held::ByChunks(fact) | Held::ByWholes(fact) => Weighed::Supports(vec![fact]),
        Held::Not(fact) => Weighed::Excludes(vec![fact]),
    }
}

fn engine_freeze(
    together: &Result<Measurement<Ratio>, Missing>,
    held: &Result<Held, Missing>,
    params: &Params,
) -> Result<Weighed, Missing> {
    match (together, held) {
        (Ok(share), _) if share.value.0 < params.together => Ok(Weighed::Excludes(vec![Episodes::fact(share)])),
        (_, Ok(Held::ByChunks(fact) | Held::ByWholes(fact))) => Ok(Weighed::Excludes(vec![fact.clone()])),
        (Ok(share), Ok(Held::Not(fact))) => Ok(Weighed::Supports(vec![Episodes::fact(share), fact.clone()])),
        (Err(missing), _) | (_, Err(missing)) => Err(missing.clone()),
    }
}

/// How much of a freeze is not the work of computing the request again.
fn resume_waits(side: &Side<'_>, freezes: &Freezes, preempted: &Result<Weighed, Missing>) -> Result<Weighed, Missing> {
    match preempted {
        Ok(Weighed::Supports(_)) => {}
        Ok(other) => return Ok(other.clone()),
        Err(missing) => return Err(missing.clone()),
    }
    let cost = side.measure::<PromptCost>()?;
    let waits = freezes.stalls.iter().filter_map(|stall| {
        let request = side.evidence.runs.get(stall.run)?.requests.0.get(stall.row as usize)?;
        let again = f64::from(request.prompt_tokens?) + f64::from(stall.after_events);
        Some((1.0 - cost.takes(again) / stall.length.0).max(0.0))
    });
    let waits = Sample::new(waits.collect()).ok().and_then(|waits| waits.quantile(0.5));
    let share = waits.ok_or_else(|| Missing::not_exposed("prompt lengths of requests", "firstcheck run --url URL"))?;
    let fact = Fact {
        text: format!(
            "of a freeze {:.0} % is waiting: computing prompt and answer again takes the rest (an upper bound, as its \
             blocks may still be cached)",
            share * 100.0
        ),
        value: Some(share),
        unit: Some("1".into()),
        interval: None,
        n: Some(freezes.stalls.len() as u64),
        source: cost.per_token.source.clone(),
    };
    Ok(Weighed::by(share > MOST, vec![fact]))
}

/// Whether tokens keep coming late after the freezes.
fn collapse(side: &Side<'_>, freezes: &Freezes, params: &Params) -> Result<Weighed, Missing> {
    /// Events behind a freeze of which a pace is told.
    const FEWEST: u32 = 5;
    let paces = freezes.stalls.iter().filter_map(|stall| {
        let run = side.evidence.runs.get(stall.run)?;
        let events = *run.streams.as_ref()?.events.get(stall.row as usize)?;
        let behind = events.checked_sub(stall.after_events + 1).filter(|behind| *behind >= FEWEST)?;
        let until = run.requests.0.get(stall.row as usize)?.last_token;
        // A further freeze is one of its own, and no pace.
        let own = |other: &&Stall| other.run == stall.run && other.row == stall.row && other.start >= stall.end;
        let frozen: f64 = freezes.stalls.iter().filter(own).map(|other| other.length.0).sum();
        Some((until.since(stall.end)?.0 - frozen).max(0.0) / f64::from(behind))
    });
    let paces: Vec<f64> = paces.collect();
    let n = paces.len() as u64;
    let median = Sample::new(paces).ok().and_then(|paces| paces.quantile(0.5));
    let pace = median.ok_or_else(|| {
        Missing::not_exposed(
            "streams that went on for a while after a freeze",
            "firstcheck run --url URL --output-tokens fixed:256",
        )
    })?;
    let fact = Fact {
        text: format!("after a freeze a token takes {:.1} ms, usually {:.1} ms", pace * 1e3, freezes.usual.0 * 1e3),
        value: Some(pace),
        unit: Some("s".into()),
        interval: None,
        n: Some(n),
        source: freezes.frozen.source.clone(),
    };
    let slow = pace > params.collapse * freezes.usual.0;
    Ok(Weighed::by(slow, vec![fact]))
}

/// Whether what this side is compared with was told by another tool's summary.
fn definition(case: &Case<'_>) -> Weighed {
    let about = |run: &firstcheck_model::evidence::RunEvidence, text: String| Fact {
        text,
        value: None,
        unit: None,
        interval: None,
        n: None,
        source: Source::Run { run: run.info.id.clone(), field: "detail".into() },
    };
    let base = case.base.iter().flat_map(|base| &base.evidence.runs);
    for run in base {
        if let (Origin::Imported { tool }, Detail::Summary | Detail::Sample { .. }) =
            (&run.info.origin, run.info.detail)
            && run.streams.is_none()
        {
            let text = format!(
                "the base is a summary of {tool}: whether its P99 is over gaps or over means of requests is not in it"
            );
            return Weighed::Supports(vec![about(run, text)]);
        }
    }
    let own = case.side.evidence.runs.iter().find(|run| run.streams.is_some());
    let text = "read from every event: the longest gap of a stream has one definition".to_owned();
    let fact = own.map(|run| about(run, text.clone())).unwrap_or_else(|| Fact {
        text,
        value: None,
        unit: None,
        interval: None,
        n: None,
        source: Source::Derived { by: "events".into(), from: Vec::new() },
    });
    Weighed::Excludes(vec![fact])
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::Preempted => (
            "repeat with fewer running requests: freezes and preemptions must vanish together",
            "firstcheck run --url URL --rate RATE",
            200,
            Some("lower --max-num-seqs, or raise --watermark"),
        ),
        Cause::ResumeWaits => (
            "watch the queue while a preempted request waits: it must not be overtaken",
            "firstcheck run --url URL --rate RATE --scrape-interval 1s",
            200,
            Some("resume preempted requests first, or lower --max-num-seqs"),
        ),
        Cause::EngineFreeze => (
            "take the stacks of the engine's core during a freeze",
            "py-spy dump --pid PID, repeated; and the gaps between statistics lines of the log",
            0,
            None,
        ),
        Cause::DecodeCollapse => (
            "compare the running requests and the step time before and after a freeze",
            "grep -E 'Running:|#running-req' server.log",
            0,
            Some("restart the replica"),
        ),
        Cause::LongPrompt => (
            "send one prompt of that length while a stream runs: it must freeze for as long",
            "firstcheck run --url URL --input-tokens fixed:8000 --output-tokens fixed:4 --rate 0.1",
            6,
            Some("lower --max-num-batched-tokens, or decode between the chunks of a prompt"),
        ),
        Cause::Delivery => (
            "read one stream on the server's own host, past every proxy",
            "curl -N http://127.0.0.1:8000/v1/completions -d '{\"model\": \"M\", \"prompt\": \"x\", \"stream\": true}'",
            1,
            None,
        ),
        Cause::Definition => {
            ("measure both with one tool that keeps every event", "firstcheck run --url BASE_URL", 200, None)
        }
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(str::to_owned) }
}

//! S11: requests that ask for a schema stall.

mod causes;

use crate::{
    case::Case,
    declare_check,
    measure::structured::Structured,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    measurement::{Fact, Missing},
};

declare_check! {
    /// ## What it means
    ///
    /// Requests that ask for a schema (JSON, a grammar, forced tool calls) get their first token late, slow every stream
    /// beside them, or never end. Building the grammar, masking tokens in each step and a schema that allows text
    /// without end cost at different places, and each has its own remedy.
    ///
    /// ## How it is decided
    ///
    /// From requests that are marked with their schema; unmarked ones cannot be told from plain ones. The symptom is any
    /// of the causes' own measurements:
    ///
    /// - Cold compile: the first request for a schema (the warm-up counts too) waits {stall} longer than its later
    ///   ones, and longer than those spread; or every one waits {stall} longer than plain ones; or SGLang's own
    ///   histogram says so.
    /// - Compile on the engine's thread: of the standstills of streams more than {triggered} begin right after such a
    ///   request arrived, at least {lift} more than its rate gives by chance.
    /// - Mask: time per token, standstills aside, grows by more than {row} for each running request with a schema at
    ///   equal running requests, and by {cost} of itself in all. If it grows once, with the first one: a feature is off.
    /// - State explosion: both the compile and the mask.
    /// - Output without end: more than {capped} of the answers end at their limit, and {blank} of their text is white
    ///   space; without texts: they grew {growth} times against the base, and plain ones did not.
    ///
    /// ## What to do
    ///
    /// Send each schema once before traffic; keep the set of schemas small. Bound strings, arrays and white space
    /// (`disable_any_whitespace` of the structured outputs' configuration). If everybody waits: a pool of their own.
    ///
    /// Looks like: stutter by prefills; a parser that holds text back (S12); a queue.
    pub static STRUCTURED_STALL = {
        code: "S11", slug: "structured-stall", family: Stream, severity: Major,
        symptom: "requests that ask for a schema stall",
        needs: any_of[Requests, EngineMetrics],
        params: {
            stall: 0.2 ["s"] = "more time to first token that counts as a stall",
            triggered: 0.9 ["1"] = "share of standstills right after a request with a schema from which these bring them about",
            lift: 0.2 ["1"] = "how much that share must exceed what chance gives",
            row: 20e-6 ["s"] = "cost of a row in a step that is no cost",
            cost: 0.1 ["1"] = "share of the time per token from which masks count",
            capped: 0.1 ["1"] = "share of answers at their limit that counts as runaway",
            blank: 0.5 ["1"] = "share of white space of a text that says nothing",
            growth: 1.5 ["1"] = "how many times longer than the base's answers are that ran away",
        },
        causes: {
            ColdCompile: "cold-compile" = "a schema that was not seen before takes long to compile",
            CompileBlocksEngine: "compile-blocks-engine" = "schemas are compiled on the engine's own thread, and everybody waits",
            MaskCost: "mask-cost" = "the mask of allowed tokens costs time in each step for each such request",
            StateExplosion: "state-explosion" = "the schema has more states than are kept: slow to compile, and slow in each step",
            UnboundedOutput: "unbounded-output" = "the schema allows white space or text without end, and answers run to their limit",
            FeatureOff: "feature-off" = "a request with a schema switches speculation, overlap or asynchronous scheduling off",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let structured = case.side.measure::<Structured>();
    let told = causes::grammar_time(case.side, params);
    let mut facts: Vec<Fact> = Vec::new();
    match (&structured, &told) {
        (Ok(structured), _) => {
            let (asked, plain) = (&structured.asked, &structured.plain);
            let beside = plain.as_ref().map(|plain| format!(", without {:.3} s (n {})", plain.value.0, plain.n));
            let text = format!("requests with a schema have their first token after {:.3} s", asked.value.0);
            facts.push(asked.fact(text + &beside.unwrap_or_default()));
        }
        (Err(_), Ok(_)) => {}
        (Err(missing), Err(_)) => return Err(missing.clone()),
    }
    let blocks = causes::blocks(case.side, params);
    let weighed = [
        (Cause::ColdCompile, causes::cold(case.side, params, told, &blocks)),
        (Cause::MaskCost, causes::mask(case.side, params)),
        (Cause::UnboundedOutput, causes::unbounded(case, params)),
        (Cause::FeatureOff, causes::feature_off(case.side, params)),
        (Cause::CompileBlocksEngine, blocks),
    ];
    let supported = |cause: Cause| {
        weighed.iter().find(|(c, _)| *c == cause).and_then(|(_, weighed)| match weighed {
            Ok(Weighed::Supports(facts)) => Some(facts.clone()),
            _ => None,
        })
    };
    if !weighed.iter().any(|(_, weighed)| matches!(weighed, Ok(Weighed::Supports(_)))) {
        return none_supported(facts, &weighed, structured.as_deref().ok(), params);
    }
    let both = supported(Cause::ColdCompile).zip(supported(Cause::MaskCost));
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(
        Cause::StateExplosion,
        Ok(match both {
            Some((cold, mask)) => Weighed::Supports(cold.into_iter().chain(mask).collect()),
            None => causes::not_both(&weighed[0].1, &weighed[1].1),
        }),
    );
    for (cause, weighed) in weighed {
        verdict.weigh(cause, weighed);
    }
    Ok(verdict.present(facts, None, follow_up))
}

/// Nothing stalls, unless what would show it is missing.
fn none_supported(
    facts: Vec<Fact>,
    weighed: &[(Cause, Result<Weighed, Missing>)],
    structured: Option<&Structured>,
    params: &Params,
) -> Result<Outcome, Missing> {
    let missing = |cause: Cause| {
        weighed.iter().find(|(c, _)| *c == cause).and_then(|(_, weighed)| match weighed {
            Err(missing) => Some(vec![missing.clone()]),
            Ok(Weighed::Open(missing)) => Some(missing.clone()),
            _ => None,
        })
    };
    let late = structured.is_some_and(|structured| structured.asked.value.0 >= params.stall);
    let all_late =
        structured.and_then(|of| of.plain.as_ref()).is_some_and(|plain| late && plain.value.0 >= params.stall);
    let core = [Cause::ColdCompile, Cause::MaskCost, Cause::UnboundedOutput];
    // Late first tokens whose standstills cannot be seen are not told from a queue.
    let undecided: Vec<Missing> = match late.then(|| missing(Cause::CompileBlocksEngine)).flatten() {
        Some(missing) => missing,
        None if all_late => vec![Missing::not_exposed(
            "a window in which plain requests are not late: a queue, or compilations that hold everybody up, look the same",
            "repeat with a tenth of the requests with a schema",
        )],
        None if core.iter().all(|cause| missing(*cause).is_some()) => {
            core.iter().filter_map(|c| missing(*c)).flatten().collect()
        }
        None => Vec::new(),
    };
    if !undecided.is_empty() {
        return Ok(Outcome::Undecided { missing: undecided });
    }
    let against = weighed.iter().filter_map(|(_, weighed)| match weighed {
        Ok(Weighed::Excludes(facts)) => Some(facts.clone()),
        _ => None,
    });
    Ok(Outcome::Absent { why: facts.into_iter().chain(against.flatten()).collect() })
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::ColdCompile => (
            "send one schema twice, alone: the second first token comes at once if the compile is kept",
            "curl -s URL/v1/chat/completions -d @request-with-schema.json -w '%{time_starttransfer}\\n'",
            2,
            Some("send each schema once before traffic"),
        ),
        Cause::CompileBlocksEngine => (
            "stream a plain request, and send a schema that was never seen beside it: its stream must not stand still",
            "curl -sN URL/v1/completions (plain), beside one with a new schema",
            2,
            Some("route requests with a schema to a replica of their own"),
        ),
        Cause::MaskCost => (
            "time per token of 1, 8 and 16 requests with one warm schema at once: the slope is the cost of a row",
            "firstcheck run --url URL --rate RATE (with and without the schema)",
            50,
            Some("another backend (--structured-outputs-config '{\"backend\": \"guidance\"}')"),
        ),
        Cause::StateExplosion => (
            "send the schema with its patterns and bounds taken out: compile and slope fall together",
            "curl -s URL/v1/chat/completions -d @request-with-simpler-schema.json",
            20,
            Some("simplify the schema: fewer alternatives, no negative patterns, smaller bounds"),
        ),
        Cause::UnboundedOutput => (
            "read one of the answers: white space or a repetition up to its limit",
            "curl -s URL/v1/chat/completions -d @request-with-schema.json | jq .choices[0]",
            1,
            Some("forbid white space between tokens, bound strings and arrays, lower max_tokens"),
        ),
        Cause::FeatureOff => (
            "read the resolved configuration, and compare the time per token with one such request and with none",
            "firstcheck fingerprint URL",
            0,
            Some("route requests with a schema to a replica of their own"),
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(str::to_owned) }
}

//! S03: the prefix cache finds less at peak.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters::{growth, runs_of, watched},
        preemptions::Preemptions,
        prompt_reuse::PromptReuse,
        prompt_work::PromptWork,
        replicas::replicas,
        served::Served,
        survival::Survival,
    },
    side::Side,
    verdict::{MOST, Verdict, Weighed},
};
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    finding::{FollowUp, Outcome},
    fingerprint::field,
    measurement::{Fact, Measurement, Missing, Source, Why},
    request::Fate,
    signal::{Part, Signal},
    unit::Ratio,
};
use std::collections::HashMap;

declare_check! {
    /// ## What it means
    ///
    /// The same service finds its prompts in the prefix cache at one time of the day and computes them at another: what
    /// was cached is gone before it is asked again, or lies on another replica, or is not found although it is there.
    ///
    /// ## How it is decided
    ///
    /// Against a base (a calm time): the share of prompt tokens found in the cache, by growth over the window, fell by
    /// more than {drop}. Where prompts got longer or shorter by {length} at an equal request rate (within {load}), the
    /// prompts changed and not the cache: see S01.
    ///
    /// - Survival: T = pool without live requests / tokens written a second. What the load alone does to T, at the base's
    ///   hit rate, made it {faster} times shorter, and the pool is written over within the window.
    /// - Routing: turns of a conversation that went to another replica than the one before are {moved} more.
    /// - Mix: the share that a cache without limit would find in the prompts as given fell by more than {drop}.
    /// - Lookups: prompts sent again byte by byte within T miss, or what the same replica computed within half of T is
    ///   not found, or the prompts given would hit and less was written than fits the pool. Others' blocks: such prompts hit, so what is asked later is displaced early.
    /// - Counting: preempted requests are looked up again: queries are {again} of the prompt tokens.
    ///
    /// ## What to do
    ///
    /// Shed what is never asked again, or route by prefix. Survival below the reuse interval is a cliff, not a slope: once
    /// the live set exceeds the pool nearly nothing is found. Looks like: a new template (night is affected as well).
    pub static HITS_COLLAPSE = {
        code: "S03", slug: "hits-collapse", family: FirstToken, severity: Major,
        symptom: "the hit rate of the prefix cache is fine at night and collapses at peak",
        needs: any_of[Requests, EngineMetrics],
        params: {
            drop: 0.10 ["1"] = "fall of the hit rate that counts",
            length: 0.005 ["1"] = "relative change of the mean prompt that shows that prompts changed",
            load: 0.10 ["1"] = "relative change of the request rate up to which the load counts as equal",
            faster: 1.5 ["1"] = "ratio of survival before and now from which blocks are forgotten earlier",
            moved: 0.20 ["1"] = "rise of the share of turns on another replica that counts",
            again: 1.02 ["1"] = "queries over prompt tokens from which requests were looked up again",
        },
        causes: {
            Survival: "survival-shorter" = "cached blocks are evicted before they are asked again: more is written into the pool",
            Routing: "routing-spread" = "requests with one beginning are spread over replicas",
            Displaced: "displaced-by-others" = "blocks that are never asked again push out those that are",
            Lookup: "lookup-failure" = "blocks are there and lookups do not find them",
            Mix: "mix-change" = "more requests come with beginnings that were never seen",
            Recounted: "counting-artefact" = "requests that were preempted are looked up again and change the ratio",
        },
        consequence_of: { Mix: "S01", Lookup: "S01", Recounted: "S15" },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let base = case.base_for("hit rate of the prefix cache at a calm time")?;
    let (now, before) = (case.side.measure::<PromptWork>()?, base.measure::<PromptWork>()?);
    told_of_the_same(case.side, &now, &before, params)?;
    answered(case.side)?;
    let (low, high) = (range(&before.hit_rate).0, range(&now.hit_rate).1);
    let mut facts = vec![now.hit_rate.fact(format!(
        "{:.1} % of the prompt tokens were found in the cache, base {:.1} %",
        now.hit_rate.value.0 * 100.0,
        before.hit_rate.value.0 * 100.0
    ))];
    if range(&before.hit_rate).1 - range(&now.hit_rate).0 <= params.drop {
        return Ok(Outcome::Absent { why: facts });
    }
    if low - high <= params.drop {
        return Err(Missing {
            what: "hits of the window alone: with a warm-up inside, both sides could be alike".into(),
            why: Why::Mixed,
            obtain: "scrape /metrics between warm-up and window: firstcheck run does".into(),
        });
    }
    if let Some(fact) = other_prompts(case.side, base, &now, &before, params) {
        if !has_requests(case.side) {
            // The counters' windows do not end where requests do: their mean prompt moves by as much.
            return Err(Missing::not_given(
                "the client's requests: whether their prompts changed",
                "firstcheck run --url URL",
            ));
        }
        facts.push(fact);
        return Ok(Outcome::Absent { why: facts });
    }
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::Survival, survival(case.side, base, before.hit_rate.value.0, params));
    verdict.weigh(Cause::Routing, routing(case.side, base, params));
    verdict.weigh(Cause::Mix, mix(case.side, base, params));
    verdict.weigh(Cause::Lookup, lookup(case.side, &now, params));
    let explained = [Cause::Survival, Cause::Routing, Cause::Mix, Cause::Lookup].iter().any(|c| verdict.supports(*c));
    verdict.weigh(Cause::Displaced, displaced(case.side, explained));
    verdict.weigh(Cause::Recounted, recounted(case.side, params));
    Ok(verdict.present(facts, None, follow_up))
}

/// By counters alone another mix of prompts looks like a cache that forgets: others' prompts may stand in them.
fn told_of_the_same(side: &Side<'_>, now: &PromptWork, before: &PromptWork, params: &Params) -> Result<(), Missing> {
    let change = now.prompt.value.0 / before.prompt.value.0 - 1.0;
    if has_requests(side) || change.abs() <= params.load {
        return Ok(());
    }
    let what = format!("the client's requests: the servers' mean prompt changed by {:+.0} %", change * 100.0);
    Err(Missing::not_given(what, "firstcheck run --url URL"))
}

/// Most requests must have been answered: the few that were are no sample of what the cache finds.
fn answered(side: &Side<'_>) -> Result<(), Missing> {
    let rows = || side.evidence.runs.iter().flat_map(RunEvidence::window);
    let completed = rows().filter(|(_, request)| request.fate == Fate::Completed).count() as f64;
    if completed < MOST * rows().count() as f64 {
        let what = "answers to most requests: the few that got one say nothing of the others' prompts";
        return Err(Missing::not_exposed(what, "firstcheck run --url URL, once the server answers"));
    }
    Ok(())
}

fn has_requests(side: &Side<'_>) -> bool {
    side.evidence.runs.iter().any(|run| run.window().next().is_some())
}

fn range(of: &Measurement<Ratio>) -> (f64, f64) {
    of.interval.map_or((of.value.0, of.value.0), |(low, high)| (low.0, high.0))
}

/// That the prompts changed, or the cache is off, while the load did not: another symptom.
fn other_prompts(
    side: &Side<'_>,
    base: &Side<'_>,
    now: &PromptWork,
    before: &PromptWork,
    params: &Params,
) -> Option<Fact> {
    let off = |side: &Side<'_>| {
        let mut runs = side.evidence.runs.iter().filter_map(|run| run.info.fingerprint.get(field::PREFIX_CACHING));
        runs.any(|value| value.eq_ignore_ascii_case("false"))
    };
    if off(side) && !off(base) {
        return Some(now.hit_rate.fact("the prefix cache is off, the base's is on"));
    }
    let change = now.prompt.value.0 / before.prompt.value.0 - 1.0;
    let seconds = |side: &Side<'_>| watched(&side.evidence.runs);
    // Of both sides the same: what the servers finished, or what the clients sent.
    let served = |side: &Side<'_>| side.measure::<Served>().ok().map(|served| served.finished.value);
    let sent = |side: &Side<'_>| side.evidence.runs.iter().flat_map(RunEvidence::window).count() as f64;
    let (now_count, before_count) = served(side).zip(served(base)).unwrap_or_else(|| (sent(side), sent(base)));
    let load = (now_count / seconds(side)) / (before_count / seconds(base)) - 1.0;
    (change.abs() > params.length && load.abs() <= params.load).then(|| {
        now.prompt.fact(format!(
            "the mean prompt changed by {:+.1} % at an equal request rate ({:+.0} %): prompts changed, see S01",
            change * 100.0,
            load * 100.0
        ))
    })
}

fn survival(side: &Side<'_>, base: &Side<'_>, calm: f64, params: &Params) -> Result<Weighed, Missing> {
    let (now, before) = (side.measure::<Survival>()?, base.measure::<Survival>()?);
    let load_alone = now.at_hit_rate(calm);
    let facts = vec![
        now.time.fact(format!(
            "a cached block survives {:.0} s ({:.0} tokens of room / {:.0} tokens/s written), base {:.0} s",
            now.time.value.0, now.room.value.0, now.written.value.0, before.time.value.0
        )),
        now.time.fact(format!("at the base's hit rate the load alone would make it {load_alone:.0} s")),
    ];
    let shorter = load_alone * params.faster <= before.time.value.0;
    let overwritten = now.time.value.0 <= now.window;
    Ok(Weighed::by(shorter && overwritten, facts))
}

/// Of turns that follow another of their conversation, the share that another replica served.
fn moved(side: &Side<'_>) -> Result<Measurement<Ratio>, Missing> {
    let runs = &side.evidence.runs;
    let (mut other, mut all) = (0_u64, 0_u64);
    for run in runs {
        let mut replica: Vec<Option<&str>> = vec![None; run.requests.len()];
        for span in &run.spans {
            if let (Some(slot), Some(name)) = (replica.get_mut(span.request as usize), span.replica.as_deref()) {
                *slot = Some(name);
            }
        }
        let mut rows: Vec<(usize, u32)> = run.window().filter_map(|(row, r)| Some((row, r.session?))).collect();
        rows.sort_by_key(|(row, _)| run.requests.0[*row].origin());
        let mut last: HashMap<u32, &str> = HashMap::new();
        for (row, session) in rows {
            let Some(name) = replica[row] else { continue };
            if let Some(before) = last.insert(session, name) {
                all += 1;
                other += u64::from(before != name);
            }
        }
    }
    if all == 0 {
        return Err(Missing::not_exposed(
            "which replica served each turn of a conversation",
            "start the engines with their OpenTelemetry exporters on, and send the session with each request",
        ));
    }
    let source = Source::Derived { by: "replicas of the turns of conversations".into(), from: runs_of(runs) };
    Ok(Measurement { value: Ratio(other as f64 / all as f64), interval: None, n: all, source })
}

fn routing(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    if side.evidence.lacks(Kind::EngineMetrics).is_none() && replicas(&side.evidence.runs) == 1 {
        let work = side.measure::<PromptWork>()?;
        return Ok(Weighed::Excludes(vec![work.hit_rate.fact("one replica serves all")]));
    }
    let (now, before) = (moved(side)?, moved(base)?);
    let (share, old) = (now.value.0, before.value.0);
    let fact = now.fact(format!(
        "{:.0} % of the turns went to another replica than the turn before, base {:.0} %",
        share * 100.0,
        old * 100.0
    ));
    Ok(Weighed::by(share - old >= params.moved, vec![fact]))
}

fn mix(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let (now, before) = (side.measure::<PromptReuse>()?, base.measure::<PromptReuse>()?);
    let (share, old) = (now.ideal.value.0, before.ideal.value.0);
    let fact = now.ideal.fact(format!(
        "a cache without limit would find {:.0} % of these prompts, base {:.0} %",
        share * 100.0,
        old * 100.0
    ));
    Ok(Weighed::by(old - share > params.drop, vec![fact]))
}

/// Of prompts that were sent again byte by byte while their blocks must have been there, the share that was not found.
fn missed_again(side: &Side<'_>) -> Option<Measurement<Ratio>> {
    let survives = side.measure::<Survival>().ok()?.time.value.0;
    let runs = &side.evidence.runs;
    let (mut missed, mut all) = (0_u64, 0_u64);
    for run in runs {
        let mut last: HashMap<u64, f64> = HashMap::new();
        for (_, request) in run.window() {
            let (Some(hash), Some(at)) = (request.prompt_hash, request.first_token.seconds()) else { continue };
            let again = last.insert(hash, at).is_some_and(|before| at > before && at - before < survives / 2.0);
            if let (true, Some(cached), Some(prompt)) = (again, request.cached_tokens, request.prompt_tokens) {
                all += 1;
                missed += u64::from(f64::from(cached) < MOST * f64::from(prompt));
            }
        }
    }
    let source = Source::Derived { by: "prompts that were sent again".into(), from: runs_of(runs) };
    (all > 0).then(|| Measurement { value: Ratio(missed as f64 / all as f64), interval: None, n: all, source })
}

fn lookup(side: &Side<'_>, now: &PromptWork, params: &Params) -> Result<Weighed, Missing> {
    if let Some(missed) = missed_again(side).filter(|_| replicas(&side.evidence.runs) == 1) {
        let share = missed.value.0;
        let fact =
            missed.fact(format!("{:.0} % of the prompts that were sent again byte by byte missed", share * 100.0));
        return Ok(Weighed::by(share >= MOST, vec![fact]));
    }
    let probe = "an identical prompt sent three times to one replica, or the prompts in their order";
    let missing = |_| Missing::not_given(probe, "send one prompt three times and read cached_tokens of each answer");
    let ideal = side.measure::<PromptReuse>().map_err(missing)?.ideal.clone();
    let survival = side.measure::<Survival>()?;
    let written = survival.written.value.0 * survival.window;
    let facts = vec![
        ideal.fact(format!(
            "a cache without limit would find {:.0} % of these prompts, this one found {:.0} %",
            ideal.value.0 * 100.0,
            now.hit_rate.value.0 * 100.0
        )),
        survival.written.fact(format!(
            "{written:.0} tokens were written in the window, with room for {:.0}: {}",
            survival.room.value.0,
            if written < survival.room.value.0 { "nothing had to be evicted" } else { "blocks were evicted" }
        )),
    ];
    let lost = ideal.value.0 - now.hit_rate.value.0 > params.drop;
    // What a block surely outlives, as those of prompts that were sent again.
    if let Some(soon) = PromptReuse::within(side, survival.time.value.0 / 2.0) {
        let text = format!(
            "{:.0} % of these prompts were computed by the same replica within {:.0} s before, half of what a block survives",
            soon.value.0 * 100.0,
            survival.time.value.0 / 2.0
        );
        let lost = soon.value.0 - now.hit_rate.value.0 > params.drop;
        return Ok(Weighed::by(lost, facts.into_iter().chain([soon.fact(text)]).collect()));
    }
    Ok(match (lost, written < survival.room.value.0) {
        (true, true) => Weighed::Supports(facts),
        (false, _) => Weighed::Excludes(facts),
        (true, false) => Weighed::Open(vec![missing(Missing::not_given(probe, ""))]),
    })
}

fn displaced(side: &Side<'_>, explained: bool) -> Result<Weighed, Missing> {
    let survival = side.measure::<Survival>()?;
    let room = survival.time.fact(format!("a cached block would survive {:.0} s", survival.time.value.0));
    if explained || survival.written.value.0 * survival.window < survival.room.value.0 {
        return Ok(Weighed::Excludes(vec![room]));
    }
    // Identical prompts hit at once, so lookups work; that others miss within the survival is displacement.
    match missed_again(side) {
        Some(missed) if missed.value.0 < MOST => {
            let text = format!("{:.0} % of the prompts sent again at once missed", missed.value.0 * 100.0);
            Ok(Weighed::Supports(vec![room, missed.fact(text)]))
        }
        Some(missed) => Ok(Weighed::Excludes(vec![missed.fact("prompts sent again at once miss: lookups fail")])),
        None => Err(Missing::not_given(
            "an identical prompt sent again at once, and after a while",
            "send one prompt three times and read cached_tokens of each answer",
        )),
    }
}

fn recounted(side: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let preemptions = side.measure::<Preemptions>()?;
    let count = preemptions.count.fact(format!("{:.0} preemptions", preemptions.count.value.0));
    if preemptions.count.value.0 <= 0.0 {
        return Ok(Weighed::Excludes(vec![count]));
    }
    let queries = growth(side, Signal::PrefixQueries, Part::Value)?;
    let prompts = growth(side, Signal::PromptTokens, Part::Value)?;
    let ratio = queries.value / prompts.value.max(1.0);
    let source = Source::Derived { by: "queries / prompt tokens".into(), from: vec![queries.source, prompts.source] };
    let value = Measurement { value: Ratio(ratio), interval: None, n: preemptions.count.n, source };
    let facts = vec![count, value.fact(format!("{ratio:.2} tokens were looked up for each prompt token"))];
    Ok(Weighed::by(ratio > params.again, facts))
}

fn follow_up(cause: Cause) -> FollowUp {
    let probe = "send one prompt three times to one replica: the second and third must be found in full";
    let probe_command = "for i in 1 2 3; do curl -s URL/v1/completions -d @PROMPT.json | jq .usage; done";
    let (measure, command, requests, mitigation) = match cause {
        Cause::Survival => (
            "sweep the pool or add a second tier: a cliff must show where the live set crosses the pool",
            "curl -s URL/metrics | grep -E 'cache_config_info|prefix_cache|kv_cache_usage'",
            0,
            Some("move traffic that is never asked again to other replicas"),
        ),
        Cause::Routing => (
            "replay the traffic with sticky sessions: the hit rate must come back",
            "firstcheck run --url URL --rate RATE",
            300,
            Some("route by session or prefix"),
        ),
        Cause::Displaced => (probe, probe_command, 3, None),
        Cause::Lookup => {
            (probe, probe_command, 3, Some("restart one replica: a broken index is whole again for a while"))
        }
        Cause::Mix => {
            ("count first-time beginnings an hour in the gateway's log", "firstcheck diagnose prompts.jsonl", 0, None)
        }
        Cause::Recounted => (
            "recompute the hit rate without preempted requests, then see S15",
            "curl -s URL/metrics | grep -E 'preemptions|prefix_cache'",
            0,
            None,
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(Into::into) }
}

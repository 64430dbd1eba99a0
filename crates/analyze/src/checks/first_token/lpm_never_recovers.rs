//! S04: a burst is over, and first tokens stay late.

use crate::{
    case::Case,
    declare_check, fingerprint,
    measure::{
        arrivals::{Arrived, arrived, burst, sent},
        client_ttft::ClientTtft,
        counters::{growth, growth_in, no_traffic, watched},
        last_third::{LastThird, queue, queue_from_to, total, wait_against_cached},
        prompt_lengths,
        prompt_work::PromptWork,
        stalls::Stalls,
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    fingerprint::field,
    measurement::{Fact, Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::{Count, Ratio, RequestsPerSecond},
};

declare_check! {
    /// ## What it means
    ///
    /// A burst of requests is over and as many arrive as before it, but first tokens stay late: the deployment has two
    /// states at one load, and the burst put it into the slower one. Waiting does not help.
    ///
    /// ## How it is decided
    ///
    /// Against a base (the time before the burst): more requests came at once than usual, by {rush} of a stretch's usual
    /// arrivals and {sure} standard deviations; the clients send no more than before (within {load} and chance); and the
    /// median time to first token of the window's last third is {slower} times the base's and {late} more, while the queue does
    /// not fall so that another window would empty it. Where more
    /// arrives at the servers although clients send as before, that is retries if clients give up {given_up} of
    /// theirs and the same prompts come again: {drop} more is found in the cache, or all but {alike} are as long as
    /// the clients'. Else it is others' load: see S02.
    ///
    /// - Rule: SGLang with `lpm` leaves the queue in its order of arrival while more than {limit} wait. One replica's
    ///   queue is above that, and the hit rate fell by {drop}. A hypothesis by the rule: `fcfs` must show it at once.
    /// - Starvation: the queue is shorter, and waits fall with cached tokens (rank correlation {cold}).
    /// - Flushed: the hit rate fell, and no rule of order explains it: the working set exceeds the cache.
    /// - Collector: nobody waits, and all streams pause for {pause} or more, {duty} of the time.
    /// - Delayer: prefills are held back {held} of the time to wait for other ranks, and were not before.
    ///
    /// ## What to do
    ///
    /// Shed load until the queue is empty, then let it in again. Looks like: too much load (the queue grows at the rate
    /// by which arrivals exceed the service: S02), a hit rate that falls with the load alone (S03).
    pub static LPM_NEVER_RECOVERS = {
        code: "S04", slug: "lpm-never-recovers", family: FirstToken, severity: Critical,
        symptom: "a burst is over and as many requests arrive as before it, but first tokens stay late",
        needs: all_of[Requests],
        params: {
            rush: 0.2 ["1"] = "arrivals beyond the usual ones of a stretch, as a share of them, that make a burst",
            sure: 4.0 ["1"] = "standard deviations that a burst must be above the usual arrivals",
            load: 0.05 ["1"] = "rise of the arrival rate up to which the load counts as equal",
            slower: 2.0 ["1"] = "ratio of the median times to first token after and before that counts",
            late: 0.2 ["s"] = "least rise of that median",
            limit: 128.0 ["1"] = "waiting requests above which SGLang gives up the order by cached prefix",
            drop: 0.05 ["1"] = "fall of the hit rate that counts",
            cold: -0.5 ["1"] = "rank correlation of wait and cached tokens from which cold requests starve",
            pause: 0.2 ["s"] = "shortest pause of all streams that a collection of garbage takes",
            duty: 0.05 ["1"] = "share of the time in pauses from which they cost the throughput",
            given_up: 0.05 ["1"] = "share of the requests given up from which clients may be asking again",
            alike: 0.1 ["1"] = "share of the prompts served that may be of other lengths than the clients' where the same come again",
            held: 0.1 ["1"] = "share of the time for which prefills are held back that counts",
        },
        causes: {
            Rule: "policy-switch" = "the queue is so long that the scheduler gave up the order by cached prefix, and so it stays long",
            Starvation: "cold-starvation" = "requests with cached beginnings go first, the others wait",
            Flushed: "cache-flushed" = "the burst flushed the prefix cache, and the working set does not come back into it",
            Collector: "garbage-collection" = "the collector walks the objects that the burst left, again and again",
            Delayer: "prefill-delayer" = "ranks hold prefills back for each other since the burst put them out of step",
            Retries: "client-retries" = "clients give up and ask again, which keeps the load up",
        },
        consequence_of: { Collector: "S08" },
        run: check,
    }
}

/// What the causes are told from.
struct After<'c> {
    third: &'c LastThird,
    /// The last third as a side of its own.
    side: &'c Side<'c>,
    base: &'c Side<'c>,
    /// Hit rates now and before, and how far they fell.
    hits: Result<(Fact, f64), Missing>,
    params: &'c Params,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let base = case.base_for("time to first token at the usual load")?;
    let third = case.side.measure::<LastThird>()?;
    let before = base.measure::<ClientTtft>()?;
    let usual = before.median.interval.map_or(before.median.value.0, |(_, high)| high.0);
    let now = third.ttft.interval.map_or(third.ttft.value.0, |(low, _)| low.0);
    let mut facts = vec![third.ttft.fact(format!(
        "median time to first token of the last third {:.3} s, base {:.3} s",
        third.ttft.value.0, before.median.value.0
    ))];
    if now < params.slower * usual || now - usual < params.late {
        return Ok(Outcome::Absent { why: facts });
    }
    let none_sent = || Missing::not_given("arrivals of the base", "measure a calm time: firstcheck run --url URL");
    let base_sent = total(base.evidence, sent).filter(|sent| sent.count > 0.0).ok_or_else(none_sent)?;
    let rates = |now: Arrived, before: Arrived, what: &str| {
        let fact = format!("{what} {:.2} requests/s in the last third, base {:.2}", now.rate(), before.rate());
        per_second(now, &third.ttft.source).fact(fact)
    };
    facts.push(rates(third.sent, base_sent, "clients send"));
    if third.sent.is_above(base_sent, params.load) {
        return Ok(Outcome::Absent { why: facts });
    }
    let base_arrived = total(base.evidence, arrived);
    // What clients gave up is in no page's counters.
    let expected = base_arrived.map_or(0.0, |arrived| arrived.rate()).max(base_sent.rate());
    let rush = burst(case.side, third.from, expected)?;
    let (excess, expected) = (rush.excess.value.0, rush.usual);
    facts.push(rush.excess.fact(format!("{excess:.0} more arrived in one stretch than the usual {expected:.0}")));
    // Usual arrivals are counts, so their spread is their root.
    if excess < params.rush * expected || excess < params.sure * expected.sqrt() {
        return Ok(Outcome::Absent { why: facts });
    }
    if let Some(drains) = drains(&third) {
        facts.push(drains);
        return Ok(Outcome::Absent { why: facts });
    }
    let side = Side::with(&third.evidence, case.settings);
    let more = third.arrived.zip(base_arrived).filter(|(now, before)| now.is_above(*before, params.load));
    let more = more.map(|(now, before)| rates(now, before, "at the servers arrive"));
    let after = After { third: &third, side: &side, base, hits: hits(&side, base), params };
    if let Some(more) = more {
        facts.push(more);
        if third.gave_up.value.0 < params.given_up {
            return Ok(Outcome::Absent { why: facts });
        }
        let (again, fact) = come_again(case.side, &after)?;
        if !again {
            facts.push(fact);
            return Ok(Outcome::Absent { why: facts });
        }
        return Ok(by_retries(&after, facts, fact));
    }
    Ok(by_engine(&after, facts))
}

fn per_second(arrived: Arrived, source: &Source) -> Measurement<RequestsPerSecond> {
    let n = arrived.count.round() as u64;
    Measurement { value: RequestsPerSecond(arrived.rate()), interval: None, n, source: source.clone() }
}

/// Hit rates now and before as a fact, and how far they fell: of what the servers ended in the window where their pages
/// tell, since who came in a window may be served long after it; else of the clients' requests.
fn hits(side: &Side<'_>, base: &Side<'_>) -> Result<(Fact, f64), Missing> {
    let (now, before) = match (served_hits(side), served_hits(base)) {
        (Ok(now), Ok(before)) => (now, before),
        _ => (side.measure::<PromptWork>()?.hit_rate.clone(), base.measure::<PromptWork>()?.hit_rate.clone()),
    };
    let (rate, old) = (now.value.0, before.value.0);
    let text = format!("{:.1} % of the prompt tokens were found in the cache, base {:.1} %", rate * 100.0, old * 100.0);
    Ok((now.fact(text), old - rate))
}

fn served_hits(side: &Side<'_>) -> Result<Measurement<Ratio>, Missing> {
    let hits = growth(side, Signal::PrefixHits, Part::Value)?;
    let prompt = growth(side, Signal::PromptTokens, Part::Value)?;
    if prompt.value <= 0.0 {
        return Err(no_traffic("prompts in the window"));
    }
    let source = Source::Derived { by: "cached / prompt tokens".into(), from: vec![hits.source, prompt.source] };
    let n = prompt.value.round() as u64;
    Ok(Measurement { value: Ratio(hits.value / prompt.value), interval: None, n, source })
}

/// That the queue of the last third goes down, so that it is gone within another window if it goes on like this: the burst
/// is not over, and waiting helps. `None` where it does not, or falls by no more than arrivals vary by chance.
fn drains(third: &LastThird) -> Option<Fact> {
    let (from, to) = queue_from_to(&third.evidence)?;
    let fall = from - to;
    let of_chance = third.sent.count.sqrt() * 2.0;
    (fall > of_chance && to <= THIRDS * fall).then(|| {
        let text =
            format!("the queue drains: {from:.0} requests wait at the start of the last third, {to:.0} at its end");
        Fact::told(text, third.ttft.source.clone())
    })
}

/// Thirds of a window in another window.
const THIRDS: f64 = 3.0;

/// Whether the clients' prompts come again: found in the cache, which others' are not; or, where the pool forgets them
/// before that, as long as the clients'.
fn come_again(side: &Side<'_>, after: &After<'_>) -> Result<(bool, Fact), Missing> {
    if let Some((hits, _)) = after.hits.as_ref().ok().filter(|(_, fall)| *fall <= -after.params.drop) {
        return Ok((true, hits.clone()));
    }
    let apart = prompt_lengths::apart(&after.third.evidence.runs, &side.evidence.runs)?;
    let share = apart.value.0;
    let fact = apart.fact(format!("{:.0} % of the prompts served have other lengths than those sent", share * 100.0));
    Ok((share <= after.params.alike, fact))
}

/// Clients keep the load up: what the engine does besides cannot be told.
fn by_retries(after: &After<'_>, facts: Vec<Fact>, again: Fact) -> Outcome {
    let mut verdict = Verdict::<Cause>::new();
    let gave_up = &after.third.gave_up;
    let given_up = gave_up.fact(format!("clients gave up {:.0} % of the requests", gave_up.value.0 * 100.0));
    for cause in [Cause::Rule, Cause::Starvation, Cause::Flushed, Cause::Collector, Cause::Delayer] {
        let at_equal_load = Missing {
            what: "the deployment at the load before the burst".into(),
            why: Why::Mixed,
            obtain: "cap retries and measure again: firstcheck run --url URL --duration 120s".into(),
        };
        verdict.weigh(cause, Err(at_equal_load));
    }
    verdict.weigh(Cause::Retries, Ok(Weighed::Supports(vec![given_up, again])));
    verdict.present(facts, None, follow_up)
}

fn by_engine(after: &After<'_>, facts: Vec<Fact>) -> Outcome {
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::Rule, rule(after));
    verdict.weigh(Cause::Starvation, starvation(after));
    verdict.weigh(Cause::Collector, collector(after));
    verdict.weigh(Cause::Delayer, delayer(after));
    let explained = [Cause::Rule, Cause::Starvation].into_iter().any(|cause| verdict.supports(cause));
    verdict.weigh(Cause::Flushed, flushed(after, explained));
    verdict.weigh(Cause::Retries, retries(after));
    verdict.present(facts, None, follow_up)
}

/// Whether the server admits the longest cached prefix first, as it states.
fn order(after: &After<'_>) -> Result<(bool, Fact), Missing> {
    let print = fingerprint::of(after.side.evidence);
    let told = |text: String| Fact::told(text, Source::Derived { by: "fingerprint".into(), from: Vec::new() });
    let given = format!("{}schedule_policy", field::GIVEN);
    match (print.get(field::ENGINE), print.get("schedule_policy").or_else(|| print.get(&given))) {
        (_, Some("lpm")) => Ok((true, told("the server admits the longest cached prefix first".into()))),
        (_, Some(other)) => Ok((false, told(format!("the server admits by `{other}`")))),
        (Some(engine), None) if !is_sglang(engine) => {
            Ok((false, told(format!("{engine} has no order by cached prefix"))))
        }
        _ => Err(Missing::not_given(
            "the order of the queue (schedule_policy)",
            "give the server's log from its start on",
        )),
    }
}

fn is_sglang(engine: &str) -> bool {
    engine.eq_ignore_ascii_case("sglang")
}

fn length(queue: &Measurement<Count>) -> Fact {
    queue.fact(format!("{:.0} requests wait on one replica", queue.value.0))
}

fn rule(after: &After<'_>) -> Result<Weighed, Missing> {
    let (by_prefix, order) = order(after)?;
    if !by_prefix {
        return Ok(Weighed::Excludes(vec![order]));
    }
    let queue = queue(&after.third.evidence)?;
    if queue.value.0 <= after.params.limit {
        return Ok(Weighed::Excludes(vec![order, length(&queue)]));
    }
    let (hits, fall) = after.hits.clone()?;
    Ok(Weighed::by(fall >= after.params.drop, vec![order, length(&queue), hits]))
}

fn starvation(after: &After<'_>) -> Result<Weighed, Missing> {
    let (by_prefix, order) = order(after)?;
    if !by_prefix {
        return Ok(Weighed::Excludes(vec![order]));
    }
    let queue = queue(&after.third.evidence)?;
    if queue.value.0 > after.params.limit {
        return Ok(Weighed::Excludes(vec![length(&queue)]));
    }
    let rho = wait_against_cached(&after.third.evidence)?;
    let fact = rho.fact(format!("rank correlation of wait and cached tokens {:.2}", rho.value.0));
    Ok(Weighed::by(rho.value.0 <= after.params.cold, vec![order, length(&queue), fact]))
}

fn flushed(after: &After<'_>, explained: bool) -> Result<Weighed, Missing> {
    let (hits, fall) = after.hits.clone()?;
    Ok(Weighed::by(!explained && fall >= after.params.drop, vec![hits]))
}

/// Waiting requests up to which nobody waits: one is on its way into the batch.
const NOBODY_WAITS: f64 = 1.0;

fn collector(after: &After<'_>) -> Result<Weighed, Missing> {
    let queue = queue(&after.third.evidence)?;
    if queue.value.0 > NOBODY_WAITS {
        return Ok(Weighed::Excludes(vec![length(&queue)]));
    }
    let stalls = after.side.measure::<Stalls>()?;
    let long = stalls.stalls.iter().filter(|stall| stall.length.0 >= after.params.pause);
    // Streams that stand still at the same time stand in one pause; the list is in the order of ends.
    let (mut pauses, mut total, mut end) = (0_u64, 0.0, None);
    for stall in long {
        if end.is_some_and(|end| stall.start < end) {
            continue;
        }
        (pauses, total, end) = (pauses + 1, total + stall.length.0, Some(stall.end));
    }
    let share = total / after.third.sent.over.0;
    let source = stalls.source.clone();
    let measured = Measurement { value: Ratio(share), interval: None, n: pauses, source };
    let fact = measured.fact(format!("streams paused {pauses} times, {:.0} % of the time", share * 100.0));
    Ok(Weighed::by(pauses > 1 && share >= after.params.duty, vec![length(&queue), fact]))
}

fn delayer(after: &After<'_>) -> Result<Weighed, Missing> {
    let share = |side: &Side<'_>| -> Result<f64, Missing> {
        let runs = &side.evidence.runs;
        Ok(growth_in(runs, Signal::PrefillDelay, Part::Sum)?.value / watched(runs))
    };
    let print = fingerprint::of(after.side.evidence);
    if let Some(engine) = print.get(field::ENGINE).filter(|engine| !is_sglang(engine)) {
        let source = Source::Derived { by: "fingerprint".into(), from: Vec::new() };
        return Ok(Weighed::Excludes(vec![Fact::told(format!("{engine} has no prefill delayer"), source)]));
    }
    let now = share(after.side)?;
    let before = share(after.base)?;
    let source = growth_in(&after.side.evidence.runs, Signal::PrefillDelay, Part::Sum)?.source;
    let measured = Measurement { value: Ratio(now), interval: None, n: 1, source };
    let fact = measured.fact(format!(
        "prefills were held back {:.0} % of the time, base {:.0} %",
        now * 100.0,
        before * 100.0
    ));
    Ok(Weighed::by(now - before >= after.params.held, vec![fact]))
}

fn retries(after: &After<'_>) -> Result<Weighed, Missing> {
    let Some(arrived) = after.third.arrived else {
        let obtain = "scrape /metrics during the window: firstcheck run --url URL --scrape-interval 1s";
        return Err(Missing::not_exposed("arrivals at the servers", obtain));
    };
    let text = format!("no more arrive at the servers than before ({:.2}/s)", arrived.rate());
    let fact = per_second(arrived, &after.third.ttft.source).fact(text);
    Ok(Weighed::Excludes(vec![fact]))
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, mitigation) = match cause {
        Cause::Rule => (
            "start one replica with --schedule-policy fcfs: it must have the low hit rate at once",
            Some("shed load until fewer wait than the limit"),
        ),
        Cause::Starvation => {
            ("start one replica with --schedule-policy fcfs: waits must no longer follow cached tokens", None)
        }
        Cause::Flushed => {
            ("repeat with half the load for a minute: the hit rate must come back", Some("shed load until it has"))
        }
        Cause::Collector => ("call POST /freeze_gc on one replica: its pauses must end", None),
        Cause::Delayer => ("start one replica without --enable-prefill-delayer and repeat the burst", None),
        Cause::Retries => {
            ("count attempts for each request in the gateway's log", Some("cap retries, with back-off and jitter"))
        }
    };
    FollowUp {
        measure: measure.into(),
        command: "firstcheck run --url URL --rate RATE --duration 120s --scrape-interval 1s".into(),
        requests: 300,
        mitigation: mitigation.map(str::to_owned),
    }
}

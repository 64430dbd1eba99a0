//! S06: attention ranks wait for one of them.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters::{growth, no_traffic},
        quick_gaps,
        rank_costs::{Beside, RankCosts, Share},
        rank_steps::{RankSteps, RankTotal, shown},
        rank_waits::RankWaits,
    },
    verdict::{MOST, Verdict, Weighed},
};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    fingerprint::field,
    measurement::{Fact, Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::Ratio,
};
use std::sync::Arc;

declare_check! {
    /// ## What it means
    ///
    /// The attention ranks of a server (data-parallel attention, experts shared) have requests of their own and take every
    /// step together. What one of them computes, all wait for: one long prompt, or one rank with more context than the
    /// others, slows every stream of the server.
    ///
    /// ## How it is decided
    ///
    /// Present where prompts of other ranks, and context of the fullest rank beyond the mean, take {cost} of the time
    /// between tokens or more, and {rise} times as much as the base's. Where the engine counts the waits of its ranks that is
    /// their share of the steps; else it is told from the ranks' counters between readings: gaps of each rank against its
    /// own prompt tokens and context and those of the others, at {sure} standard errors. The base's readings stand beside. Steps
    /// of both sides count as equally long unless the client's quick gaps rose as much as the others, and readings within
    /// the sides contradict the jump between them by {contradicts} errors. Replicas that step by themselves
    /// show nothing there. Less than that is no skew, whatever the ranks' loads are.
    ///
    /// - Mixed step: prompts of others are {cost} of the time or most of the waits, beyond the base's.
    /// - Context: the rank that reads the most is. Then a rank that got {skew} times its share of the requests, beyond chance,
    ///   was sent too many; else one whose requests hold {skew} times the mean context got the long ones, evenly counted.
    /// - Slow rank: one rank waits less than {alone} of what the others do, though it was sent no more than they were.
    /// - Padding: decode steps run without graphs, by the log of each rank. Delayer: prompts were held back for other ranks
    ///   {cost} of the time to first token.
    ///
    /// ## What to do
    ///
    /// Let prompts rest between decodes, or compute them in a pool of their own; balance by tokens and not by requests. Looks
    /// like: chunks in one engine (S07), a queue (S02), preemption of a full rank (S15).
    pub static RANKS_WAIT = {
        code: "S06", slug: "ranks-wait", family: FirstToken, severity: Major,
        symptom: "all attention ranks of a server wait for one of them",
        needs: all_of[EngineMetrics],
        params: {
            cost: 0.1 ["1"] = "share of the time between tokens that waits for other ranks must cost",
            rise: 1.5 ["1"] = "times the base's waits from which they count as more than the base's",
            sure: 3.0 ["1"] = "standard errors by which a wait must be told from none",
            contradicts: 3.0 ["1"] = "standard errors from which readings within two sides contradict the jump between them",
            skew: 1.5 ["1"] = "times the mean over ranks from which one has too much",
            alone: 0.3 ["1"] = "mean wait of the rank that the others wait for, over theirs, up to which it is always the same",
        },
        causes: {
            Mixed: "mixed-phase-step" = "one rank computes a prompt in the steps in which the others decode",
            Admission: "admission-skew" = "more requests are sent to one rank than to the others",
            Context: "context-skew" = "one rank's requests have more context than the others', though as many were sent to it",
            Padding: "padding" = "ranks compute padding, or run without graphs, while another computes a prompt",
            Delayer: "prefill-delayer" = "prompts are held back until other ranks have some as well",
            SlowRank: "slow-rank" = "one rank is slower than the others whatever it computes",
        },
        run: check,
    }
}

/// What the causes are told from.
struct Findings<'c> {
    waits: Result<Arc<RankWaits>, Missing>,
    costs: Result<RankCosts, Missing>,
    steps: Result<Arc<RankSteps>, Missing>,
    /// Share of the time that is waited.
    cost: f64,
    /// The same share of the base, and what its ranks cost each other; `None` without a base that tells.
    before: Option<Before>,
    case: &'c Case<'c>,
    params: &'c Params,
}

/// What the base waits.
struct Before {
    share: Measurement<Ratio>,
    costs: Option<RankCosts>,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let ranks = shown(case.side);
    if ranks < 2 {
        return Ok(Outcome::NotApplicable { why: "no page shows attention ranks of one server".into() });
    }
    let steps = case.side.measure::<RankSteps>();
    let base = case.base.and_then(|base| base.measure::<RankSteps>().ok());
    let beside = base.as_deref().map(|steps| beside(case, steps, params));
    let costs = steps.clone().and_then(|steps| costs(&steps, beside, params));
    let waits = case.side.measure::<RankWaits>();
    let (cost, mut facts) = match (&waits, &costs) {
        (Ok(waits), _) => {
            let share = waits.of_time.value.0;
            let text = format!("{ranks} ranks wait {:.0} % of the time for the slowest", share * 100.0);
            (share, vec![waits.of_time.fact(text)])
        }
        (Err(_), Ok(costs)) => (decided(costs, params)?, told(costs, ranks)),
        // What the ranks' counters lack is nearer than a counter that few engines have.
        (Err(_), Err(missing)) => return Err(missing.clone()),
    };
    if cost < params.cost {
        return Ok(Outcome::Absent { why: facts });
    }
    let before = of_base(case, base.as_deref(), waits.is_ok(), params);
    if let Some(Before { share, .. }) = &before {
        facts.push(share.fact(format!("the base's wait {:.0} %", share.value.0 * 100.0)));
        if cost < params.rise * share.value.0 {
            return Ok(Outcome::Absent { why: facts });
        }
    }
    let findings = Findings { waits, costs, steps, cost, before, case, params };
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::Mixed, mixed(&findings));
    verdict.weigh(Cause::Admission, admission(&findings));
    verdict.weigh(Cause::Context, context(&findings));
    verdict.weigh(Cause::Padding, padding(&findings));
    verdict.weigh(Cause::Delayer, delayer(&findings));
    verdict.weigh(Cause::SlowRank, slow_rank(&findings));
    Ok(verdict.present(facts, None, follow_up))
}

/// What ranks cost each other, from the side's own readings where they tell, else with those of the base beside them.
fn costs(steps: &RankSteps, base: Option<Beside<'_>>, params: &Params) -> Result<RankCosts, Missing> {
    let told = |share: &Share| share.errors >= params.sure;
    let own = RankCosts::of(steps, None);
    match (own, base) {
        (Ok(own), Some(_)) if told(&own.prompts) && told(&own.contexts) => Ok(own),
        (_, Some(base)) => RankCosts::of(steps, Some(base)),
        (own, None) => own,
    }
}

/// One of the two sides, to be read beside the other.
fn beside<'s>(case: &Case<'_>, steps: &'s RankSteps, params: &Params) -> Beside<'s> {
    let same_step = case.base.and_then(|base| quick_gaps::are_as_long(case.side, base));
    Beside { steps, same_step, contradicts: params.contradicts }
}

/// A share as far as it is told from none.
fn sure(share: &Share, params: &Params) -> f64 {
    if share.errors >= params.sure { share.of_time.value.0 } else { 0.0 }
}

/// What ranks cost each other, as far as it is told from nothing.
///
/// # Errors
/// A cost that would count and is not told from nothing.
fn decided(costs: &RankCosts, params: &Params) -> Result<f64, Missing> {
    let cost = sure(&costs.prompts, params) + sure(&costs.contexts, params);
    let likely = costs.prompts.of_time.value.0 + costs.contexts.of_time.value.0;
    if cost >= params.cost || likely < params.cost {
        return Ok(cost);
    }
    Err(Missing {
        what: format!("readings that tell waits of {:.0} % of the time from none", likely * 100.0),
        why: Why::TooFew { have: costs.prompts.of_time.n, need: 2 * costs.prompts.of_time.n },
        obtain: "firstcheck run --url URL --duration 300s --scrape-interval 2s".into(),
    })
}

fn told(costs: &RankCosts, ranks: usize) -> Vec<Fact> {
    let fact = |share: &Share, what: &str| {
        let (low, high) = share.of_time.interval.map_or((0.0, 0.0), |(low, high)| (low.0, high.0));
        let value = share.of_time.value.0 * 100.0;
        let text = format!("{value:.0} % of the time ({:.0} to {:.0} %) is waited {what}", low * 100.0, high * 100.0);
        share.of_time.fact(text)
    };
    vec![
        fact(&costs.prompts, &format!("for prompts of other ranks, of {ranks}")),
        fact(&costs.contexts, "for what the fullest rank has of context beyond the mean"),
    ]
}

/// The same share of the base, by the same way of telling it.
fn of_base(case: &Case, steps: Option<&RankSteps>, counted: bool, params: &Params) -> Option<Before> {
    let base = case.base?;
    // With the coefficients of both: those of a calm run by itself are not told.
    let costs = case
        .side
        .measure::<RankSteps>()
        .ok()
        .zip(steps)
        .and_then(|(side, steps)| RankCosts::of(steps, Some(beside(case, &side, params))).ok());
    let share = if counted {
        base.measure::<RankWaits>().ok()?.of_time.clone()
    } else {
        let costs = costs.as_ref()?;
        let value = Ratio(sure(&costs.prompts, params) + sure(&costs.contexts, params));
        Measurement { value, interval: None, ..costs.prompts.of_time.clone() }
    };
    Some(Before { share, costs })
}

impl Findings<'_> {
    fn costs(&self) -> Result<&RankCosts, Missing> {
        self.costs.as_ref().map_err(Clone::clone)
    }

    /// Whether a part of the waits counts, by itself or as most of them: beyond the base's, where there is one. What the
    /// base waits as well brought no wait about.
    fn counts(&self, share: &Share, part_of: fn(&RankCosts) -> &Share) -> bool {
        let before = self.before.as_ref();
        let of_base =
            before.and_then(|before| before.costs.as_ref()).map_or(0.0, |costs| sure(part_of(costs), self.params));
        let all = self.cost - before.map_or(0.0, |before| before.share.value.0);
        let part = sure(share, self.params) - of_base;
        part >= self.params.cost || part >= MOST * all
    }

    fn totals(&self) -> Result<(&[RankTotal], &Source), Missing> {
        let steps = self.steps.as_ref().map_err(Clone::clone)?;
        Ok((&steps.totals, &steps.source))
    }

    /// The rank that was sent the most, as a multiple of its share, and whether that is beyond chance.
    fn sent(&self) -> Result<(f64, bool, Fact), Missing> {
        let (totals, source) = self.totals()?;
        let all: f64 = totals.iter().map(|total| total.finished).sum();
        let Some(most) = totals.iter().max_by(|a, b| a.finished.total_cmp(&b.finished)) else { return Err(few()) };
        let share = all / totals.len() as f64;
        if share <= 0.0 {
            return Err(few());
        }
        let times = most.finished / share;
        // A fair draw spreads by the root of the mean.
        let beyond = most.finished - share >= self.params.sure * share.sqrt();
        let text =
            format!("rank {} ended {:.0} of {all:.0} requests, {times:.1} times its share", most.rank, most.finished);
        Ok((times, times >= self.params.skew && beyond, Fact::told(text, source.clone())))
    }
}

fn few() -> Missing {
    Missing::not_exposed("requests that ended, of each rank", "firstcheck run --url URL --duration 120s")
}

fn waited(share: &Share, what: &str) -> Fact {
    share.of_time.fact(format!("{what} cost {:.0} % of the time", share.of_time.value.0 * 100.0))
}

fn mixed(findings: &Findings<'_>) -> Result<Weighed, Missing> {
    let share = &findings.costs()?.prompts;
    Ok(Weighed::by(findings.counts(share, |costs| &costs.prompts), vec![waited(share, "prompts of other ranks")]))
}

/// Whether the waits are for the rank with the most context; a reason against where not.
fn of_context(findings: &Findings<'_>) -> Result<(bool, Fact), Missing> {
    let share = &findings.costs()?.contexts;
    Ok((findings.counts(share, |costs| &costs.contexts), waited(share, "context of the fullest rank beyond the mean")))
}

fn admission(findings: &Findings<'_>) -> Result<Weighed, Missing> {
    let (counts, cost) = of_context(findings)?;
    if !counts {
        return Ok(Weighed::Excludes(vec![cost]));
    }
    let (_, skewed, fact) = findings.sent()?;
    Ok(Weighed::by(skewed, vec![cost, fact]))
}

fn context(findings: &Findings<'_>) -> Result<Weighed, Missing> {
    let (counts, cost) = of_context(findings)?;
    if !counts {
        return Ok(Weighed::Excludes(vec![cost]));
    }
    let (_, skewed, sent) = findings.sent()?;
    let (totals, source) = findings.totals()?;
    let read: Vec<f64> = totals.iter().map(RankTotal::context_read).collect();
    let mean = read.iter().sum::<f64>() / read.len() as f64;
    let most = totals.iter().zip(&read).max_by(|a, b| a.1.total_cmp(b.1));
    let Some((rank, times)) = most.map(|(rank, most)| (&rank.rank, most / mean)).filter(|_| mean > 0.0) else {
        return Err(few());
    };
    let text = format!("the requests of rank {rank} hold {times:.1} times the mean context");
    Ok(Weighed::by(!skewed && times >= findings.params.skew, vec![cost, sent, Fact::told(text, source.clone())]))
}

/// Share of the decode lines without a graph from which ranks run without.
fn padding(findings: &Findings<'_>) -> Result<Weighed, Missing> {
    let lines = |log: &firstcheck_model::engine_log::EngineLog| {
        let of_graphs = log.series.iter().filter(|series| series.name == "log:decode cuda graph");
        of_graphs.fold((0.0, 0_u64), |(with, all), series| {
            (with + series.value.iter().sum::<f64>(), all + series.value.len() as u64)
        })
    };
    // A log each where ranks write their own.
    let (mut without_graphs, mut facts) = (false, Vec::new());
    for log in &findings.case.side.evidence.logs {
        let (with, all) = lines(log);
        if all == 0 {
            continue;
        }
        let without = 1.0 - with / all as f64;
        let text = format!("{:.0} % of {all} reported decode steps ran without a graph", without * 100.0);
        let source =
            Source::Derived { by: format!("`cuda graph` of the decode lines of {}", log.label), from: Vec::new() };
        // With none at all graphs are off, which is no matter of other ranks.
        without_graphs |= with > 0.0 && without >= MOST;
        facts.push(Fact::told(text, source));
    }
    if !facts.is_empty() {
        return Ok(Weighed::by(without_graphs, facts));
    }
    Err(Missing::not_given(
        "whether ranks pad their steps or run them without graphs while another computes a prompt",
        "give SGLang's log with the `cuda graph` of each rank's decode lines, or a trace of one step on every rank",
    ))
}

fn delayer(findings: &Findings<'_>) -> Result<Weighed, Missing> {
    let side = findings.case.side;
    let print = crate::fingerprint::of(side.evidence);
    if print.get(field::ENGINE).is_some_and(|engine| engine.eq_ignore_ascii_case("vllm")) {
        let (_, source) = findings.totals()?;
        return Ok(Weighed::Excludes(vec![Fact::told("vLLM holds no prompt back for other ranks", source.clone())]));
    }
    let (held, first) = (growth(side, Signal::PrefillDelay, Part::Sum)?, growth(side, Signal::Ttft, Part::Sum)?);
    if first.value <= 0.0 {
        return Err(no_traffic("first tokens in the window"));
    }
    let share = held.value / first.value;
    let text = format!("prompts were held back for other ranks {:.0} % of the time to first token", share * 100.0);
    Ok(Weighed::by(share >= findings.params.cost, vec![Fact::told(text, held.source)]))
}

fn slow_rank(findings: &Findings<'_>) -> Result<Weighed, Missing> {
    let waits = findings.waits.as_ref().map_err(|_| {
        let what = "how long each rank waits in a step, or computes before it";
        Missing::not_exposed(
            what,
            "`sglang:dp_attention_sync_wait_seconds`, or a trace of the same steps on every rank",
        )
    })?;
    let Some((rank, times)) = waits.awaited() else { return Err(few()) };
    let text = format!("rank {rank} waits {times:.2} times as long as the others");
    let fact = waits.of_time.fact(text);
    if times > findings.params.alone {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    // What the others wait for may be what it was sent.
    let (_, skewed, sent) = findings.sent()?;
    let costs = findings.costs()?;
    let work = findings.counts(&costs.prompts, |costs| &costs.prompts)
        || findings.counts(&costs.contexts, |costs| &costs.contexts);
    Ok(Weighed::by(!skewed && !work, vec![fact, sent]))
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, mitigation) = match cause {
        Cause::Mixed => (
            "repeat without long prompts: the gaps of all streams must shrink",
            Some(
                "let prompts rest between decodes (SGLang: --prefill-decode-interval), cap a step's prompt tokens, or \
                  compute prompts in a pool of their own",
            ),
        ),
        Cause::Admission => (
            "send requests to each rank in turn (one client a rank): the gaps must shrink",
            Some("spread requests by their number in flight; leave those out that only retire"),
        ),
        Cause::Context => (
            "repeat with requests spread by their tokens: the gaps must shrink at the same rate",
            Some("balance ranks by tokens and not by requests"),
        ),
        Cause::Padding => ("trace one step on every rank: tokens computed against tokens of requests", None),
        Cause::Delayer => ("repeat with the delayer off", Some("switch the prefill delayer off")),
        Cause::SlowRank => ("compare clocks and power of the GPUs, and swap two ranks: the slow one must move", None),
    };
    FollowUp {
        measure: measure.into(),
        command: "firstcheck run --url URL --rate RATE --duration 120s --scrape-interval 2s".into(),
        requests: 300,
        mitigation: mitigation.map(str::to_owned),
    }
}

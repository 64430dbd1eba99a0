//! S15: constant preemption at peak while every prompt fits.

use crate::{
    case::Case,
    declare_check,
    measure::{
        drained_usage::DrainedUsage,
        final_pages::FinalPages,
        graph_budget::GraphBudget,
        kv_pool::KvPool,
        latency_means::LatencyMeans,
        memory_ledger::{MemoryLedger, gib},
        output_length::OutputLength,
        page_demand::PageDemand,
        preemptions::Preemptions,
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    finding::{Explained, FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    unit::Bytes,
};

declare_check! {
    /// ## What it means
    ///
    /// The KV pool overflows although each prompt fits: running requests grow by a token a step until no free block is
    /// left, then the engine throws the youngest out and computes it again later. Users see a queue (first tokens come
    /// late) and streams that stand still in the middle.
    ///
    /// ## How it is decided
    ///
    /// The symptom is the counter: more than {rate} preemptions a finished request inside the window, by its growth,
    /// never by its lifetime value.
    ///
    /// The causes are split by a page ledger: pages that a request holds at its end, times running requests at the peak,
    /// over usable blocks. Preemptions imply that this demand exceeds {demand}.
    ///
    /// - The pool shrank: the base has more than {shrink} of its blocks on top, and either its pool would have held this
    ///   demand or it was not preempting. Both ledgers of memory are shown; graphs took the blocks where what is kept for
    ///   them, or what they take, grew by {graphs} of what the KV cache lost.
    /// - Outputs grew: the mean output length rose by more than {growth} against the base.
    /// - Output was not reserved: demand exceeds the pool, and pool and outputs are those of the base: admission
    ///   looks at the prompt alone.
    /// - Leaked pages: usage stays above {leak} while nothing runs.
    /// - Page waste: slots without a token exceed {waste} of the tokens, the base's do not, and they tip the demand over.
    /// - A request that cannot be served: its prompt and output alone ask for more than the pool.
    ///
    /// The peak of running requests is that of a scraped gauge, so a lower bound.
    ///
    /// ## What to do
    ///
    /// Lower `--max-num-seqs` to what the pool can finish together (the finding names it): preemptions vanish at an equal
    /// completed rate. If the pool shrank, restore what took its blocks. Leaked pages: restart the replica.
    ///
    /// Looks like: a queue without preemption; frozen streams (a consequence); a hit rate that rose (re-admitted requests).
    pub static CONSTANT_PREEMPTION = {
        code: "S15", slug: "constant-preemption", family: Memory, severity: Major,
        symptom: "preemption is constant at peak while every prompt fits",
        needs: all_of[EngineMetrics],
        params: {
            rate: 0.05 ["1"] = "preemptions a finished request from which preemption counts as constant",
            demand: 1.0 ["1"] = "demand at the peak over the pool from which the pool must overflow",
            shrink: 0.02 ["1"] = "share of its blocks that a pool must lose to count as smaller",
            growth: 0.10 ["1"] = "relative growth of the mean output that counts as longer outputs",
            graphs: 0.8 ["1"] = "part of the lost KV cache that graphs must make up to have taken it",
            leak: 0.05 ["1"] = "share of the pool in use while nothing runs that counts as leaked",
            waste: 0.10 ["1"] = "slots without a token over tokens that count as waste",
        },
        causes: {
            KvPoolShrank: "kv-pool-shrank" = "the KV pool is smaller than the base's",
            GraphMemory: "graph-memory" = "captured graphs took memory that the base's pool had",
            OutputsGrew: "outputs-grew" = "answers are longer than the base's",
            OutputNotReserved: "output-not-reserved" = "admission counts the prompt only and more requests run than the pool can finish",
            Unservable: "unservable-request" = "one request alone asks for more than the pool",
            LeakedPages: "leaked-pages" = "pages stay in use after their requests ended",
            PageWaste: "page-waste" = "pages are held that carry no tokens",
        },
        consequence_of: { GraphMemory: "S16" },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let preemptions = case.side.measure::<Preemptions>()?;
    let rate = preemptions.rate.value.0;
    let lower_bound = if preemptions.resets > 0 { " at least (the counter restarted)" } else { "" };
    let counted = preemptions.count.fact(format!(
        "{:.0} preemptions{lower_bound} for {} finished requests, {rate:.2} each",
        preemptions.count.value.0, preemptions.count.n
    ));
    if rate <= params.rate {
        return Ok(Outcome::Absent { why: vec![counted] });
    }
    let mut facts = vec![counted];
    if let Some(base) = case.base.and_then(|base| base.measure::<Preemptions>().ok()) {
        facts.push(base.rate.fact(format!("base: {:.2} preemptions a finished request", base.rate.value.0)));
    }
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::KvPoolShrank, pool_shrank(case, params));
    verdict.weigh(Cause::GraphMemory, graphs_took(case, params));
    verdict.weigh(Cause::OutputsGrew, outputs_grew(case, params));
    let explained_by_change = verdict.supports(Cause::KvPoolShrank) || verdict.supports(Cause::OutputsGrew);
    verdict.weigh(Cause::OutputNotReserved, output_not_reserved(case, params, explained_by_change));
    verdict.weigh(Cause::Unservable, unservable(case.side));
    verdict.weigh(Cause::LeakedPages, leaked(case.side, params));
    verdict.weigh(Cause::PageWaste, wasted(case, params));
    let explains = if explained_by_change { explained(case) } else { None };
    let safe = safe_concurrency(case.side);
    Ok(verdict.present(facts, explains, |cause| follow_up(cause, safe)))
}

fn pool_shrank(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let now = case.side.measure::<KvPool>()?;
    let base = case.base_for("the KV pool")?;
    let before = base.measure::<KvPool>()?;
    let (now_tokens, before_tokens) = (now.tokens.value.0, before.tokens.value.0);
    let sizes = vec![
        before
            .blocks
            .fact(format!("base: {:.0} usable KV blocks of {} tokens", before.blocks.value.0, before.block_size)),
        now.blocks.fact(format!("{:.0} usable KV blocks of {} tokens", now.blocks.value.0, now.block_size)),
    ];
    if now_tokens >= before_tokens * (1.0 - params.shrink) {
        return Ok(Weighed::Excludes(sizes));
    }
    let mut facts = sizes;
    facts.extend(ledger_changes(case.side, base));
    // The base's own counter is the direct proof that the old pool held this traffic; the demand is the arithmetic one.
    let calm = base.measure::<Preemptions>().ok().filter(|p| p.rate.value.0 <= params.rate);
    if let Some(calm) = &calm {
        facts.push(
            calm.rate.fact(format!("the base's pool held the traffic: {:.2} preemptions a request", calm.rate.value.0)),
        );
    }
    let demand = case.side.measure::<PageDemand>();
    let held = match &demand {
        Ok(demand) => {
            let before_blocks = before_tokens / now.block_size;
            let (over, over_before) = (demand.over_peak.value.0, demand.over(before_blocks));
            facts.push(demand.over_peak.fact(format!(
                "demand at the peak is {over:.2} of this pool and {over_before:.2} of the base's ({:.0} running × {:.1} pages)",
                demand.running_peak.value.0, demand.pages
            )));
            over > params.demand && over_before <= params.demand
        }
        Err(_) => false,
    };
    match (calm.is_some() || held, demand) {
        (true, _) => Ok(Weighed::Supports(facts)),
        (false, Ok(_)) => Ok(Weighed::Excludes(facts)),
        (false, Err(missing)) => Err(missing),
    }
}

/// What the start-up logs of both say of the memory: how many blocks somebody set, and terms that changed.
fn ledger_changes(side: &Side<'_>, base: &Side<'_>) -> Vec<Fact> {
    let (Ok(now), Ok(before)) = (side.measure::<MemoryLedger>(), base.measure::<MemoryLedger>()) else {
        return Vec::new();
    };
    let (Some(now), Some(before)) = (now.starts.first(), before.starts.first()) else { return Vec::new() };
    let by_hand = now.blocks_set.map(|(line, profiled)| {
        let held = profiled.map_or(String::new(), |blocks| format!(", memory holds {blocks:.0}"));
        let text = format!("{}: somebody set the number of KV blocks{held}", now.log);
        let source = Source::line(&now.log, line);
        Fact { text, value: profiled, unit: Some("count".into()), interval: None, n: Some(1), source }
    });
    let changes = now.changes(before, LEDGER_STEP).into_iter().map(|(term, was, is)| {
        is.fact(format!("ledger: {} {:.2} GiB, base {:.2}", term.name(), gib(is.value.0), gib(was)))
    });
    by_hand.into_iter().chain(changes).collect()
}

/// Change of a term that a ledger shows, bytes: logs round to a hundredth of a GiB, and starts differ by some.
const LEDGER_STEP: f64 = 0.1 * Bytes::GIB;

/// Whether what graphs take, or what is kept for them, is what the KV cache lost.
fn graphs_took(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let base = case.base_for("the start-up log")?;
    if let (Ok(now), Ok(before)) = (case.side.measure::<KvPool>(), base.measure::<KvPool>())
        && now.tokens.value.0 >= before.tokens.value.0 * (1.0 - params.shrink)
    {
        return Ok(Weighed::Excludes(vec![now.blocks.fact("the pool is the base's")]));
    }
    let (base, now) = (base.measure::<GraphBudget>()?, case.side.measure::<GraphBudget>()?);
    let (Some(left), Some(before)) = (now.kv(), base.kv()) else {
        let what = "the KV cache as what the other terms left, in both start-up logs";
        return Err(Missing::not_exposed(what, "give both logs at INFO from their first lines on"));
    };
    let lost = before.value.0 - left.value.0;
    let took = |budget: &GraphBudget| budget.actual.as_ref().map(|actual| actual.value.0);
    let kept = now.reserved() - base.reserved();
    let grown = took(&now).zip(took(&base)).map_or(kept, |(now, before)| (now - before).max(kept));
    let text = format!("the KV cache lost {:.2} GiB, graphs took {:.2} more", gib(lost), gib(grown));
    let fact = left.fact(text);
    let is_it = lost > params.shrink * before.value.0 && grown >= params.graphs * lost;
    Ok(Weighed::by(is_it, vec![fact]))
}

fn outputs_grew(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let now = case.side.measure::<OutputLength>()?;
    let before = case.base_for("the output lengths")?.measure::<OutputLength>()?;
    let (mean, old) = (now.mean.value.0, before.mean.value.0);
    let facts = vec![now.mean.fact(format!("mean output {mean:.0} tokens, base {old:.0}"))];
    Ok(Weighed::by(mean > old * (1.0 + params.growth), facts))
}

fn output_not_reserved(case: &Case<'_>, params: &Params, explained: bool) -> Result<Weighed, Missing> {
    let demand = case.side.measure::<PageDemand>()?;
    let over = demand.over_peak.value.0;
    let fact = demand.over_peak.fact(format!("demand at the peak is {over:.2} of the pool"));
    if over <= params.demand {
        return Ok(demand_not_seen().into());
    }
    if explained {
        let mut why = fact;
        why.text.push_str("; the same admission rule served the base, what changed is named above");
        return Ok(Weighed::Excludes(vec![why]));
    }
    let before = case.base_for("the KV pool")?.measure::<KvPool>()?;
    let now = case.side.measure::<KvPool>()?;
    let unchanged = now.tokens.value.0 >= before.tokens.value.0 * (1.0 - params.shrink);
    let pool = now.blocks.fact("the pool is the base's".to_owned());
    Ok(if unchanged { Weighed::Supports(vec![fact, pool]) } else { Weighed::Excludes(vec![fact]) })
}

fn demand_not_seen() -> Missing {
    let what = "a demand above the pool: the scraped peak of running requests shows none";
    Missing::not_exposed(what, "firstcheck run --url URL --scrape-interval 1s")
}

fn unservable(side: &Side<'_>) -> Result<Weighed, Missing> {
    let (pool, pages) = (side.measure::<KvPool>()?, side.measure::<FinalPages>()?);
    let (largest, blocks) = (pages.largest.value.0, pool.blocks.value.0);
    let fact =
        pages.largest.fact(format!("the largest request ends with {largest:.0} pages, the pool has {blocks:.0}"));
    Ok(Weighed::by(largest > blocks, vec![fact]))
}

fn leaked(side: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let drained = side.measure::<DrainedUsage>()?;
    let share = drained.usage.value.0;
    let fact = drained.usage.fact(format!("with nothing running {:.1} % of the pool is in use", share * 100.0));
    Ok(Weighed::by(share > params.leak, vec![fact]))
}

fn wasted(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let waste = |side: &Side<'_>| Ok::<_, Missing>(side.measure::<FinalPages>()?.waste.clone());
    let now = waste(case.side)?;
    let share = now.value.0;
    let mut facts = vec![now.fact(format!("slots without a token are {:.1} % of the tokens", share * 100.0))];
    if share <= params.waste {
        return Ok(Weighed::Excludes(facts));
    }
    // What the base wastes as well did not make the difference.
    if let Some(base) = case.base.map(waste).transpose()?.filter(|base| base.value.0 > params.waste) {
        facts.push(base.fact(format!("base: {:.1} % as well", base.value.0 * 100.0)));
        return Ok(Weighed::Excludes(facts));
    }
    // Waste that a pool has room for is none's trouble: it counts where the pool would hold the demand without it.
    let demand = case.side.measure::<PageDemand>()?;
    let over = demand.over_peak.value.0;
    let without = over / (1.0 + share);
    if over <= params.demand {
        return Ok(demand_not_seen().into());
    }
    facts
        .push(demand.over_peak.fact(format!("demand at the peak is {over:.2} of the pool, without them {without:.2}")));
    Ok(Weighed::by(without <= params.demand, facts))
}

/// How much of the rise of the mean TTFT is queue wait, by the server's own histograms.
fn explained(case: &Case<'_>) -> Option<Explained> {
    let now = case.side.measure::<LatencyMeans>().ok()?;
    let before = case.base?.measure::<LatencyMeans>().ok()?;
    Some(Explained {
        metric: "mean TTFT at the server".into(),
        delta: now.ttft.value.0 - before.ttft.value.0,
        explained: now.queue.value.0 - before.queue.value.0,
        unit: "s".into(),
        basis: "rise of the mean queue wait, histogram means".into(),
    })
}

/// Requests that the pool can finish together: usable blocks over pages of a request at its end.
fn safe_concurrency(side: &Side<'_>) -> Option<f64> {
    let (pool, pages) = (side.measure::<KvPool>().ok()?, side.measure::<FinalPages>().ok()?);
    Some((pool.blocks.value.0 / pages.mean.value.0).floor()).filter(|n| *n >= 1.0)
}

fn follow_up(cause: Cause, safe: Option<f64>) -> FollowUp {
    let limit = safe.map(|n| format!("--max-num-seqs {n:.0} (what the pool can finish together)"));
    let (measure, command, requests, mitigation) = match cause {
        Cause::KvPoolShrank => (
            "compare the memory ledgers of both start-up logs: which term took the blocks (weights, activation peak, CUDA graphs, utilisation, cache dtype)",
            "grep -E 'KV cache size|Available KV cache|Graph capturing|gpu-memory-utilization' BASE.log CANDIDATE.log",
            0,
            Some(
                "restore the base's --gpu-memory-utilization or --kv-cache-memory-bytes, then repeat the comparison"
                    .to_owned(),
            ),
        ),
        Cause::GraphMemory => (
            "see S16: what graphs take, what was expected of them, and which captures the traffic uses",
            "grep -E 'CUDA graph|Graph capturing|Available KV' BASE.log CANDIDATE.log",
            0,
            Some("capture the base's sizes (--max-cudagraph-capture-size)".to_owned()),
        ),
        Cause::OutputsGrew => (
            "replay one trace with forced output lengths on both: preemptions must then be equal",
            "firstcheck run --url URL --output-tokens fixed:256 --rate RATE",
            200,
            limit,
        ),
        Cause::OutputNotReserved => (
            "repeat the run at the concurrency that the pool can finish: preemptions must vanish at an equal completed rate",
            "firstcheck run --url URL --rate RATE",
            200,
            limit,
        ),
        Cause::Unservable => (
            "find the request's lengths and compare with max_model_len",
            "firstcheck report RUN --format json",
            0,
            None,
        ),
        Cause::LeakedPages => (
            "read usage after the traffic has drained: it must be zero",
            "curl -s URL/metrics | grep -E 'kv_cache_usage|num_requests_running'",
            0,
            Some("restart the replica".to_owned()),
        ),
        Cause::PageWaste => (
            "compare block size and attention layout of both resolved configurations",
            "curl -s URL/metrics | grep cache_config_info",
            0,
            None,
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation }
}

//! S02: first tokens wait long before anybody works on them.

mod admission;
mod client;
mod engine;
mod symptom;

use crate::{case::Case, declare::CauseId, declare_check, verdict::Verdict};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    measurement::Missing,
};

declare_check! {
    /// ## What it means
    ///
    /// Some first tokens are very late: they wait before anybody works on them, in the client, the API process or the queue.
    ///
    /// ## How it is decided
    ///
    /// A request's wait is its time to first token beyond what any prompt of its length takes. Its tail (p99, p95 or p90)
    /// must be {knee} times what a prompt takes and {late}; with a base {rise} of the base's more, by {matters} of its median
    /// and of their own prompts' time, and by {noticed} beyond longer steps (without requests: by the server's histogram). A
    /// wait counts where {share} of it lies, less the base's. A tail of {steps} steps, or at none of these places, is no
    /// queue. With a base, and no account of the engine: undecided.
    ///
    /// - Client gate: between intended and actual send. Front end: neither queue nor the step in hand.
    /// - Saturation: prompts' utilisation from {full}, waits rising with time ({slope}), or waiting at {always} of scrapes.
    /// - Long prefill: prompts above the step's budget cover half of the waiting, or a queue of them alone predicts it.
    /// - Variance: W = λ·mean(s²)/2(1−ρ) is within {sane} of the mean wait, or its ρ within {near}; ρ or CV² above {busy}.
    /// - Seats, pool, admission: at most moments of waiting all seats are taken; {pool} of the pool is; or neither is and the
    ///   largest prompt does not fit; beside long prefills it must not run, or streams go on, for {share} of the waits.
    ///
    /// ## What to do
    ///
    /// Shed load, or keep long prompts apart, while you measure. Looks like: prompts that compute more (no wait), one slow
    /// rank or replica, preemptions (their second wait lies behind the first token).
    pub static FIRST_TOKEN_QUEUES = {
        code: "S02", slug: "first-token-queues", family: FirstToken, severity: Major,
        symptom: "the tail of the time to first token is far above its median: requests wait before they are worked on",
        needs: any_of[Requests, EngineMetrics],
        params: {
            knee: 5.0 ["1"] = "tail of the waits over what a prompt takes, from which it counts without a base",
            late: 0.5 ["s"] = "shortest wait that counts without a base",
            rise: 0.5 ["1"] = "relative rise of the tail of the waits over the base's that counts",
            matters: 1.0 ["1"] = "that rise over the base's median TTFT, and over its own prompt's time, from which it counts",
            noticed: 0.05 ["s"] = "rise of the tail beyond slower steps from which it counts",
            steps: 3.0 ["1"] = "decode steps that a tail must be longer than, with a base",
            share: 0.3 ["1"] = "share of the wait from which its place counts as a cause",
            full: 0.95 ["1"] = "utilisation by prompts from which the queue counts as saturated",
            slope: 0.7 ["1"] = "rank correlation of wait and time from which the queue counts as growing",
            always: 0.95 ["1"] = "share of the scrapes with waiting requests from which the queue never empties",
            sane: 3.0 ["1"] = "factor between predicted and observed wait that is still plausible",
            near: 0.1 ["1"] = "difference of predicted and implied utilisation that is still plausible",
            busy: 0.3 ["1"] = "utilisation, or spread of services, without which no queue comes from prompts",
            pool: 0.95 ["1"] = "share of the KV pool in use from which it counts as full",
        },
        causes: {
            Variance: "service-time-variance" = "prompts queue behind prompts, as their load and the spread of their lengths predict",
            Admission: "admission-rule" = "one request that does not fit holds up those behind it",
            LongPrefill: "serialised-partial-prefill" = "a long prompt takes every step's budget, many steps on end",
            FrontEnd: "front-end" = "the wait lies outside the engine: tokenising, API process, gateway",
            ClientGate: "client-gate" = "the client holds requests back before it sends them",
            Saturation: "saturation" = "more is offered than can be served: the queue grows",
            SeatsFull: "seats-full" = "as many requests run as may run at once",
            PoolFull: "pool-full" = "the KV pool is full",
        },
        // A hand-over between pools lies outside both engines; one slower than requests arrive is a queue that grows. Slower
        // rounds of speculation and an engine that schemas hold up serve prompts more slowly.
        consequence_of: {
            PoolFull: "S15",
            Variance: "S01",
            Saturation: "S15",
            Saturation: "S13",
            Saturation: "S04",
            FrontEnd: "S12",
            FrontEnd: "S13",
            Variance: "S10",
            Variance: "S11",
            Saturation: "S10",
            Saturation: "S11",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let symptom = symptom::told(case, params)?;
    if !symptom.counts {
        return Ok(Outcome::Absent { why: symptom.facts });
    }
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::ClientGate, client::gate(case, params));
    verdict.weigh(Cause::FrontEnd, client::front_end(case, params));
    verdict.weigh(Cause::Saturation, engine::saturation(case, params));
    verdict.weigh(Cause::LongPrefill, engine::long_prefill(case, params));
    let grows = verdict.supports(Cause::Saturation);
    let long = verdict.supports(Cause::LongPrefill);
    verdict.weigh(Cause::Variance, engine::variance(case, params, grows, long));
    verdict.weigh(Cause::SeatsFull, engine::seats_full(case, params));
    verdict.weigh(Cause::PoolFull, engine::pool_full(case, params));
    verdict.weigh(Cause::Admission, admission::admission(case, params, long));
    if verdict.excludes_all() {
        // Late first tokens that wait in no queue: steps that are slower or pause, which is another symptom.
        let mut why = symptom.facts;
        why.extend(client::Places::of(case).ok().map(|places| places.fact()));
        return Ok(Outcome::Absent { why });
    }
    // What nothing speaks for may be no wait at all: only the engine's account tells a queue from slow steps.
    if case.base.is_some() && !Cause::ALL.iter().any(|cause| verdict.supports(*cause)) {
        client::Places::of(case)?;
    }
    Ok(verdict.present(symptom.facts, symptom.explains, follow_up))
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::Variance => (
            "repeat the run with prompts of one length and as many tokens: the knee must move to a higher rate",
            "firstcheck run --url URL --rate RATE --input-tokens fixed:TOKENS",
            500,
            Some("send long prompts to a replica of their own"),
        ),
        Cause::Admission => (
            "read the largest prompt against the free part of the pool while requests wait",
            "curl -s URL/metrics | grep -E 'num_requests_waiting|kv_cache_usage'",
            0,
            Some("cap the prompt's length at the gateway, or send such prompts elsewhere"),
        ),
        Cause::LongPrefill => (
            "set --long-prefill-token-threshold to half of the budget and repeat: short prompts must pass the long ones",
            "firstcheck run --url URL --rate RATE",
            300,
            Some("send long prompts to a replica of their own, or raise --max-num-batched-tokens"),
        ),
        Cause::FrontEnd => (
            "time the tokenisation alone, and watch the API process: one core at its limit is the cause",
            "time curl -s URL/tokenize -d @PROMPT.json; top -H -p PID",
            1,
            Some("start more API processes: --api-server-count"),
        ),
        Cause::ClientGate => (
            "offer the same rate in an open loop, without a limit on requests in flight",
            "firstcheck run --url URL --rate RATE",
            300,
            None,
        ),
        Cause::Saturation => (
            "offer half of the rate: the waits must vanish",
            "firstcheck run --url URL --rate RATE",
            300,
            Some("shed load at the gateway, or add a replica"),
        ),
        Cause::SeatsFull => (
            "raise --max-num-seqs while the KV pool has room, and repeat",
            "curl -s URL/metrics | grep -E 'num_requests_(running|waiting)|kv_cache_usage'",
            0,
            None,
        ),
        Cause::PoolFull => (
            "compare the pool's tokens with those of the requests that run together",
            "curl -s URL/metrics | grep -E 'cache_config_info|kv_cache_usage|num_requests'",
            0,
            Some("add a replica, or cap the length of answers"),
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(Into::into) }
}

//! S13: the hand-over from the prefill pool to the decode pool adds latency.

use crate::{
    case::Case,
    declare_check,
    measure::{
        handover::Handover,
        kv_transfers::{KvTransfers, two_pools},
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    finding::{Explained, FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    signal::{Part, Signal},
};

declare_check! {
    /// ## What it means
    ///
    /// One pool computes prompts, another one answers, and each request's KV goes from the first to the second. Between
    /// the end of the prefill and the first token of the answer lie hops of a router, the transfer, the wait for a place
    /// in the decode pool and a step there: time that one pool alone would not take.
    ///
    /// ## How it is decided
    ///
    /// From spans of both pools joined by request: the hand-over is the time from the end of the prefill to the first
    /// token of the decode pool. The symptom: its median is {late} or more, or {rise} and {grew} times
    /// the base's more. Without spans a mean transfer as long as
    /// that shows it as well. Means add up, so the hand-over is split by them:
    ///
    /// - The transfer is {share} of it or more, or transfers fill {busy} of the senders' time so that they wait for each
    ///   other. Pieces below {piece}, or {share} of it spent on handing pieces out: fragmented. Else: bandwidth.
    /// - The decode pool's KV usage reaches {full}, or requests wait there: admission.
    /// - The first decode takes {again} of the prefill or more, and half of {late}: the prompt is computed again.
    /// - First requests of a pair of replicas are late, and the others are not: hand-shakes.
    /// - The wait before the prefill is longer than the hand-over: not a problem of the hand-over.
    /// - What is left, {share} of it or more: orchestration (hops, alignment with steps, the first token computed again).
    ///
    /// ## What to do
    ///
    /// Orchestration: dispatch to both pools at once, pass the first token on. Fragmented: blocks of 64 tokens, equal
    /// tensor parallelism in both pools. Bandwidth: check the transports (UCX_TLS, NIXL) for TCP or the wrong adapter.
    /// Admission: more decode replicas.
    ///
    /// Looks like: a queue before the prefill; KV that never comes and is computed again without a word (S42).
    pub static HANDOVER_LATENCY = {
        code: "S13", slug: "handover-latency", family: Stream, severity: Major,
        symptom: "the hand-over from the prefill pool to the decode pool adds latency",
        needs: any_of[Spans, EngineMetrics, EngineLog],
        params: {
            late: 0.05 ["s"] = "hand-over from which it adds latency",
            rise: 0.02 ["s"] = "rise against the base that adds latency",
            grew: 1.5 ["1"] = "how many times the base's it must be as well",
            share: 0.5 ["1"] = "share of the hand-over from which a part explains it",
            busy: 0.7 ["1"] = "share of the senders' time from which transfers wait for each other",
            piece: 65536.0 ["B"] = "size of a piece below which a transfer is fragmented",
            full: 0.9 ["1"] = "KV usage of the decode pool from which nothing more is admitted",
            again: 0.7 ["1"] = "share of the prefill from which a first decode is a prefill",
        },
        causes: {
            Orchestration: "orchestration" = "hops, step boundaries and hand-shakes between the pools take longer than the data",
            Fragmented: "fragmented" = "KV goes over in many small pieces, each with a cost of its own",
            Bandwidth: "bandwidth" = "KV goes over a slow link: the wrong adapter, or TCP",
            DecodeAdmission: "decode-admission" = "the decode pool has no room for the request",
            PrefillAgain: "prefill-again" = "the decode pool computes the prompt again",
            PrefillQueue: "prefill-queue" = "requests wait before the prefill: the hand-over is not what is late",
            FirstContact: "first-contact" = "the first transfer between two replicas waits for their hand-shake",
        },
        run: check,
    }
}

/// The parts of a hand-over, as far as they are known.
struct Split {
    handover: Result<std::sync::Arc<Handover>, Missing>,
    transfers: Result<std::sync::Arc<KvTransfers>, Missing>,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let side = case.side;
    let split = Split { handover: side.measure::<Handover>(), transfers: side.measure::<KvTransfers>() };
    let (mut facts, late) = match (&split.handover, &split.transfers) {
        (Ok(handover), transfers) => {
            let median = &handover.median;
            let transfer = transfers
                .as_ref()
                .ok()
                .map(|one| format!(", of which a transfer takes {:.1} ms", one.length.value.0 * 1e3));
            let text = format!("the hand-over takes {:.1} ms (median)", median.value.0 * 1e3);
            let before = case.base.and_then(|base| base.measure::<Handover>().ok()).map(|base| base.median.value.0);
            let rose = before
                .is_some_and(|before| median.value.0 - before >= params.rise && median.value.0 >= params.grew * before);
            let beside = before.map(|before| format!("; the base's takes {:.1} ms", before * 1e3)).unwrap_or_default();
            let fact = median.fact(text + &transfer.unwrap_or_default() + &beside);
            (vec![fact], median.value.0 >= params.late || rose)
        }
        (Err(missing), Ok(transfers)) if transfers.length.value.0 < params.late => return Err(missing.clone()),
        (Err(_), Ok(transfers)) => {
            let length = &transfers.length;
            (vec![length.fact(format!("a transfer alone takes {:.1} ms (mean)", length.value.0 * 1e3))], true)
        }
        (Err(missing), Err(_)) if two_pools(&side.evidence.runs) => return Err(missing.clone()),
        (Err(_), Err(_)) => {
            return Ok(Outcome::NotApplicable { why: "nothing shows a pool for prefill and one for decode".into() });
        }
    };
    if !late {
        return Ok(Outcome::Absent { why: facts });
    }
    if let Ok(transfers) = &split.transfers {
        facts.extend(sizes(transfers));
    }
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::Fragmented, link(&split, params, true));
    verdict.weigh(Cause::Bandwidth, link(&split, params, false));
    verdict.weigh(Cause::DecodeAdmission, admission(side, &split, params));
    verdict.weigh(Cause::PrefillAgain, prefill_again(&split, params));
    verdict.weigh(Cause::PrefillQueue, prefill_queue(&split));
    verdict.weigh(Cause::FirstContact, first_contact(&split, params));
    let apart = [Cause::DecodeAdmission, Cause::PrefillAgain, Cause::FirstContact];
    let taken = apart.into_iter().any(|cause| verdict.supports(cause));
    verdict.weigh(Cause::Orchestration, orchestration(&split, params, taken));
    Ok(verdict.present(facts, explained(case, &split), follow_up))
}

/// What a transfer consists of.
fn sizes(transfers: &KvTransfers) -> Option<Fact> {
    let bytes = transfers.bytes.as_ref()?;
    let pieces =
        transfers.pieces.as_ref().map(|pieces| format!(" in {:.0} pieces", pieces.value.0)).unwrap_or_default();
    let rate = bytes.value.0 / transfers.length.value.0.max(1e-9);
    Some(bytes.fact(format!("a transfer moves {:.1} MB{pieces}, {:.2} GB/s", bytes.value.0 / 1e6, rate / 1e9)))
}

/// Transfers over what the senders could do in the time; 0 where it is not known.
fn busy(split: &Split, transfers: &KvTransfers) -> f64 {
    let senders = split.handover.as_ref().map_or(1, |handover| handover.senders.max(1));
    transfers.busy.map_or(0.0, |busy| busy / senders as f64)
}

/// The transfer itself, by pieces or by bytes.
fn link(split: &Split, params: &Params, fragmented: bool) -> Result<Weighed, Missing> {
    let transfers = split.transfers.as_ref().map_err(Clone::clone)?;
    let length = transfers.length.value.0;
    let whole = split.handover.as_ref().ok().map(|handover| handover.mean.value.0);
    let share = whole.map(|whole| length / whole.max(1e-9));
    let busy = busy(split, transfers);
    let of_whole = share.map(|share| format!(", {:.0} % of the hand-over", share * 100.0)).unwrap_or_default();
    let filled =
        if busy >= params.busy { format!("; transfers fill {:.0} % of the time", busy * 100.0) } else { String::new() };
    let fact = transfers.length.fact(format!("a transfer takes {:.1} ms{of_whole}{filled}", length * 1e3));
    let dominates = share.map_or(length >= params.late, |share| share >= params.share) || busy >= params.busy;
    if !dominates {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let size = transfers.bytes.as_ref().zip(transfers.pieces.as_ref());
    let size = size.map(|(bytes, pieces)| bytes.value.0 / pieces.value.0.max(1.0));
    let posting = transfers.post.map(|post| post / length.max(1e-9));
    let small = match (size, posting) {
        (None, None) => {
            let what = "pieces of a transfer, or the time that handing them out takes";
            return Err(Missing::not_exposed(what, "vllm:nixl_num_descriptors and nixl_post_time_seconds of /metrics"));
        }
        (size, posting) => {
            size.is_some_and(|size| size < params.piece) || posting.is_some_and(|share| share >= params.share)
        }
    };
    let mut words = Vec::new();
    words.extend(size.map(|size| format!("a piece has {:.1} KiB", size / 1024.0)));
    words.extend(posting.map(|share| format!("handing pieces out takes {:.0} % of a transfer", share * 100.0)));
    let source =
        Source::Derived { by: "size over pieces, post time over length".into(), from: vec![fact.source.clone()] };
    let facts =
        vec![fact, Fact { value: size, unit: size.map(|_| "B".into()), ..Fact::told(words.join(", "), source) }];
    Ok(Weighed::by(small == fragmented, facts))
}

/// Whether the decode pool had room.
fn admission(side: &Side<'_>, split: &Split, params: &Params) -> Result<Weighed, Missing> {
    let receives = |page: &str, labels: &firstcheck_model::signal::Labels| {
        let named = |text: &str| text.contains("prefill");
        !named(page) && !labels.get("replica").is_some_and(named) && !labels.get("instance").is_some_and(named)
    };
    let mut usage: Option<(f64, Source)> = None;
    let mut waiting = 0.0f64;
    for run in &side.evidence.runs {
        let series = |signal| run.series(signal, Part::Value).filter(|series| receives(&series.page, &series.labels));
        for one in series(Signal::KvCacheUsage) {
            let inside = one.inside(run.info.window).map(|(_, value)| value);
            let most = inside.fold(0.0, f64::max);
            let (Some(from_ns), Some(to_ns)) = (one.at.first(), one.at.last()) else { continue };
            if usage.as_ref().is_none_or(|(known, _)| most > *known) {
                let (from_ns, to_ns) = (*from_ns, *to_ns);
                let (name, labels) = (one.name.clone(), one.labels.render());
                usage = Some((most, Source::Series { run: run.info.id.clone(), name, labels, from_ns, to_ns }));
            }
        }
        for one in series(Signal::Waiting) {
            let inside: Vec<f64> = one.inside(run.info.window).map(|(_, value)| value).collect();
            waiting = waiting.max(inside.iter().sum::<f64>() / inside.len().max(1) as f64);
        }
    }
    let Some((most, source)) = usage else {
        return Err(Missing::not_exposed("KV usage of the decode pool", "scrape every replica of both pools"));
    };
    let text =
        format!("KV usage of the decode pool is at most {:.0} %, {waiting:.1} requests wait there", most * 100.0);
    let fact = Fact { value: Some(most), unit: Some("1".into()), n: Some(1), ..Fact::told(text, source) };
    if most < params.full && waiting < 1.0 {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    // A full pool makes requests wait only where they do wait.
    let handover = split.handover.as_ref().map_err(Clone::clone)?;
    let transfer = split.transfers.as_ref().map_or(0.0, |transfers| transfers.length.value.0);
    let waits = handover.between - transfer >= params.share * handover.mean.value.0;
    Ok(Weighed::by(waits, vec![fact]))
}

fn prefill_again(split: &Split, params: &Params) -> Result<Weighed, Missing> {
    let handover = split.handover.as_ref().map_err(Clone::clone)?;
    let Some(prefill) = &handover.prefill else {
        return Err(Missing::not_exposed(
            "spans of the prefill pool",
            "start both pools with their OpenTelemetry exporter on",
        ));
    };
    let (first, prefill) = (&handover.first_decode, prefill.value.0);
    let ratio = first.value.0 / prefill.max(1e-9);
    let fact = first.fact(format!(
        "the first decode takes {:.1} ms, {ratio:.2} of a prefill ({:.1} ms)",
        first.value.0 * 1e3,
        prefill * 1e3
    ));
    let again = ratio >= params.again && first.value.0 >= params.late / 2.0;
    Ok(Weighed::by(again, vec![fact]))
}

fn prefill_queue(split: &Split) -> Result<Weighed, Missing> {
    let handover = split.handover.as_ref().map_err(Clone::clone)?;
    let Some(queue) = &handover.queue else {
        return Err(Missing::not_exposed(
            "the wait before the prefill",
            "start both pools with their OpenTelemetry exporter on",
        ));
    };
    let fact = queue.fact(format!("requests wait {:.1} ms before the prefill", queue.value.0 * 1e3));
    let longer = queue.value.0 > handover.mean.value.0;
    Ok(Weighed::by(longer, vec![fact]))
}

fn first_contact(split: &Split, params: &Params) -> Result<Weighed, Missing> {
    let handover = split.handover.as_ref().map_err(Clone::clone)?;
    let Some(first) = handover.first_of_pair else {
        return Err(Missing::not_exposed(
            "requests after the first of a pair of replicas, with the replicas named",
            "spans that name their replica, over more requests",
        ));
    };
    let Some(mean) = first.mean else {
        let text = format!("no request of the window is the first of its pair; they take {:.1} ms", first.others * 1e3);
        return Ok(Weighed::Excludes(vec![handover.mean.fact(text)]));
    };
    let fact = handover.mean.fact(format!(
        "the first requests of {} pairs of replicas take {:.1} ms, the others {:.1} ms",
        first.pairs,
        mean * 1e3,
        first.others * 1e3
    ));
    let only_first = mean >= params.late && first.others < params.late && first.share >= params.share;
    Ok(Weighed::by(only_first, vec![fact]))
}

fn orchestration(split: &Split, params: &Params, taken: bool) -> Result<Weighed, Missing> {
    let handover = split.handover.as_ref().map_err(Clone::clone)?;
    let transfers = split.transfers.as_ref().map_err(Clone::clone)?;
    let (whole, transfer) = (handover.mean.value.0, transfers.length.value.0);
    let left = (whole - transfer).max(0.0);
    let fact = handover.mean.fact(format!(
        "of {:.1} ms the transfer takes {:.1} ms, the first decode {:.1} ms: {:.0} % is not data on its way",
        whole * 1e3,
        transfer * 1e3,
        handover.first_decode.value.0 * 1e3,
        left / whole.max(1e-9) * 100.0
    ));
    let waits_for_link = busy(split, transfers) >= params.busy;
    if left < params.share * whole || taken || waits_for_link {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    Ok(Weighed::Supports(vec![fact]))
}

/// How much of the rise of the mean time to first token is the hand-over's.
fn explained(case: &Case<'_>, split: &Split) -> Option<Explained> {
    let mean_ttft =
        |side: &Side<'_>| side.measure::<crate::measure::client_ttft::ClientTtft>().ok().map(|ttft| ttft.mean.value.0);
    let base = case.base?;
    let before = base.measure::<Handover>().ok()?;
    let now = split.handover.as_ref().ok()?;
    Some(Explained {
        metric: "mean TTFT".into(),
        delta: mean_ttft(case.side)? - mean_ttft(base)?,
        explained: now.mean.value.0 - before.mean.value.0,
        unit: "s".into(),
        basis: "rise of the mean hand-over, spans of both pools".into(),
    })
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, mitigation) = match cause {
        Cause::Orchestration => (
            "time the router's hop and the step boundary of one request alone: what is left without load is orchestration",
            "firstcheck run --url URL --concurrency 1 (with both pools' exporters on)",
            Some("dispatch to both pools at once, and pass the prefill's first token on"),
        ),
        Cause::Fragmented => (
            "repeat with blocks of 64 tokens, and equal tensor parallelism in both pools: pieces grow, the transfer shrinks",
            "curl -s DECODE/metrics | grep -E 'nixl_(num_descriptors|post_time|xfer_time)'",
            Some("--block-size 64 in both pools"),
        ),
        Cause::Bandwidth => (
            "measure the link between the hosts alone, over the transport that the engine uses",
            "ib_write_bw HOST; UCX_LOG_LEVEL=info shows the transports that were chosen",
            Some("name adapters and transports: UCX_NET_DEVICES, UCX_TLS=rc,cuda_copy"),
        ),
        Cause::DecodeAdmission => (
            "watch KV usage and waiting requests of the decode pool at peak",
            "curl -s DECODE/metrics | grep -E 'kv_cache_usage|num_requests_waiting|prealloc_queue'",
            Some("move a replica from the prefill pool to the decode pool"),
        ),
        Cause::PrefillAgain => (
            "count transfers against requests: fewer mean that prompts are computed again",
            "curl -s DECODE/metrics | grep -E 'nixl_xfer_time_seconds_count|failed_transfers|request_success'",
            None,
        ),
        Cause::PrefillQueue => (
            "look at the prefill pool: its queue, its rate of prompts",
            "curl -s PREFILL/metrics | grep -E 'num_requests_(running|waiting)|request_queue_time'",
            Some("more prefill replicas"),
        ),
        Cause::FirstContact => (
            "send one request over each pair of replicas, and again: the second is fast",
            "firstcheck run --url URL --concurrency 1",
            Some("warm each pair up before traffic"),
        ),
    };
    FollowUp {
        measure: measure.into(),
        command: command.into(),
        requests: 0,
        mitigation: mitigation.map(str::to_owned),
    }
}

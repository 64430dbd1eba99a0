//! S16: more captured CUDA graphs, faster decode, more preemptions.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters::growth, graph_budget::GraphBudget, memory_ledger::gib, preemptions::Preemptions, running::Running,
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    engine_log::Term,
    finding::{Explained, FollowUp, Outcome},
    fingerprint::field,
    measurement::{Fact, Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::Bytes,
};

declare_check! {
    /// ## What it means
    ///
    /// Captured graphs live in the memory that the KV cache would have. More or larger captures make decode faster at the
    /// batches they cover and leave fewer KV blocks, so that more requests are preempted. Engines also *estimate* what graphs will
    /// take and keep that much: an estimate that is off costs blocks for nothing, or lets the engine run out later.
    ///
    /// ## How it is decided
    ///
    /// From the start-up logs. With a base the symptom is there if graphs take or are kept more than {change_gib} more than
    /// the base's, and the KV cache lost {cost} of its size or preemptions rose: above {rate} a finished request, and {rise}
    /// times the base's. An estimate that is off is the symptom by itself.
    ///
    /// - Graphs took it: the KV cache is smaller than the base's by what the graphs take more, give or take {tolerance}.
    /// - Over-estimate: estimate less actual exceeds {off_gib} and {off_share} of the estimate, and it is reserved.
    /// - Under-estimate: actual less estimate exceeds {off_gib}; what is short is short at the next large batch.
    /// - More admitted: the KV cache is the base's within {same}, and `--max-num-seqs` is higher.
    /// - More traffic: tokens a second rose by more than {traffic} against the base.
    ///
    /// Sizes are those of `Available KV cache memory` in both logs: tokens times bytes is wrong for hybrid models. A
    /// capture above the 99th percentile of the running requests gains nothing; the finding names that percentile.
    ///
    /// ## What to do
    ///
    /// Over-estimate: switch the estimate off, or raise `--gpu-memory-utilization` by the difference. Graphs took it: capture up
    /// to the 99th percentile of the running requests alone. Under-estimate: lower the utilisation by the difference.
    ///
    /// Looks like: preemption with graphs as they were; a version in which the estimate became the default.
    pub static GRAPHS_COST_KV = {
        code: "S16", slug: "graphs-cost-kv", family: Memory, severity: Minor,
        symptom: "more CUDA graph captures make decode faster and cost KV cache: more preemptions",
        needs: any_of[EngineLog],
        params: {
            rate: 0.05 ["1"] = "preemptions a finished request from which they count",
            rise: 1.5 ["1"] = "ratio of preemption rates from which they rose",
            cost: 0.05 ["1"] = "share of its KV cache that a start must lose for graphs to cost something",
            change_gib: 0.15 ["GiB"] = "change of what graphs take that counts",
            tolerance: 0.2 ["1"] = "share by which lost KV cache and graphs may differ and still be one",
            off_gib: 0.5 ["GiB"] = "difference of estimate and actual from which the estimate is off",
            off_share: 0.25 ["1"] = "the same as a share of the estimate, for one that is too high",
            same: 0.02 ["1"] = "share of its KV cache that a start may lose and still have the base's",
            traffic: 0.10 ["1"] = "relative rise of the tokens a second that counts as more traffic",
        },
        causes: {
            GraphMemory: "graph-memory" = "captured graphs take memory that the KV cache had",
            OverEstimate: "over-estimate" = "more is kept for graphs than they take",
            UnderEstimate: "under-estimate" = "graphs take more than was kept for them",
            MoreAdmitted: "more-admitted" = "more sequences are admitted, the KV cache is the base's",
            MoreTraffic: "more-traffic" = "more was asked of the server",
        },
        run: check,
    }
}

/// Both sides' graphs, where the base's log tells them.
struct Pair<'p> {
    now: &'p GraphBudget,
    base: Option<&'p GraphBudget>,
    params: &'p Params,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let now = case.side.measure::<GraphBudget>()?;
    let base = case.base.and_then(|base| base.measure::<GraphBudget>().ok());
    let pair = Pair { now: &now, base: base.as_deref(), params };
    let off = pair.off();
    let mut facts: Vec<Fact> = off.iter().cloned().collect();
    if off.is_none() {
        match rose(case, &pair)? {
            Rose::No(why) => return Ok(Outcome::Absent { why }),
            Rose::Yes(told) => facts.extend(told),
        }
    }
    facts.extend(pair.facts());
    facts.extend(
        now.implied_total
            .as_ref()
            .map(|total| total.fact(format!("the engine's advice implies a device of {:.1} GiB", gib(total.value.0)))),
    );
    let running = case.side.measure::<Running>().ok();
    if let Some(running) = &running {
        let most = running.p99.value.0;
        facts.push(
            running.p99.fact(format!(
                "the 99th percentile of the running requests is {most:.0}: larger captures gain nothing"
            )),
        );
    }
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::GraphMemory, pair.graph_memory());
    verdict.weigh(Cause::OverEstimate, pair.over_estimate());
    verdict.weigh(Cause::UnderEstimate, pair.under_estimate());
    verdict.weigh(Cause::MoreAdmitted, pair.more_admitted(case));
    verdict.weigh(Cause::MoreTraffic, more_traffic(case, params));
    let explains = pair.explains();
    let most = running.map(|running| running.p99.value.0);
    Ok(verdict.present(facts, explains, |cause| follow_up(cause, &now, most)))
}

/// Whether graphs cost something: KV cache, or preemptions that rose with them.
enum Rose {
    Yes(Vec<Fact>),
    No(Vec<Fact>),
}

fn rose(case: &Case<'_>, pair: &Pair<'_>) -> Result<Rose, Missing> {
    let params = pair.params;
    let preemptions = case.side.measure::<Preemptions>();
    let counted = |taken: &Preemptions, whose: &str| {
        taken.rate.fact(format!("{whose}{:.2} preemptions a finished request", taken.rate.value.0))
    };
    let Some(base) = pair.base else {
        let few = preemptions.as_ref().is_ok_and(|taken| taken.rate.value.0 <= params.rate);
        let told = preemptions.iter().map(|taken| counted(taken, "")).chain(pair.facts()).collect();
        return if few { Ok(Rose::No(told)) } else { Err(no_base()) };
    };
    let before = case.base.and_then(|base| base.measure::<Preemptions>().ok());
    let mut facts: Vec<Fact> = preemptions.iter().map(|taken| counted(taken, "")).collect();
    facts.extend(before.iter().map(|taken| counted(taken, "base: ")));
    if !pair.more_graphs(base) {
        facts.extend(pair.facts());
        return Ok(Rose::No(facts));
    }
    if pair.lost().is_ok_and(|(lost, kv)| lost > params.cost * kv) {
        return Ok(Rose::Yes(facts));
    }
    let (now, before) = (preemptions?, case.base_for("the preemptions")?.measure::<Preemptions>()?);
    let more = now.rate.value.0 > params.rate && now.rate.value.0 >= before.rate.value.0 * params.rise;
    Ok(if more { Rose::Yes(facts) } else { Rose::No(facts) })
}

fn no_base() -> Missing {
    Missing::not_given("the start-up log of the base", "firstcheck diagnose SIDE --base BASE")
}

impl Pair<'_> {
    /// A fact where the estimate is off, whatever the base.
    fn off(&self) -> Option<Fact> {
        let over = self.now.over_estimate()?;
        let (estimated, actual) = (self.now.estimated.as_ref()?, self.now.actual.as_ref()?);
        let is_off = self.is_over(over, estimated) || -over > self.params.off_gib * Bytes::GIB;
        is_off.then(|| actual.fact(self.expected()))
    }

    fn expected(&self) -> String {
        let size = |one: &Option<Measurement<Bytes>>| one.as_ref().map_or(0.0, |size| gib(size.value.0));
        format!("graphs took {:.2} GiB, {:.2} were expected", size(&self.now.actual), size(&self.now.estimated))
    }

    fn is_over(&self, over: f64, estimated: &Measurement<Bytes>) -> bool {
        let off = (self.params.off_gib * Bytes::GIB).max(self.params.off_share * estimated.value.0);
        self.now.start.graphs_reserved && over > off
    }

    /// Whether graphs take, or are kept, more than the base's.
    fn more_graphs(&self, base: &GraphBudget) -> bool {
        let most = self.params.change_gib * Bytes::GIB;
        let took = self.took_more(base).is_some_and(|more| more > most);
        let larger = self.now.largest.as_ref().zip(base.largest.as_ref()).is_some_and(|(n, b)| n.value.0 > b.value.0);
        took || larger || self.now.reserved() - base.reserved() > most
    }

    fn took_more(&self, base: &GraphBudget) -> Option<f64> {
        Some(self.now.actual.as_ref()?.value.0 - base.actual.as_ref()?.value.0)
    }

    /// KV cache lost against the base, bytes, and the base's.
    fn lost(&self) -> Result<(f64, f64), Missing> {
        let base = self.base.ok_or_else(no_base)?;
        let (Some(now), Some(before)) = (self.now.kv(), base.kv()) else {
            let what = "the KV cache as what the other terms left, in both logs";
            return Err(Missing::not_exposed(what, "give both logs at INFO from their first lines on"));
        };
        Ok((before.value.0 - now.value.0, before.value.0))
    }

    /// Both ledgers, as far as graphs are in them.
    fn facts(&self) -> Vec<Fact> {
        let sides = [("", Some(self.now)), ("base: ", self.base)];
        let known = sides.into_iter().filter_map(|(whose, side)| Some((whose, side?)));
        known
            .flat_map(|(whose, side)| {
                let terms = [Term::GraphsActual, Term::GraphsEstimated, Term::KvCache];
                let stated = terms.into_iter().filter_map(|term| Some((term, side.start.term(term)?)));
                stated
                    .map(|(term, stated)| stated.fact(format!("{whose}{} {:.2} GiB", term.name(), gib(stated.value.0))))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    fn graph_memory(&self) -> Result<Weighed, Missing> {
        let (lost, before) = self.lost()?;
        let base = self.base.ok_or_else(no_base)?;
        let more = self.took_more(base).ok_or_else(|| {
            let what = "what graphs took, in both logs";
            Missing::not_exposed(what, "give both logs from their first lines to the server being ready")
        })?;
        let fact =
            self.size(lost, format!("the KV cache lost {:.2} GiB, graphs take {:+.2} GiB", gib(lost), gib(more)));
        let is_it =
            lost > self.params.same * before && more > 0.0 && (lost - more).abs() <= self.params.tolerance * more;
        Ok(Weighed::by(is_it, vec![fact]))
    }

    fn over_estimate(&self) -> Result<Weighed, Missing> {
        let Some(estimated) = &self.now.estimated else {
            return self.nothing_kept();
        };
        let over = self.now.over_estimate().ok_or_else(no_capture)?;
        let mut fact = self.size(over, self.expected());
        if !self.now.start.graphs_reserved {
            fact.text.push_str("; nothing was kept for them");
        }
        Ok(Weighed::by(self.is_over(over, estimated), vec![fact]))
    }

    fn under_estimate(&self) -> Result<Weighed, Missing> {
        if self.now.estimated.is_none() {
            return self.nothing_kept();
        }
        let under = -self.now.over_estimate().ok_or_else(no_capture)?;
        let fact = self.size(under, self.expected());
        let off = under > self.params.off_gib * Bytes::GIB;
        Ok(Weighed::by(off, vec![fact]))
    }

    /// A log that expects nothing has kept nothing: versions before the estimate, or one that is switched off.
    fn nothing_kept(&self) -> Result<Weighed, Missing> {
        let actual = self.now.actual.as_ref().ok_or_else(no_capture)?;
        Ok(Weighed::Excludes(vec![actual.fact("this start expects nothing of graphs and keeps nothing for them")]))
    }

    fn more_admitted(&self, case: &Case<'_>) -> Result<Weighed, Missing> {
        let limit = |side: &Side<'_>| {
            let prints = side.evidence.runs.iter().map(|run| &run.info.fingerprint).chain([&side.evidence.stated]);
            prints.into_iter().find_map(|print| print.number(field::MAX_NUM_SEQS))
        };
        let base = case.base_for("the limit of running requests")?;
        if let Some(fact) = self.at_their_default(case.side, base) {
            return Ok(Weighed::Excludes(vec![fact]));
        }
        let (Some(now), Some(before)) = (limit(case.side), limit(base)) else {
            let what = "--max-num-seqs of both sides";
            return Err(Missing::not_exposed(what, "give both logs from their first lines on, or /server_info"));
        };
        let (lost, kv) = self.lost()?;
        let text =
            format!("--max-num-seqs is {now:.0}, the base's {before:.0}; the KV cache lost {:.2} GiB", gib(lost));
        let fact = self.size(lost, text);
        let is_it = now > before && lost < self.params.same * kv;
        Ok(Weighed::by(is_it, vec![fact]))
    }

    /// Whether both logs name what was given, and neither `--max-num-seqs`, under one version: then both have its default.
    fn at_their_default(&self, side: &Side<'_>, base: &Side<'_>) -> Option<Fact> {
        let of = |side: &Side<'_>| side.evidence.logs.iter().find(|log| !log.given.is_empty()).cloned();
        let (now, before) = (of(side)?, of(base)?);
        let neither = [&now, &before].iter().all(|log| log.setting("max_num_seqs").is_none());
        let text = "neither start was given --max-num-seqs: one version has one default";
        (neither && now.version == before.version).then(|| self.size(0.0, text.to_owned()))
    }

    fn explains(&self) -> Option<Explained> {
        let ((lost, _), base) = (self.lost().ok()?, self.base?);
        (lost > 0.0).then(|| Explained {
            metric: "KV cache of a device".into(),
            delta: -gib(lost),
            explained: -gib((self.now.reserved() - base.reserved()).clamp(0.0, lost)),
            unit: "GiB".into(),
            basis: "what is kept for graphs, both start-up logs".into(),
        })
    }

    fn size(&self, bytes: f64, text: String) -> Fact {
        let from = self.facts().into_iter().map(|fact| fact.source).collect();
        let source = Source::Derived { by: "difference of ledger terms".into(), from };
        Measurement { value: Bytes(bytes), interval: None, n: 1, source }.fact(text)
    }
}

fn no_capture() -> Missing {
    let what = "what graphs took: the log ends before they were captured, or none were";
    Missing::not_exposed(what, "give the log to the line `Graph capturing finished`")
}

/// Tokens a second, prompts and answers together.
fn tokens_a_second(side: &Side<'_>) -> Result<(f64, Source), Missing> {
    let prompts = growth(side, Signal::PromptTokens, Part::Value)?;
    let answers = growth(side, Signal::GenerationTokens, Part::Value)?;
    let spans = side.evidence.runs.iter().filter_map(|run| run.span()?.length());
    let seconds: f64 = spans.map(|length| length.0).sum();
    if seconds <= 0.0 {
        let what = "length of the window".into();
        return Err(Missing { what, why: Why::TooShort, obtain: "firstcheck run --url URL --duration 60s".into() });
    }
    let source = Source::Derived { by: "tokens / window".into(), from: vec![prompts.source, answers.source] };
    Ok(((prompts.value + answers.value) / seconds, source))
}

fn more_traffic(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    let base = case.base_for("the tokens a second")?;
    let ((now, source), (before, _)) = (tokens_a_second(case.side)?, tokens_a_second(base)?);
    let text = format!("{now:.0} tokens/s, base {before:.0}");
    let (value, unit) = (Some(now), Some("tokens/s".into()));
    let fact = Fact { text, value, unit, interval: None, n: None, source };
    let more = now > before * (1.0 + params.traffic);
    Ok(Weighed::by(more, vec![fact]))
}

fn follow_up(cause: Cause, now: &GraphBudget, most: Option<f64>) -> FollowUp {
    let over = now.over_estimate().map_or(0.0, |over| gib(over.abs()));
    let list = most.map_or("what the running requests reach".to_owned(), |most| format!("{most:.0}"));
    let (measure, command, requests, mitigation) = match cause {
        Cause::GraphMemory => (
            "replay one trace with the shorter list of captures: preemptions must fall and ITL at the visited batches stay",
            "firstcheck ab --base 'vllm serve …' --candidate 'vllm serve … --max-cudagraph-capture-size N'",
            200,
            Some(format!("capture sizes up to {list} alone (--max-cudagraph-capture-size)")),
        ),
        Cause::OverEstimate => (
            "start once with the estimate off and compare the KV cache of both logs",
            "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS=0 vllm serve …",
            0,
            Some(format!("switch the estimate off, or raise --gpu-memory-utilization by {over:.2} GiB of the device")),
        ),
        Cause::UnderEstimate => (
            "read what is free on the device under the largest batch",
            "nvidia-smi -q -x > gpus.xml",
            0,
            Some(format!("lower --gpu-memory-utilization by {over:.2} GiB of the device")),
        ),
        Cause::MoreAdmitted => (
            "replay one trace with the base's --max-num-seqs: preemptions must be the base's",
            "firstcheck run --url URL --rate RATE",
            200,
            Some("take back --max-num-seqs".to_owned()),
        ),
        Cause::MoreTraffic => ("replay one trace against both", "firstcheck ab --base URL --candidate URL", 200, None),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation }
}

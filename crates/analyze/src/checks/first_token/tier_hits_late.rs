//! S05: what a second KV tier has is later than computing it.

use crate::{
    case::Case,
    declare_check,
    measure::{counters::mean_in, tier_cost::TierCost},
    verdict::{MOST, Verdict, Weighed},
};
use firstcheck_model::{
    finding::{FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    signal::Signal,
};

declare_check! {
    /// ## What it means
    ///
    /// A KV tier behind the device (host memory, storage) has the beginning of a prompt, and the request waits for it
    /// longer than computing it would take: hits are later than misses, and the tier costs more than it saves.
    ///
    /// ## How it is decided
    ///
    /// At least {traffic} of the prompt tokens came from the tier; below that the device's own cache served the hits and
    /// any comparison is one of overhead. Requests waited before they were scheduled, not for room, {worse} times as long
    /// as computing the tier's tokens would have taken (tokens / speed of prefill). Where the pool is full and no page
    /// tells those who wait for room apart, it is undecided; where nothing tells of the pool, all waits count.
    ///
    /// - Copies by themselves take as long as computing: the link does not pay. Not so where operations are
    ///   small ({small} or less, or half of the base's): then each copy's own cost counts. Memory that is not pinned:
    ///   the engine says so.
    /// - Look-ups are {most} of the wait. Or neither is: loads wait behind stores or other loads where the link is busy
    ///   {busy} of the time; else for the scheduler, within {steps} steps a load, or within the connector.
    ///
    /// ## What to do
    ///
    /// Ask the tier for long hits alone and cap the loads at once: both are safe to try. Looks like: a queue for room
    /// (S02), a remote pool (S13), a tier that has nothing (S03).
    pub static TIER_HITS_LATE = {
        code: "S05", slug: "tier-hits-late", family: FirstToken, severity: Major,
        symptom: "prompts found in a second KV tier get their first token later than if they were computed",
        needs: all_of[EngineMetrics],
        params: {
            traffic: 0.05 ["1"] = "least share of the prompt tokens from the tier",
            worse: 1.2 ["1"] = "wait for the tier over the time of computing its tokens from which it costs more than it saves",
            most: 0.5 ["1"] = "share of the wait from which a part of it is the cause",
            small: 262144.0 ["B"] = "mean size of a copy up to which its own cost counts (at 10 µs and 25 GB/s)",
            busy: 0.2 ["1"] = "share of the time that a link copies from which loads queue for it",
            steps: 3.0 ["1"] = "steps a load that a wait for the scheduler takes at most",
        },
        causes: {
            Link: "break-even-not-met" = "copying takes as long as computing: the link is too slow for this model's KV",
            Small: "small-copies" = "copies are so small that starting each takes longer than the bytes",
            Contention: "store-contention" = "loads wait behind stores or other loads",
            Scheduling: "waits-for-step" = "what was loaded waits for the next steps, or steps wait for loads",
            Lookup: "lookup-overhead" = "asking the tier what it has takes long",
            Unpinned: "unpinned-memory" = "host memory is not pinned, or is that of another socket",
        },
        run: check,
    }
}

/// What the causes are told from: parts of the wait, in seconds.
struct Parts<'c> {
    tier: &'c TierCost,
    waited: f64,
    computing: f64,
    /// Mean size of a copy of the base.
    base_operation: Option<f64>,
    case: &'c Case<'c>,
    params: &'c Params,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let tier = case.side.measure::<TierCost>()?;
    let base = case.base.and_then(|base| base.measure::<TierCost>().ok());
    let share = tier.share.value.0;
    let mut facts =
        vec![tier.share.fact(format!("{:.1} % of the prompt tokens came from the second tier", share * 100.0))];
    if share < params.traffic {
        return Ok(Outcome::Absent { why: facts });
    }
    let (wait, computing) =
        (tier.waited.as_ref().map_err(Clone::clone)?, tier.computing.as_ref().map_err(Clone::clone)?);
    let (waited, computing) = (wait.value.0, computing.value.0);
    facts.push(wait.fact(format!(
        "requests waited {waited:.2} s for it, computing its {:.0} tokens would have taken {computing:.2} s",
        tier.loaded.value.0
    )));
    if waited <= params.worse * computing {
        return Ok(Outcome::Absent { why: facts });
    }
    let base_operation = base.and_then(|base| Some(base.operation.as_ref().ok()?.value.0));
    let parts = Parts { tier: &tier, waited, computing, base_operation, case, params };
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::Small, small(&parts));
    verdict.weigh(Cause::Link, link(&parts));
    verdict.weigh(Cause::Lookup, lookup(&parts));
    verdict.weigh(Cause::Contention, contention(&parts));
    verdict.weigh(Cause::Scheduling, scheduling(&parts));
    verdict.weigh(Cause::Unpinned, unpinned(&parts));
    Ok(verdict.present(facts, None, follow_up))
}

impl Parts<'_> {
    /// A part of the wait as a fact, and whether it is most of it.
    fn most(&self, seconds: f64, what: &str, source: &Source) -> (bool, Fact) {
        let share = seconds / self.waited;
        let text = format!("{what} took {seconds:.2} s, {:.0} % of the wait", share * 100.0);
        (share >= self.params.most, Fact::told(text, source.clone()))
    }

    /// Whether copies by themselves take as long as computing would: then loads that wait for one another are no cause of
    /// their own.
    fn copies(&self) -> Result<(bool, Fact), Missing> {
        let copying = self.tier.copying.as_ref().map_err(Clone::clone)?;
        let (_, fact) = self.most(copying.value.0, "copies to the device", &copying.source);
        Ok((copying.value.0 >= self.computing, fact))
    }

    /// What neither copies nor look-ups took: seconds, and whether that is most.
    fn rest(&self) -> Result<(f64, bool, Fact), Missing> {
        let copying = self.tier.copying.as_ref().map_err(Clone::clone)?;
        let looking = self.tier.looking.as_ref().map_err(Clone::clone)?;
        let rest = (self.waited - copying.value.0 - looking.value.0).max(0.0);
        let (most, fact) = self.most(rest, "neither copies nor look-ups", &copying.source);
        Ok((rest, most && !self.copies()?.0, fact))
    }

    /// Whether operations are small, with the fact.
    fn are_small(&self) -> Result<(bool, Fact), Missing> {
        let operation = self.tier.operation.as_ref().map_err(Clone::clone)?;
        let bytes = operation.value.0;
        let smaller = self.base_operation.is_some_and(|base| bytes <= MOST * base);
        let base = self.base_operation.map_or(String::new(), |base| format!(", base {base:.0}"));
        Ok((smaller || bytes <= self.params.small, operation.fact(format!("a copy has {bytes:.0} bytes{base}"))))
    }
}

fn small(parts: &Parts<'_>) -> Result<Weighed, Missing> {
    let (slow, copies) = parts.copies()?;
    if !slow {
        return Ok(Weighed::Excludes(vec![copies]));
    }
    let (small, size) = parts.are_small()?;
    Ok(Weighed::by(small, vec![copies, size]))
}

fn link(parts: &Parts<'_>) -> Result<Weighed, Missing> {
    let (slow, copies) = parts.copies()?;
    if !slow {
        return Ok(Weighed::Excludes(vec![copies]));
    }
    let (small, size) = parts.are_small()?;
    let rate = parts.tier.rate.map(|rate| copies_at(rate, &copies));
    let facts = [Some(copies), Some(size), rate].into_iter().flatten().collect();
    Ok(Weighed::by(!small, facts))
}

fn copies_at(rate: f64, copies: &Fact) -> Fact {
    Fact::told(format!("copies ran at {:.2} GB/s", rate * 1e-9), copies.source.clone())
}

fn lookup(parts: &Parts<'_>) -> Result<Weighed, Missing> {
    let looking = parts.tier.looking.as_ref().map_err(Clone::clone)?;
    let (most, fact) = parts.most(looking.value.0, "look-ups", &looking.source);
    Ok(Weighed::by(most, vec![fact]))
}

fn contention(parts: &Parts<'_>) -> Result<Weighed, Missing> {
    let (_, most, rest) = parts.rest()?;
    if !most {
        return Ok(Weighed::Excludes(vec![rest]));
    }
    let busy = parts.tier.busy.as_ref().map_err(Clone::clone)?;
    let fact = busy.fact(format!("the link copied {:.0} % of the time", busy.value.0 * 100.0));
    Ok(Weighed::by(busy.value.0 >= parts.params.busy, vec![rest, fact]))
}

fn scheduling(parts: &Parts<'_>) -> Result<Weighed, Missing> {
    let (seconds, most, rest) = parts.rest()?;
    if !most {
        return Ok(Weighed::Excludes(vec![rest]));
    }
    let busy = parts.tier.busy.as_ref().map_err(Clone::clone)?;
    if busy.value.0 >= parts.params.busy {
        return Ok(Weighed::Excludes(vec![busy.fact("the link is busy: loads wait for it")]));
    }
    let loads = parts.tier.operation.as_ref().map_err(Clone::clone)?.n.max(1) as f64;
    let step = mean_in(&parts.case.side.evidence.runs, Signal::Itl)?;
    let fact = step.fact(format!(
        "{:.1} ms a copy beside it, a step takes {:.1} ms",
        seconds / loads * 1e3,
        step.value.0 * 1e3
    ));
    Ok(Weighed::by(seconds / loads <= parts.params.steps * step.value.0, vec![rest, fact]))
}

fn unpinned(parts: &Parts<'_>) -> Result<Weighed, Missing> {
    let (slow, copies) = parts.copies()?;
    if !slow {
        return Ok(Weighed::Excludes(vec![copies]));
    }
    let mut logs = parts.case.side.evidence.logs.iter();
    let said = logs.find_map(|log| Some((log, log.costly.iter().find(|remark| remark.kind == "unpinned_memory")?)));
    match said {
        Some((log, remark)) => {
            let fact =
                Fact::told(format!("the engine says: {}", remark.text), Source::line(log.label.as_str(), remark.line));
            Ok(Weighed::Supports(vec![copies, fact]))
        }
        None => Err(Missing::not_given(
            "the rate of a pinned copy between host and device",
            "nvbandwidth -t host_to_device_memcpy_ce, and numactl --show of the server",
        )),
    }
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, mitigation) = match cause {
        Cause::Link => (
            "repeat with a least length for hits: their first tokens must come earlier",
            Some("ask the tier for long hits alone"),
        ),
        Cause::Small => (
            "repeat with larger blocks, or layers copied together: the time of copies must fall with their number",
            None,
        ),
        Cause::Contention => {
            ("repeat with one request at a time: the wait must be gone", Some("cap the loads at once"))
        }
        Cause::Scheduling => ("repeat with asynchronous loads or prefetch: the wait must shrink by steps", None),
        Cause::Lookup => ("time one look-up against the tier's server", Some("ask the tier for long prompts alone")),
        Cause::Unpinned => {
            ("compare with a pinned copy, and with the server bound to its GPU's socket (numactl)", None)
        }
    };
    FollowUp {
        measure: measure.into(),
        command: "firstcheck run --url URL --rate RATE --duration 60s --scrape-interval 1s".into(),
        requests: 300,
        mitigation: mitigation.map(str::to_owned),
    }
}

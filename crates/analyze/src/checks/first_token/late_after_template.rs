//! S01: the first token came later after the prompts changed.

use crate::{
    case::Case,
    declare::CauseId,
    declare_check,
    measure::{
        client_ttft::ClientTtft, counters::runs_of, kv_pool::KvPool, latency_means::LatencyMeans,
        prefill_rate::PrefillRate, prompt_overlap::PromptOverlap, prompt_work::PromptWork, served::Served,
    },
    side::Side,
    verdict::{MOST, Verdict, Weighed},
};
use firstcheck_model::{
    evidence::{Kind, RunEvidence},
    finding::{Explained, FollowUp, Outcome},
    fingerprint::field,
    measurement::{Fact, Measurement, Missing, Source, Why},
    request::Request,
    unit::Tokens,
};
use firstcheck_stats::quantile::Sample;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

declare_check! {
    /// ## What it means
    ///
    /// After a deploy the first token comes later although the load is the same: each request computes more of its
    /// prompt than before, because the prompts no longer begin alike, because they are longer, or because the prefix
    /// cache is no longer used for them.
    ///
    /// ## How it is decided
    ///
    /// Against a base, or against the run before its onset: the time to first token rose by more than {rise} (99 %
    /// intervals of the client's medians apart; else the server's means, at a request rate within {load}, by a factor {clear}
    /// more or less), and the prompt tokens computed a request rose by more than {computed}. That the prompts or the cache changed is shown by their mean length (by more than
    /// {length}), by the prompts themselves, or by a cache that is off; without one of these it stays undecided, since
    /// evictions and lookups that fail look the same: with prompts built as before it is those (S03). Prompts are best given
    /// as token ids, as the server renders them.
    ///
    /// - Volatile text: prompts have less than {kept} of their common beginning left and agree again soon behind it.
    /// - A new but stable beginning: old and new differ, new ones agree; hits come back within the window.
    /// - Longer prompts: added length is more than {longer} of the added work, and the median prompt is longer as well.
    /// - Moved, or below a block: the old beginning stands further back, or is shorter than a block of the cache.
    /// - Keyed apart: the same prompts are looked up in more namespaces (`cache_salt`), or nothing of them is found.
    /// - History rewritten: first turns still hit, later turns lost more than {turns} of their hits.
    ///
    /// Predicted rise = added computed tokens / prefill rate; off by more than a factor {sane} it says so.
    ///
    /// ## What to do
    ///
    /// Roll the template back, or move what changes behind what is shared, and replay ten prompts. Looks like: a cache
    /// that is too small at peak (equal prompts), a queue (the wait grows, not the work), a new engine version.
    pub static LATE_AFTER_TEMPLATE = {
        code: "S01", slug: "late-after-template", family: FirstToken, severity: Major,
        symptom: "first tokens came later after a deploy, at the same load: prompts are computed that were cached",
        needs: any_of[Requests, EngineMetrics],
        params: {
            rise: 0.15 ["1"] = "relative rise of the time to first token that counts",
            computed: 0.10 ["1"] = "relative rise of the prompt tokens computed a request that counts",
            length: 0.005 ["1"] = "relative change of the mean prompt that shows that prompts changed",
            kept: 0.5 ["1"] = "share of the common beginning below which it counts as broken",
            longer: 0.7 ["1"] = "share of the added work from which added length is its cause",
            turns: 0.5 ["1"] = "share of their hits that later turns must lose for history to count as rewritten",
            load: 0.10 ["1"] = "relative change of the servers' request rate up to which their means tell of equal loads",
            clear: 2.0 ["1"] = "factor from the rise that counts within which a server's mean does not tell",
            sane: 2.0 ["1"] = "factor between predicted and observed rise that is still plausible",
        },
        causes: {
            VolatileText: "volatile-text" = "text that changes with each request stands near the front of the prompt",
            ChangedStablePrefix: "changed-stable-prefix" = "the beginning is a new one, and stable: hits come back by themselves",
            LongerPrompt: "longer-prompt" = "prompts are longer",
            BelowBlock: "below-block-size" = "what prompts share is shorter than a block of the cache",
            CacheOff: "cache-off-or-salted" = "the prefix cache is off for these requests, or keyed apart",
            PrefixMoved: "prefix-moved" = "the shared text stands behind the user's",
            HistoryRewritten: "history-rewritten" = "the template rewrites earlier turns, so that conversations do not continue what is cached",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let base = case.base_for("time to first token")?;
    let rise = rise(case.side, base, params)?;
    if !rise.counts {
        return Ok(Outcome::Absent { why: rise.facts });
    }
    let (now, before) = (case.side.measure::<PromptWork>()?, base.measure::<PromptWork>()?);
    let mut facts = rise.facts;
    facts.push(now.computed.fact(format!(
        "each request computes {} of its prompt tokens, base {}",
        bounds(&now.computed, 1.0, 0),
        bounds(&before.computed, 1.0, 0)
    )));
    facts.push(now.hit_rate.fact(format!(
        "{} % of the prompt tokens of the window were cached, base {} %",
        bounds(&now.hit_rate, 100.0, 1),
        bounds(&before.hit_rate, 100.0, 1)
    )));
    let (least, most) = (range(&now.computed), range(&before.computed));
    if least.1 <= most.0 * (1.0 + params.computed) {
        return Ok(Outcome::Absent { why: facts });
    }
    if least.0 <= most.1 * (1.0 + params.computed) {
        return Err(Missing {
            what: "computed prompt tokens of the window alone: with a warm-up inside, both sides could be alike".into(),
            why: Why::Mixed,
            obtain: "scrape /metrics between warm-up and window: firstcheck run does".into(),
        });
    }
    let added = now.prompt.value.0 - before.prompt.value.0;
    let off = cache_off(case.side, base);
    let least = (params.length * before.prompt.value.0).max(1.0);
    // Those that were answered may be other ones than in the base; what was sent tells of all.
    let sent = lengths(case.side).zip(lengths(base)).map(|(now, before)| mean(&now) - mean(&before));
    let lengths_changed = added.abs() > least && sent.is_none_or(|sent| sent.abs() > least);
    let both_given = [case.side, base].iter().all(|side| side.evidence.lacks(Kind::Prompts).is_none());
    if !lengths_changed && !both_given && !matches!(off, Ok(Weighed::Supports(_))) {
        let what = "prompts of both sides: their mean length is the same, so evictions and failing lookups look alike";
        return Err(Missing::not_given(what, Kind::Prompts.obtain()));
    }
    let work = now.computed.value.0 - before.computed.value.0;
    let explains = explained(case.side, base, work);
    facts.extend(explains.as_ref().map(|e| plausible(e, params, &now.computed)));
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::VolatileText, volatile_text(case.side, base, params));
    verdict.weigh(Cause::ChangedStablePrefix, changed_stable(case.side, base, params));
    let longer = longer(case, base, (added, work), params);
    let lengths_missing = longer.as_ref().err().cloned();
    verdict.weigh(Cause::LongerPrompt, longer);
    verdict.weigh(Cause::BelowBlock, below_block(case.side, base));
    verdict.weigh(Cause::CacheOff, off);
    verdict.weigh(Cause::PrefixMoved, moved(case.side, base, params));
    verdict.weigh(Cause::HistoryRewritten, history_rewritten(case.side, base, params));
    if both_given && !Cause::ALL.iter().any(|cause| verdict.supports(*cause)) {
        // Prompts that begin and end as before may be longer all the same.
        return lengths_missing.map_or_else(|| unchanged(case.side, base, facts), Err);
    }
    Ok(verdict.present(facts, explains, follow_up))
}

/// Prompts that are built as those of the base: what was cached is lost in another way, unless they are looked up in other
/// namespaces than before.
fn unchanged(side: &Side<'_>, base: &Side<'_>, mut facts: Vec<Fact>) -> Result<Outcome, Missing> {
    let (now, before) = overlaps(side, base)?;
    if now.namespaces.is_none() || before.namespaces.is_none() {
        return Err(namespaces_missing());
    }
    facts.push(share_fact(&now, &before));
    facts.push(now.shared.fact("prompts are built and looked up as in the base: what was cached is lost, see S03"));
    Ok(Outcome::Absent { why: facts })
}

/// What tells a cache that is keyed apart from one that forgets or does not find.
fn namespaces_missing() -> Missing {
    Missing::not_given(
        "namespaces in which the prompts are looked up (cache_salt), or one prompt asked twice by one tenant and by two",
        "keep cache_salt with each prompt, or send one prompt four times and read cached_tokens of each answer",
    )
}

/// Whether the time to first token rose, with what shows it.
struct Rise {
    counts: bool,
    facts: Vec<Fact>,
}

fn rise(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Rise, Missing> {
    let client = side.measure::<ClientTtft>().and_then(|now| Ok((now, base.measure::<ClientTtft>()?)));
    let told = match client {
        Ok((now, before)) => {
            let apart = range(&now.median).0 > range(&before.median).1;
            let fact = now.median.fact(format!(
                "median time to first token {:.1} ms, base {:.1} ms",
                now.median.value.0 * 1e3,
                before.median.value.0 * 1e3
            ));
            (now.median.value.0 > before.median.value.0 * (1.0 + params.rise) && apart, fact)
        }
        Err(missing) => by_server(side, base, params).map_err(|lack| lack.unwrap_or(missing))?,
    };
    Ok(Rise { counts: told.0, facts: vec![told.1] })
}

/// The server's means say it as well, where they can be believed; `Err(None)`: what the client lacks is to be named. A mean
/// is moved by a few late ones as a median is not: what lies within a factor of the rise that counts is not told. Nor is
/// it where others ask more or less than in the base.
fn by_server(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<(bool, Fact), Option<Missing>> {
    let means = side.measure::<LatencyMeans>().and_then(|now| Ok((now, base.measure::<LatencyMeans>()?)));
    let (now, before) = means.map_err(|_| None)?;
    let rate = |side: &Side<'_>| {
        let seconds: Option<f64> = side.evidence.runs.iter().map(|run| Some(run.span()?.length()?.0)).sum();
        Some(side.measure::<Served>().ok()?.finished.value / seconds.filter(|seconds| *seconds > 0.0)?)
    };
    let (fast, slow) = rate(side).zip(rate(base)).ok_or(None)?;
    // That fewer are finished of a client's own requests is what a late first token does.
    let known = side.evidence.runs.iter().any(|run| run.window().next().is_some());
    let change = fast / slow - 1.0;
    if change > params.load || (!known && change < -params.load) {
        let what = format!("the client's requests: the servers finish {fast:.1} a second, the base's {slow:.1}");
        return Err(Some(Missing::not_given(what, "firstcheck run --url URL")));
    }
    let fact = now.ttft.fact(format!(
        "mean time to first token at the server {:.1} ms, base {:.1} ms",
        now.ttft.value.0 * 1e3,
        before.ttft.value.0 * 1e3
    ));
    let rise = now.ttft.value.0 / before.ttft.value.0 - 1.0;
    let told = rise > params.clear * params.rise || rise * params.clear < params.rise;
    if told { Ok((rise > params.rise, fact)) } else { Err(None) }
}

/// The interval of a measurement; its value twice where none is needed.
fn range<U: Copy + Into<f64>>(of: &Measurement<U>) -> (f64, f64) {
    of.interval.map_or((of.value.into(), of.value.into()), |(low, high)| (low.into(), high.into()))
}

/// `624`, or `601 to 648` where only bounds are known.
fn bounds<U: Copy + Into<f64>>(of: &Measurement<U>, scale: f64, digits: usize) -> String {
    match (of.interval, range(of)) {
        (None, (value, _)) => format!("{:.digits$}", value * scale),
        (Some(_), (low, high)) => format!("{:.digits$} to {:.digits$}", low * scale, high * scale),
    }
}

/// The rise of the mean that the added work comes to at the speed of a prompt; `None` where the mean did not rise: a
/// median may, while others gain more.
fn explained(side: &Side<'_>, base: &Side<'_>, work: f64) -> Option<Explained> {
    let rate = side.measure::<PrefillRate>().ok()?;
    let mean = |side: &Side<'_>| side.measure::<ClientTtft>().ok().map(|ttft| ttft.mean.value.0);
    let server = |side: &Side<'_>| side.measure::<LatencyMeans>().ok().map(|means| means.ttft.value.0);
    let both = |of: &dyn Fn(&Side<'_>) -> Option<f64>| Some((of(side)?, of(base)?));
    let (now, before) = both(&mean).or_else(|| both(&server))?;
    (now > before).then(|| Explained {
        metric: "mean time to first token".into(),
        delta: now - before,
        explained: work / rate.rate.value.0,
        unit: "s".into(),
        basis: format!("{work:.0} more computed tokens at {:.0} tokens/s of prefill", rate.rate.value.0),
    })
}

fn plausible(explained: &Explained, params: &Params, work: &Measurement<Tokens>) -> Fact {
    let ratio = explained.explained / explained.delta;
    let verdict = if (1.0 / params.sane..=params.sane).contains(&ratio) {
        "the added work is enough to explain the rise"
    } else if ratio < 1.0 {
        "the added work alone is too little: a queue or another cause adds to it"
    } else {
        "the added work would cost more than was seen: the prefill rate is not that of this window"
    };
    let (predicted, seen) = (explained.explained * 1e3, explained.delta * 1e3);
    let mut fact = work.fact(format!("predicted {predicted:+.0} ms, observed {seen:+.0} ms: {verdict}"));
    (fact.value, fact.unit, fact.interval) = (Some(ratio), Some("1".into()), None);
    fact
}

/// Prompts of both sides in the same units.
fn overlaps<'s>(side: &'s Side<'_>, base: &'s Side<'_>) -> Result<(Arc<PromptOverlap>, Arc<PromptOverlap>), Missing> {
    let (now, before) = (side.measure::<PromptOverlap>()?, base.measure::<PromptOverlap>()?);
    if now.tokens != before.tokens {
        let what = "prompts of both sides in the same form: one side is text, the other token ids";
        return Err(Missing::not_exposed(what, Kind::Prompts.obtain()));
    }
    Ok((now, before))
}

fn share_fact(now: &PromptOverlap, before: &PromptOverlap) -> Fact {
    now.shared.fact(format!(
        "prompts have their first {:.0} of {:.0} {} in common, base {:.0} of {:.0}",
        now.shared.value.0,
        now.length,
        now.unit(),
        before.shared.value.0,
        before.length
    ))
}

fn volatile_text(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let (now, before) = overlaps(side, base)?;
    let fact = share_fact(&now, &before);
    let broken = now.shared.value.0 < params.kept * before.shared.value.0;
    if !broken || !now.mostly_rejoins() || at_the_end(&now, &before, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let mut again = now.shared.fact(format!("{:.0} % of the pairs agree again right behind it", now.rejoin * 100.0));
    (again.value, again.unit) = (Some(now.rejoin), Some("1".into()));
    let mut facts = vec![fact, again];
    if !now.shape.is_empty() {
        let (shape, at) = (&now.shape, now.shared.value.0);
        facts.push(now.shared.fact(format!("what changes stands at character {at:.0} and looks like `{shape}`")));
    }
    Ok(Weighed::Supports(facts))
}

fn changed_stable(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    if let Ok((now, before)) = overlaps(side, base) {
        let with_base = now.shared_with(&before);
        let stable = now.shared.value.0 >= params.kept * before.shared.value.0;
        let changed = with_base < params.kept * before.shared.value.0;
        let fact =
            now.shared.fact(format!("old and new prompts have their first {with_base:.0} {} in common", now.unit()));
        let facts = vec![share_fact(&now, &before), fact];
        return Ok(Weighed::by(stable && changed, facts));
    }
    let (early, late) = halves(side)?;
    let before = base.measure::<PromptWork>()?;
    let (first, second, old) = (early.value.0, late.value.0, before.computed.value.0);
    let fact = late.fact(format!(
        "computed tokens a request: {first:.0} in the first half, {second:.0} in the second, base {old:.0}"
    ));
    let back = second - old < params.kept * (first - old);
    Ok(Weighed::by(back, vec![fact]))
}

/// Computed tokens a request in the first and second half of the windows, from what the server told of each request.
fn halves(side: &Side<'_>) -> Result<(Measurement<Tokens>, Measurement<Tokens>), Missing> {
    let (mut early, mut late) = (Vec::new(), Vec::new());
    for run in &side.evidence.runs {
        let rows: Vec<f64> =
            run.window().filter_map(|(_, r)| Some(f64::from(r.prompt_tokens?) - f64::from(r.cached_tokens?))).collect();
        let (first, second) = rows.split_at(rows.len() / 2);
        early.extend_from_slice(first);
        late.extend_from_slice(second);
    }
    if early.is_empty() {
        return Err(Missing::not_exposed(
            "cached tokens of each request over the window (prompt_tokens_details)",
            "start vLLM with --enable-prompt-tokens-details, then firstcheck run --url URL",
        ));
    }
    let source =
        Source::Derived { by: "prompt − cached tokens of requests".into(), from: runs_of(&side.evidence.runs) };
    let mean = |rows: &[f64]| Measurement {
        value: Tokens(rows.iter().sum::<f64>() / rows.len() as f64),
        interval: None,
        n: rows.len() as u64,
        source: source.clone(),
    };
    Ok((mean(&early), mean(&late)))
}

/// Whether the added length is the added work. A template adds to every prompt: where the one in the middle is as long as
/// before, some requests grew and not the template.
fn longer(case: &Case<'_>, base: &Side<'_>, (added, work): (f64, f64), params: &Params) -> Result<Weighed, Missing> {
    let now = case.side.measure::<PromptWork>()?;
    let fact =
        now.prompt.fact(format!("the mean prompt changed by {added:+.0} tokens, what is computed of it by {work:+.0}"));
    if added < params.longer * work {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let (Some(middle), Some(before)) = (lengths(case.side).and_then(median), lengths(base).and_then(median)) else {
        return Err(Missing::not_exposed("prompt tokens of each request", "firstcheck run --url URL"));
    };
    let of_all = now.prompt.fact(format!("the median prompt has {middle:.0} tokens, base {before:.0}"));
    Ok(Weighed::by(middle - before >= MOST * added, vec![fact, of_all]))
}

/// Lengths of the prompts of the window's requests, tokens, where they are known of all.
fn lengths(side: &Side<'_>) -> Option<Vec<f64>> {
    let rows = side.evidence.runs.iter().flat_map(RunEvidence::window);
    let lengths: Option<Vec<f64>> = rows.map(|(_, request)| request.prompt_tokens.map(f64::from)).collect();
    lengths.filter(|lengths| !lengths.is_empty())
}

fn median(of: Vec<f64>) -> Option<f64> {
    Sample::new(of).ok()?.quantile(0.5)
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

fn below_block(side: &Side<'_>, base: &Side<'_>) -> Result<Weighed, Missing> {
    let (now, before) = overlaps(side, base)?;
    if !now.tokens {
        return Ok(Weighed::Open(vec![Missing::not_given("token ids of the prompts", Kind::Prompts.obtain())]));
    }
    let block = side.measure::<KvPool>()?.block_size;
    let old_block = base.measure::<KvPool>()?.block_size;
    let shared = now.shared.value.0;
    let fact = now
        .shared
        .fact(format!("prompts share {shared:.0} tokens, a block holds {block:.0}, the base's {old_block:.0}"));
    let was_above = before.shared.value.0 >= old_block;
    let broken = shared > 0.0 && shared < block && was_above && !now.mostly_rejoins();
    Ok(Weighed::by(broken, vec![fact]))
}

fn cache_off(side: &Side<'_>, base: &Side<'_>) -> Result<Weighed, Missing> {
    let setting = |side: &Side<'_>| {
        let runs = side.evidence.runs.iter().map(|run| (&run.info.fingerprint, Some(run.info.id.clone())));
        let mut all = runs.chain([(&side.evidence.stated, None)]);
        all.find_map(|(print, run)| Some((print.get(field::PREFIX_CACHING)?.to_ascii_lowercase(), run)))
    };
    if let (Some((now, Some(run))), Some((before, _))) = (setting(side), setting(base))
        && now != before
        && now == "false"
    {
        let source = Source::Run { run, field: format!("fingerprint.{}", field::PREFIX_CACHING) };
        let text = "the server states that prefix caching is off; it was on in the base".into();
        return Ok(Weighed::Supports(vec![Fact { text, value: None, unit: None, interval: None, n: None, source }]));
    }
    let work = side.measure::<PromptWork>()?;
    let (now, before) = overlaps(side, base)?;
    let shared = share_fact(&now, &before);
    let kept = now.shared.value.0 >= before.shared.value.0 && now.shared_with(&before) >= before.shared.value.0;
    if !kept {
        return Ok(Weighed::Excludes(vec![shared]));
    }
    if let Some((spaces, old)) = now.namespaces.zip(before.namespaces) {
        let text = format!("prompts are looked up in {spaces} namespaces of the cache, base {old}");
        return Ok(Weighed::by(spaces > old, vec![now.shared.fact(text), shared]));
    }
    if work.hit_rate.value.0 > 0.0 {
        // Keys apart for each tenant, evictions and failing lookups all leave some hits.
        return Ok(namespaces_missing().into());
    }
    Ok(Weighed::Supports(vec![work.hit_rate.fact("nothing was found in the cache"), shared]))
}

/// Whether prompts end alike in what they began with in the base.
fn at_the_end(now: &PromptOverlap, before: &PromptOverlap, params: &Params) -> bool {
    let needed = params.kept * before.shared.value.0;
    now.shared_end >= needed && before.shared_end < needed
}

fn moved(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let (now, before) = overlaps(side, base)?;
    let fact = share_fact(&now, &before);
    let behind = at_the_end(&now, &before, params);
    if now.shared.value.0 >= params.kept * before.shared.value.0 || (now.mostly_rejoins() && !behind) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    Ok(match now.place_of(&before) {
        Some(place) if place > now.shared.value.0 => {
            let moved =
                now.shared.fact(format!("the base's common text begins {place:.0} {} into the prompt", now.unit()));
            Weighed::Supports(vec![fact, moved])
        }
        _ => Weighed::Excludes(vec![fact]),
    })
}

fn history_rewritten(side: &Side<'_>, base: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let (now, before) = (turns(side)?, turns(base)?);
    // What had no hits has none to lose.
    let kept = |now: f64, before: f64| (before > 0.0).then(|| now / before);
    let (first, later) = (kept(now.0, before.0), kept(now.1, before.1));
    let source = Source::Derived { by: "cached share of prompts by turn".into(), from: runs_of(&side.evidence.runs) };
    let text = format!(
        "later turns have {:.0} % of their prompt cached, base {:.0} %; first turns {:.0} %, base {:.0} %",
        now.1 * 100.0,
        before.1 * 100.0,
        now.0 * 100.0,
        before.0 * 100.0
    );
    let fact = Fact { text, value: later, unit: later.map(|_| "1".into()), interval: None, n: None, source };
    let least = 1.0 - params.turns;
    let lost = later.is_some_and(|kept| kept < least) && first.is_none_or(|kept| kept > least);
    Ok(Weighed::by(lost, vec![fact]))
}

/// Cached share of the prompts of first turns and of later turns.
fn turns(side: &Side<'_>) -> Result<(f64, f64), Missing> {
    let (mut seen, mut sums) = (HashSet::new(), BTreeMap::<bool, (f64, f64)>::new());
    let rows = side.evidence.runs.iter().enumerate().flat_map(|(at, run)| run.window().map(move |(_, r)| (at, r)));
    let told = |r: &Request| Some((r.session?, f64::from(r.cached_tokens?), f64::from(r.prompt_tokens?)));
    for (session, cached, prompt) in rows.filter_map(|(at, r)| told(r).map(|(s, c, p)| ((at, s), c, p))) {
        let sum = sums.entry(seen.insert(session)).or_default();
        *sum = (sum.0 + cached, sum.1 + prompt);
    }
    match (sums.get(&true), sums.get(&false)) {
        (Some(first), Some(later)) => Ok((first.0 / first.1, later.0 / later.1)),
        _ => Err(Missing::not_exposed(
            "cached tokens of each request with its conversation and turn",
            "firstcheck run --url URL with a workload of sessions",
        )),
    }
}

fn follow_up(cause: Cause) -> FollowUp {
    let give = "firstcheck diagnose CANDIDATE prompts.jsonl --base BASE";
    let (measure, command, requests, mitigation) = match cause {
        Cause::VolatileText => (
            "move the text that changes behind the shared text and replay ten prompts: hits must come back",
            "firstcheck run --url URL --requests 10",
            10,
            Some("roll the template back"),
        ),
        Cause::ChangedStablePrefix => {
            ("wait one reuse interval and measure again: hits must come back", "firstcheck run --url URL", 50, None)
        }
        Cause::LongerPrompt => (
            "compare the rendered prompts: what was added, and does it have to be",
            give,
            0,
            Some("roll the template back"),
        ),
        Cause::BelowBlock => (
            "read the block size that the engine resolved: hybrid models raise it",
            "grep -E 'attention block size|block_size' server.log",
            0,
            None,
        ),
        Cause::CacheOff => (
            "compare the resolved cache flags, the salt and the adapter of both deployments",
            "firstcheck fingerprint BASE CANDIDATE",
            0,
            Some("switch prefix caching on again"),
        ),
        Cause::PrefixMoved => {
            ("compare the order of the parts in rendered prompts", give, 0, Some("roll the template back"))
        }
        Cause::HistoryRewritten => (
            "render turn two of a conversation and compare it with turn one and its answer",
            give,
            0,
            Some("keep reasoning in earlier turns"),
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(str::to_owned) }
}

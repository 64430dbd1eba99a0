//! Which clock host memory goes by, and whether it ends by itself.

use super::{Cause, Grown, about, size};
use crate::{
    measure::memory_growth::{Clock, Held, Holder},
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    evidence::Kind,
    fingerprint::{Fingerprint, field},
    measurement::{Fact, Missing, Why},
    unit::Bytes,
};
use firstcheck_stats::non_negative::{fit, partial_r2};

/// Causes of growth of a process's own memory.
pub(super) fn weigh(verdict: &mut Verdict<Cause>, grown: &Grown<'_>) {
    let causes = [Cause::PerRequest, Cause::PerToken, Cause::OverTime, Cause::Retention, Cause::BoundedCache];
    let Some(host) = grown.host else {
        let weighed = not_growing(grown);
        return causes.into_iter().for_each(|cause| verdict.weigh(cause, Ok(weighed.clone())));
    };
    let Some(ratio) = flattening(host) else {
        let missing = Missing::not_exposed("growth in each third of the window", "measure longer, under steady load");
        return causes.into_iter().for_each(|cause| verdict.weigh(cause, Err(missing.clone())));
    };
    let slope =
        about(host, host.trend.growth, format!("the last third grew {:.0} % as fast as the first", ratio * 100.0));
    let ended = ratio < grown.params.flat;
    for cause in [Cause::PerRequest, Cause::PerToken, Cause::OverTime] {
        let weighed = if ended { Ok(Weighed::Excludes(vec![slope.clone()])) } else { clock(grown, host, cause) };
        verdict.weigh(cause, weighed);
    }
    let (retention, cache) = if ended {
        ends(grown, host, &slope)
    } else {
        (Ok(Weighed::Excludes(vec![slope.clone()])), Ok(Weighed::Excludes(vec![slope])))
    };
    verdict.weigh(Cause::Retention, retention);
    verdict.weigh(Cause::BoundedCache, cache);
}

/// No process's own memory grows, if any is known.
fn not_growing(grown: &Grown<'_>) -> Weighed {
    let own = [Holder::Process, Holder::Container, Holder::ProcessResident];
    let known = own
        .into_iter()
        .find_map(|holder| grown.all.of(holder).max_by(|a, b| a.trend.growth.total_cmp(&b.trend.growth)));
    match known {
        Some(held) => {
            let growth = held.trend.growth;
            Weighed::Excludes(vec![about(held, growth, format!("{} grew by {}", held.name, size(growth)))])
        }
        None => Weighed::Open(vec![Missing::not_given(Kind::ProcessMemory.name(), Kind::ProcessMemory.obtain())]),
    }
}

/// Slope of the last third of the samples over that of the first, along the requests where they are counted: an idle third
/// is no flat one.
pub(super) fn flattening(host: &Held) -> Option<f64> {
    let clock = [Clock::Requests, Clock::OutputTokens, Clock::Time].into_iter().find_map(|clock| {
        let readings = host.clocks.get(clock)?;
        (readings.last()? > &0.0).then_some(readings)
    })?;
    let (end, bytes) = (*clock.last()?, &host.trend.bytes);
    let part = |from: f64, to: f64| {
        let inside = clock.iter().zip(bytes).filter(|(reading, _)| (from..=to).contains(*reading));
        let (x, y): (Vec<f64>, Vec<f64>) = inside.map(|(x, y)| (*x, *y)).unzip();
        Some(fit(&[x.as_slice()], &y).ok()?.slopes[0])
    };
    let (first, last) = (part(0.0, end / 3.0)?, part(end * 2.0 / 3.0, end)?);
    (first > 0.0).then(|| last / first)
}

/// What a clock explains of the growth.
struct Explained {
    clock: Clock,
    /// Bytes a tick.
    slope: f64,
    /// Share of what is unexplained without it.
    partial: f64,
    /// Bytes of the growth that go by it.
    growth: f64,
}

fn by_clock(host: &Held) -> Option<Vec<Explained>> {
    let clocks = &host.clocks.0;
    let columns: Vec<&[f64]> = clocks.iter().map(|(_, readings)| readings.as_slice()).collect();
    let (found, partial) = (fit(&columns, &host.trend.bytes).ok()?, partial_r2(&columns, &host.trend.bytes).ok()?);
    let explained = clocks.iter().zip(found.slopes).zip(partial).map(|(((clock, readings), slope), partial)| {
        Some(Explained { clock: *clock, slope, partial, growth: slope * readings.last()? })
    });
    explained.collect()
}

/// Whether the growth goes by the clock that a cause stands for.
fn clock(grown: &Grown<'_>, host: &Held, cause: Cause) -> Result<Weighed, Missing> {
    let own: &[Clock] = match cause {
        Cause::PerRequest => &[Clock::Requests],
        Cause::PerToken => &[Clock::PromptTokens, Clock::OutputTokens],
        _ => &[Clock::Time],
    };
    let counted = |clock: &Clock| host.clocks.get(*clock).is_some();
    if !Clock::ALL.iter().all(counted) {
        return Err(Missing::not_exposed(
            "requests and tokens counted beside the samples of memory",
            "scrape /metrics of the same replica over the same time: firstcheck run --url URL --scrape-interval 1s",
        ));
    }
    let explained = by_clock(host).ok_or_else(|| not_separable(host, &[]))?;
    let tells = |one: &Explained| one.partial >= grown.params.separable && one.growth > 0.0;
    let own: Vec<&Explained> = explained.iter().filter(|one| own.contains(&one.clock)).collect();
    let supporting: Vec<Fact> = own.iter().filter(|one| tells(one)).map(|one| fact(host, one)).collect();
    if !supporting.is_empty() {
        return Ok(Weighed::Supports(supporting));
    }
    if explained.iter().any(tells) {
        return Ok(Weighed::Excludes(own.iter().map(|one| fact(host, one)).collect()));
    }
    Err(not_separable(host, &explained))
}

fn fact(host: &Held, one: &Explained) -> Fact {
    let text = format!(
        "{} a {}: {} of the growth (partial R² {:.2})",
        size(one.slope),
        one.clock.tick(),
        size(one.growth),
        one.partial
    );
    about(host, one.slope, text)
}

/// Clocks that go together: the growth may be told by any of them.
fn not_separable(host: &Held, explained: &[Explained]) -> Missing {
    let alone = |one: &Explained| {
        let readings = host.clocks.get(one.clock)?;
        let slope = fit(&[readings], &host.trend.bytes).ok()?.slopes[0];
        Some(format!("{} a {}", size(slope), one.clock.tick()))
    };
    let ways: Vec<String> = explained.iter().filter_map(alone).collect();
    let what = match ways.is_empty() {
        true => "clocks that go apart".to_owned(),
        false => format!("clocks that go apart: it may be {}", ways.join(", or ")),
    };
    let obtain = "add load of a second shape (max_tokens 1, then 512) and an idle period: firstcheck run --output-tokens fixed:1 …";
    Missing { what, why: Why::Mixed, obtain: obtain.into() }
}

/// Sizes, in GiB, that caches in host memory are configured to.
const SIZES: [&str; 6] = [
    "mm_processor_cache_gb",
    "swap_space",
    "cpu_offload_gb",
    "kv_offloading_size",
    "hicache_size",
    "max_local_cpu_size",
];

/// Growth that ended: a cache that is full, or the allocator.
fn ends(grown: &Grown<'_>, host: &Held, slope: &Fact) -> (Result<Weighed, Missing>, Result<Weighed, Missing>) {
    let evidence = grown.case.side.evidence;
    let prints: Vec<&Fingerprint> =
        evidence.runs.iter().map(|run| &run.info.fingerprint).chain([&evidence.stated]).collect();
    let told = |name: &str| name.starts_with(field::GIVEN) || SIZES.contains(&name);
    if !prints.iter().any(|print| print.iter().any(|(name, _)| told(name))) {
        let missing =
            Missing::not_given("the configuration, with the sizes of caches", "give the server's log or /server_info");
        return (Err(missing.clone()), Err(missing));
    }
    let growth = host.trend.added;
    let near = SIZES.iter().find_map(|name| {
        let gib = prints.iter().find_map(|print| print.number(name)).filter(|gib| *gib > 0.0)?;
        let size = gib * 1024.0 * Bytes::MIB;
        ((growth - size).abs() <= grown.params.size * size).then_some((*name, gib))
    });
    let said = |text: String| vec![slope.clone(), about(host, growth, text)];
    match near {
        Some((name, gib)) => {
            let text = format!("it grew by {}, and {name} is {gib} GiB", size(growth));
            (Ok(Weighed::Excludes(said(text.clone()))), Ok(Weighed::Supports(said(text))))
        }
        None => {
            let text = format!("it grew by {}, which is the size of no configured cache", size(growth));
            (Ok(Weighed::Supports(said(text.clone()))), Ok(Weighed::Excludes(said(text))))
        }
    }
}

/// Whether shared memory makes up most of the growth.
pub(super) fn shared(grown: &Grown<'_>) -> Result<Weighed, Missing> {
    let mut known = grown.all.of(Holder::ContainerShared).chain(grown.all.of(Holder::ProcessShared)).peekable();
    let Some(first) = known.peek().copied() else {
        return Err(Missing::not_exposed(
            "shared memory over time",
            "scrape container_memory_working_set_bytes and container_memory_rss, or sample smaps_rollup",
        ));
    };
    let Some(shared) = grown.shared else {
        let most = known.max_by(|a, b| a.trend.growth.total_cmp(&b.trend.growth)).unwrap_or(first);
        let growth = most.trend.growth;
        return Ok(Weighed::Excludes(vec![about(most, growth, format!("shared memory grew by {}", size(growth)))]));
    };
    let own = grown.host.map_or(0.0, |host| host.trend.growth.max(0.0));
    let share = shared.trend.growth / (shared.trend.growth + own);
    let text = format!("shared memory is {:.0} % of the growth", share * 100.0);
    let facts = vec![about(shared, shared.trend.growth, text)];
    Ok(Weighed::by(share >= grown.params.most, facts))
}

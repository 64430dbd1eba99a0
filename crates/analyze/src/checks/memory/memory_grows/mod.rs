//! S17: memory grows slowly until the engine runs out.

mod device;
mod follow_up;
mod host;

use crate::{
    case::Case,
    declare_check,
    measure::{
        memory_growth::{Held, Holder, MemoryGrowth},
        memory_ledger::gib,
    },
    verdict::Verdict,
};
use firstcheck_model::{
    finding::Outcome,
    measurement::{Fact, Measurement, Missing, Source, Why},
    unit::{Bytes, Count},
};

declare_check! {
    /// ## What it means
    ///
    /// Memory of the host or of a device rises for hours and falls never. At last the kernel kills the engine, or an allocation
    /// fails that always fitted. Latency is well until then.
    ///
    /// ## How it is decided
    ///
    /// A level grows if at least {samples} samples go one way (rank correlation {steady}), by more than {noise} times their
    /// noise, {share} of the level and {host_mib} (a device: {device_mib}). Of a process that is its anonymous memory *and what is
    /// swapped out*: the resident set falls while a leak swaps. `process_resident_memory_bytes` is the API server alone.
    ///
    /// The growth of the process that grew most is fitted on four clocks (requests, prompt tokens, generated tokens, time;
    /// slopes cannot be negative). A clock is the cause where the fit without it leaves {separable} more (partial R²). Requests
    /// that are all alike make clocks that go together: then none is named, and a second shape of request is asked for.
    ///
    /// - It flattens if the last third's slope is below {flat} of the first's: retention by the allocator, or a cache that
    ///   fills where the growth is a configured size within {size}.
    /// - Shared memory: what the container holds beyond its processes' own makes up {most} of the growth.
    /// - A device: what the message of the failed allocation tells of the growth: reserved and not given out, outside the
    ///   framework, or given out.
    ///
    /// ## What to do
    ///
    /// Restart the replica before the time that the finding gives, one after the other. Then profile the process that it
    /// names (memray; objects from before `gc.freeze()` are hidden from the collector).
    ///
    /// Looks like: KV pages that are never freed (memory is flat); a step at one moment (an image, an adapter).
    pub static MEMORY_GROWS = {
        code: "S17", slug: "memory-grows", family: Memory, severity: Major,
        symptom: "memory grows slowly until the engine runs out",
        needs: any_of[ProcessMemory, EngineMetrics],
        params: {
            samples: 12.0 ["1"] = "samples from which a trend is told",
            steady: 0.8 ["1"] = "rank correlation with time from which a level goes one way",
            noise: 10.0 ["1"] = "growth over the standard deviation of a sample from which it counts",
            share: 0.005 ["1"] = "growth over the level that counts",
            host_mib: 4.0 ["MiB"] = "growth of host memory that counts: less is an allocator's arena, or a minute of anything",
            device_mib: 128.0 ["MiB"] = "growth of a device's memory that counts",
            separable: 0.5 ["1"] = "share of what is unexplained without a clock that it must explain",
            flat: 0.2 ["1"] = "slope of the last third over that of the first below which growth has ended",
            size: 0.1 ["1"] = "relative distance at which growth is a configured size",
            most: 0.7 ["1"] = "share of the growth that counts as most of it",
        },
        causes: {
            PerRequest: "leak-per-request" = "something of each request is kept in host memory",
            PerToken: "leak-per-token" = "something of each token is kept in host memory",
            OverTime: "leak-over-time" = "host memory grows by itself, whatever is served",
            Retention: "retention" = "the allocator keeps what was freed: growth ends by itself",
            BoundedCache: "bounded-cache" = "a cache of a configured size fills",
            SharedMemory: "shared-memory" = "shared memory or files of the container grow, no process's own",
            DeviceFragmentation: "device-fragmentation" = "the framework reserves device memory that it does not give out",
            DeviceOutside: "device-outside-framework" = "device memory outside the framework grows: libraries, graphs, adapters",
            DeviceTensors: "device-tensors" = "tensors on the device are kept",
        },
        run: check,
    }
}

/// What grows, and what does not.
struct Grown<'g> {
    case: &'g Case<'g>,
    params: &'g Params,
    all: &'g MemoryGrowth,
    /// The process, or where none is known the container, whose own memory grew most.
    host: Option<&'g Held>,
    /// Shared memory that grew.
    shared: Option<&'g Held>,
    /// A device whose memory grew.
    device: Option<&'g Held>,
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let all = case.side.measure::<MemoryGrowth>()?;
    let need = params.samples as u64;
    let most = all.held.iter().map(|held| held.trend.bytes.len() as u64).max().unwrap_or(0);
    if most < need {
        return Err(Missing {
            what: format!("{need} samples of memory in the window"),
            why: Why::TooFew { have: most, need },
            obtain: "sample each process every minute for an hour: /proc/PID/smaps_rollup with the time before it"
                .into(),
        });
    }
    let grown = Grown::of(case, params, &all);
    let facts = grown.facts();
    if [grown.host, grown.shared, grown.device].iter().all(Option::is_none) {
        return Ok(Outcome::Absent { why: all.held.iter().map(flat).take(6).collect() });
    }
    let mut verdict = Verdict::<Cause>::new();
    host::weigh(&mut verdict, &grown);
    verdict.weigh(Cause::SharedMemory, host::shared(&grown));
    device::weigh(&mut verdict, &grown);
    Ok(verdict.present(facts, None, follow_up::of))
}

impl<'g> Grown<'g> {
    fn of(case: &'g Case<'g>, params: &'g Params, all: &'g MemoryGrowth) -> Self {
        let grows = |held: &&Held| is_growing(held, params);
        let most =
            |holder: Holder| all.of(holder).filter(grows).max_by(|a, b| a.trend.growth.total_cmp(&b.trend.growth));
        // A resident set has shared memory inside: where the container's own is known and flat, that is what grew.
        let own_is_flat = all.of(Holder::Container).next().is_some() && most(Holder::Container).is_none();
        let resident = || most(Holder::ProcessResident).filter(|_| !own_is_flat);
        let host = most(Holder::Process).or_else(resident).or_else(|| most(Holder::Container));
        let shared = most(Holder::ContainerShared).or_else(|| most(Holder::ProcessShared));
        Self { case, params, all, host, shared, device: most(Holder::Device) }
    }

    /// What grew, by how much, and when it runs out.
    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        for held in [self.host, self.shared, self.device].into_iter().flatten() {
            let (growth, hours) = (held.growth(), hours(held));
            let what = if held.holder == Holder::ContainerShared || held.holder == Holder::ProcessShared {
                "shared memory of "
            } else {
                ""
            };
            let text = format!("{what}{} grew by {} in {hours:.1} h", held.name, size(growth.value.0));
            facts.push(growth.fact(text));
        }
        if let Some(host) = self.host {
            facts.extend(self.share_of(host));
            let ended = host::flattening(host).is_some_and(|ratio| ratio < self.params.flat);
            facts.extend(runs_out(host).filter(|_| !ended));
        }
        facts
    }

    /// How much of the growth of all processes is this one's.
    fn share_of(&self, host: &Held) -> Option<Fact> {
        let all: f64 = self.all.of(host.holder).map(|held| held.trend.growth.max(0.0)).sum();
        let others = self.all.of(host.holder).count() > 1;
        let share = host.trend.growth / all;
        others.then(|| host.growth().fact(format!("{} holds {:.0} % of the growth of all", host.name, share * 100.0)))
    }
}

fn is_growing(held: &Held, params: &Params) -> bool {
    let trend = &held.trend;
    let least = match held.holder {
        Holder::Device => params.device_mib * Bytes::MIB,
        _ => (params.share * trend.start).max(params.host_mib * Bytes::MIB),
    };
    trend.bytes.len() as f64 >= params.samples
        && trend.steady >= params.steady
        && trend.growth > least
        && trend.growth > params.noise * trend.noise
}

fn hours(held: &Held) -> f64 {
    let (first, last) = (held.trend.at.first(), held.trend.at.last());
    first.zip(last).and_then(|(first, last)| last.since(*first)).map_or(0.0, |seconds| seconds.0 / 3600.0)
}

/// When the container's limit is reached, if the growth goes on.
fn runs_out(host: &Held) -> Option<Fact> {
    let (limit, last, hours) = (host.limit?, host.trend.bytes.last()?, hours(host));
    let left = (limit - last) / (host.trend.growth / hours);
    let value = Count(left);
    let source = Source::Derived { by: "(limit − level) / growth an hour".into(), from: vec![host.source.clone()] };
    let n = host.trend.bytes.len() as u64;
    let text = format!("at this rate the container's limit of {:.0} GiB is reached in {left:.0} h", gib(limit));
    (left.is_finite() && left > 0.0).then(|| Measurement { value, interval: None, n, source }.fact(text))
}

fn flat(held: &Held) -> Fact {
    let growth = held.growth();
    let n = held.trend.bytes.len();
    let grew = match growth.value.0 {
        0.0 => "did not grow".to_owned(),
        bytes => size(bytes),
    };
    growth.fact(format!("{}: {grew} in {} over {n} samples", held.name, time(hours(held))))
}

/// A time in the unit that suits it.
fn time(hours: f64) -> String {
    if hours < 1.0 { format!("{:.0} min", hours * 60.0) } else { format!("{hours:.1} h") }
}

/// A size in the unit that suits it.
fn size(bytes: f64) -> String {
    match bytes.abs() {
        large if large >= 1024.0 * Bytes::MIB => format!("{:.2} GiB", bytes / (1024.0 * Bytes::MIB)),
        medium if medium >= Bytes::MIB => format!("{:.1} MiB", bytes / Bytes::MIB),
        _ => format!("{:.2} KiB", bytes / 1024.0),
    }
}

/// A fact about a size of a holder.
fn about(held: &Held, bytes: f64, text: String) -> Fact {
    Measurement { value: Bytes(bytes), ..held.growth() }.fact(text)
}

//! Who holds memory, from what is known of it: snapshots of processes, a process exporter, the container, the devices.

use super::{Clocks, Held, Holder, Trend};
use firstcheck_model::{
    evidence::{Evidence, MemorySamples, RunEvidence},
    measurement::Source,
    moment::Moment,
    run::RunId,
    signal::{Labels, Part, Series, Signal},
    unit::Bytes,
};

/// Everything that is known, in a fixed order.
pub(super) fn all(evidence: &Evidence) -> Vec<Held> {
    let snapshots = evidence.memory.iter().flat_map(|one| processes(evidence, &one.label, &one.item));
    let scraped = evidence.runs.iter().flat_map(scraped);
    snapshots.chain(scraped).collect()
}

/// A level over time that is the sum of some series, with signs.
struct Level<'s> {
    holder: Holder,
    name: String,
    parts: Vec<(f64, &'s Series)>,
}

impl Level<'_> {
    /// The level over the window, at the moments of its first series after the last restart of what it is of.
    fn held(self, run: Option<&RunEvidence>, label: &str, shift_ns: i64, pod: Option<&str>) -> Option<Held> {
        let (_, first) = self.parts.first()?;
        let window = run.and_then(|run| run.info.window);
        let started = run.map_or(Moment::NEVER, |run| last_restart(run, pod));
        let (mut at, mut bytes) = (Vec::new(), Vec::new());
        for moment in &first.at {
            let value = |(sign, series): &(f64, &Series)| {
                let place = series.at.binary_search(moment).ok()?;
                Some(sign * series.value.get(place)?)
            };
            let sum: Option<f64> = self.parts.iter().map(value).sum();
            let on_run = moment.plus_ns(shift_ns);
            let inside = window.is_none_or(|window| window.contains(on_run)) && on_run >= started;
            if let Some(sum) = sum.filter(|_| inside) {
                at.push(on_run);
                bytes.push(sum);
            }
        }
        let (from_ns, to_ns) = (*at.first()?, *at.last()?);
        let id = run.map_or_else(|| RunId(label.to_owned()), |run| run.info.id.clone());
        let source =
            Source::Series { run: id, name: first.name.clone(), labels: first.labels.render(), from_ns, to_ns };
        let clocks = Clocks::at(run, pod, &at);
        let limit = run.and_then(|run| limit(run, pod));
        Some(Held { holder: self.holder, name: self.name, trend: Trend::of(at, bytes)?, clocks, source, limit })
    }
}

/// When the process of a pod was last seen to start anew inside the run.
fn last_restart(run: &RunEvidence, pod: Option<&str>) -> Moment {
    let of_pod = |series: &&Series| pod.is_none_or(|pod| series.page == pod || series.labels.get("pod") == Some(pod));
    let starts = run.series(Signal::ProcessStart, Part::Value).filter(of_pod);
    let changes = starts.flat_map(|series| {
        let pairs = series.value.windows(2).zip(series.at.iter().skip(1));
        pairs.filter(|(pair, _)| pair[0] != pair[1]).map(|(_, at)| *at)
    });
    changes.max().unwrap_or(Moment::NEVER)
}

fn limit(run: &RunEvidence, pod: Option<&str>) -> Option<f64> {
    let of_pod = |series: &&Series| pod.is_none_or(|pod| series.labels.get("pod").is_none_or(|own| own == pod));
    let limits = run.series(Signal::ContainerLimit, Part::Value).filter(of_pod);
    limits.filter_map(|series| series.value.last()).copied().find(|limit| *limit > 0.0)
}

/// Processes by their snapshots. They are put on the clock of the run that lies around them, where both are dated.
fn processes(evidence: &Evidence, label: &str, samples: &MemorySamples) -> Vec<Held> {
    let named = |name: &str| format!("smaps_rollup:{name}");
    let own = |labels: &Labels, name: &str| {
        samples.series.iter().find(|series| series.name == named(name) && series.labels == *labels)
    };
    let anonymous = samples.series.iter().filter(|series| series.name == named("Anonymous"));
    let (run, shift_ns) = around(evidence, samples).map_or((None, 0), |(run, shift)| (Some(run), shift));
    let pod = run.and_then(|run| pod_of(run, label));
    anonymous
        .flat_map(|anonymous| {
            let labels = &anonymous.labels;
            let name = labels.get("pid").map_or_else(|| label.to_owned(), |pid| format!("process {pid}"));
            let swapped = own(labels, "Swap").map(|swapped| (1.0, swapped));
            let parts = [(1.0, anonymous)].into_iter().chain(swapped).collect();
            let shared = own(labels, "Pss_Shmem").map(|shared| Level {
                holder: Holder::ProcessShared,
                name: name.clone(),
                parts: vec![(1.0, shared)],
            });
            [Some(Level { holder: Holder::Process, name, parts }), shared]
        })
        .flatten()
        .filter_map(|level| level.held(run, label, shift_ns, pod.as_deref()))
        .collect()
}

/// The run that snapshots lie in, and what is added to their moments to be on its clock.
fn around<'e>(evidence: &'e Evidence, samples: &MemorySamples) -> Option<(&'e RunEvidence, i64)> {
    let started = samples.started_unix_ns?;
    evidence.runs.iter().find_map(|run| {
        let shift = started.saturating_sub(run.info.clock.started_unix_ns?);
        let last = samples.series.iter().filter_map(|series| series.at.last()).max()?;
        let span = run.span()?;
        (last.plus_ns(shift) > span.start && Moment::at(shift) < span.end).then_some((run, shift))
    })
}

/// The page that a file's name names, as `smaps_rollup-replica-0.txt`.
fn pod_of(run: &RunEvidence, label: &str) -> Option<String> {
    let pages = run.signals.iter().map(|series| series.page.as_str()).filter(|page| label.contains(*page));
    pages.max_by_key(|page| page.len()).map(str::to_owned)
}

/// What pages tell of processes, containers and devices.
fn scraped(run: &RunEvidence) -> Vec<Held> {
    let mut levels: Vec<(Level<'_>, Option<String>)> = Vec::new();
    let beside = |signal: Signal, labels: &Labels, but: &str| {
        let same = |series: &&Series| without(&series.labels, but) == without(labels, but);
        run.series(signal, Part::Value).find(same)
    };
    for resident in run.series(Signal::ProcessMemory, Part::Value) {
        let group = resident.labels.get("groupname");
        let name = group.map_or_else(|| "the process of the page".to_owned(), str::to_owned);
        let swapped = group.and_then(|_| beside(Signal::ProcessSwap, &resident.labels, "memtype"));
        let parts = [(1.0, resident)].into_iter().chain(swapped.map(|s| (1.0, s))).collect();
        let pod = resident.labels.get("pod").map_or_else(|| resident.page.clone(), str::to_owned);
        levels.push((Level { holder: Holder::ProcessResident, name, parts }, Some(pod)));
    }
    for rss in run.series(Signal::ContainerRss, Part::Value) {
        let pod = rss.labels.get("pod").map(str::to_owned);
        let name = pod.as_ref().map_or_else(|| "the container".to_owned(), |pod| format!("the container of {pod}"));
        let swap = beside(Signal::ContainerSwap, &rss.labels, "").map(|swap| (1.0, swap));
        let parts = [(1.0, rss)].into_iter().chain(swap).collect();
        levels.push((Level { holder: Holder::Container, name: name.clone(), parts }, pod.clone()));
        if let Some(working) = beside(Signal::ContainerWorkingSet, &rss.labels, "") {
            let parts = vec![(1.0, working), (-1.0, rss)];
            levels.push((Level { holder: Holder::ContainerShared, name, parts }, pod));
        }
    }
    for used in run.series(Signal::GpuMemoryUsed, Part::Value) {
        let name = used.labels.get("gpu").map_or_else(|| "a device".to_owned(), |gpu| format!("GPU {gpu}"));
        let pod = used.labels.get("pod").map(str::to_owned);
        levels.push((Level { holder: Holder::Device, name, parts: vec![(Bytes::MIB, used)] }, pod));
    }
    let label = run.label.as_str();
    levels.into_iter().filter_map(|(level, pod)| level.held(Some(run), label, 0, pod.as_deref())).collect()
}

fn without(labels: &Labels, name: &str) -> Vec<(String, String)> {
    labels.0.iter().filter(|(known, _)| known != name).cloned().collect()
}

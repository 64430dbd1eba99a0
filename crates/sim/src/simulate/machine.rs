//! The machine's own account over a run: sampled with the metrics pages.

use super::scrape::{LayoutKey, Page};
use crate::{
    deployment::fleet::Fleet,
    emit::{
        attachment::Attachment,
        calendar::WallClock,
        machine::{Meter, Seen, container_page, gpu_page, smaps_rollup},
        metrics::Family,
    },
    memory::HostUse,
};
use firstcheck_model::signal::Series;

/// Pages of the GPU exporter and of the container runtime, and snapshots of memory.
#[derive(Debug)]
pub(super) struct MachineWatch {
    replicas: Vec<Watched>,
    gpu: Page,
    container: Page,
}

/// What is kept of one replica.
#[derive(Debug)]
struct Watched {
    name: String,
    meter: Meter,
    smaps: String,
}

impl MachineWatch {
    pub(super) fn new(fleet: &Fleet) -> Self {
        let watched = |replica| Watched {
            name: fleet.deployment().name_of(replica),
            meter: Meter::default(),
            smaps: String::new(),
        };
        Self {
            replicas: (0..fleet.members().len()).map(watched).collect(),
            gpu: Page::new("dcgm"),
            container: Page::new("cadvisor"),
        }
    }

    pub(super) fn sample(&mut self, fleet: &Fleet, at_ns: i64) {
        let unix_seconds = WallClock::default().unix_ns(at_ns) as f64 * 1e-9;
        for (pid, (watched, member)) in (2375..).step_by(1000).zip(self.replicas.iter_mut().zip(fleet.members())) {
            let (config, stats) = (member.engine().config(), member.engine().stats());
            watched.meter.read(Seen { name: &watched.name, config, stats }, at_ns);
            watched.smaps.push_str(&smaps_rollup(&HostUse::of(config, stats), unix_seconds, pid));
        }
        let seen: Vec<(Seen<'_>, Meter)> = self
            .replicas
            .iter()
            .zip(fleet.members())
            .map(|(watched, member)| {
                let (config, stats) = (member.engine().config(), member.engine().stats());
                (Seen { name: &watched.name, config, stats }, watched.meter)
            })
            .collect();
        let restarts = fleet.members().iter().map(|member| member.restarts()).sum();
        add(&mut self.gpu, restarts, &gpu_page(&seen), at_ns);
        add(&mut self.container, restarts, &container_page(&seen), at_ns);
    }

    /// The series of its pages, and its files.
    pub(super) fn finish(self) -> (Vec<Series>, Vec<Attachment>) {
        let files = self
            .replicas
            .into_iter()
            .map(|watched| Attachment::text(format!("smaps_rollup-{}.txt", watched.name), watched.smaps));
        let files = files.collect();
        (self.gpu.into_series().chain(self.container.into_series()).collect(), files)
    }
}

fn add(page: &mut Page, restarts: u32, families: &[Family<'_>], at_ns: i64) {
    page.add(LayoutKey::new(0, restarts, families), families, "", at_ns);
}

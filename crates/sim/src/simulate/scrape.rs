//! Samples of the metrics pages over a run.

use super::{SimulateOptions, machine::MachineWatch, nanoseconds};
use crate::{
    deployment::{ScrapeMode, fleet::Fleet, member::Member},
    emit::{
        attachment::Attachment,
        metrics::{Family, Process, engine_labels, families, of_server, suffix},
    },
};
use firstcheck_model::{
    moment::{Moment, Window},
    signal::{Labels, Series},
};
use firstcheck_workload::trace::{Due, Trace};

/// Takes samples at the run's start, at the window's start, every interval from there, at the window's end and at the
/// run's end.
#[derive(Debug)]
pub(super) struct Scraper {
    pages: Vec<Page>,
    start_ns: i64,
    interval_ns: i64,
    /// End of the window, where it is known before the run.
    end_ns: Option<i64>,
    regular_ns: i64,
    window_end_due: bool,
    last_ns: Option<i64>,
    /// Readings taken so far.
    readings: usize,
    /// The machine, where its account is asked for.
    machine: Option<MachineWatch>,
}

impl Scraper {
    pub(super) fn new(fleet: &Fleet, trace: &Trace, options: &SimulateOptions) -> Self {
        let start_ns = nanoseconds(options.warm_up);
        let end_ns = options.window_end.and_then(Moment::get).or_else(|| last_planned(trace).map(|at| at + 1));
        let mut scraper = Self {
            pages: Vec::new(),
            start_ns,
            interval_ns: nanoseconds(options.scrape_interval).max(1),
            end_ns,
            regular_ns: start_ns,
            window_end_due: end_ns.is_some(),
            last_ns: None,
            readings: 0,
            machine: options.artefacts.machine.then(|| MachineWatch::new(fleet)),
        };
        scraper.sample(fleet, 0);
        scraper
    }

    /// Takes the samples due before `now_ns`, of the state that holds until then.
    pub(super) fn before(&mut self, fleet: &Fleet, now_ns: i64) {
        loop {
            let window_end = self.end_ns.filter(|_| self.window_end_due).unwrap_or(i64::MAX);
            let due = self.regular_ns.min(window_end);
            if due >= now_ns {
                return;
            }
            self.sample(fleet, due);
            if due == self.regular_ns {
                self.regular_ns += self.interval_ns;
            }
            if due == window_end {
                self.window_end_due = false;
            }
        }
    }

    pub(super) fn end(&mut self, fleet: &Fleet, now_ns: i64) {
        self.before(fleet, now_ns);
        self.sample(fleet, now_ns);
        // A window that ends after the run's last event still needs a sample at its end.
        if let Some(end_ns) = self.end_ns.filter(|end_ns| self.window_end_due && *end_ns > now_ns) {
            self.sample(fleet, end_ns);
        }
    }

    /// The window, given when the run ended.
    pub(super) fn window(&self, run_end_ns: i64) -> Window {
        let end_ns = self.end_ns.unwrap_or_else(|| run_end_ns.saturating_add(1)).max(self.start_ns);
        Window { start: Moment::at(self.start_ns), end: Moment::at(end_ns) }
    }

    /// All series, and the files that the machine leaves.
    pub(super) fn finish(self) -> (Vec<Series>, Vec<Attachment>) {
        let (machine, files) = self.machine.map(MachineWatch::finish).unwrap_or_default();
        (self.pages.into_iter().flat_map(Page::into_series).chain(machine).collect(), files)
    }

    fn sample(&mut self, fleet: &Fleet, at_ns: i64) {
        if self.last_ns.is_some_and(|last| last >= at_ns) {
            return;
        }
        self.last_ns = Some(at_ns);
        if let Some(machine) = &mut self.machine {
            machine.sample(fleet, at_ns);
        }
        let deployment = fleet.deployment();
        let replicas = fleet.members().len();
        match deployment.scrape {
            _ if deployment.steps_together() => self.read_ranks(fleet, at_ns),
            ScrapeMode::EachReplica => {
                for replica in 0..replicas {
                    self.read(fleet, replica, replica, at_ns);
                }
            }
            ScrapeMode::LoadBalanced => self.read(fleet, self.readings % replicas, 0, at_ns),
        }
        self.readings += 1;
    }

    /// Reads a replica's page into the page of number `place`.
    fn read(&mut self, fleet: &Fleet, replica: usize, place: usize, at_ns: i64) {
        let member = &fleet.members()[replica];
        if !member.is_up() {
            // Nobody listens there.
            return;
        }
        let families = families(member.engine(), &process_of(member));
        self.add(fleet, place, LayoutKey::new(replica, member.restarts(), &families), &families, at_ns);
    }

    /// Reads the one page of all attention ranks of a server.
    fn read_ranks(&mut self, fleet: &Fleet, at_ns: i64) {
        let members = fleet.members();
        if !members.iter().all(Member::is_up) {
            return;
        }
        let families = of_server(members.iter().map(|member| families(member.engine(), &process_of(member))));
        let restarts = members.iter().map(Member::restarts).sum();
        self.add(fleet, 0, LayoutKey::new(0, restarts, &families), &families, at_ns);
    }

    fn add(&mut self, fleet: &Fleet, place: usize, key: LayoutKey, families: &[Family<'_>], at_ns: i64) {
        while self.pages.len() <= place {
            let name = fleet.deployment().page_of(self.pages.len());
            self.pages.push(Page::new(name));
        }
        let model = fleet.members().get(key.replica).map_or("", |member| &member.engine().config().model_name);
        self.pages[place].add(key, families, model, at_ns);
    }
}

fn process_of(member: &Member) -> Process {
    let resident_bytes = Some(member.engine().config().resident_bytes);
    Process { start_unix_seconds: member.started_seconds(), resident_bytes }
}

/// A metrics page over a run.
#[derive(Debug)]
pub(super) struct Page {
    name: String,
    series: Vec<Series>,
    /// Where the samples of a page of that layout go.
    layouts: Vec<(LayoutKey, Vec<usize>)>,
}

/// Readings that agree in it have the same samples in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LayoutKey {
    replica: usize,
    restarts: u32,
    samples: usize,
}

impl LayoutKey {
    pub(super) fn new(replica: usize, restarts: u32, families: &[Family<'_>]) -> Self {
        Self { replica, restarts, samples: samples(families).count() }
    }
}

impl Page {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), series: Vec::new(), layouts: Vec::new() }
    }

    pub(super) fn into_series(self) -> impl Iterator<Item = Series> {
        self.series.into_iter()
    }

    pub(super) fn add(&mut self, key: LayoutKey, families: &[Family<'_>], model: &str, at_ns: i64) {
        let layout = match self.layouts.iter().position(|(known, _)| *known == key) {
            Some(place) => place,
            None => {
                let new: Vec<Series> = skeleton(families, model, &self.name).collect();
                let places = new.into_iter().map(|series| self.place_of(series)).collect();
                self.layouts.push((key, places));
                self.layouts.len() - 1
            }
        };
        for (place, value) in self.layouts[layout].1.iter().zip(samples(families)) {
            let series = &mut self.series[*place];
            series.at.push(Moment::at(at_ns));
            series.value.push(value);
        }
    }

    fn place_of(&mut self, new: Series) -> usize {
        let same = |old: &Series| old.name == new.name && old.part == new.part && old.labels == new.labels;
        self.series.iter().position(same).unwrap_or_else(|| {
            self.series.push(new);
            self.series.len() - 1
        })
    }
}

fn samples<'a>(families: &'a [Family<'_>]) -> impl Iterator<Item = f64> + 'a {
    families.iter().flat_map(|family| family.samples.iter().map(|sample| sample.value))
}

/// The last send that the trace fixes, if it fixes all of them.
fn last_planned(trace: &Trace) -> Option<i64> {
    let mut last = None;
    for item in &trace.items {
        let Due::At(at) = item.due else { return None };
        last = last.max(at.get());
    }
    last
}

/// Series without samples, one for each sample of the page.
fn skeleton<'a>(families: &'a [Family<'_>], model: &'a str, page: &'a str) -> impl Iterator<Item = Series> + 'a {
    families.iter().flat_map(move |family| {
        family.samples.iter().map(move |sample| {
            let own = sample.labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into_owned()));
            let engine = engine_labels(family.engine_labels, model).map(|(name, value)| (name.into(), value.into()));
            Series {
                name: format!("{}{}", family.name, suffix(sample.part)),
                labels: Labels::new(own.chain(engine).collect()),
                page: page.to_owned(),
                kind: family.series_kind(),
                part: sample.part,
                signal: None,
                at: Vec::new(),
                value: Vec::new(),
            }
        })
    })
}

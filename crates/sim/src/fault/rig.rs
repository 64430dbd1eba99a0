//! What a fault can change.

use super::Fault;
use crate::deployment::{Call, Deployment, Offer, Phase, Render, Row};
use firstcheck_workload::trace::{Due, Offered, Trace};
use std::sync::Arc;

/// A deployment with its workload, as it is while a fault acts.
#[derive(Debug)]
pub struct Rig<'t> {
    /// The deployment: its replicas, their router, how its metrics are read, and its client.
    pub deployment: Deployment,
    trace: &'t Trace,
    fault: u64,
    start_ns: i64,
    end_ns: Option<i64>,
    renders: Vec<Render>,
    offers: Vec<Offer>,
    others: Vec<Offered>,
}

impl<'t> Rig<'t> {
    pub(super) fn new(deployment: Deployment, trace: &'t Trace) -> Self {
        Self {
            deployment,
            trace,
            fault: 0,
            start_ns: 0,
            end_ns: None,
            renders: Vec::new(),
            offers: Vec::new(),
            others: Vec::new(),
        }
    }

    /// The workload as the trace has it.
    pub fn trace(&self) -> &'t Trace {
        self.trace
    }

    /// Requests a second that the trace sends; `None` where it fixes no times.
    pub fn rate(&self) -> Option<f64> {
        let sends = self.trace.items.iter().filter_map(|item| match item.due {
            Due::At(at) => at.seconds(),
            _ => None,
        });
        let (count, last) = sends.fold((0_u32, 0.0), |(count, last), at| (count + 1, f64::max(last, at)));
        (last > 0.0).then(|| f64::from(count) / last)
    }

    /// Number of the fault that is being applied, among those of the scenario.
    pub(super) fn fault(&self) -> u64 {
        self.fault
    }

    /// When the fault that is being applied starts, nanoseconds.
    pub fn start_ns(&self) -> i64 {
        self.start_ns
    }

    /// When it ends, nanoseconds; `None`: at the run's end.
    pub fn end_ns(&self) -> Option<i64> {
        self.end_ns
    }

    /// The server changes each prompt that arrives while the fault acts, before the engine sees it (a chat template, a
    /// tokeniser). The client does not know. `change` is given the call and its time of arrival in nanoseconds.
    pub fn server_renders(&mut self, change: impl Fn(&mut Call, i64) + Send + Sync + 'static) {
        self.renders.push(Render(Arc::new(change)));
    }

    /// The client sends other rows than its trace says while the fault acts: other lengths, other prompts. Not for
    /// deployments behind HTTP, whose client is somebody else.
    pub fn client_sends(&mut self, change: impl Fn(&mut Row) + Send + Sync + 'static) {
        self.offers.push(Offer(Arc::new(change)));
    }

    /// Somebody else sends a request, which is served and not recorded; its `due` must be a moment.
    pub fn others_send(&mut self, offered: Offered) {
        self.others.push(offered);
    }

    /// Applies the fault of that number in a phase that begins at `phase_ns`.
    pub(super) fn apply(&mut self, fault: &Fault, number: u64, phase_ns: i64) {
        self.fault = number;
        (self.start_ns, self.end_ns) = (fault.start_ns, fault.ends_ns());
        let before = self.others.len();
        (fault.spec.apply)(&fault.values, self);
        // What others send holds for the whole of the fault: it is taken once, where the fault starts.
        if fault.start_ns != phase_ns {
            self.others.truncate(before);
        }
    }

    /// The phase that it is, and what others send.
    pub(super) fn finish(self, start_ns: i64) -> (Phase, Vec<Offered>) {
        let phase = Phase { start_ns, deployment: self.deployment, renders: self.renders, offers: self.offers };
        (phase, self.others)
    }
}

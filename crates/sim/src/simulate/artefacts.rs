//! What is written beside the recording: the files that an engine and the machine under it leave.

use super::{dumps::DumpWatch, steps::StepWatch};
use crate::{
    deployment::{Deployment, fleet::Fleet, member::Member},
    emit::{
        attachment::Attachment,
        log::{Death, LogOptions, Notice, ServerLog},
    },
    engine,
};

/// Which files a run leaves. All of them cost memory that grows with the run's length, none with its requests unless it
/// says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Artefacts {
    /// `server-<replica>.log`: the server's log; `server.log` of a server of attention ranks, for all of them.
    pub logs: bool,
    /// Whether the servers log at DEBUG.
    pub verbose: bool,
    /// Pages `dcgm` and `cadvisor` among the series, and `smaps_rollup-<replica>.txt`: GPUs, container and processes,
    /// sampled with the metrics.
    pub machine: bool,
    /// `traces.jsonl`: a span a request, as the server exports it. Grows with the number of requests; requests then
    /// carry their trace ids, and the run its start on the wall clock.
    pub spans: bool,
    /// `steps-<replica>.jsonl`: a line a step. Grows with the number of steps.
    pub steps: bool,
    /// Stack dumps and flight records of every rank of an engine that hangs, taken after a minute.
    pub dumps: bool,
    /// `prompts.jsonl`: the first 1,000 prompts as the servers render them; requests
    /// then carry the hash of what the client sent.
    pub prompts: bool,
}

impl Artefacts {
    /// All of them.
    pub const ALL: Self =
        Self { logs: true, verbose: false, machine: true, spans: true, steps: true, dumps: true, prompts: true };

    /// Whether something in them is dated by the wall clock.
    pub(super) fn dated(self) -> bool {
        self.logs || self.machine || self.spans || self.dumps
    }
}

/// Watches a run and writes what it leaves.
#[derive(Debug)]
pub(super) struct Witness {
    logs: Vec<Logged>,
    steps: Option<StepWatch>,
    dumps: Option<DumpWatch>,
}

/// The log of one server, and what it has told already of the replica, or of its ranks.
#[derive(Debug)]
struct Logged {
    log: ServerLog,
    restarts: u32,
    dead: bool,
}

impl Witness {
    pub(super) fn new(fleet: &Fleet, artefacts: Artefacts) -> Self {
        let logged = |(place, member): (usize, &Member)| {
            let pid = 2375 + 1000 * place as u32;
            let options = LogOptions { verbose: artefacts.verbose, pid, ..LogOptions::default() };
            let mut log = ServerLog::new(member.asked(), options);
            log.start(member.start());
            Logged { log, restarts: 0, dead: false }
        };
        let members = fleet.members().iter().enumerate();
        let servers = if fleet.deployment().steps_together() { 1 } else { fleet.members().len() };
        Self {
            logs: if artefacts.logs { members.take(servers).map(logged).collect() } else { Vec::new() },
            steps: artefacts.steps.then(|| StepWatch::new(fleet)),
            dumps: artefacts.dumps.then(|| DumpWatch::new(fleet)),
        }
    }

    /// Writes what is due before `now_ns`, of the state that holds until then.
    pub(super) fn before(&mut self, fleet: &Fleet, now_ns: i64) {
        let ranks = fleet.deployment().steps_together();
        for (place, member) in fleet.members().iter().enumerate() {
            if let Some(logged) = self.logs.get_mut(if ranks { 0 } else { place }) {
                logged.log.advance(member.engine(), now_ns);
            }
        }
    }

    /// Writes what has just happened.
    pub(super) fn after(&mut self, fleet: &Fleet, now_ns: i64) {
        if let Some(steps) = &mut self.steps {
            steps.look(fleet);
        }
        if let Some(dumps) = &mut self.dumps {
            dumps.look(fleet, now_ns);
        }
        for (logged, member) in self.logs.iter_mut().zip(fleet.members()) {
            let death = member.engine().death();
            if let (false, Some(death)) = (logged.dead, death) {
                logged.log.notice(now_ns, &Notice::Died(told(death)));
            }
            logged.dead = death.is_some();
            if member.restarts() > logged.restarts {
                logged.restarts = member.restarts();
                logged.log.notice(now_ns, &Notice::Shutdown);
                logged.log.start_again(now_ns, member.asked(), member.start());
            }
        }
    }

    /// The files.
    pub(super) fn into_attachments(self, deployment: &Deployment) -> Vec<Attachment> {
        let named = |(place, logged): (usize, Logged)| {
            let of =
                if deployment.steps_together() { String::new() } else { format!("-{}", deployment.name_of(place)) };
            Attachment::text(format!("server{of}.log"), logged.log.into_text())
        };
        let steps = self.steps.map(|steps| steps.finish(deployment)).unwrap_or_default();
        let dumps = self.dumps.map(DumpWatch::finish).unwrap_or_default();
        self.logs.into_iter().enumerate().map(named).chain(steps).chain(dumps).collect()
    }
}

/// An engine's death as its log tells it.
fn told(death: &engine::Death) -> Death {
    match death {
        engine::Death::Killed => Death::Killed,
        engine::Death::OutOfMemory(memory) => Death::EncoderOutOfMemory {
            gpu: 0,
            tried: memory.tried_bytes,
            free: memory.reserve_bytes - memory.held_bytes,
        },
    }
}

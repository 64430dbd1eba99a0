//! The event core: the replicas of a deployment with their router, each with its own next event.
//!
//! It knows no clock. Whoever drives it asks [`Fleet::next_ns`], calls [`Fleet::begin_phases`] with that time, hands in
//! what arrives until then, and calls [`Fleet::advance`].

use super::{
    Call, Deployment, DeploymentError, Phase, Scenario,
    member::{Member, NEVER},
};
use crate::{
    engine::{Refusal, StepResult},
    request::{NewRequest, RequestId},
    router::{Asked, Router},
};

/// Where a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    replica: u32,
    id: RequestId,
}

impl Ticket {
    /// The replica that holds it.
    pub(crate) fn replica(self) -> usize {
        self.replica as usize
    }
}

/// What happened in a replica.
#[derive(Debug)]
pub(crate) enum Happening<'a> {
    /// A step ended.
    Step(StepResult<'a>),
    /// Its process was started again: all that it held is lost.
    Restarted,
}

/// A deployment while it runs.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    phases: Vec<Phase>,
    /// The phase in force.
    phase: usize,
    members: Vec<Member>,
    /// All replicas, by number.
    candidates: Vec<usize>,
    router: Router,
    overhead_ns: i64,
    seed: u64,
}

impl Fleet {
    /// The deployment at rest, as it starts. `seed` draws the spread of step times.
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Result<Self, DeploymentError> {
        let deployment = scenario.deployment();
        deployment.validate()?;
        let member = |(place, replica): (usize, &super::Replica)| {
            let name = || deployment.name_of(place);
            let refused = |source| DeploymentError::Engine { replica: name(), source };
            Member::new(replica.engine.clone(), seed, place).map_err(refused)
        };
        let members = deployment.replicas.iter().enumerate().map(member).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            candidates: (0..members.len()).collect(),
            router: Router::new(deployment.routing, members.len()),
            overhead_ns: nanoseconds(deployment.routing.overhead_seconds),
            members,
            phases: scenario.phases().to_vec(),
            phase: 0,
            seed,
        })
    }

    /// The replicas.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// The phase in force.
    pub(crate) fn phase(&self) -> &Phase {
        &self.phases[self.phase]
    }

    /// The deployment as it is now.
    pub(crate) fn deployment(&self) -> &Deployment {
        &self.phase().deployment
    }

    /// When something happens next if nothing arrives; the begin of a phase counts.
    pub(crate) fn next_ns(&self) -> Option<i64> {
        let phase = self.phases.get(self.phase + 1).map_or(NEVER, |phase| phase.start_ns);
        let next = self.members.iter().map(Member::due_ns).fold(phase, i64::min);
        (next != NEVER).then_some(next)
    }

    /// Whether no replica has anything to do until a request arrives.
    pub(crate) fn is_idle(&self) -> bool {
        self.members.iter().all(Member::is_idle)
    }

    /// Takes a request in at `now_ns` and sends it to a replica.
    pub(crate) fn submit(&mut self, now_ns: i64, mut call: Call) -> Result<Ticket, Refusal> {
        self.phases[self.phase].render(&mut call, now_ns);
        self.read_loads(now_ns);
        let asked = Asked { prompt: &call.prompt, session: call.session };
        let replica = self.router.choose(&self.candidates, asked);
        let request = NewRequest {
            tag: call.tag,
            prompt: call.prompt.into(),
            max_tokens: call.max_tokens,
            min_tokens: call.min_tokens,
            ignore_eos: call.ignore_eos,
            features: call.features,
            sampling: call.sampling,
        };
        match self.members[replica].submit(now_ns, now_ns.saturating_add(self.overhead_ns), request) {
            Ok(id) => Ok(Ticket { replica: replica as u32, id }),
            Err(refusal) => {
                self.router.ended(replica, 1);
                Err(refusal)
            }
        }
    }

    /// Gives a request up; whether it was there.
    pub(crate) fn abort(&mut self, now_ns: i64, ticket: Ticket) -> bool {
        let replica = ticket.replica();
        let there = self.members[replica].abort(now_ns, ticket.id);
        if there {
            self.router.ended(replica, 1);
        }
        there
    }

    /// Begins the phases that are due at `now_ns`. What arrives at the same moment comes after it.
    pub(crate) fn begin_phases(&mut self, now_ns: i64, mut sink: impl FnMut(usize, Happening<'_>)) {
        while self.phases.get(self.phase + 1).is_some_and(|next| next.start_ns <= now_ns) {
            self.phase += 1;
            self.enter_phase(now_ns, &mut sink);
        }
    }

    /// Does all that is due at `now_ns` and tells `sink` of it, replica by replica: steps end, steps begin.
    pub(crate) fn advance(&mut self, now_ns: i64, mut sink: impl FnMut(usize, Happening<'_>)) {
        self.read_loads(now_ns);
        for (place, member) in self.members.iter_mut().enumerate() {
            if member.due_ns() > now_ns {
                continue;
            }
            if let Some(result) = member.finish(now_ns) {
                self.router.ended(place, result.finished.len() as u32);
                sink(place, Happening::Step(result));
            }
            member.begin(now_ns);
        }
    }

    fn enter_phase(&mut self, now_ns: i64, sink: &mut impl FnMut(usize, Happening<'_>)) {
        let deployment = &self.phases[self.phase].deployment;
        for (place, (member, replica)) in self.members.iter_mut().zip(&deployment.replicas).enumerate() {
            if member.become_config(now_ns, &replica.engine, self.seed, place) {
                self.router.lost(place);
                sink(place, Happening::Restarted);
            }
        }
        self.router.reconfigure(deployment.routing);
        self.overhead_ns = nanoseconds(deployment.routing.overhead_seconds);
    }

    fn read_loads(&mut self, now_ns: i64) {
        if self.router.reads(now_ns) {
            let load = |member: &Member| {
                let gauges = member.engine().stats().gauges;
                (gauges.running + gauges.waiting) as f64
            };
            self.router.observe(now_ns, self.members.iter().map(load));
        }
    }
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

//! The event core: the replicas of a deployment with their router, each with its own next event.
//!
//! It knows no clock. Whoever drives it asks [`Fleet::next_ns`], calls [`Fleet::begin_phases`] with that time, hands in
//! what arrives until then, and calls [`Fleet::advance`].

use super::{
    Call, Deployment, DeploymentError, HandedOver, Phase, Role, Scenario,
    handover::{Arrival, Handover, Place},
    member::{Member, NEVER},
};
use crate::{
    engine::{Finished, Refusal, StepResult},
    request::{FinishReason, NewRequest, RequestId},
    router::{Asked, Router},
};

/// Where a request was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    tag: u64,
    replica: u32,
    id: RequestId,
}

impl Ticket {
    /// The replica that took it.
    pub(crate) fn replica(self) -> usize {
        self.replica as usize
    }
}

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    /// HTTP status; `None`: nobody listens.
    pub(crate) status: Option<u16>,
    pub(crate) message: String,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { status: Some(refusal.status()), message: refusal.to_string() }
    }
}

/// What happened in a replica.
#[derive(Debug)]
pub(crate) enum Happening<'a> {
    /// A step ended.
    Step(StepResult<'a>),
    /// Its process was started again: all that it held is lost.
    Restarted,
    /// A request came to it from the other pool.
    HandedOver(u64, HandedOver),
    /// A request was lost between the pools, or with one of their replicas.
    Failed(u64, &'static str),
}

/// A deployment while it runs.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    phases: Vec<Phase>,
    /// The phase in force.
    phase: usize,
    members: Vec<Member>,
    /// Replicas that take requests in.
    entry: Vec<usize>,
    /// Replicas that answer what others have computed the prompt of.
    decode: Vec<usize>,
    /// Between the two pools, where there are two.
    handover: Option<Box<Handover>>,
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
        let pools = deployment.is_disaggregated();
        let handover = || Box::new(Handover::new(deployment.transfer, deployment.replicas.len(), seed));
        let mut fleet = Self {
            entry: Vec::new(),
            decode: Vec::new(),
            handover: pools.then(handover),
            router: Router::new(deployment.routing, members.len()),
            overhead_ns: nanoseconds(deployment.routing.overhead_seconds),
            members,
            phases: scenario.phases().to_vec(),
            phase: 0,
            seed,
        };
        fleet.count_replicas();
        Ok(fleet)
    }

    /// Finds out which replicas can be sent requests: those that have started.
    fn count_replicas(&mut self) {
        let up = |deployment: &Deployment, members: &[Member], role| -> Vec<usize> {
            deployment.in_role(role).into_iter().filter(|place| members[*place].is_up()).collect()
        };
        let deployment = &self.phases[self.phase].deployment;
        let entry = if self.handover.is_some() { Role::Prefill } else { Role::Unified };
        (self.entry, self.decode) = (up(deployment, &self.members, entry), up(deployment, &self.members, Role::Decode));
        // With half of its pools a deployment serves nothing.
        if self.handover.is_some() && self.decode.is_empty() {
            self.entry.clear();
        }
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
        let phase = self.phases.get(self.phase + 1).map(|phase| phase.start_ns);
        match (self.next_work_ns(), phase) {
            (Some(work), Some(phase)) => Some(work.min(phase)),
            (work, phase) => work.or(phase),
        }
    }

    /// When there is something to do next if nothing arrives.
    pub(crate) fn next_work_ns(&self) -> Option<i64> {
        let arriving = self.handover.as_ref().map_or(NEVER, |handover| handover.next_ns());
        let next = self.members.iter().map(Member::due_ns).fold(arriving, i64::min);
        (next != NEVER).then_some(next)
    }

    /// Whether there is nothing to do until a request arrives.
    pub(crate) fn is_idle(&self) -> bool {
        self.members.iter().all(Member::is_idle) && self.handover.as_ref().is_none_or(|handover| handover.is_idle())
    }

    /// What the server's template makes of a request that arrives at `now_ns`.
    pub(crate) fn render(&self, now_ns: i64, call: &mut Call) {
        self.phase().render(call, now_ns);
    }

    /// Takes a rendered request in at `now_ns` and sends it to a replica.
    pub(crate) fn submit(&mut self, now_ns: i64, call: Call) -> Result<Ticket, Refused> {
        if self.entry.is_empty() {
            return Err(Refused { status: None, message: "connection refused".into() });
        }
        self.read_loads(now_ns);
        let asked = Asked { prompt: &call.prompt, session: call.session };
        let replica = self.router.choose(&self.entry, asked);
        let tag = call.tag;
        let request = NewRequest {
            tag,
            prompt: call.prompt.into(),
            max_tokens: call.max_tokens,
            min_tokens: call.min_tokens,
            ignore_eos: call.ignore_eos,
            features: call.features,
            sampling: call.sampling,
        };
        let at_ns = now_ns.saturating_add(self.overhead_ns);
        let submitted = match &mut self.handover {
            None => self.members[replica].submit(now_ns, at_ns, request),
            Some(handover) => {
                let first_hop = Handover::first_hop(&request);
                let submitted = self.members[replica].submit(now_ns, at_ns, first_hop);
                if let Ok(id) = submitted {
                    handover.begin(request, replica, id);
                }
                submitted
            }
        };
        match submitted {
            Ok(id) => Ok(Ticket { tag, replica: replica as u32, id }),
            Err(refusal) => {
                self.router.ended(replica, 1);
                Err(refusal.into())
            }
        }
    }

    /// Gives a request up; whether it was there.
    pub(crate) fn abort(&mut self, now_ns: i64, ticket: Ticket) -> bool {
        let (replica, id) = match self.handover.as_mut().map(|handover| handover.over(ticket.tag)) {
            None => (ticket.replica(), ticket.id),
            Some(None) => return false,
            Some(Some((Place::In(replica, id), _))) => (replica, id),
            Some(Some((Place::Between, to))) => {
                to.into_iter().for_each(|to| self.router.ended(to, 1));
                return true;
            }
        };
        let there = self.members[replica].abort(now_ns, id);
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

    fn enter_phase(&mut self, now_ns: i64, sink: &mut impl FnMut(usize, Happening<'_>)) {
        let deployment = &self.phases[self.phase].deployment;
        for (place, (member, replica)) in self.members.iter_mut().zip(&deployment.replicas).enumerate() {
            if !member.become_config(now_ns, &replica.engine, self.seed, place) {
                continue;
            }
            self.router.lost(place);
            let Some(handover) = &mut self.handover else {
                sink(place, Happening::Restarted);
                continue;
            };
            for tag in handover.in_replica(place) {
                handover.over(tag);
                sink(place, Happening::Failed(tag, RESET));
            }
        }
        self.router.reconfigure(deployment.routing);
        self.overhead_ns = nanoseconds(deployment.routing.overhead_seconds);
        if let Some(handover) = &mut self.handover {
            handover.transfer = deployment.transfer;
        }
        self.count_replicas();
    }

    /// Does all that is due at `now_ns` and tells `sink` of it, replica by replica: transfers end, steps end, steps
    /// begin. They begin at `resume_ns`, which is later where real time has run ahead.
    pub(crate) fn advance(&mut self, now_ns: i64, resume_ns: i64, mut sink: impl FnMut(usize, Happening<'_>)) {
        self.read_loads(now_ns);
        while let Some(arrival) = self.handover.as_mut().and_then(|handover| handover.arrive(now_ns)) {
            self.take_over(now_ns, arrival, &mut sink);
        }
        let together = self.deployment().steps_together();
        for (place, member) in self.members.iter_mut().enumerate() {
            if member.due_ns() > now_ns {
                continue;
            }
            if let Some(result) = member.finish(now_ns) {
                self.router.ended(place, result.finished.len() as u32);
                match &mut self.handover {
                    None => sink(place, Happening::Step(result)),
                    Some(handover) if self.decode.contains(&place) => {
                        for ended in result.finished {
                            handover.over(ended.tag);
                        }
                        sink(place, Happening::Step(result));
                    }
                    Some(handover) => {
                        for ended in result.finished {
                            hand_over(handover, &mut self.router, &self.decode, now_ns, place, ended, &mut sink);
                        }
                    }
                }
            }
            if !together {
                member.begin(resume_ns);
            }
        }
        if together && self.members.iter().any(|member| member.due_ns() <= now_ns) {
            self.step_together(resume_ns);
        }
    }

    /// All ranks of the server begin a step, which ends when the slowest has ended its own part.
    fn step_together(&mut self, at_ns: i64) {
        if self.members.iter().any(Member::in_step) {
            return;
        }
        self.members.iter_mut().for_each(|member| member.begin(at_ns));
        if let Some(end_ns) = self.members.iter().filter_map(Member::own_end_ns).max() {
            self.members.iter_mut().for_each(|member| member.step_until(at_ns, end_ns));
        }
    }

    /// A request reaches its decode replica.
    fn take_over(&mut self, now_ns: i64, arrival: Arrival, sink: &mut impl FnMut(usize, Happening<'_>)) {
        let Some(handover) = &mut self.handover else { return };
        let (tag, replica, handed_over) = (arrival.tag, arrival.replica, arrival.handed_over);
        let member = &mut self.members[replica];
        if handed_over.failed || handed_over.tokens > 0 {
            let duration_ns = handed_over.arrived_ns - handed_over.transfer_start_ns;
            let sizes = (arrival.bytes as u64, arrival.descriptors as u64);
            member.count_transfer(handed_over.failed, duration_ns, arrival.post_ns, sizes);
        }
        let failed = if handover.fails(&handed_over) {
            Some("http 500: the KV transfer failed")
        } else {
            match member.submit(now_ns, now_ns, arrival.request) {
                Ok(id) => {
                    handover.placed(tag, replica, id);
                    None
                }
                Err(_) => Some("http 400: the decode replica refuses the request"),
            }
        };
        match failed {
            None => sink(replica, Happening::HandedOver(tag, handed_over)),
            Some(why) => {
                handover.over(tag);
                self.router.ended(replica, 1);
                sink(replica, Happening::Failed(tag, why));
            }
        }
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

/// What a client sees of a process that is started again.
pub(crate) const RESET: &str = "connection reset by peer";

/// A prefill replica is done with a request.
fn hand_over(
    handover: &mut Handover,
    router: &mut Router,
    decode: &[usize],
    now_ns: i64,
    from: usize,
    ended: &Finished,
    sink: &mut impl FnMut(usize, Happening<'_>),
) {
    if ended.reason == FinishReason::Error {
        handover.over(ended.tag);
        sink(from, Happening::Failed(ended.tag, "http 500: the prefill replica failed"));
        return;
    }
    if decode.is_empty() {
        handover.over(ended.tag);
        sink(from, Happening::Failed(ended.tag, "http 503: no decode replica is there"));
        return;
    }
    let to = router.choose_least(decode);
    handover.prefilled(now_ns, ended.tag, from, to, ended.life);
}

fn nanoseconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

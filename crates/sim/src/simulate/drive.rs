//! The loop of virtual time.

use super::{
    SimError, SimulateOptions,
    artefacts::Witness,
    caller::Caller,
    nanoseconds,
    prompts::PromptWatch,
    scrape::Scraper,
    truth::{ReplicaTruth, Truth},
};
use crate::{
    deployment::{Scenario, fleet::Fleet},
    emit::outputs::Answer,
};
use firstcheck_model::{event::Event, request::Requests};
use firstcheck_workload::trace::Trace;

/// A run that has come to its end.
pub(super) struct Finished {
    pub(super) requests: Requests,
    pub(super) events: Vec<Event>,
    pub(super) scraper: Scraper,
    pub(super) answers: Vec<Answer>,
    pub(super) truth: Truth,
    pub(super) witness: Witness,
    pub(super) prompts: Option<PromptWatch>,
}

/// A run in virtual time.
pub(super) struct Drive<'a> {
    fleet: Fleet,
    caller: Caller<'a>,
    scraper: Scraper,
    witness: Witness,
    patience_ns: i64,
}

impl<'a> Drive<'a> {
    pub(super) fn new(scenario: &'a Scenario, trace: &'a Trace, options: &SimulateOptions) -> Result<Self, SimError> {
        let fleet = Fleet::new(scenario, options.seed)?;
        Ok(Self {
            caller: Caller::new(trace, scenario.others(), fleet.deployment().is_disaggregated(), options)?,
            scraper: Scraper::new(&fleet, trace, options),
            witness: Witness::new(&fleet, options.artefacts),
            patience_ns: nanoseconds(options.patience),
            fleet,
        })
    }

    pub(super) fn run(mut self) -> Finished {
        let mut now_ns = 0;
        while !(self.caller.is_done() && self.fleet.is_idle()) {
            let Some(next_ns) = self.next_ns() else { break };
            let until_ns = next_ns.max(now_ns);
            self.scraper.before(&self.fleet, until_ns);
            self.witness.before(&self.fleet, until_ns);
            let caller = &mut self.caller;
            self.fleet.begin_phases(until_ns, |replica, happening| caller.hear(until_ns, replica, happening));
            while let Some((at_ns, action)) = self.caller.take_action(until_ns) {
                self.caller.act(&mut self.fleet, at_ns.max(now_ns), action);
            }
            now_ns = until_ns;
            let caller = &mut self.caller;
            self.fleet.advance(now_ns, now_ns, |replica, happening| caller.hear(now_ns, replica, happening));
            self.witness.after(&self.fleet, now_ns);
        }
        if !self.caller.is_done() {
            // Nothing will happen any more: the client waits for it in vain.
            now_ns = now_ns.saturating_add(self.patience_ns);
            self.caller.close(now_ns);
        }
        self.witness.before(&self.fleet, now_ns);
        self.scraper.end(&self.fleet, now_ns);
        let mut truth = self.caller.truth;
        tell(&self.fleet, now_ns, &mut truth);
        let (requests, events) = (Requests(self.caller.requests), self.caller.events);
        let (answers, prompts) = (self.caller.answers, self.caller.prompts);
        Finished { requests, events, scraper: self.scraper, answers, truth, witness: self.witness, prompts }
    }

    /// When something happens next.
    fn next_ns(&self) -> Option<i64> {
        match (self.caller.next_ns(), self.fleet.next_ns()) {
            (Some(client), Some(fleet)) => Some(client.min(fleet)),
            (client, fleet) => client.or(fleet),
        }
    }
}

/// What the replicas know.
fn tell(fleet: &Fleet, now_ns: i64, truth: &mut Truth) {
    for (place, member) in fleet.members().iter().enumerate() {
        let stats = member.engine().stats();
        truth.steps += stats.steps;
        truth.busy_ns += stats.busy_ns;
        truth.preemptions += stats.preemptions;
        truth.generation_tokens += stats.generation_tokens;
        truth.peak_kv_usage = truth.peak_kv_usage.max(stats.peak_kv_usage);
        truth.replicas.push(ReplicaTruth {
            name: fleet.deployment().name_of(place),
            steps: stats.steps,
            busy_ns: stats.busy_ns,
            preemptions: stats.preemptions,
            generation_tokens: stats.generation_tokens,
            peak_kv_usage: stats.peak_kv_usage,
            restarts: member.restarts(),
        });
    }
    truth.end_ns = now_ns;
}

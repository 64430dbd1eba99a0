//! A deployment over time, and what is done to requests on their way to it.

use super::{Deployment, DeploymentError};
use crate::{config::EngineConfig, language::sampling::Sampling, request::Features, simulate::FaultTruth};
use firstcheck_workload::trace::Offered;
use std::{fmt, sync::Arc};

/// A request as it reaches the deployment: what the server has made of the client's body.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The caller's own name for it.
    pub tag: u64,
    /// Session it belongs to, where the client names one.
    pub session: Option<u32>,
    /// Prompt tokens, as the server's chat template rendered them.
    pub prompt: Vec<u32>,
    /// Most tokens to generate; `None`: up to `max_model_len`.
    pub max_tokens: Option<u32>,
    /// Tokens before which the answer does not end of itself.
    pub min_tokens: u32,
    /// Whether the answer never ends of itself.
    pub ignore_eos: bool,
    /// What it asks for besides tokens.
    pub features: Features,
    /// How its tokens are chosen; `None`: always the likeliest, told without log probabilities.
    pub sampling: Option<Box<Sampling>>,
}

/// A row of the workload as the client is about to send it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its number in the trace.
    pub number: u32,
    /// When it is sent, nanoseconds.
    pub at_ns: i64,
    /// What it asks.
    pub offered: Offered,
}

/// Changes a call, given its time of arrival in nanoseconds.
pub type ChangeCall = dyn Fn(&mut Call, i64) + Send + Sync;

/// Changes a row.
pub type ChangeRow = dyn Fn(&mut Row) + Send + Sync;

/// What a server does to each prompt before its engine sees it (a chat template).
#[derive(Clone)]
pub struct Render(pub Arc<ChangeCall>);

/// What a client makes of each row before it sends it.
#[derive(Clone)]
pub struct Offer(pub Arc<ChangeRow>);

impl fmt::Debug for Render {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Render")
    }
}

impl fmt::Debug for Offer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Offer")
    }
}

/// A deployment as it is for a time.
#[derive(Debug, Clone)]
pub struct Phase {
    /// From when, nanoseconds.
    pub start_ns: i64,
    /// What it is then.
    pub deployment: Deployment,
    /// What its server does to prompts, in this order.
    pub renders: Vec<Render>,
    /// What its client does to rows, in this order.
    pub offers: Vec<Offer>,
}

impl Phase {
    /// A deployment from the start, with nothing done to its requests.
    pub fn steady(deployment: Deployment) -> Self {
        Self { start_ns: 0, deployment, renders: Vec::new(), offers: Vec::new() }
    }

    /// What the server makes of a call that arrives at `now_ns`.
    pub(crate) fn render(&self, call: &mut Call, now_ns: i64) {
        self.renders.iter().for_each(|render| (render.0)(call, now_ns));
    }
}

/// What is simulated: a deployment as it is from the start and as it becomes, and who else calls it.
#[derive(Debug, Clone)]
pub struct Scenario {
    phases: Vec<Phase>,
    others: Vec<Offered>,
    faults: Vec<FaultTruth>,
}

impl Scenario {
    /// One deployment from start to end.
    pub fn steady(deployment: Deployment) -> Self {
        Self { phases: vec![Phase::steady(deployment)], others: Vec::new(), faults: Vec::new() }
    }

    /// One engine from start to end.
    pub fn single(engine: EngineConfig) -> Self {
        Self::steady(Deployment::single(engine))
    }

    /// A deployment in phases, with requests of `others`, which are served and not recorded, and the faults that make
    /// it what it is.
    pub(crate) fn new(
        mut phases: Vec<Phase>,
        others: Vec<Offered>,
        faults: Vec<FaultTruth>,
    ) -> Result<Self, DeploymentError> {
        phases.sort_by_key(|phase| phase.start_ns);
        for pair in phases.windows(2) {
            let (before, after) = (pair[0].deployment.replicas.len(), pair[1].deployment.replicas.len());
            if before != after {
                return Err(DeploymentError::Replicas { before, after });
            }
        }
        phases.iter().try_for_each(|phase| phase.deployment.validate())?;
        Ok(Self { phases, others, faults })
    }

    /// Its phases, in order of time; at least one.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// What others send.
    pub fn others(&self) -> &[Offered] {
        &self.others
    }

    /// What was made to go wrong in it.
    pub fn faults(&self) -> &[FaultTruth] {
        &self.faults
    }

    /// The deployment as it starts.
    pub fn deployment(&self) -> &Deployment {
        // There is at least one phase: every constructor sets one.
        &self.phases[0].deployment
    }

    /// Whether a client sends other rows than its trace says.
    pub(crate) fn client_departs(&self) -> bool {
        self.phases.iter().any(|phase| !phase.offers.is_empty())
    }
}

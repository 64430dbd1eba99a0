//! What is simulated as a whole: replicas behind a router, how their metrics are read, and the client that calls them.
//!
//! Every part that can misbehave is a named parameter whose default is healthy.

mod client;
mod error;
pub(crate) mod fleet;
mod handover;
pub(crate) mod member;
mod patch;
mod phase;
mod transfer;

pub use client::{Backoff, Client};
pub use error::DeploymentError;
pub use handover::HandedOver;
pub use patch::{PatchError, patched};
pub use phase::{Call, ChangeCall, ChangeRow, Offer, Phase, Render, Row, Scenario};
pub use transfer::{OnFailure, Transfer};

use crate::{
    config::{DataRank, EngineConfig},
    router::Routing,
};
use error::in_range;
use serde::{Deserialize, Serialize};

/// Most replicas of a deployment.
const MOST_REPLICAS: usize = 1024;

/// One serving configuration at one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deployment {
    /// Its engines. All serve whole requests, or each belongs to one of the two pools.
    pub replicas: Vec<Replica>,
    /// How requests are spread over them.
    pub routing: Routing,
    /// How KV goes from the prefill pool to the decode pool.
    pub transfer: Transfer,
    /// How its metrics are read.
    pub scrape: ScrapeMode,
    /// Who calls it.
    pub client: Client,
}

/// One engine of a deployment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replica {
    /// Which part of a request it serves.
    pub role: Role,
    /// What it is.
    pub engine: EngineConfig,
}

/// Which part of a request a replica serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// All of it.
    #[default]
    Unified,
    /// The prompt: its KV then goes to the other pool.
    Prefill,
    /// The answer, from KV that the other pool computed.
    Decode,
}

impl Role {
    /// The name in names of replicas.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unified => "replica",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
        }
    }
}

/// How the metrics of several replicas are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScrapeMode {
    /// Each replica's page by itself.
    #[default]
    EachReplica,
    /// One address in front of all: each reading shows the next replica's page as if it were the same.
    LoadBalanced,
}

impl Default for Deployment {
    fn default() -> Self {
        Self::single(EngineConfig::default())
    }
}

impl Deployment {
    /// One replica.
    pub fn single(engine: EngineConfig) -> Self {
        Self::uniform(engine, 1)
    }

    /// `replicas` replicas alike, requests in turn.
    pub fn uniform(engine: EngineConfig, replicas: u32) -> Self {
        let replica = Replica { role: Role::Unified, engine };
        Self::of(vec![replica; replicas as usize])
    }

    /// Two pools: `prefill` engines that compute prompts, `decode` engines that answer.
    pub fn disaggregated(engine: &EngineConfig, prefill: u32, decode: u32) -> Self {
        let pool = |role, count: u32| (0..count).map(move |_| Replica { role, engine: engine.clone() });
        Self::of(pool(Role::Prefill, prefill).chain(pool(Role::Decode, decode)).collect())
    }

    /// One server of `ranks` attention ranks alike, requests in turn: each has requests of its own, and all take every
    /// step together.
    pub fn ranks(engine: &EngineConfig, ranks: u32) -> Self {
        let rank = |rank| {
            let mut engine = engine.clone();
            engine.parallel.data = DataRank { rank, of: ranks };
            Replica { role: Role::Unified, engine }
        };
        Self::of((0..ranks).map(rank).collect())
    }

    /// Whether its replicas are attention ranks of one server.
    pub fn steps_together(&self) -> bool {
        self.replicas.first().is_some_and(|replica| replica.engine.parallel.data.of > 1)
    }

    fn of(replicas: Vec<Replica>) -> Self {
        Self {
            replicas,
            routing: Routing::default(),
            transfer: Transfer::default(),
            scrape: ScrapeMode::default(),
            client: Client::default(),
        }
    }

    /// Changes every engine.
    pub fn each_engine(&mut self, mut change: impl FnMut(&mut EngineConfig)) {
        self.replicas.iter_mut().for_each(|replica| change(&mut replica.engine));
    }

    /// Name of a replica: its role and its number within the role (`replica-0`, `prefill-1`, and `rank-2` of a server of
    /// ranks).
    pub fn name_of(&self, replica: usize) -> String {
        if self.steps_together() {
            return format!("rank-{replica}");
        }
        let role = self.replicas.get(replica).map_or(Role::Unified, |replica| replica.role);
        let before = self.replicas.iter().take(replica).filter(|other| other.role == role).count();
        format!("{}-{before}", role.name())
    }

    /// Numbers of the replicas of a role.
    pub fn in_role(&self, role: Role) -> Vec<usize> {
        (0..self.replicas.len()).filter(|place| self.replicas[*place].role == role).collect()
    }

    /// Whether it consists of two pools.
    pub fn is_disaggregated(&self) -> bool {
        self.replicas.iter().any(|replica| replica.role != Role::Unified)
    }

    /// Name of the metrics page on which a replica is read: `main` where there is one only, as of a server of ranks.
    pub fn page_of(&self, replica: usize) -> String {
        match self.scrape {
            ScrapeMode::EachReplica if self.replicas.len() > 1 && !self.steps_together() => self.name_of(replica),
            _ => "main".into(),
        }
    }

    /// Whether it can be started.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn validate(&self) -> Result<(), DeploymentError> {
        let count = self.replicas.len();
        in_range("replicas", count as f64, 1.0, MOST_REPLICAS as f64, "1 to 1024")?;
        let (prefill, decode) = (self.in_role(Role::Prefill).len(), self.in_role(Role::Decode).len());
        let whole = prefill == 0 && decode == 0;
        let pools = prefill > 0 && decode > 0 && prefill + decode == count;
        if !whole && !pools {
            return Err(DeploymentError::Roles { prefill, decode, unified: count - prefill - decode });
        }
        for (place, replica) in self.replicas.iter().enumerate() {
            let DataRank { rank, of } = replica.engine.parallel.data;
            let fits = if self.steps_together() { (of as usize, rank as usize) == (count, place) } else { of == 1 };
            if !fits || pools && of > 1 {
                return Err(DeploymentError::Ranks { place, rank, of, count });
            }
            let name = || self.name_of(place);
            replica.engine.validate().map_err(|source| DeploymentError::Engine { replica: name(), source })?;
        }
        self.routing.validate()?;
        self.transfer.validate()?;
        self.client.validate()
    }
}

//! What is simulated as a whole: replicas behind a router, how their metrics are read, and the client that calls them.
//!
//! Every part that can misbehave is a named parameter whose default is healthy.

mod client;
mod error;
pub(crate) mod fleet;
mod member;
mod patch;
mod phase;

pub use client::{Backoff, Client};
pub use error::DeploymentError;
pub use patch::{PatchError, patched};
pub use phase::{Call, ChangeCall, ChangeRow, Offer, Phase, Render, Row, Scenario};

use crate::{config::EngineConfig, router::Routing};
use error::in_range;
use serde::{Deserialize, Serialize};

/// Most replicas of a deployment.
const MOST_REPLICAS: usize = 1024;

/// One serving configuration at one address.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deployment {
    /// Its engines.
    pub replicas: Vec<Replica>,
    /// How requests are spread over them.
    pub routing: Routing,
    /// How its metrics are read.
    pub scrape: ScrapeMode,
    /// Who calls it.
    pub client: Client,
}

/// One engine of a deployment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replica {
    /// What it is.
    pub engine: EngineConfig,
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
        let replica = Replica { engine };
        Self::of(vec![replica; replicas as usize])
    }

    fn of(replicas: Vec<Replica>) -> Self {
        Self { replicas, routing: Routing::default(), scrape: ScrapeMode::default(), client: Client::default() }
    }

    /// Changes every engine.
    pub fn each_engine(&mut self, mut change: impl FnMut(&mut EngineConfig)) {
        self.replicas.iter_mut().for_each(|replica| change(&mut replica.engine));
    }

    /// Name of a replica by its number.
    pub fn name_of(&self, replica: usize) -> String {
        format!("replica-{replica}")
    }

    /// Name of the metrics page on which a replica is read: `main` where there is one only.
    pub fn page_of(&self, replica: usize) -> String {
        match self.scrape {
            ScrapeMode::EachReplica if self.replicas.len() > 1 => self.name_of(replica),
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
        for (place, replica) in self.replicas.iter().enumerate() {
            let name = || self.name_of(place);
            replica.engine.validate().map_err(|source| DeploymentError::Engine { replica: name(), source })?;
        }
        self.routing.validate()?;
        self.client.validate()
    }
}

//! Rollouts of reinforcement learning: what becomes of samples that an engine generates while a trainer moves on.
//!
//! A pure function of the times at which samples ran. Groups of samples of one prompt are handed to a trainer in the
//! order in which they are complete; each of its steps makes a new version of the weights, and a sample that is too many
//! versions old when its turn comes is worth nothing. That is why twice the concurrency may give more tokens and fewer
//! samples that are used.
//!
//! **What is simplified.** A sample that is started again takes as long as before: the engine's load is taken as it was.

mod log;
mod run;

pub use log::{samples_attachment, steps_attachment};
pub use run::run;

use firstcheck_model::request::{Fate as RequestFate, Finish, Requests};
use serde::Serialize;

/// A sample as the engine generated it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generated {
    /// Its group: all samples of one prompt.
    pub group: u32,
    /// When it was asked for, nanoseconds.
    pub start_ns: i64,
    /// When it was complete, nanoseconds; `None`: it failed.
    pub end_ns: Option<i64>,
    /// Tokens generated.
    pub tokens: u32,
    /// Whether its length limit cut it off.
    pub truncated: bool,
}

/// The samples that a run's requests are, `group_size` consecutive rows a group. Requests that were never sent are none.
pub fn samples_of(requests: &Requests, group_size: u32) -> Vec<Generated> {
    let rows = (0u32..).zip(&requests.0);
    let sample = |(row, request): (u32, &firstcheck_model::request::Request)| {
        Some(Generated {
            group: row / group_size.max(1),
            start_ns: request.sent.get()?,
            end_ns: request.done.get().filter(|_| request.fate == RequestFate::Completed),
            tokens: request.output_tokens.unwrap_or(0),
            truncated: request.finish == Some(Finish::Length),
        })
    };
    rows.filter_map(sample).collect()
}

/// How trainer and engine work together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// Groups that a step of the trainer takes.
    pub groups_a_step: u32,
    /// Time of a step, seconds; at its end the engine gets the new weights.
    pub step_seconds: f64,
    /// Most versions that the trainer may be ahead of the weights on which a sample was begun; `None`: any.
    pub most_lag: Option<u64>,
    /// When it is found out that a sample is too old.
    pub stale: Stale,
    /// How often a prompt whose group was cancelled is started again.
    pub most_restarts: u32,
    /// Whether truncated samples are thrown away.
    pub drop_truncated: bool,
    /// Share of complete groups whose samples all have the same reward, and teach nothing.
    pub degenerate_share: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            groups_a_step: 8,
            step_seconds: 20.0,
            most_lag: Some(2),
            stale: Stale::WhenUsed,
            most_restarts: 0,
            drop_truncated: false,
            degenerate_share: 0.0,
        }
    }
}

/// When it is found out that a sample is too old.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stale {
    /// When its turn at the trainer has come: that sample is dropped, its siblings are used.
    #[default]
    WhenUsed,
    /// As soon as it is: it is dropped while it runs, and its whole group with it.
    CancelsGroup,
}

/// What became of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The trainer learned from it.
    Used,
    /// Too old when its turn had come.
    DroppedStale,
    /// Given up with its group before it was complete, or because a sibling was.
    Cancelled,
    /// Cut off by its length limit and thrown away.
    Truncated,
    /// The engine gave no answer.
    Failed,
    /// Its group taught nothing.
    Filtered,
    /// Complete, and still waiting for the trainer at the end.
    Waiting,
}

/// A sample with its fate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Its number.
    pub id: u32,
    /// Its group.
    pub group: u32,
    /// Which attempt at the group, from 0.
    pub attempt: u32,
    /// When it was begun, seconds.
    pub start: f64,
    /// When it was complete, failed or was given up, seconds.
    pub end: f64,
    /// Version of the weights when it was begun.
    pub policy_version_start: u64,
    /// Version of the weights when it ended.
    pub policy_version_end: u64,
    /// Version of the trainer's weights when its turn had come.
    pub trainer_version: Option<u64>,
    /// Tokens generated until its end.
    pub tokens: u32,
    /// What became of it.
    pub fate: Fate,
}

/// A step of the trainer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainerStep {
    /// The version that it starts from.
    pub version: u64,
    /// When it began, seconds.
    pub start: f64,
    /// When it ended, seconds.
    pub end: f64,
    /// Complete groups that waited when it began, its own among them.
    pub queue_groups: u32,
    /// Samples that it learned from.
    pub samples: u32,
}

/// The whole course.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Course {
    /// All samples, attempt by attempt, in the order of their ends.
    pub samples: Vec<Sample>,
    /// All steps of the trainer.
    pub steps: Vec<TrainerStep>,
}

impl Course {
    /// Tokens of samples with a fate.
    pub fn tokens_of(&self, fate: Fate) -> u64 {
        self.samples.iter().filter(|sample| sample.fate == fate).map(|sample| u64::from(sample.tokens)).sum()
    }

    /// Tokens generated, whatever became of them.
    pub fn generated_tokens(&self) -> u64 {
        self.samples.iter().map(|sample| u64::from(sample.tokens)).sum()
    }
}

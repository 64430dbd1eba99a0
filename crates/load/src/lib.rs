//! Offers a workload and records every event of every stream.

mod clock;
mod error;
mod event_loop;
mod exchange;
mod failure;
mod observer;
mod options;
mod prefetch;
mod progress;
pub mod protocol;
mod record;
mod run;
mod schedule;
mod secrets;
mod shard;
pub mod steady;
mod stop;
mod watch_self;
pub mod wire;

pub use error::Error;
pub use options::{Api, Key, KeyError, Limits, Options, Scrape, Spans, Target, Thresholds};
pub use progress::{Control, Phase, Progress};
pub use run::{Cost, Finished, identify, run};
pub use schedule::plan::PlanError;
pub use stop::Stop;

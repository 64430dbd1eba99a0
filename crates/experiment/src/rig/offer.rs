//! What is offered to every arm of an experiment.

use firstcheck_model::{run::CacheState, slo::Slo, unit::Seconds};
use firstcheck_workload::trace::Trace;
use std::{rc::Rc, time::Duration};

/// Why a trace could not be made.
pub type TraceError = Box<dyn std::error::Error + Send + Sync>;

/// What is offered to all arms.
#[derive(Clone)]
pub struct Offer {
    /// The trace that covers a warm-up of that length and the window after it.
    pub trace: Rc<dyn Fn(Seconds) -> Result<Trace, TraceError>>,
    /// Length of the window; `None`: to the end of the trace.
    pub window: Option<Duration>,
    /// Objective of goodput, noted in each run.
    pub slo: Option<Slo>,
    /// Offered rate over the highest without a growing queue, where that is known.
    pub load: Option<f64>,
    /// State of the prefix cache, noted in each run.
    pub cache: CacheState,
    /// How long answers are awaited after a run's last request.
    pub drain: Duration,
    /// Time between two readings of metrics pages.
    pub scrape_interval: Duration,
}

//! A run on a real deployment: the load client, with its progress told as it goes.

use super::{Offer, Order};
use crate::{drive::Tell, error::Error, event::Event, target::Served};
use firstcheck_load::{Control, Limits, Options, Phase, Progress, Scrape, Stop};
use firstcheck_model::{
    run::{Role, RunId, RunState},
    unit::Seconds,
};
use firstcheck_workload::trace::Trace;
use std::{
    sync::{Arc, mpsc::channel},
    thread,
    time::Duration,
};

/// What a run is made with.
pub(super) struct Measured<'m> {
    pub served: &'m Served,
    pub offer: &'m Offer,
    pub stop: &'m Stop,
}

impl Measured<'_> {
    /// Makes the run.
    ///
    /// # Errors
    /// A run that could not be made, or was told to end.
    pub fn run(&self, order: &Order<'_>, tell: Tell<'_>) -> Result<(), Error> {
        let trace = Arc::new(Trace::clone(&order.trace).with_salt(order.salt.clone()));
        let options = self.options(order)?;
        let length = options.warm_up + options.duration.unwrap_or_default();
        let (sender, progress) = channel();
        let mut control = Control::default().on_progress(move |seen| {
            // An error means that nobody listens any more, and progress is only for listeners.
            sender.send(*seen).ok();
        });
        control.stop = self.stop.clone();
        let finished = thread::scope(|scope| {
            let (target, bundle) = (self.served.target(), order.bundle);
            // The channel ends with the run, which holds its only sender.
            let running = scope.spawn(move || firstcheck_load::run(&trace, target, &options, bundle, &control));
            for seen in progress {
                tell(event(order.role(), &seen, length));
            }
            running.join()
        });
        let panicked = |_| Error::Runtime(std::io::Error::other("the load client panicked"));
        match finished.map_err(panicked)??.info.state {
            RunState::Complete => Ok(()),
            RunState::Interrupted { reason } => Err(Error::Interrupted { reason }),
        }
    }

    fn options(&self, order: &Order<'_>) -> Result<Options, Error> {
        let offer = self.offer;
        let mut options = Options::new(RunId(order.name.clone()));
        options.tool = firstcheck_model::TOOL.into();
        options.seed = Some(order.seed);
        options.place = order.place.clone();
        options.slo = offer.slo;
        options.load = order.load;
        options.cache = offer.cache;
        options.warm_up = duration(order.warm_up)?;
        options.duration = order.window;
        options.drain = offer.drain;
        options.scrape = Scrape { interval: offer.scrape_interval, ..Scrape::default() };
        // A side that fails its requests has failed, and the experiment has not.
        options.limits = Limits { errors: None, ..Limits::default() };
        options.attach = self.served.log().map(ToOwned::to_owned).into_iter().collect();
        Ok(options)
    }
}

fn duration(seconds: Seconds) -> Result<Duration, Error> {
    Duration::try_from_secs_f64(seconds.0).map_err(|error| Error::Trace(error.into()))
}

fn event(role: Role, seen: &Progress, of: Duration) -> Event {
    Event::Live {
        warm_up: seen.phase == Phase::WarmUp,
        role,
        elapsed: Duration::from_secs_f64(seen.at.seconds().unwrap_or_default().max(0.0)),
        of,
        sent: seen.sent,
        done: seen.done,
        failed: seen.failed,
        ttft: seen.ttft,
        itl: seen.itl,
        stall: seen.stall,
    }
}

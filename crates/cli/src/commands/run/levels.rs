//! The levels of a run: one, or those of a sweep.

use crate::args::{ArrivalArgs, ArrivalsArg};
use anyhow::bail;
use firstcheck_workload::{arrivals::ArrivalProcess, spec::Spec};

/// One run of a sweep, or the only one.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands) struct Level {
    /// Its name in a sweep: `rate 4`; none for a single run.
    pub(in crate::commands) name: Option<String>,
    /// Its folder in a sweep: `rate-4`.
    pub(in crate::commands) folder: Option<String>,
    /// How its requests arrive; none: as the source says.
    pub(in crate::commands) arrivals: Option<ArrivalProcess>,
}

/// The levels that the arguments ask for; where they ask for none, what `configured` says.
///
/// # Errors
/// A process without its rate, or a trace that is asked for a rate.
pub(in crate::commands) fn levels(args: &ArrivalArgs, configured: &Spec) -> anyhow::Result<Vec<Level>> {
    let single = |arrivals| Ok(vec![Level { name: None, folder: None, arrivals }]);
    if let Some(concurrency) = args.concurrency {
        return single(Some(ArrivalProcess::Closed { concurrency }));
    }
    if !args.sweep_concurrency.is_empty() {
        let level = |concurrency: &u32| Level {
            name: Some(format!("concurrency {concurrency}")),
            folder: Some(format!("concurrency-{concurrency}")),
            arrivals: Some(ArrivalProcess::Closed { concurrency: *concurrency }),
        };
        return Ok(args.sweep_concurrency.iter().map(level).collect());
    }
    let process = args.arrivals.unwrap_or(ArrivalsArg::Poisson);
    let at = |rate: f64| match process.at(rate) {
        Some(process) => Ok(process),
        None => bail!("--arrivals trace has its own times: leave out --rate and --sweep-rate"),
    };
    if !args.sweep_rate.is_empty() {
        let level = |rate: &f64| {
            let arrivals = Some(at(*rate)?);
            Ok(Level { name: Some(format!("rate {rate}")), folder: Some(format!("rate-{rate}")), arrivals })
        };
        return args.sweep_rate.iter().map(level).collect();
    }
    match (args.rate, args.arrivals) {
        (Some(rate), _) => single(Some(at(rate)?)),
        (None, Some(ArrivalsArg::Trace(time_scale))) => single(Some(ArrivalProcess::Trace { time_scale })),
        (None, Some(process)) => match configured.arrivals.and_then(|arrivals| arrivals.rate()) {
            Some(rate) => single(process.at(rate)),
            None => bail!("an arrival process needs a rate: add --rate R"),
        },
        (None, None) => single(configured.arrivals),
    }
}

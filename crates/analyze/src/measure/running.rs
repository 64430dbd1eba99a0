//! Requests that run at once on one replica.

use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    moment::Moment,
    signal::{Part, Signal},
    unit::Count,
};
use firstcheck_stats::quantile::Sample;

/// Running requests by the scraped gauge: the peak is a lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    /// The most that was seen on one replica.
    pub peak: Measurement<Count>,
    /// The 99th percentile over samples, of the replica where it is highest.
    pub p99: Measurement<Count>,
}

impl Measure for Running {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let (mut peak, mut p99): (Option<Measurement<Count>>, Option<Measurement<Count>>) = (None, None);
        for run in &side.evidence.runs {
            for series in run.series(Signal::Running, Part::Value) {
                let samples: Vec<(Moment, f64)> = series.inside(run.info.window).collect();
                let at = |from_ns, to_ns| Source::Series {
                    run: run.info.id.clone(),
                    name: series.name.clone(),
                    labels: series.labels.render(),
                    from_ns,
                    to_ns,
                };
                let n = samples.len() as u64;
                let Some((first, last)) = samples.first().zip(samples.last()) else { continue };
                let Some((when, most)) = samples.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
                let values = samples.iter().map(|(_, value)| *value).collect();
                let high = Sample::new(values).ok().and_then(|sample| sample.quantile(0.99)).unwrap_or(*most);
                let measured = |value: f64, source| Measurement { value: Count(value), interval: None, n, source };
                larger(&mut peak, measured(*most, at(*when, *when)));
                larger(&mut p99, measured(high, at(first.0, last.0)));
            }
        }
        match (peak, p99) {
            (Some(peak), Some(p99)) if peak.value.0 > 0.0 => Ok(Self { peak, p99 }),
            _ => {
                let obtain = "scrape /metrics during the window: firstcheck run does";
                Err(Missing::not_exposed("number of running requests during the window", obtain))
            }
        }
    }
}

/// Keeps the larger; the first of equal ones.
fn larger(known: &mut Option<Measurement<Count>>, new: Measurement<Count>) {
    if known.as_ref().is_none_or(|known| new.value.0 > known.value.0) {
        *known = Some(new);
    }
}

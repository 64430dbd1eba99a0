//! Figures that a file reports and that rows cannot give.

use firstcheck_model::{
    metric::{Metric, Stat},
    run::Reported,
};

/// Gathers reported figures; what is not finite is not there.
#[derive(Debug, Default)]
pub(super) struct Figures(pub(super) Vec<Reported>);

impl Figures {
    /// Adds a figure, if the file has it.
    pub(super) fn add(&mut self, metric: Metric, stat: Stat, value: Option<f64>, n: Option<u64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0.push(Reported { metric, stat, value, n });
        }
    }

    /// Adds a latency that the client counted from the actual send. The file knows no plan for it, so by the rule of
    /// rows without one it stands for the latency from the intended send as well.
    pub(super) fn add_from_sent(&mut self, metric: Metric, stat: Stat, value: Option<f64>, n: Option<u64>) {
        self.add(metric, stat, value, n);
        if metric == Metric::Ttft {
            self.add(Metric::TtftFromSent, stat, value, n);
        }
    }

    /// Adds the share of offered requests that did not complete.
    pub(super) fn add_failed(&mut self, failed: Option<f64>, completed: Option<f64>) {
        if let (Some(failed), Some(completed)) = (failed, completed) {
            let offered = failed + completed;
            if offered > 0.0 {
                self.add(Metric::FailedShare, Stat::Total, Some(failed / offered), Some(offered as u64));
            }
        }
    }
}

/// The quantile that a name such as `p99`, `p99.9`, `p01` or `median` means.
pub(super) fn quantile(name: &str) -> Option<Stat> {
    if name == "median" {
        return Some(Stat::Quantile(0.5));
    }
    let percent: f64 = name.strip_prefix('p')?.parse().ok()?;
    // Rounded to nine digits, so that `p99.9` is 0.999 itself and equal quantiles of two files are equal.
    (percent > 0.0 && percent < 100.0).then_some(Stat::Quantile((percent * 1e7).round() / 1e9))
}

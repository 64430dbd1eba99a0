//! Latencies of a run, request by request.

use firstcheck_stats::quantile::Sample;

/// Latencies of one request, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Latency {
    /// Arrival to first token.
    pub ttft: f64,
    /// (last token − first token) / (tokens − 1); `None` for a single token.
    pub tpot: Option<f64>,
    /// Arrival to last token.
    pub e2e: f64,
}

/// Which latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Arrival to first token.
    Ttft,
    /// Time per output token after the first.
    Tpot,
    /// Arrival to last token.
    E2e,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Ttft, Self::Tpot, Self::E2e];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ttft => "TTFT",
            Self::Tpot => "TPOT",
            Self::E2e => "E2E",
        }
    }

    /// Of one request.
    pub fn of(self, latency: &Latency) -> Option<f64> {
        match self {
            Self::Ttft => Some(latency.ttft),
            Self::Tpot => latency.tpot,
            Self::E2e => Some(latency.e2e),
        }
    }
}

/// Latencies of the requests of a run by row; `None` for one outside the window or without an answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies(pub Vec<Option<Latency>>);

impl Latencies {
    fn values(&self, metric: Metric) -> Vec<f64> {
        self.0.iter().flatten().filter_map(|latency| metric.of(latency)).filter(|value| value.is_finite()).collect()
    }

    /// Requests that have `metric`.
    pub fn count(&self, metric: Metric) -> usize {
        self.values(metric).len()
    }

    /// Mean of `metric`; `None` without any value.
    pub fn mean(&self, metric: Metric) -> Option<f64> {
        let values = self.values(metric);
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Quantile of `metric` by inverse CDF; `None` without any value.
    pub fn quantile(&self, metric: Metric, p: f64) -> Option<f64> {
        Sample::new(self.values(metric)).ok()?.quantile(p)
    }

    /// The requests of these rows only.
    #[must_use]
    pub fn rows(&self, rows: std::ops::Range<usize>) -> Self {
        let keep = |(row, latency): (usize, &Option<Latency>)| latency.filter(|_| rows.contains(&row));
        Self(self.0.iter().enumerate().map(keep).collect())
    }
}

/// Median over requests of |predicted / measured − 1|, of those that have `metric` on both sides; `None` without any.
pub fn median_error(predicted: &Latencies, measured: &Latencies, metric: Metric) -> Option<f64> {
    let errors = predicted.0.iter().zip(&measured.0).filter_map(|(predicted, measured)| {
        let (predicted, measured) = (metric.of(predicted.as_ref()?)?, metric.of(measured.as_ref()?)?);
        let error = (predicted / measured - 1.0).abs();
        error.is_finite().then_some(error)
    });
    Sample::new(errors.collect()).ok()?.quantile(0.5)
}

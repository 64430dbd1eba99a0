//! The Prometheus HTTP API as a source: Prometheus, Thanos, Mimir, VictoriaMetrics.
//!
//! What is fetched are the answers as they come, one after the other: [`firstcheck_ingest`] reads them like a file that
//! was saved with `curl`. Raw samples with their own times are asked for (an instant query of `{…}[span]`); where a
//! server gives none, one sample a step (`query_range`). A span that is too much for one answer is asked for in halves.

mod api;
mod pull;
mod selector;
mod span;

pub use api::PrometheusApi;
pub use pull::{Answers, Ask, Bounds, Way};
pub use selector::Selector;
pub use span::Span;

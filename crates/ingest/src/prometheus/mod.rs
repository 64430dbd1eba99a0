//! Metrics pages: Prometheus text 0.0.4 and OpenMetrics, and series made of several pages.

mod line;
mod series;
mod text;

pub use series::SeriesSet;
pub use text::{Page, Sample, Unreadable, parse, parse_within};

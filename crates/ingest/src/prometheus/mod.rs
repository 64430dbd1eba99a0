//! Metrics pages: Prometheus text 0.0.4 and OpenMetrics, and series made of several pages.

mod api;
pub(crate) mod history;
mod line;
mod series;
mod text;

pub(crate) use api::FORMAT as API;
pub use history::History;
pub(crate) use history::{FORMAT, grows};
pub use series::SeriesSet;
use text::beyond;
pub use text::{Page, Sample, Unreadable, parse, parse_within};

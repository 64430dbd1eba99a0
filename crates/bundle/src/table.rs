//! The tables of a bundle.

use crate::columns;
use arrow_schema::SchemaRef;

/// A table of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    Requests,
    Events,
    Signals,
    Spans,
    Traces,
}

impl Table {
    /// All tables, in the order in which an append writes them: a request that is told to be done comes after its events.
    pub(crate) const ALL: [Self; 5] = [Self::Events, Self::Signals, Self::Spans, Self::Traces, Self::Requests];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Events => "events",
            Self::Signals => "signals",
            Self::Spans => "spans",
            Self::Traces => "traces",
        }
    }

    /// Its file in a finished bundle.
    pub(crate) const fn parquet_name(self) -> &'static str {
        match self {
            Self::Requests => "requests.parquet",
            Self::Events => "events.parquet",
            Self::Signals => "signals.parquet",
            Self::Spans => "spans.parquet",
            Self::Traces => "traces.parquet",
        }
    }

    /// Whether every append writes a frame and every finished bundle a file, rows or not.
    ///
    /// Requests and events only mean something together, so their journals are cut at the same append; a sample or a span
    /// stands for itself.
    pub(crate) const fn always(self) -> bool {
        matches!(self, Self::Requests | Self::Events)
    }

    pub(crate) fn schema(self) -> SchemaRef {
        match self {
            Self::Requests => columns::requests::schema(),
            Self::Events => columns::events::schema(),
            Self::Signals => columns::signals::schema(),
            Self::Spans => columns::spans::schema(),
            Self::Traces => columns::traces::schema(),
        }
    }
}

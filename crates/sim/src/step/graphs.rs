//! How a step is launched: replayed from a capture, in pieces, or kernel by kernel.

use crate::config::{EngineConfig, GraphMode};

/// How a step was launched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum GraphUse {
    /// The whole step from one capture.
    #[default]
    Full,
    /// Piece by piece between the attention calls.
    Piecewise,
    /// Kernel by kernel.
    Eager,
}

/// Which steps are replayed, and to which size they are padded.
#[derive(Debug, Clone)]
pub(super) struct GraphPlan {
    decodes: GraphUse,
    mixed: GraphUse,
    /// The captured size for a number of tokens; beyond its end nothing is captured.
    padded: Vec<u32>,
    piecewise_seconds: f64,
    eager_seconds: f64,
}

impl GraphPlan {
    /// `layers` is `None` where the step time was fitted to whole steps: their launches are in it.
    pub(super) fn new(config: &EngineConfig, layers: Option<f64>) -> Self {
        let graphs = &config.graphs;
        let (mut decodes, mixed) = match graphs.mode {
            GraphMode::FullAndPiecewise => (GraphUse::Full, GraphUse::Piecewise),
            GraphMode::Full => (GraphUse::Full, GraphUse::Full),
            GraphMode::FullDecodeOnly => (GraphUse::Full, GraphUse::Eager),
            GraphMode::Piecewise => (GraphUse::Piecewise, GraphUse::Piecewise),
            GraphMode::None => (GraphUse::Eager, GraphUse::Eager),
        };
        if config.speculation.as_ref().is_some_and(|drafts| drafts.downgrades_graphs) && decodes == GraphUse::Full {
            decodes = mixed;
        }
        let mut padded = vec![0];
        if layers.is_some() {
            for size in graphs.sizes(config.max_num_seqs) {
                padded.resize(size as usize + 1, size);
            }
        }
        let launched = layers.unwrap_or(0.0) * config.host.slowness;
        Self {
            decodes,
            mixed,
            padded,
            piecewise_seconds: graphs.piecewise_layer_seconds * launched,
            eager_seconds: graphs.eager_layer_seconds * launched,
        }
    }

    /// How a step of `tokens` is launched, and how many tokens it then computes; `uniform`: it is all decodes.
    pub(super) fn of(&self, tokens: u32, uniform: bool) -> (GraphUse, u32) {
        let graph = if uniform { self.decodes } else { self.mixed };
        match self.padded.get(tokens as usize) {
            Some(padded) if graph != GraphUse::Eager => (graph, *padded),
            _ => (GraphUse::Eager, tokens),
        }
    }

    /// Least time of a step: what the host takes to launch it.
    pub(super) fn launch_seconds(&self, graph: GraphUse) -> f64 {
        match graph {
            GraphUse::Full => 0.0,
            GraphUse::Piecewise => self.piecewise_seconds,
            GraphUse::Eager => self.eager_seconds,
        }
    }
}

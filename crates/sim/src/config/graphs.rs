//! CUDA graphs: which steps are replayed from a capture, and what the others pay.

use super::{
    MOST_STEP_TOKENS,
    error::{ConfigError, seconds},
};
use serde::{Deserialize, Serialize};

/// Which steps the engine captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphMode {
    /// Whole steps of decodes, and pieces between the attention calls of mixed steps.
    #[default]
    FullAndPiecewise,
    /// Whole steps, mixed ones too.
    Full,
    /// Whole steps of decodes only.
    FullDecodeOnly,
    /// Pieces between the attention calls of every step.
    Piecewise,
    /// None: every kernel is launched by itself.
    None,
}

/// CUDA graphs. A step whose tokens exceed the largest captured size runs eagerly; another is padded to the next size.
/// A step lasts at least as long as the host takes to launch what is not captured. A straight-line [`Timing`] was fitted
/// to whole steps, padding and launches included: there graphs change nothing.
///
/// The two launch times are assumptions of engineering (eager decoding of an 8B model takes about twice the kernels'
/// time); everything else is the engine's rule.
///
/// [`Timing`]: crate::Timing
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Graphs {
    /// Which steps were captured.
    pub mode: GraphMode,
    /// Captured sizes in tokens, ascending; `None`: the engine's own list up to min(2 · max_num_seqs, 512).
    pub capture_sizes: Option<Vec<u32>>,
    /// Time to launch a layer that is captured in pieces, seconds.
    pub piecewise_layer_seconds: f64,
    /// Time to launch a layer of which nothing is captured, seconds.
    pub eager_layer_seconds: f64,
}

impl Default for Graphs {
    fn default() -> Self {
        Self {
            mode: GraphMode::default(),
            capture_sizes: None,
            piecewise_layer_seconds: 60e-6,
            eager_layer_seconds: 350e-6,
        }
    }
}

impl Graphs {
    /// Captured sizes, ascending; empty without graphs.
    pub fn sizes(&self, max_num_seqs: u32) -> Vec<u32> {
        if self.mode == GraphMode::None {
            return Vec::new();
        }
        self.capture_sizes.clone().unwrap_or_else(|| {
            let most = max_num_seqs.saturating_mul(2).min(512);
            let small = [1, 2, 4].into_iter();
            small.chain((8..256).step_by(8)).chain((256..=512).step_by(16)).filter(|size| *size <= most).collect()
        })
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        seconds("graphs.piecewise_layer_seconds", self.piecewise_layer_seconds)?;
        seconds("graphs.eager_layer_seconds", self.eager_layer_seconds)?;
        let Some(sizes) = &self.capture_sizes else { return Ok(()) };
        let in_range = sizes.iter().all(|size| (1..=MOST_STEP_TOKENS).contains(size));
        if !in_range || sizes.windows(2).any(|pair| pair[0] >= pair[1]) {
            let value = format!("{sizes:?}");
            let expected = "ascending, each 1 to 16777216";
            return Err(ConfigError::OutOfRange { name: "graphs.capture_sizes", value, expected });
        }
        Ok(())
    }
}

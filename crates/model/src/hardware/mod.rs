//! Exact arithmetic of hardware and model geometry: what follows from shapes alone, without calibration.

mod geometry;
mod gpu;

pub use geometry::{Experts, ModelGeometry};
pub use gpu::Gpu;

//! The OpenAI-compatible protocol: what is asked and what an answer says.

pub mod answer;
mod chunk;
pub mod request;

pub use chunk::{PromptDetails, Usage};

//! What a deployment says it is, taken from a metrics page and from the engines' own endpoints.
//!
//! Fields that code asks for have the names of [`firstcheck_model::fingerprint::field`]; everything else stands under
//! the engine's own name. A setting that is not set (`None`, `null`) is no field. Secrets never enter: see [`is_secret`].

mod endpoint;
mod page;
mod redact;

pub use endpoint::{from_models, from_server_info, from_version};
pub use page::from_page;
pub use redact::{REDACTED, is_secret};

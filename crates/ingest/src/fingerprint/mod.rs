//! What a deployment says it is: taken from metrics pages, the engines' own endpoints, logs, devices, lists of packages
//! and the folder of a model.
//!
//! Fields that code asks for have the names of [`firstcheck_model::fingerprint::field`]; every other setting stands under
//! the engine's own name, in one spelling whoever states it (see [`setting_name`]). A setting that a source states to be
//! unset has the value [`firstcheck_model::fingerprint::UNSET`]. Secrets never enter: see [`is_secret`] and [`redact`].

mod endpoint;
mod environment;
mod hardware;
mod log;
mod model;
mod names;
mod network;
mod page;
mod redact;
mod secrets;

pub use endpoint::{from_models, from_server_info, from_version};
pub(crate) use environment::package;
pub use environment::{from_collect_env, from_environment, from_packages};
pub use hardware::{from_gpus, from_topology};
pub use log::from_log;
pub use model::{
    Shard, from_adapter_config, from_chat_template, from_generation_config, from_model_config, from_tokenizer,
    from_tokenizer_config, from_weights,
};
pub use names::setting_name;
pub use network::from_nccl;
pub use page::from_page;
pub use redact::{REDACTED, is_secret, label_value};
pub use secrets::{redact, text as redact_text};

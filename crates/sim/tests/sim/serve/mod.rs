//! The engine behind HTTP, over loopback.

mod client;
mod protocol;
mod replicas;
mod sampling;
mod time;

use crate::play::small;
use firstcheck_sim::{
    EngineConfig,
    serve::{ServeOptions, Server},
};

/// A server whose steps take no real time.
fn server() -> Server {
    with(EngineConfig { num_gpu_blocks: 1000, max_model_len: 512, ..small() })
}

/// The same of that configuration.
fn with(config: EngineConfig) -> Server {
    Server::start(config, ServeOptions { time_scale: f64::INFINITY, ..ServeOptions::default() }).unwrap()
}

//! Logs of engines: vLLM from 0.6 to 0.33 and SGLang from 0.4 to 0.5.23.
//!
//! A line goes through three hands: what a container put around it is taken off ([`wrapper`]), what the engine put before
//! its message is taken apart ([`prefix`]), and the message is read for what it says. Lines of several processes and
//! ranks are mixed in one log; each message keeps the process that wrote it.

mod choice;
mod clock;
mod event;
mod failure;
pub(crate) mod format;
mod interval;
mod kv_connector;
mod out_of_memory;
pub mod prefix;
mod reader;
mod samples;
pub(crate) mod scan;
pub mod settings;
mod startup;
mod telling;
pub mod wrapper;

pub use reader::LogReader;

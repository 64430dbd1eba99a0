//! Bytes to evidence: detection, archives, foreign result files, metrics pages, vocabulary, fingerprints.
//!
//! Three rules hold throughout. *What a file is* is told by its content, never by its name. *What a format does not
//! know* is marked as unknown ([`firstcheck_model::run::Detail`], [`firstcheck_model::moment::Moment::NEVER`], `None`),
//! never filled in. *What cannot be read* is counted and returned with its line.
//!
//! The way of a file: `walk` opens it, `unpack` peels its layers, `formats` finds its format, the format's module reads
//! it into the `frame`'s intake, `join` puts together what lies in one folder.

#![warn(missing_docs)]

mod answers;
mod beside;
mod capture;
pub mod error;
mod fetched;
pub mod fingerprint;
pub mod formats;
mod frame;
pub mod gather;
pub mod guarded;
pub mod hang;
pub mod host;
mod join;
mod json;
pub mod limits;
pub mod log;
mod model_folder;
mod numbered;
pub mod otlp;
pub mod prometheus;
mod prompts;
mod replica;
mod results;
mod terminal_codes;
mod time;
mod unpack;
pub mod vocabulary;
mod walk;

pub use error::Error;
pub use fetched::Fetched;
pub use formats::detect_bytes;
pub use frame::{Action, Confidence, Format, Group, Head, Reading};
pub use gather::{
    Collected, Gathered, Input, collect, collect_watched, gather, gather_recordings, read_recordings,
    read_recordings_within, read_runs, read_runs_within,
};
pub use limits::Limits;
pub use numbered::file_of;
pub use unpack::Watch;

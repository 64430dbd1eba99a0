//! Bytes to evidence: detection, foreign result files, metrics pages, vocabulary, fingerprints.
//!
//! Three rules hold throughout. *What a file is* is told by its content, never by its name. *What a format does not
//! know* is marked as unknown ([`firstcheck_model::run::Detail`], [`firstcheck_model::moment::Moment::NEVER`], `None`),
//! never filled in. *What cannot be read* is counted and returned with its line.

#![warn(missing_docs)]

pub mod detect;
pub mod error;
pub mod fingerprint;
mod folder;
pub mod gather;
pub mod guarded;
pub mod hang;
pub mod host;
mod json;
pub mod limits;
pub mod log;
mod numbered;
pub mod prometheus;
mod results;
pub mod vocabulary;

pub use detect::{Format, detect};
pub use error::Error;
pub use gather::{
    Gathered, gather, gather_recordings, read_recordings, read_recordings_within, read_runs, read_runs_within,
};
pub use limits::Limits;
pub use numbered::file_of;

//! A run on disk: journal, Parquet, salvage and run.json.
//!
//! A [`Writer`] appends a run's rows about once a second to a journal that a `kill -9` cannot make unreadable, and turns
//! it into Parquet at the end. [`Bundle::open`] reads either: the Parquet files of a finished run after checking their
//! hashes, or what the journal holds of a run that never finished. `run.json` alone says whether a run is complete.
//! Columns and units: `docs/bundle.md`.
//!
//! # Example: write a run and read it back
//! ```
//! use firstcheck_bundle::{Bundle, Rows, Writer};
//! use firstcheck_model::{event::Event, moment::Moment, request::{Fate, Request}, run::*};
//!
//! let parent = tempfile::tempdir()?;
//! let dir = parent.path().join("run");
//! let workload = WorkloadInfo {
//!     description: "one request".into(), arrivals: Arrivals::Unknown, trace_hash: None, salt: None,
//!     streaming: None, warm_up: None, cache: CacheState::Unknown,
//! };
//! let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
//! let info = RunInfo::new(RunId("r1".into()), "firstcheck", Origin::Measured, clock, workload);
//!
//! let mut writer = Writer::create(&dir, &info)?;
//! let mut request = Request::offered(Moment::at(0));
//! request.sent = Moment::at(1_000);
//! writer.append(Rows { requests: &[(0, request.clone())], ..Rows::default() })?;
//! request.fate = Fate::Completed;
//! let event = Event { request: 0, since_sent_ns: 5_000, tokens: Some(1), kernel_ns: None };
//! writer.append(Rows { requests: &[(0, request)], events: &[event], ..Rows::default() })?;
//! writer.finish(info)?;
//!
//! let bundle = Bundle::open(&dir)?;
//! assert_eq!(bundle.info().state, RunState::Complete);
//! assert_eq!(bundle.requests()?[0].fate, Fate::Completed);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attached;
mod bundle;
mod columns;
mod durable;
mod error;
mod frame;
mod guarded;
mod journal;
mod layout;
mod parquet_file;
mod placed;
mod run_json;
mod salvage;
mod table;
mod writer;

pub use attached::Attached;
pub use bundle::Bundle;
pub use error::{Error, Result};
pub use layout::place;
pub use run_json::SCHEMA;
pub use salvage::{Cut, Salvage};
pub use writer::{Rows, Writer, write_recording};

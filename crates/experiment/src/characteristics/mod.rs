//! How often a comparison errs: experiments on the simulated engine whose truth is known.
//!
//! An [`Experiment`] is K interleaved pairs of runs on one trace, judged as `ab` and `compare` judge them. Repeated with
//! other seeds it tells how often the gate fails a candidate that is not worse, passes one that is, and how often an
//! interval holds the true effect ([`Tally`]). Beside it stands what other ways to compare would have said of the same
//! runs ([`rivals`]).
//!
//! Runs differ by more than chance within them: a factor a run, a slow drift over the session, a second run that finds a
//! warmer host, two devices that are not quite alike. The engine preempts, caches prefixes and has replicas, by
//! [`Regime`].

mod experiment;
mod regime;
pub mod rivals;
mod tally;

pub use experiment::{Experiment, Judgement, OfSlice, Options, Sessions};
pub use regime::{Regime, Traffic};
pub use tally::{Rate, Row, Tally};

//! Which check says what of which fault: every fault of the simulator against every check.
//!
//! A fault is played in virtual time beside the healthy run of its scene ([`Stage`]); the bundles of both are read as
//! `diagnose` reads them, and all checks are asked. Whether the fault was large enough to be seen at all is told without
//! asking any check, by what it did to a metric of its own ([`Floor`]). A [`Row`] counts, above that floor, how often the
//! fault's own check found it and named its cause, and, of all runs, how often another check found what was not there.

mod dose;
mod floor;
mod lack;
mod load;
mod matrix;
mod play;
mod said;
mod tally;

pub use dose::Dose;
pub use floor::{Change, FLOORS, Floor};
pub use lack::{Lack, contradictions};
pub use load::Load;
pub use matrix::{Group, Judged, groups};
pub use play::{Against, Played, Stage};
pub use said::{Said, Word};
pub use tally::{Calm, Row, rows};

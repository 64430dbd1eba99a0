//! The frame that formats plug into: a format recognises the start of an artefact and reads the whole of it into the
//! intake.

pub(crate) mod artefact;
pub(crate) mod format;
pub(crate) mod head;
pub(crate) mod intake;

pub(crate) use artefact::{Artefact, Line};
pub use format::{Action, Confidence, Format, Group, Reading};
pub use head::Head;
pub(crate) use intake::{Intake, Piece, What};

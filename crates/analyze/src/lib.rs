//! Evidence to findings: measurements, comparison and checks. Pure: no I/O, no clock.

pub mod case;
pub mod changes;
pub mod checks;
pub mod compare;
pub mod declare;
pub mod diagnose;
pub mod examine;
pub mod figures;
pub mod fingerprint;
pub mod isolate;
pub mod judge;
pub mod measure;
pub mod onset;
pub mod planned;
pub mod rank;
pub mod registry;
pub mod settings;
pub mod settling;
pub mod shared;
pub mod side;
pub mod split;
mod spoken;
pub mod sweep;
pub mod symptom;
pub mod verdict;
mod version;

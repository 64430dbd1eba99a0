//! What can go wrong with a bundle.

use std::{
    io,
    path::{Path, PathBuf},
};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a bundle cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried (`write`, `rename`).
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A run is to be written where something is already.
    #[error("{} exists and is not empty: give a new folder, a run is never overwritten", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// There is no `run.json`.
    #[error("{} is not a bundle: it has no run.json", path.display())]
    NotABundle {
        /// The folder.
        path: PathBuf,
    },
    /// A bundle of another version.
    #[error("{} has schema `{found}` where this version reads `{}`: read it with the version that wrote it", path.display(), crate::SCHEMA)]
    Schema {
        /// Its `run.json`.
        path: PathBuf,
        /// The schema it states.
        found: String,
    },
    /// A file is not the one that was written.
    #[error("{} is damaged: {why}; restore it from a copy", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// A file that cannot be understood although it is as it was written.
    #[error("{} cannot be read: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
    /// Rows or run information that the format cannot hold.
    #[error("cannot store {what}: {why}")]
    NotStorable {
        /// What was given.
        what: String,
        /// Why it cannot be held.
        why: String,
    },
    /// There is no such attachment.
    #[error("{} has no attached file `{name}`", path.display())]
    NoAttachment {
        /// The bundle.
        path: PathBuf,
        /// What was asked for.
        name: String,
    },
}

impl Error {
    /// Whether the disk, a quota or a limit on file sizes had no more room.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }

    pub(crate) fn malformed(path: &Path, why: impl ToString) -> Self {
        Self::Malformed { path: path.into(), why: why.to_string() }
    }

    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged { path: path.into(), why: why.to_string() }
    }

    pub(crate) fn not_storable(what: impl ToString, why: impl ToString) -> Self {
        Self::NotStorable { what: what.to_string(), why: why.to_string() }
    }
}

/// Names the file and what was tried in an error of the file system.
pub(crate) trait Named<T> {
    /// See [`Error::Io`].
    fn named(self, doing: &'static str, path: &Path) -> Result<T>;
}

impl<T> Named<T> for io::Result<T> {
    fn named(self, doing: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io { doing, path: path.into(), source })
    }
}

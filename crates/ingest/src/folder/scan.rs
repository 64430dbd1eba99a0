//! What lies in a folder, by content.

use crate::{Error, Format, Limits, detect};
use firstcheck_model::report::Unread;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The files and folders of a folder that matter here, each list sorted by path. Others (logs, configurations, scripts)
/// are passed over: they are no results.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) bundles: Vec<PathBuf>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) results: Vec<(PathBuf, Format)>,
    pub(super) pages: Vec<PathBuf>,
    pub(super) answers: Vec<(PathBuf, Format)>,
    /// Files that could not be read, or that begin as JSON and are none.
    pub(super) unread: Vec<Unread>,
}

impl Scan {
    pub(super) fn of(folder: &Path, limits: &Limits) -> Result<Self, Error> {
        let entries = fs::read_dir(folder).map_err(|e| Error::io(folder, e))?;
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| Error::io(folder, e))?;
            if !entry.file_name().to_string_lossy().starts_with('.') {
                paths.push(entry.path());
            }
        }
        paths.sort();
        let mut scan = Self::default();
        if paths.len() > limits.files {
            let reason = format!("{} entries, only the first {} were looked at", paths.len(), limits.files);
            scan.unread.push(Unread { path: folder.display().to_string(), line: None, reason });
            paths.truncate(limits.files);
        }
        for path in paths {
            match detect(&path, limits) {
                Ok(Format::Bundle) => scan.bundles.push(path),
                Ok(Format::Folder) => scan.folders.push(path),
                Ok(Format::MetricsPage) => scan.pages.push(path),
                Ok(format @ (Format::Version | Format::Models | Format::ServerInfo)) => {
                    scan.answers.push((path, format))
                }
                Ok(format) if format.is_result() => scan.results.push((path, format)),
                Ok(_) => {}
                Err(error) => scan.unread.push(error.unread()),
            }
        }
        Ok(scan)
    }
}

//! Reading what a user names: a path that is not there is a usage error, not missing evidence.

use anyhow::{anyhow, bail};
use firstcheck_ingest::{Gathered, file_of, gather};
use firstcheck_model::report::Unread;
use std::path::{Path, PathBuf};

/// Fails unless `path` is there, or is one run of a file that is (`FILE#2`).
///
/// # Errors
/// Naming the path.
pub(super) fn must_exist(path: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(file_of(path)) {
        Ok(_) => Ok(()),
        Err(error) => Err(anyhow!(error).context(format!("cannot read {}", path.display()))),
    }
}

/// All runs in `paths`.
///
/// # Errors
/// A path that is not there, or paths that hold no run that can be read, with the reasons.
pub(super) fn runs(paths: &[PathBuf]) -> anyhow::Result<Gathered> {
    for path in paths {
        must_exist(path)?;
    }
    let gathered = gather(paths);
    if gathered.runs.is_empty() {
        let reasons: Vec<String> = gathered.unread.iter().map(say).collect();
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        if reasons.is_empty() {
            bail!("no run in {}", names.join(", "));
        }
        bail!("no run in {}: {}", names.join(", "), reasons.join("; "));
    }
    Ok(gathered)
}

/// Where and why something could not be read; a reason that names the file already says so once.
pub(super) fn say(unread: &Unread) -> String {
    if unread.line.is_none() && unread.reason.contains(&unread.path) {
        return unread.reason.clone();
    }
    let line = unread.line.map_or(String::new(), |line| format!(":{line}"));
    format!("{}{line}: {}", unread.path, unread.reason)
}

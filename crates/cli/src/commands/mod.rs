//! One file a verb: settings from arguments, the call, the report, the exit code.

pub mod ab;
pub mod capture;
pub mod compare;
pub mod demo;
pub mod diagnose;
pub mod explain;
pub mod fingerprint;
pub mod import;
mod reading;
pub mod report;
pub mod run;
pub mod sim;

use anyhow::bail;
use std::path::{Path, PathBuf};

/// Most folders or files of one name.
const MOST: u32 = 10_000;

/// `FOLDER/NAME`, or `FOLDER/NAME-2` and so on where that is there already.
///
/// # Errors
/// Where ten thousand are there.
fn free_folder(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    free_path(folder, name, "")
}

/// The same for a file, whose name ends in `ending`.
///
/// # Errors
/// As [`free_folder`].
fn free_path(folder: &Path, name: &str, ending: &str) -> anyhow::Result<PathBuf> {
    let numbered = |n: u32| {
        let number = if n == 1 { String::new() } else { format!("-{n}") };
        folder.join(format!("{name}{number}{ending}"))
    };
    match (1..MOST).map(numbered).find(|path| !path.exists()) {
        Some(path) => Ok(path),
        None => bail!("{} holds {MOST} of the name {name}{ending}: remove some", folder.display()),
    }
}

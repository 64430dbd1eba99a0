//! One file a verb: settings from arguments, the call, the report, the exit code.

pub mod ab;
pub mod capture;
mod case;
pub mod compare;
pub mod demo;
pub mod diagnose;
pub mod explain;
pub mod fingerprint;
pub mod import;
pub mod install;
pub mod isolate;
mod prepared;
mod reading;
pub mod report;
pub mod run;
pub mod sim;
pub mod sweep;

use anyhow::bail;
use std::path::{Path, PathBuf};

/// Most folders or files of one name.
const MOST: u32 = 10_000;

/// The folder that `--out` names, which holds nothing yet, or else a free one of this name.
///
/// # Errors
/// A folder that is not empty, and as [`free_folder`].
fn new_folder(out: Option<&Path>, name: &str) -> anyhow::Result<PathBuf> {
    match out {
        Some(out) if is_used(out) => bail!("{} is not empty: name a new folder with --out", out.display()),
        Some(out) => Ok(out.to_owned()),
        None => free_folder(Path::new(""), name),
    }
}

/// Whether it is a folder that holds something.
fn is_used(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

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

//! One file a verb: settings from arguments, the call, the report, the exit code.

pub mod ab;
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

/// Most folders of one name.
const MOST_FOLDERS: u32 = 10_000;

/// `FOLDER/NAME`, or `FOLDER/NAME-2` and so on where that is there already.
///
/// # Errors
/// Where ten thousand are there.
fn free_folder(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let numbered = |n: u32| if n == 1 { folder.join(name) } else { folder.join(format!("{name}-{n}")) };
    match (1..MOST_FOLDERS).map(numbered).find(|path| !path.exists()) {
        Some(path) => Ok(path),
        None => bail!("{} holds {MOST_FOLDERS} folders named {name}: remove some", folder.display()),
    }
}

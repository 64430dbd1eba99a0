//! The names that files of a bundle have: what an archive packs is told by them.

use crate::{attached, journal, run_json, table::Table};
use std::path::{Path, PathBuf};

/// Longest name of an attached file that a file system takes, bytes.
const LONGEST: usize = 255;

/// Where a file named `name` would lie in a bundle: the folder of the bundle, and the file's place in it. `None`: no
/// bundle has such a file. Nothing else of `name` decides on the place, so that it is safe to write to.
///
/// # Example
/// ```
/// use firstcheck_bundle::place;
/// assert_eq!(place("runs/one/journal/events"), Some(("runs/one", "journal/events".into())));
/// assert_eq!(place("run.json"), Some(("", "run.json".into())));
/// assert_eq!(place("attached/../x"), None);
/// ```
pub fn place(name: &str) -> Option<(&str, PathBuf)> {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    if file == run_json::NAME || Table::ALL.iter().any(|table| table.parquet_name() == file) {
        return Some((folder, file.into()));
    }
    let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let is_plain = !file.is_empty() && !file.starts_with('.') && file.len() <= LONGEST && file.chars().all(plain);
    let belongs = match last {
        journal::FOLDER => file == journal::RESERVE_NAME || Table::ALL.iter().any(|table| table.name() == file),
        attached::FOLDER => is_plain,
        _ => false,
    };
    belongs.then(|| (above, Path::new(last).join(file)))
}

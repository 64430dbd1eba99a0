//! One run of a file that holds several: `FILE#2`, as reports label them.

use std::path::{Path, PathBuf};

/// The file that `path` names: itself, or `FILE` where `path` is `FILE#N`, is not there, and `FILE` is.
pub fn file_of(path: &Path) -> PathBuf {
    split(path).map_or_else(|| path.to_owned(), |(file, _)| file)
}

/// File and number of the run, counted from 1, where `path` names one of several.
pub(crate) fn split(path: &Path) -> Option<(PathBuf, usize)> {
    if path.symlink_metadata().is_ok() {
        return None;
    }
    let (file, number) = path.to_str()?.rsplit_once('#')?;
    let number = number.parse().ok().filter(|n| *n > 0)?;
    let file = PathBuf::from(file);
    file.is_file().then_some((file, number))
}

//! The border behind which decoders run: a size limit before, a net for panics around.

use crate::{Error, Limits};
use std::{
    fs::File,
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Runs `decode`; a panic in it (third-party decoders have them) becomes [`Error::Malformed`].
///
/// # Errors
/// What `decode` returns, or `Malformed` when it panicked.
pub fn guarded<T>(path: &Path, format: &'static str, decode: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // Unwind safety: on a panic everything that `decode` touched is dropped, nothing half-written is seen again.
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let reason = format!("its decoder gave up ({}); please report the file", said.unwrap_or("no message"));
        Err(Error::malformed(path, None, format, reason))
    })
}

/// All bytes of a file, if they are within the limit. The limit holds for what is read, not for what the file system
/// says: a pipe or a growing file has no size.
///
/// # Errors
/// [`Error::Io`] and [`Error::TooLarge`].
pub fn read_all(path: &Path, limits: &Limits) -> Result<Vec<u8>, Error> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let size = file.metadata().map_err(|e| Error::io(path, e))?.len();
    if size > limits.file_bytes {
        return Err(Error::TooLarge { path: path.into(), bytes: size, limit: limits.file_bytes });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    let read =
        file.take(limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    if read as u64 > limits.file_bytes {
        return Err(Error::TooLarge { path: path.into(), bytes: read as u64, limit: limits.file_bytes });
    }
    Ok(bytes)
}

/// The first `count` bytes of a file (fewer if it is shorter).
///
/// # Errors
/// [`Error::Io`].
pub fn read_start(path: &Path, count: u64) -> Result<Vec<u8>, Error> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    Ok(bytes)
}

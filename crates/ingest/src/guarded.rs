//! The border behind which decoders run: a size limit before, a net for panics around.

use crate::{Error, Limits};
use std::{
    fs::{self, File},
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

/// What some editors and shells put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Opens a regular file. Anything else is refused before it is opened: a pipe that nobody writes to never answers, a
/// device never ends, and both are read twice here.
fn open(path: &Path) -> Result<File, Error> {
    let metadata = fs::metadata(path).map_err(|e| Error::io(path, e))?;
    if !metadata.is_file() {
        return Err(Error::NotAFile { path: path.into() });
    }
    File::open(path).map_err(|e| Error::io(path, e))
}

/// All bytes of a file without a byte-order mark, if they are within the limit. The limit holds for what is read, not
/// for what the file system says: the file may grow.
///
/// # Errors
/// [`Error::Io`], [`Error::NotAFile`] and [`Error::TooLarge`].
pub fn read_all(path: &Path, limits: &Limits) -> Result<Vec<u8>, Error> {
    let file = open(path)?;
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
    Ok(without_mark(bytes))
}

/// The first `count` bytes of a file (fewer if it is shorter), less a byte-order mark.
///
/// # Errors
/// [`Error::Io`] and [`Error::NotAFile`].
pub fn read_start(path: &Path, count: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    open(path)?.take(count).read_to_end(&mut bytes).map_err(|e| Error::io(path, e))?;
    Ok(without_mark(bytes))
}

fn without_mark(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    bytes
}

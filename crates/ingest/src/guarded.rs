//! The border behind which decoders run: a net for panics.

use crate::Error;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Runs `decode`; a panic in it becomes what it said.
pub(crate) fn caught<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    // Unwind safety: what `decode` gave before a panic are whole pieces; everything else that it touched is dropped.
    catch_unwind(AssertUnwindSafe(decode)).map_err(|panic| {
        let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        format!("its decoder gave up ({}); please report the file", said.unwrap_or("no message"))
    })
}

/// Runs `decode`; a panic in it (third-party decoders have them) becomes [`Error::Malformed`].
///
/// # Errors
/// What `decode` returns, or `Malformed` when it panicked.
pub fn guarded<T>(path: &Path, format: &'static str, decode: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    caught(decode).unwrap_or_else(|reason| Err(Error::malformed(path, None, format, reason)))
}

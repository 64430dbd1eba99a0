//! The border around decoders that are not ours.

use crate::error::{Error, Result};
use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Runs a third-party decoder on the bytes of `path`; a panic in it becomes [`Error::Malformed`].
///
/// Checksums are verified before a decoder sees anything, so this is for files that were crafted, not for those that
/// were damaged.
pub(crate) fn guarded<T>(path: &Path, decode: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|panic| Err(Error::malformed(path, format!("the decoder gave up: {}", message(&*panic)))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_names_the_file() {
        let result: Result<()> = guarded(Path::new("events.parquet"), || panic!("index out of bounds"));
        let text = result.unwrap_err().to_string();
        assert_eq!(text, "events.parquet cannot be read: the decoder gave up: index out of bounds");
    }
}

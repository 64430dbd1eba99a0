//! The archive: one folder in a tar, compressed with Zstandard.

use super::Captured;
use crate::error::{Error, Result};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, Write};
use tar::{Builder, EntryType, Header};

/// Folder of all files.
const FOLDER: &str = "firstcheck-capture";

/// Writes manifest and files to `into`.
///
/// # Errors
/// [`Error::Archive`].
pub fn write_archive(captured: &Captured, mut into: impl Write) -> Result<()> {
    let failed = |source| Error::Archive { source };
    let manifest = serde_json::to_vec_pretty(&captured.manifest).map_err(|error| failed(io::Error::other(error)))?;
    let mut builder = Builder::new(Vec::new());
    let files = captured.files.iter().map(|file| (file.name.as_str(), file.bytes.as_slice()));
    for (name, bytes) in std::iter::once(("manifest.json", manifest.as_slice())).chain(files) {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(bytes.len() as u64);
        header.set_mtime(captured.manifest.to_unix_s as u64);
        builder.append_data(&mut header, format!("{FOLDER}/{name}"), bytes).map_err(failed)?;
    }
    let plain = builder.into_inner().map_err(failed)?;
    let packed = compress_to_vec(plain.as_slice(), CompressionLevel::Fastest);
    into.write_all(&packed).and_then(|()| into.flush()).map_err(failed)
}

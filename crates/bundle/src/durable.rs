//! Files that are there whole or not at all, and their hashes.

use crate::error::{Error, Named, Result};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};
use xxhash_rust::xxh3::Xxh3;

/// A file of a bundle as run.json lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileEntry {
    /// Path inside the bundle, `/` between parts.
    pub(crate) name: String,
    /// Its length.
    pub(crate) bytes: u64,
    /// XXH3-64 of its content, 16 hex digits.
    pub(crate) xxh3: String,
}

pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

/// A file under a temporary name; hashed as it is written, in place only once [`NewFile::commit`] is
/// called, gone when it is not.
pub(crate) struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
    hash: Xxh3,
    bytes: u64,
    in_place: bool,
}

impl NewFile {
    /// Starts a file that shall stand at `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).named("create", &temporary)?;
        let file = BufWriter::with_capacity(1 << 18, file);
        Ok(Self { path: path.into(), temporary, file, hash: Xxh3::new(), bytes: 0, in_place: false })
    }

    /// Syncs the content and gives the file its name. The caller syncs the folder.
    pub(crate) fn commit(mut self, name: &str) -> Result<FileEntry> {
        let result = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        result.and_then(|()| fs::rename(&self.temporary, &self.path)).named("write", &self.path)?;
        self.in_place = true;
        Ok(FileEntry { name: name.into(), bytes: self.bytes, xxh3: hex(self.hash.digest()) })
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.in_place {
            // A temporary file that stays is no harm: nothing reads it.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hash.update(bytes.get(..written).unwrap_or_default());
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Waits until the disk has the names in `folder`.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).named("sync", folder)?;
    }
    Ok(())
}

/// Opens a file for reading; a pipe, which may never answer, or a device is refused before it is opened.
pub(crate) fn open_regular(path: &Path) -> Result<File> {
    if !fs::metadata(path).named("open", path)?.is_file() {
        return Err(Error::damaged(path, "it is no regular file"));
    }
    File::open(path).named("open", path)
}

/// Checks that the file of `entry` in the bundle at `dir` is the one that was written.
pub(crate) fn verify(dir: &Path, entry: &FileEntry) -> Result<()> {
    let path = dir.join(&entry.name);
    let mut file = match open_regular(&path) {
        Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            return Err(Error::damaged(&path, "it is missing"));
        }
        file => file?,
    };
    let bytes = file.metadata().named("read", &path)?.len();
    if bytes != entry.bytes {
        return Err(Error::damaged(&path, format!("it has {bytes} bytes where run.json says {}", entry.bytes)));
    }
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = file.read(&mut buffer).named("read", &path)?;
        if read == 0 {
            break;
        }
        hash.update(buffer.get(..read).unwrap_or_default());
    }
    let found = hex(hash.digest());
    if found == entry.xxh3 {
        return Ok(());
    }
    Err(Error::damaged(&path, format!("its hash is {found} where run.json says {}", entry.xxh3)))
}

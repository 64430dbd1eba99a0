//! Runs inside an archive: the files of a bundle are opened together, so they are laid on disk until the archive ends.
//!
//! Nothing of an archive decides where a file is written: names that a bundle has are taken, others are not. What turns out
//! to be no bundle, because no `run.json` lies beside it, is read as any other entry is.

use super::{Unpack, entry_path};
use firstcheck_bundle::{Bundle, place};
use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

/// What may be runs of one archive.
pub(super) struct Packed {
    archive: PathBuf,
    /// By their folder in the archive.
    folders: BTreeMap<String, Folder>,
    /// Bytes that may still be laid on disk.
    left: u64,
}

struct Folder {
    disk: TempDir,
    /// Files below it with their names in the archive, in its order.
    files: Vec<(PathBuf, String)>,
}

impl Packed {
    pub(super) fn new(archive: &Path, bytes: u64) -> Self {
        Self { archive: archive.into(), folders: BTreeMap::new(), left: bytes }
    }

    /// Takes an entry that a bundle may have; whether it did. A file that is larger than what is left is none of a
    /// bundle's: it is refused, and its run with it.
    ///
    /// # Errors
    /// Where the entry breaks off, or the disk is full.
    pub(super) fn take(&mut self, name: &str, content: &mut dyn Read) -> io::Result<bool> {
        let Some((folder, path)) = place(name) else { return Ok(false) };
        if !self.folders.contains_key(folder) {
            let folder = (folder.to_owned(), Folder { disk: tempfile::tempdir()?, files: Vec::new() });
            self.folders.extend([folder]);
        }
        let Some(folder) = self.folders.get_mut(folder) else { return Ok(false) };
        let on_disk = folder.disk.path().join(&path);
        if let Some(parent) = on_disk.parent() {
            fs::create_dir_all(parent)?;
        }
        let written = io::copy(&mut content.take(self.left.saturating_add(1)), &mut File::create(&on_disk)?)?;
        if written > self.left {
            fs::remove_file(&on_disk)?;
            let reason = "the runs in the archive are larger than what is unpacked: unpack it and give the folder";
            return Err(io::Error::other(reason));
        }
        self.left -= written;
        folder.files.retain(|(known, _)| *known != path);
        folder.files.push((path, name.to_owned()));
        Ok(true)
    }

    /// Gives what was taken, as runs or as the entries that they are.
    pub(super) fn finish(self, unpack: &mut Unpack<'_>, layers: usize) {
        for (name, Folder { disk, files }) in self.folders {
            let bare = name.trim_start_matches("./");
            let folder = if matches!(bare, "" | ".") { self.archive.clone() } else { entry_path(&self.archive, bare) };
            let disk = Arc::new(disk);
            let is_run = Bundle::is_bundle(disk.path());
            if is_run {
                unpack.intake.bundle(&folder, Some(Arc::clone(&disk)));
            }
            for (path, name) in files {
                if is_run && !(unpack.lists_all && path.starts_with("attached")) {
                    continue;
                }
                let shown = entry_path(&self.archive, &name);
                match File::open(disk.path().join(&path)) {
                    Ok(mut file) => unpack.stream(shown, folder.clone(), &mut file, layers, None),
                    Err(error) => unpack.refuse(&shown, &folder, error.to_string()),
                }
            }
        }
    }
}

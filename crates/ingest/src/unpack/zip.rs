//! Zip archives.

use super::{NO_FILE, Unpack, entry_folder, entry_path, packed::Packed};
use crate::guarded::caught;
use std::{
    io::{Read, Seek},
    path::Path,
};
use zip::ZipArchive;

/// Gives each entry of the archive.
pub(super) fn entries(unpack: &mut Unpack<'_>, path: &Path, archive: impl Read + Seek, layers: usize) {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut archive = match caught(|| ZipArchive::new(archive)) {
        Ok(Ok(archive)) => archive,
        Err(reason) => return unpack.refuse(path, &folder, reason),
        Ok(Err(error)) => return unpack.refuse(path, &folder, format!("a damaged zip archive: {error}")),
    };
    let mut packed = Packed::new(path, unpack.intake.limits().packed_bytes);
    let most = unpack.intake.limits().entries;
    if archive.len() > most {
        unpack.refuse(path, &folder, format!("{} entries, only the first {most} were looked at", archive.len()));
    }
    let mut files = 0;
    for index in 0..archive.len().min(most) {
        let mut entry = match archive.by_index(index) {
            Ok(entry) => entry,
            Err(error) => {
                unpack.refuse(path, &folder, format!("entry {} of the zip archive: {error}", index + 1));
                continue;
            }
        };
        if entry.is_dir() {
            continue;
        }
        files += 1;
        let name = entry.name().map_or_else(|_| format!("entry {}", index + 1), |name| name.into_owned());
        unpack.budget.take(entry.compressed_size());
        let budget = unpack.budget.clone();
        let mut content = budget.expanded(&mut entry as &mut dyn Read);
        let (shown, folder) = (entry_path(path, &name), entry_folder(path, &name));
        match packed.take(&name, &mut content) {
            Ok(true) => {}
            Ok(false) => unpack.stream(shown, folder, &mut content, layers, None),
            Err(error) => unpack.refuse(&shown, &folder, error.to_string()),
        }
    }
    packed.finish(unpack, layers);
    if files == 0 {
        unpack.refuse(path, &folder, NO_FILE);
    }
}

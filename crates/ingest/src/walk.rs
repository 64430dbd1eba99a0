//! From paths to artefacts: folders are walked, everything else is opened.

use crate::{
    Error, Fetched, Limits,
    frame::{Intake, What},
    unpack::{Budget, Unpack, Watch},
};
use firstcheck_bundle::Bundle;
use rayon::prelude::*;
use std::{
    collections::HashSet,
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

/// How much of a folder is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Everything; what is not read is listed.
    All,
    /// Results with what belongs to them; folders below only where there are none. Everything else is passed over.
    Runs,
}

/// A walk through some inputs.
pub(crate) struct Walk {
    pub(crate) intake: Intake,
    wanted: Wanted,
    watch: Option<Watch>,
    /// Folders and files that were seen, by what the file system knows them by.
    seen: HashSet<(u64, u64)>,
}

impl Walk {
    pub(crate) fn new(limits: Limits, wanted: Wanted, watch: Option<Watch>) -> Self {
        Self { intake: Intake::new(limits), wanted, watch, seen: HashSet::new() }
    }

    /// Takes what `path` holds.
    ///
    /// # Errors
    /// Where the path itself cannot be opened. What lies in a folder and cannot be is listed as unread.
    pub(crate) fn path(&mut self, path: &Path) -> Result<(), Error> {
        let about = fs::metadata(path).map_err(|e| Error::io(path, e))?;
        if about.is_dir() {
            return self.folder(path, self.intake.limits().depth);
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        if !self.is_new(path)? {
            self.repeated(path, "file");
            return Ok(());
        }
        self.reader().file(&mut self.intake, path, &folder)
    }

    /// Takes a stream that has no path.
    pub(crate) fn stream(&mut self, name: &str, source: &mut dyn Read) {
        let budget = Budget::new(self.intake.limits(), Path::new(name), self.watch.as_ref());
        let layers = self.intake.limits().nesting;
        let mut source = budget.input(source);
        let reader = self.reader();
        reader.unpack(&mut self.intake, budget).stream(PathBuf::from(name), PathBuf::new(), &mut source, layers, None);
    }

    /// Takes what a live source answered.
    pub(crate) fn fetched(&mut self, fetched: &Fetched) {
        let path = Path::new(&fetched.name);
        let budget = Budget::new(self.intake.limits(), path, self.watch.as_ref());
        let layers = self.intake.limits().nesting;
        let before = self.intake.read.len();
        let (reader, mut bytes) = (self.reader(), &fetched.bytes[..]);
        reader.unpack(&mut self.intake, budget).stream(path.into(), fetched.source.clone(), &mut bytes, layers, None);
        let Some(row) = self.intake.read.get_mut(before) else { return };
        row.notes.extend(fetched.notes.iter().cloned());
        self.intake.begin(path, &fetched.source);
        for name in &fetched.passed_over {
            self.intake.not_understood(What::Series, name, None, name);
        }
        self.intake.end();
    }

    fn reader(&self) -> Reader {
        Reader { limits: *self.intake.limits(), wanted: self.wanted, watch: self.watch.clone() }
    }

    /// Takes files that lie in one folder, or beside a bundle's tables: side by side, and in their order.
    fn files(&mut self, files: &[PathBuf], folder: &Path) {
        let mut admitted = Vec::with_capacity(files.len());
        for file in files {
            match self.is_new(file) {
                Ok(true) => admitted.push(file),
                Ok(false) => self.repeated(file, "file"),
                Err(error) => self.list(&error),
            }
        }
        let reader = self.reader();
        let read = admitted.into_par_iter().map(|file| {
            let mut intake = Intake::new(reader.limits);
            if let Err(error) = reader.file(&mut intake, file, folder) {
                intake.unread.push(error.unread());
            }
            intake
        });
        read.collect::<Vec<_>>().into_iter().for_each(|intake| self.intake.append(intake));
    }

    fn folder(&mut self, path: &Path, depth: usize) -> Result<(), Error> {
        if Bundle::is_bundle(path) {
            return self.bundle(path);
        }
        if !self.is_new(path)? {
            self.refuse(path, "a link back to a folder that was looked into");
            return Ok(());
        }
        let entries = self.entries(path)?;
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = entries.into_iter().partition(|entry| entry.is_dir());
        let before = self.intake.given.len();
        self.files(&files, path);
        let (bundles, folders): (Vec<PathBuf>, Vec<PathBuf>) =
            folders.into_iter().partition(|folder| Bundle::is_bundle(folder));
        for bundle in bundles {
            if let Err(error) = self.bundle(&bundle) {
                self.list(&error);
            }
        }
        let stands_for_itself = self.intake.given[before..].iter().any(|given| given.piece.is_run());
        if self.wanted == Wanted::Runs && stands_for_itself {
            return Ok(());
        }
        for folder in folders {
            if depth == 0 {
                let levels = self.intake.limits().depth;
                self.refuse(&folder, format!("more than {levels} folders deep: give it by itself"));
            } else if let Err(error) = self.folder(&folder, depth - 1) {
                self.list(&error);
            }
        }
        Ok(())
    }

    /// The entries of a folder, sorted.
    fn entries(&mut self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let (mut paths, mut hidden) = (Vec::new(), 0);
        for entry in fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
            let entry = entry.map_err(|e| Error::io(folder, e))?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if is_hidden && (self.wanted == Wanted::Runs || entry.path().is_dir()) {
                hidden += 1;
            } else {
                paths.push(entry.path());
            }
        }
        if hidden > 0 && self.wanted == Wanted::All {
            self.refuse(folder, format!("{hidden} hidden folders were not looked into: give them by name"));
        }
        paths.sort();
        let most = self.intake.limits().files;
        if paths.len() > most {
            self.refuse(folder, format!("{} entries, only the first {most} were looked at", paths.len()));
            paths.truncate(most);
        }
        Ok(paths)
    }

    fn bundle(&mut self, path: &Path) -> Result<(), Error> {
        if !self.is_new(path)? {
            self.repeated(path, "run");
            return Ok(());
        }
        self.intake.bundle(path, None);
        self.attached(path);
        Ok(())
    }

    /// What was saved beside a bundle's tables: logs, pages, dumps.
    fn attached(&mut self, bundle: &Path) {
        let folder = bundle.join("attached");
        if self.wanted != Wanted::All || !folder.is_dir() {
            return;
        }
        let read = self.entries(&folder).map(|entries| {
            let files: Vec<PathBuf> = entries.into_iter().filter(|entry| !entry.is_dir()).collect();
            self.files(&files, bundle);
        });
        if let Err(error) = read {
            self.list(&error);
        }
    }

    /// Lists what was read before under another path.
    fn repeated(&mut self, path: &Path, what: &str) {
        if self.wanted == Wanted::All {
            self.refuse(path, format!("the same {what} as one that was read: counted once"));
        }
    }

    fn refuse(&mut self, path: &Path, reason: impl Into<String>) {
        self.intake.begin(path, path);
        self.intake.unread(None, reason);
        self.intake.end();
    }

    pub(crate) fn list(&mut self, error: &Error) {
        self.intake.unread.push(error.unread());
    }

    /// Whether `path` was not seen before, whatever it was called then.
    ///
    /// # Errors
    /// What the file system says where it is not there.
    fn is_new(&mut self, path: &Path) -> Result<bool, Error> {
        let about = fs::metadata(path).map_err(|e| Error::io(path, e))?;
        Ok(identity(&about).is_none_or(|identity| self.seen.insert(identity)))
    }
}

/// What the file system knows a file or folder by.
#[cfg(unix)]
fn identity(about: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

/// Where the file system gives no identity, the depth alone bounds a loop.
#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// How a file is read, whichever thread does it.
struct Reader {
    limits: Limits,
    wanted: Wanted,
    watch: Option<Watch>,
}

impl Reader {
    fn unpack<'i>(&self, intake: &'i mut Intake, budget: Budget) -> Unpack<'i> {
        let wanted: fn(&'static crate::Format) -> bool = match self.wanted {
            Wanted::All => |_| true,
            // What states the deployment belongs to its runs: pages, answers, the engine's log, devices, packages.
            Wanted::Runs => |format| {
                let stated = format.group <= crate::Group::Model && matches!(format.action, crate::Action::Read(_));
                format.group <= crate::Group::Answers || stated
            },
        };
        Unpack { lists_all: self.wanted == Wanted::All, intake, budget, wanted }
    }

    fn file(&self, intake: &mut Intake, path: &Path, folder: &Path) -> Result<(), Error> {
        // Looked at before it is opened: a pipe that nobody writes to never answers, a device never ends.
        let about = fs::metadata(path).map_err(|e| Error::io(path, e))?;
        if !about.is_file() {
            return Err(Error::NotAFile { path: path.into() });
        }
        let file = File::open(path).map_err(|e| Error::io(path, e))?;
        let budget = Budget::new(&self.limits, path, self.watch.as_ref());
        self.unpack(intake, budget).file(path, folder, file);
        Ok(())
    }
}

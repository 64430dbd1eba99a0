//! The ledger on disk: append-only JSON lines beside the bundles.

use super::{Begun, Entry, Ledger};
use crate::error::Error;
use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
};

/// A ledger on disk.
#[derive(Debug)]
pub struct LedgerFile {
    path: PathBuf,
    file: File,
    ledger: Ledger,
}

impl LedgerFile {
    /// Opens the ledger at `path` and notes that the experiment is taken up again, or begins one.
    ///
    /// A last line without its end was cut by a crash: it is dropped, and its step will be taken again.
    ///
    /// # Errors
    /// A file that cannot be read, a line that is no entry, or a ledger of another experiment.
    pub fn open(path: &Path, begun: Begun) -> Result<Self, Error> {
        let fail = |action| move |source| Error::File { action, path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path).map_err(fail("open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(fail("lock")(source)),
        }
        let (ledger, whole) = read(path, &file)?;
        file.set_len(whole).map_err(fail("repair"))?;
        let mut opened = Self { path: path.to_owned(), file, ledger };
        match opened.ledger.entries().first() {
            None => opened.append(Entry::Begun(begun))?,
            Some(Entry::Begun(found)) => {
                let differences = found.differences(&begun);
                if !differences.is_empty() {
                    return Err(Error::OtherPlan { path: path.to_owned(), differences: differences.join("; ") });
                }
                opened.append(Entry::Resumed)?;
            }
            Some(_) => return Err(Error::NoBeginning { path: path.to_owned() }),
        }
        Ok(opened)
    }

    /// How the experiment at `path` began; none where there is no ledger or nothing whole in it.
    ///
    /// # Errors
    /// A file that cannot be read, or a line that is no entry.
    pub fn peek(path: &Path) -> Result<Option<Begun>, Error> {
        match File::open(path) {
            Ok(file) => Ok(read(path, &file)?.0.begun().cloned()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::File { action: "open", path: path.to_owned(), source }),
        }
    }

    /// What has happened so far.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Appends an entry and syncs it to disk.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn append(&mut self, entry: Entry) -> Result<(), Error> {
        let fail = |source| Error::File { action: "append to", path: self.path.clone(), source };
        let mut line = serde_json::to_vec(&entry).map_err(|e| fail(e.into()))?;
        line.push(b'\n');
        self.file.write_all(&line).and_then(|()| self.file.sync_data()).map_err(fail)?;
        self.ledger.push(entry);
        Ok(())
    }
}

fn read(path: &Path, file: &File) -> Result<(Ledger, u64), Error> {
    let (mut ledger, mut whole) = (Ledger::default(), 0);
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let fail = |source| Error::File { action: "read", path: path.to_owned(), source };
        let read = lines.read_until(b'\n', &mut line).map_err(fail)?;
        if read == 0 || line.last() != Some(&b'\n') {
            break;
        }
        let entry = serde_json::from_slice(&line);
        ledger.push(entry.map_err(|source| Error::Ledger { path: path.to_owned(), line: number, source })?);
        whole += read as u64;
    }
    Ok((ledger, whole))
}

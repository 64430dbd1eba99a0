//! Reading a journal: what is whole of it.

use crate::{
    error::{Error, Result},
    frame::{Frames, Next},
    guarded::guarded,
    journal::FOLDER,
    table::Table,
};
use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use std::{
    fmt,
    path::{Path, PathBuf},
};

/// What was read of a run that has no end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// Appends whose requests and events are whole: the rows read are exactly what had been appended by then.
    pub appends: u32,
    /// Where reading stopped short of a file's end; empty when nothing was ignored.
    pub cuts: Vec<Cut>,
}

/// Where reading of a journal file stopped short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The file, relative to the bundle.
    pub file: String,
    /// The first frame that was not used, counted from 1.
    pub frame: u32,
    /// Bytes from there to the end of the file.
    pub ignored_bytes: u64,
    /// Why it was not used.
    pub why: String,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, frame, ignored_bytes, why } = self;
        write!(f, "{file}: frame {frame} not used because {why}; {ignored_bytes} bytes ignored")
    }
}

/// What a scan of one journal file found.
struct Scan {
    table: Table,
    /// End of each whole frame.
    ends: Vec<u64>,
    length: u64,
    broken: Option<String>,
}

impl Scan {
    fn of(path: &Path, table: Table) -> Result<Self> {
        let mut scan = Self { table, ends: Vec::new(), length: 0, broken: None };
        let Some(mut frames) = Frames::open(path)? else {
            scan.broken = table.always().then(|| "the file is missing".into());
            return Ok(scan);
        };
        scan.length = frames.length;
        let mut expected = 0;
        loop {
            match frames.next()? {
                Next::End => return Ok(scan),
                Next::Broken { why } => {
                    scan.broken = Some(why.into());
                    return Ok(scan);
                }
                Next::Frame { append, .. } if append < expected || (table.always() && append > expected) => {
                    scan.broken = Some(format!("it belongs to append {append} where {expected} is due"));
                    return Ok(scan);
                }
                Next::Frame { append, .. } => {
                    expected = append.saturating_add(1);
                    scan.ends.push(frames.whole);
                }
            }
        }
    }

    fn frames(&self) -> u32 {
        self.ends.len() as u32
    }

    /// The cut after `frames` frames, if anything stands there.
    fn cut(&self, frames: u32, why: &str) -> Option<Cut> {
        let end = frames.checked_sub(1).and_then(|last| self.ends.get(last as usize)).copied().unwrap_or(0);
        let ignored_bytes = self.length.saturating_sub(end);
        (ignored_bytes > 0 || self.length == 0).then(|| Cut {
            file: format!("{FOLDER}/{}", self.table.name()),
            frame: frames + 1,
            ignored_bytes,
            why: why.into(),
        })
    }
}

/// The whole part of a journal.
#[derive(Debug)]
pub(crate) struct WholeJournal {
    folder: PathBuf,
    pub(crate) salvage: Salvage,
}

impl WholeJournal {
    /// Looks through the journal of the bundle at `dir`.
    pub(crate) fn scan(dir: &Path) -> Result<Self> {
        let folder = dir.join(FOLDER);
        let scans = Table::ALL.map(|table| Scan::of(&folder.join(table.name()), table));
        let mut found = Vec::new();
        for scan in scans {
            found.push(scan?);
        }
        let paired = || found.iter().filter(|scan| scan.table.always());
        let appends = paired().map(Scan::frames).min().unwrap_or(0);
        let mut cuts = Vec::new();
        for scan in &found {
            if let Some(why) = &scan.broken {
                let frames = if scan.table.always() { appends.min(scan.frames()) } else { scan.frames() };
                cuts.extend(scan.cut(frames, why));
            } else if scan.table.always() && scan.frames() > appends {
                let other = if scan.table == Table::Events { Table::Requests } else { Table::Events };
                cuts.extend(scan.cut(appends, &format!("the {} of the same append are not whole", other.name())));
            }
        }
        Ok(Self { folder, salvage: Salvage { appends, cuts } })
    }

    /// Calls `each` with the rows of every frame of `table`.
    pub(crate) fn for_each_batch(
        &self,
        table: Table,
        mut each: impl FnMut(&RecordBatch, &Path) -> Result<()>,
    ) -> Result<()> {
        let path = self.folder.join(table.name());
        let Some(mut frames) = Frames::open(&path)? else { return Ok(()) };
        while let Next::Frame { append, payload } = frames.next()? {
            if table.always() && append >= self.salvage.appends {
                break;
            }
            if payload.is_empty() {
                continue;
            }
            for batch in guarded(&path, || decode(&payload, &path))? {
                each(&batch, &path)?;
            }
        }
        Ok(())
    }
}

fn decode(payload: &[u8], path: &Path) -> Result<Vec<RecordBatch>> {
    let read = || StreamReader::try_new(payload, None)?.collect::<std::result::Result<Vec<_>, _>>();
    read().map_err(|error| Error::malformed(path, error))
}

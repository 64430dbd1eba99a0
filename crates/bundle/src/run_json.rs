//! `run.json`: what alone says whether a run is complete, and which files it is made of.

use crate::{
    attached,
    durable::{FileEntry, NewFile, hex, open_regular, sync_folder},
    error::{Error, Named, Result},
    table::Table,
};
use firstcheck_model::run::{RunInfo, RunState};
use serde::{Deserialize, Serialize};
use std::{
    io::{ErrorKind, Read, Write},
    path::Path,
};
use xxhash_rust::xxh3::xxh3_64;

/// Schema of `run.json` and of the tables beside it.
pub const SCHEMA: &str = "firstcheck.run/1";

pub(crate) const NAME: &str = "run.json";

/// More than any run.json has.
const LARGEST: u64 = 64 << 20;

/// What stands between the content and its hash.
const BEFORE_HASH: &str = ",\n  \"hash\": \"xxh3:";
const AFTER_HASH: &str = "\"\n}\n";

/// Where a run's rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RowsIn {
    Journal,
    Parquet,
}

/// The content of `run.json`, without the hash of itself at its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunJson {
    pub(crate) schema: String,
    pub(crate) run: RunInfo,
    pub(crate) rows: RowsIn,
    pub(crate) files: Vec<FileEntry>,
}

/// Read first, so that a later schema is named rather than misread.
#[derive(Deserialize)]
struct SchemaOnly {
    schema: String,
}

impl RunJson {
    pub(crate) fn new(run: RunInfo, rows: RowsIn, files: Vec<FileEntry>) -> Self {
        Self { schema: SCHEMA.into(), run, rows, files }
    }

    /// Whether `name` is among the files.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.name == name)
    }

    /// Puts `run.json` into place in `dir`, whole or not at all.
    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        let text = self.text()?;
        let path = dir.join(NAME);
        let mut file = NewFile::create(&path)?;
        file.write_all(text.as_bytes()).named("write", &path)?;
        file.commit(NAME)?;
        sync_folder(dir)
    }

    fn text(&self) -> Result<String> {
        let json = serde_json::to_string_pretty(self).map_err(|error| Error::not_storable("run information", error))?;
        // JSON writes an infinite or undefined number as null, which would read as missing.
        if serde_json::from_str::<Self>(&json).ok().as_ref() != Some(self) {
            return Err(Error::not_storable("run information", "a number in it is infinite or undefined"));
        }
        let content = json.strip_suffix("\n}").unwrap_or(&json);
        let hash = hex(xxh3_64(content.as_bytes()));
        Ok(format!("{content}{BEFORE_HASH}{hash}{AFTER_HASH}"))
    }

    /// Reads and verifies the `run.json` of the bundle at `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self> {
        let path = dir.join(NAME);
        let file = match open_regular(&path) {
            Err(Error::Io { source, .. })
                if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(Error::NotABundle { path: dir.into() });
            }
            file => file?,
        };
        let mut bytes = Vec::new();
        file.take(LARGEST + 1).read_to_end(&mut bytes).named("read", &path)?;
        if bytes.len() as u64 > LARGEST {
            return Err(Error::malformed(&path, format!("it is larger than {LARGEST} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|error| Error::damaged(&path, error))?;
        let content = verified(&text).ok_or_else(|| {
            Error::damaged(&path, "the hash at its end does not match: it was cut, changed or edited after the run")
        });
        // A later version may hash otherwise: its schema is the better message. Another one is told once it is whole.
        let stated = serde_json::from_str::<SchemaOnly>(&text).ok();
        if let Some(SchemaOnly { schema: found }) = stated.filter(|stated| stated.schema != SCHEMA)
            && (content.is_ok() || is_later(&found))
        {
            return Err(Error::Schema { path, found });
        }
        content?;
        let run: Self = serde_json::from_str(&text).map_err(|error| Error::malformed(&path, error))?;
        run.check(&path)?;
        Ok(run)
    }

    fn check(&self, path: &Path) -> Result<()> {
        let known =
            |name: &str| Table::ALL.iter().any(|table| table.parquet_name() == name) || attached::is_listed_name(name);
        if let Some(file) = self.files.iter().find(|file| !known(&file.name)) {
            return Err(Error::malformed(path, format!("it lists `{}`, which is no file of a bundle", file.name)));
        }
        if self.rows == RowsIn::Journal && self.run.state == RunState::Complete {
            return Err(Error::malformed(path, "it says complete although its rows are still in the journal"));
        }
        let mut needed = Table::ALL.iter().filter(|table| self.rows == RowsIn::Parquet && table.always());
        match needed.find(|table| !self.lists(table.parquet_name())) {
            Some(table) => Err(Error::malformed(path, format!("it does not list {}", table.parquet_name()))),
            None => Ok(()),
        }
    }
}

/// Whether a schema is a later version of ours.
fn is_later(found: &str) -> bool {
    let version = |schema: &str| {
        let (name, version) = schema.rsplit_once('/')?;
        Some((name.to_owned(), version.parse::<u32>().ok()?))
    };
    version(found).zip(version(SCHEMA)).is_some_and(|((name, found), (ours, known))| name == ours && found > known)
}

/// Whether the hash at the end of `text` is that of what stands before it.
fn verified(text: &str) -> Option<()> {
    let (content, tail) = text.split_at_checked(text.rfind(BEFORE_HASH)?)?;
    let expected = format!("{BEFORE_HASH}{}{AFTER_HASH}", hex(xxh3_64(content.as_bytes())));
    (tail == expected).then_some(())
}

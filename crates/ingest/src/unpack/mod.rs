//! What files are wrapped in: compression, archives, the head of an HTTP answer, UTF-16. Each layer is told by its first
//! bytes. Nothing is laid on disk but the files of runs, which are opened together.
//!
//! What a layer expands to is bounded: see [`Budget`].

mod budget;
mod http;
mod packed;
mod tar;
mod utf16;
mod zip;
mod zstd;

use crate::{
    formats,
    frame::{Artefact, Intake},
};
pub(crate) use budget::Budget;
pub use budget::Watch;
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// Memory that an xz stream may ask for: four times what the highest preset takes.
const XZ_MEMORY_KIB: u32 = 256 << 10;

/// What an artefact is wrapped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Gzip,
    Zstd,
    Xz,
    Tar,
    Zip,
    /// An HTTP answer with a head of so many bytes.
    Http(usize),
    /// Text in UTF-16, as the shells of Windows redirect it.
    Utf16(utf16::Order),
}

impl Layer {
    fn of(head: &[u8]) -> Option<Self> {
        const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
        if head.starts_with(&[0x1f, 0x8b, 8]) {
            Some(Self::Gzip)
        } else if head.starts_with(&ZSTD) || skippable_zstd(head) {
            Some(Self::Zstd)
        } else if head.starts_with(b"\xfd7zXZ\0") {
            Some(Self::Xz)
        } else if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
            Some(Self::Zip)
        } else if tar::is_tar(head) {
            Some(Self::Tar)
        } else if let Some(order) = utf16::order(head) {
            Some(Self::Utf16(order))
        } else {
            http::head_length(head).map(Self::Http)
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Tar => "tar",
            Self::Zip => "zip",
            Self::Http(_) => "http",
            Self::Utf16(_) => "UTF-16",
        }
    }
}

/// Why nothing came of an archive.
const NO_FILE: &str = "an archive that lists no file";

/// Frames that a decoder passes over; parallel compressors put one first.
fn skippable_zstd(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// One input on its way through its layers.
pub(crate) struct Unpack<'i> {
    pub(crate) intake: &'i mut Intake,
    pub(crate) budget: Budget,
    /// Whether formats that become runs are wanted alone, and the rest is passed over in silence.
    pub(crate) wanted: fn(&'static crate::Format) -> bool,
    /// Whether what is not wanted or not known is listed.
    pub(crate) lists_all: bool,
}

impl Unpack<'_> {
    /// Takes a file of the file system: a zip archive there can be read without holding it.
    pub(crate) fn file(&mut self, path: &Path, folder: &Path, mut file: std::fs::File) {
        let mut start = [0; 4];
        let is_zip = file.read_exact(&mut start).is_ok() && Layer::of(&start) == Some(Layer::Zip);
        if let Err(error) = std::io::Seek::rewind(&mut file) {
            return self.refuse(path, folder, error.to_string());
        }
        if is_zip {
            return self.zip(path, file, self.intake.limits().nesting);
        }
        let mut counted = self.budget.input(file);
        self.stream(path.into(), folder.into(), &mut counted, self.intake.limits().nesting, None);
    }

    /// Takes a stream: peels one layer and goes on with what is inside, or gives it to its format.
    pub(crate) fn stream(
        &mut self,
        path: PathBuf,
        folder: PathBuf,
        source: &mut dyn Read,
        layers: usize,
        at_unix_ns: Option<i64>,
    ) {
        let limits = *self.intake.limits();
        let mut artefact = Artefact::new(path.clone(), folder.clone(), source, &limits);
        artefact.set_at(at_unix_ns);
        let layer = Layer::of(artefact.head().bytes());
        if let Some(layer) = layer.filter(|_| layers == 0) {
            let reason = format!("{} inside {} other layers: unpack it first", layer.name(), limits.nesting);
            return self.refuse(&path, &folder, reason);
        }
        match layer {
            None => formats::take(&mut artefact, self),
            Some(Layer::Gzip) => {
                let mut inner = self.budget.expanded(flate2::read::MultiGzDecoder::new(artefact));
                self.stream(path, folder, &mut inner, layers - 1, at_unix_ns);
            }
            Some(Layer::Zstd) => {
                let mut inner = self.budget.expanded(zstd::Frames::new(artefact));
                self.stream(path, folder, &mut inner, layers - 1, at_unix_ns);
            }
            Some(Layer::Xz) => {
                let mut inner =
                    self.budget.expanded(lzma_rust2::XzReader::new_mem_limit(artefact, true, XZ_MEMORY_KIB));
                self.stream(path, folder, &mut inner, layers - 1, at_unix_ns);
            }
            Some(Layer::Tar) => tar::entries(self, &mut artefact, layers - 1),
            Some(Layer::Zip) => self.held_zip(&mut artefact, layers),
            Some(Layer::Utf16(order)) => {
                let mut inner = self.budget.expanded(utf16::Utf8::new(artefact, order));
                self.stream(path, folder, &mut inner, layers - 1, at_unix_ns);
            }
            Some(Layer::Http(head)) => {
                let at = http::date(&artefact.head().bytes()[..head]);
                artefact.skip(head);
                self.stream(path, folder, &mut artefact, layers - 1, at.or(at_unix_ns));
            }
        }
    }

    /// A zip archive's list of entries stands at its end: where it comes as a stream it has to be held.
    fn held_zip(&mut self, artefact: &mut Artefact<'_>, layers: usize) {
        let limits = *self.intake.limits();
        let path = artefact.path().to_owned();
        match artefact.all(&crate::Limits { file_bytes: limits.held_archive_bytes, ..limits }) {
            Ok(bytes) => self.zip(&path, std::io::Cursor::new(bytes), layers),
            Err(error) => {
                let folder = artefact.folder().to_owned();
                self.refuse(&path, &folder, format!("a zip archive that comes as a stream: {error}"));
            }
        }
    }

    fn zip(&mut self, path: &Path, archive: impl Read + std::io::Seek, layers: usize) {
        zip::entries(self, path, archive, layers.saturating_sub(1));
    }

    /// Lists an artefact as unread.
    pub(crate) fn refuse(&mut self, path: &Path, folder: &Path, reason: impl Into<String>) {
        self.intake.begin(path, folder);
        self.intake.unread(None, reason);
        self.intake.end();
    }
}

/// The path of an archive's entry.
fn entry_path(archive: &Path, entry: &str) -> PathBuf {
    PathBuf::from(format!("{}!{entry}", archive.display()))
}

/// The folder of an archive's entry.
fn entry_folder(archive: &Path, entry: &str) -> PathBuf {
    entry_path(archive, entry.rsplit_once('/').map_or("", |(folder, _)| folder))
}

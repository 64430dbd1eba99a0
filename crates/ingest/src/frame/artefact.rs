//! An artefact: a named stream of bytes, peeled of its compression.

use super::{Head, Intake, head::HEAD_BYTES};
use crate::{Error, Limits};
use firstcheck_model::measurement::Source;
use std::{
    io::{self, Read},
    ops::Range,
    path::{Path, PathBuf},
};

/// Bytes that are asked of the source at a time.
const CHUNK: usize = 1 << 18;

/// A named stream of bytes. Only a line, or what was asked for as a whole, is held in memory.
pub struct Artefact<'s> {
    path: PathBuf,
    folder: PathBuf,
    at_unix_ns: Option<i64>,
    source: &'s mut dyn Read,
    buffer: Vec<u8>,
    /// What is held and not yet taken: `buffer[start..end]`.
    start: usize,
    end: usize,
    ended: bool,
    broken: Option<String>,
    line: u64,
    line_bytes: usize,
}

/// One line, without its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'l> {
    /// Counted from 1.
    pub number: u64,
    /// Its bytes.
    pub bytes: &'l [u8],
    /// Whether a line break ended it; the last line of a file may have none.
    pub ended: bool,
}

impl<'s> Artefact<'s> {
    /// An artefact of `folder` (or archive), of which the start is read.
    pub(crate) fn new(path: PathBuf, folder: PathBuf, source: &'s mut dyn Read, limits: &Limits) -> Self {
        let mut artefact = Self {
            path,
            folder,
            at_unix_ns: None,
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            broken: None,
            line: 0,
            line_bytes: limits.line_bytes,
        };
        artefact.hold(HEAD_BYTES);
        artefact
    }

    /// Its name: the path as it was given, `archive!path` inside an archive, `-` for standard input.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder or archive that holds it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Unix time of its content, nanoseconds, where what it was wrapped in says so.
    pub fn at_unix_ns(&self) -> Option<i64> {
        self.at_unix_ns
    }

    pub(crate) fn set_at(&mut self, at_unix_ns: Option<i64>) {
        self.at_unix_ns = self.at_unix_ns.or(at_unix_ns);
    }

    /// The start of what was not yet taken.
    pub(crate) fn head(&self) -> Head<'_> {
        Head::new(&self.buffer[self.start..self.end], self.ended)
    }

    /// Whether nothing is in it at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.end && self.ended && self.broken.is_none()
    }

    /// Why its stream broke off, if it did.
    pub(crate) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Takes `count` of the bytes that are held.
    pub(crate) fn skip(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
    }

    /// Holds `count` bytes, or all that come.
    pub(crate) fn hold(&mut self, count: usize) {
        while !self.ended && self.end - self.start < count {
            self.more();
        }
    }

    /// Reads once into the buffer.
    fn more(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() < self.end + CHUNK {
            self.buffer.resize((self.end + CHUNK).max(self.buffer.len() + self.buffer.len() / 2), 0);
        }
        match self.source.read(&mut self.buffer[self.end..]) {
            Ok(0) => self.ended = true,
            Ok(read) => self.end += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.ended = true;
                self.broken = Some(error.to_string());
            }
        }
    }

    /// The next line. One that is longer than the limit is skipped and listed as unread; where the stream breaks off,
    /// that is listed too, its last, cut line is not given, and no further one comes.
    pub fn next_line(&mut self, intake: &mut Intake) -> Option<Line<'_>> {
        let mut seen = 0;
        loop {
            let held = &self.buffer[self.start + seen..self.end];
            if let Some(at) = memchr::memchr(b'\n', held) {
                let bytes = self.start..self.start + seen + at;
                self.start = bytes.end + 1;
                self.line += 1;
                if bytes.len() > self.line_bytes {
                    self.too_long(bytes.len() as u64, intake);
                    seen = 0;
                    continue;
                }
                return Some(self.line_of(bytes, true));
            }
            seen = self.end - self.start;
            if self.ended {
                return self.last_line(intake);
            }
            if seen > self.line_bytes {
                self.line += 1;
                self.skip_line(intake);
                seen = 0;
                continue;
            }
            self.more();
        }
    }

    fn line_of(&self, bytes: Range<usize>, ended: bool) -> Line<'_> {
        let bytes = &self.buffer[bytes];
        let bytes = if self.line == 1 { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes) } else { bytes };
        Line { number: self.line, bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes), ended }
    }

    fn last_line(&mut self, intake: &mut Intake) -> Option<Line<'_>> {
        let bytes = self.start..self.end;
        self.start = self.end;
        if let Some(reason) = self.broken.take() {
            intake.unread(Some(self.line + 1), format!("breaks off here, what stands before was read: {reason}"));
            return None;
        }
        if bytes.is_empty() {
            return None;
        }
        self.line += 1;
        Some(self.line_of(bytes, false))
    }

    /// Passes over the rest of a line that is too long.
    fn skip_line(&mut self, intake: &mut Intake) {
        let mut bytes = 0;
        loop {
            let held = &self.buffer[self.start..self.end];
            if let Some(at) = memchr::memchr(b'\n', held) {
                self.start += at + 1;
                return self.too_long(bytes + at as u64, intake);
            }
            bytes += held.len() as u64;
            self.start = self.end;
            if self.ended {
                return self.too_long(bytes, intake);
            }
            self.more();
        }
    }

    fn too_long(&self, bytes: u64, intake: &mut Intake) {
        let limit = self.line_bytes;
        intake.unread(Some(self.line), format!("a line of {bytes} bytes, more than the limit of {limit}: skipped"));
    }

    /// Everything that was not yet taken, without a byte-order mark.
    ///
    /// # Errors
    /// [`Error::TooLarge`] beyond [`Limits::file_bytes`], [`Error::Damaged`] where the stream breaks off.
    pub fn all(&mut self, limits: &Limits) -> Result<Vec<u8>, Error> {
        let most = usize::try_from(limits.file_bytes).unwrap_or(usize::MAX);
        self.hold(most.saturating_add(1));
        if let Some(reason) = &self.broken {
            return Err(Error::Damaged { path: self.path.clone(), reason: reason.clone() });
        }
        let bytes = &self.buffer[self.start..self.end];
        if bytes.len() > most {
            return Err(Error::TooLarge {
                path: self.path.clone(),
                bytes: bytes.len() as u64,
                limit: limits.file_bytes,
            });
        }
        self.start = self.end;
        Ok(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).to_vec())
    }

    /// Lines of this artefact as the source of a fact.
    pub fn lines_source(&self, lines: Range<u64>) -> Source {
        let line = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Source::Lines { path: self.path.display().to_string(), lines: line(lines.start)..line(lines.end) }
    }
}

/// What was not yet taken, for the layer inside: a decoder, an archive.
impl Read for Artefact<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let held = &self.buffer[self.start..self.end];
        if !held.is_empty() {
            let count = held.len().min(into.len());
            into[..count].copy_from_slice(&held[..count]);
            self.start += count;
            return Ok(count);
        }
        match &self.broken {
            Some(reason) => Err(io::Error::other(reason.clone())),
            None if self.ended => Ok(0),
            None => self.source.read(into),
        }
    }
}

//! Frames: what a journal file is made of.
//!
//! A frame is its payload's length, the number of the append that wrote it, a CRC-32 (IEEE) of both and of the payload,
//! each as 4 bytes little-endian, and the payload: a self-contained Arrow IPC stream, or nothing for no rows. A reader
//! stops at the first frame that is short or fails its CRC; what stands before is whole.

use crate::{
    durable::open_regular,
    error::{Error, Named, Result},
};
use std::{
    fs::File,
    io::{BufReader, ErrorKind, Read},
    path::Path,
};

const HEADER: usize = 12;

/// Largest payload that is written or read.
const MAX_PAYLOAD: usize = 1 << 30;

fn crc(length: u32, append: u32, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(&append.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// Adds a frame to `out`.
pub(crate) fn write(out: &mut Vec<u8>, append: u32, payload: &[u8]) -> Result<()> {
    if payload.len() > MAX_PAYLOAD {
        return Err(Error::not_storable("rows", format!("one append holds {} bytes of one table", payload.len())));
    }
    let length = payload.len() as u32;
    out.extend(length.to_le_bytes());
    out.extend(append.to_le_bytes());
    out.extend(crc(length, append, payload).to_le_bytes());
    out.extend_from_slice(payload);
    Ok(())
}

/// What a reader finds next.
pub(crate) enum Next {
    /// A whole frame.
    Frame { append: u32, payload: Vec<u8> },
    /// The file ends after a whole frame.
    End,
    /// What follows is no whole frame.
    Broken { why: &'static str },
}

/// Reads frames from the front of a journal file.
pub(crate) struct Frames<'a> {
    path: &'a Path,
    reader: BufReader<File>,
    /// Bytes of whole frames read so far.
    pub(crate) whole: u64,
    /// Length of the file when it was opened.
    pub(crate) length: u64,
}

impl<'a> Frames<'a> {
    /// Opens a journal file; `None` when there is none.
    pub(crate) fn open(path: &'a Path) -> Result<Option<Self>> {
        let file = match open_regular(path) {
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let length = file.metadata().named("read", path)?.len();
        Ok(Some(Self { path, reader: BufReader::with_capacity(1 << 16, file), whole: 0, length }))
    }

    /// The next frame.
    pub(crate) fn next(&mut self) -> Result<Next> {
        let left = self.length.saturating_sub(self.whole);
        if left == 0 {
            return Ok(Next::End);
        }
        if left < HEADER as u64 {
            return Ok(Next::Broken { why: "its head is cut" });
        }
        let mut header = [0; HEADER];
        if !self.fill(&mut header)? {
            return Ok(Next::Broken { why: "its head is cut" });
        }
        let [length, append, stated] = words(header);
        if u64::from(length) > left - HEADER as u64 || length as usize > MAX_PAYLOAD {
            return Ok(Next::Broken { why: "it is cut" });
        }
        let mut payload = vec![0; length as usize];
        if !self.fill(&mut payload)? {
            return Ok(Next::Broken { why: "it is cut" });
        }
        if crc(length, append, &payload) != stated {
            return Ok(Next::Broken { why: "its checksum does not match" });
        }
        self.whole += HEADER as u64 + u64::from(length);
        Ok(Next::Frame { append, payload })
    }

    /// Whether `bytes` could be filled.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool> {
        match self.reader.read_exact(bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            result => result.named("read", self.path).map(|()| true),
        }
    }
}

fn words(header: [u8; HEADER]) -> [u32; 3] {
    let mut words = [0; 3];
    for (word, bytes) in words.iter_mut().zip(header.chunks_exact(4)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    words
}

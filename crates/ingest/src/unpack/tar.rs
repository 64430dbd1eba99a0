//! Tar archives, read as a stream: ustar, GNU long names, PAX paths and sizes.
//!
//! A reader of our own, because one that holds a long name of any length in memory would let a small archive take as much
//! as it likes. Names are labels here: nothing is written to disk, whatever they say.

use super::{NO_FILE, Unpack, entry_folder, entry_path, packed::Packed};
use crate::frame::Artefact;
use std::{
    collections::HashSet,
    io::{self, Read},
    path::Path,
};
use xxhash_rust::xxh3::xxh3_64;

const BLOCK: usize = 512;
/// Longest name or list of extended attributes.
const LONGEST_NAME: u64 = 1 << 16;

/// Whether bytes begin a tar archive.
pub(super) fn is_tar(head: &[u8]) -> bool {
    head.get(..BLOCK).is_some_and(|block| block[0] != 0 && Header::of(block).is_some())
}

/// One entry's block.
struct Header {
    name: String,
    size: u64,
    kind: u8,
    /// What a link points to.
    target: String,
}

impl Header {
    /// The header in a block whose checksum holds.
    fn of(block: &[u8]) -> Option<Self> {
        let stated = octal(&block[148..156])?;
        let sum: u64 = block
            .iter()
            .enumerate()
            .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) })
            .sum();
        if stated != sum {
            return None;
        }
        let mut name = text(&block[..100]);
        if &block[257..263] == b"ustar\0" {
            let prefix = text(&block[345..500]);
            if !prefix.is_empty() {
                name = format!("{prefix}/{name}");
            }
        }
        Some(Self { name, size: size(&block[124..136])?, kind: block[156], target: text(&block[157..257]) })
    }
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// Octal, or beyond 8 GiB a number of base 256.
fn size(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 == 0 {
        return octal(field);
    }
    let bytes = field.last_chunk::<8>()?;
    (field[0] == 0x80 && field[1..4] == [0; 3]).then(|| u64::from_be_bytes(*bytes))
}

/// What extended headers say of the entry that follows them.
#[derive(Default)]
struct Extended {
    name: Option<String>,
    target: Option<String>,
    size: Option<u64>,
}

/// Gives each entry of the archive.
pub(super) fn entries(unpack: &mut Unpack<'_>, archive: &mut Artefact<'_>, layers: usize) {
    let (path, folder) = (archive.path().to_owned(), archive.folder().to_owned());
    let mut packed = Packed::new(&path, unpack.intake.limits().packed_bytes);
    let read = read(unpack, &path, archive, &mut packed, layers);
    packed.finish(unpack, layers);
    match read {
        Ok(0) => unpack.refuse(&path, &folder, NO_FILE),
        Ok(_) => {}
        Err(error) => {
            unpack.refuse(&path, &folder, format!("the archive breaks off, what stands before was read: {error}"));
        }
    }
}

/// Reads the entries; how many of them are files.
fn read(
    unpack: &mut Unpack<'_>,
    path: &Path,
    archive: &mut Artefact<'_>,
    packed: &mut Packed,
    layers: usize,
) -> io::Result<usize> {
    let mut extended = Extended::default();
    let (mut entries, mut files) = (0, 0);
    // Names of files as hashes: an archive may hold many, each of any length.
    let mut seen = HashSet::new();
    loop {
        let mut block = [0; BLOCK];
        let got = fill(archive, &mut block)?;
        // The end is two empty blocks; some writers leave them out.
        if got == 0 || block.iter().all(|b| *b == 0) {
            return Ok(files);
        }
        if got < BLOCK {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let Some(header) = Header::of(&block) else { return Err(io::Error::other("a damaged entry header")) };
        let size = extended.size.take().unwrap_or(header.size);
        match header.kind {
            b'L' => extended.name = Some(text(&held(archive, size)?)),
            b'K' => extended.target = Some(text(&held(archive, size)?)),
            b'x' => pax(&held(archive, size)?, &mut extended),
            b'0' | 0 | b'7' => {
                entries += 1;
                if entries > unpack.intake.limits().entries {
                    return Err(io::Error::other(format!("more than {} entries", entries - 1)));
                }
                let name = extended.name.take().unwrap_or(header.name);
                extended.target = None;
                seen.insert(xxh3_64(name.as_bytes()));
                let mut content = Exact(archive.by_ref().take(size));
                // Old archives mark a folder by its name alone.
                files += usize::from(!name.ends_with('/'));
                if !name.ends_with('/') && !packed.take(&name, &mut content)? {
                    unpack.stream(entry_path(path, &name), entry_folder(path, &name), &mut content, layers, None);
                }
                let rest = content.0.limit();
                skip(archive, rest)?;
            }
            kind => {
                let name = extended.name.take().unwrap_or(header.name);
                let target = extended.target.take().unwrap_or(header.target);
                // What a hard link names was read under its own name.
                let read = kind == b'1' && seen.contains(&xxh3_64(target.as_bytes()));
                if let Some(reason) = no_file(kind, &target).filter(|_| !read) {
                    entries += 1;
                    if entries > unpack.intake.limits().entries {
                        return Err(io::Error::other(format!("more than {} entries", entries - 1)));
                    }
                    files += 1;
                    unpack.refuse(&entry_path(path, &name), &entry_folder(path, &name), reason);
                }
                skip(archive, size)?;
            }
        }
        skip(archive, padding(size))?;
    }
}

/// Why an entry of that kind holds nothing to read; `None` for folders and what describes other entries.
fn no_file(kind: u8, target: &str) -> Option<String> {
    let target = target.escape_default();
    Some(match kind {
        b'1' => {
            format!("a hard link to `{target}`, which does not stand before it in the archive: pack that file as well")
        }
        b'2' => format!("a symbolic link to `{target}`: links are not followed, pack what it points to (tar -h)"),
        b'3' | b'4' => "a device: it holds nothing to read".into(),
        b'6' => "a named pipe: it holds nothing to read".into(),
        b'S' => "a sparse file: unpack the archive and give the file".into(),
        _ => return None,
    })
}

/// The content of an entry: that the archive ends within it is an error, and no end of the entry.
struct Exact<R>(io::Take<R>);

impl<R: Read> Read for Exact<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 if self.0.limit() > 0 && !into.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}

/// Entries are filled up to whole blocks.
fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK as u64) - size
}

/// A name or a list of attributes.
fn held(archive: &mut Artefact<'_>, size: u64) -> io::Result<Vec<u8>> {
    if size > LONGEST_NAME {
        return Err(io::Error::other(format!("a name of {size} bytes")));
    }
    let mut bytes = vec![0; size as usize];
    archive.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Records `LENGTH key=value\n`.
fn pax(records: &[u8], into: &mut Extended) {
    for record in records.split(|b| *b == b'\n') {
        let record = String::from_utf8_lossy(record);
        let Some((key, value)) = record.split_once(' ').and_then(|(_, pair)| pair.split_once('=')) else { continue };
        match key {
            "linkpath" => into.target = Some(value.to_owned()),
            "path" => into.name = Some(value.to_owned()),
            "size" => into.size = value.parse().ok(),
            _ => {}
        }
    }
}

fn fill(source: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < block.len() {
        match source.read(&mut block[got..]) {
            Ok(0) => break,
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

fn skip(source: &mut impl Read, bytes: u64) -> io::Result<()> {
    if io::copy(&mut source.by_ref().take(bytes), &mut io::sink())? < bytes {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

//! Zstandard: all frames of a stream, one after the other, as `cat a.zst b.zst` and parallel compressors write them.

use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};
use std::io::{self, BufRead, BufReader, Read};

/// Reads what the frames hold.
pub(super) struct Frames<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    inside: bool,
    /// Why no further block can be decoded.
    broken: Option<io::Error>,
}

/// An empty block that ends a frame, and room for the hash of its content.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

impl<R: Read> Frames<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source: BufReader::new(source), decoder: FrameDecoder::new(), inside: false, broken: None }
    }

    /// Begins the next frame; `false` at the end of the stream.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    if io::copy(&mut (&mut self.source).take(length), &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    /// Decodes the next block. Where the stream is cut, the decoder still holds back what later blocks could have referred
    /// to: it is told that the frame ends there, so that what was whole can be read.
    fn decode(&mut self) -> io::Result<()> {
        let decoded = self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
        let Err(error) = decoded else { return Ok(()) };
        if !self.source.fill_buf()?.is_empty() {
            return Err(io::Error::other(error));
        }
        self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::All).map_err(io::Error::other)?;
        self.broken = Some(io::Error::other(error));
        Ok(())
    }

    /// A frame may carry a hash of its content.
    fn check(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stated), Some(found)) if stated != found => Err(io::Error::other("the checksum does not hold")),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.inside && !self.begin()? {
                return Ok(0);
            }
            self.inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() && self.broken.is_none() {
                self.decode()?;
            }
            let read = self.decoder.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            if let Some(error) = self.broken.take() {
                return Err(error);
            }
            self.check()?;
            self.inside = false;
        }
    }
}

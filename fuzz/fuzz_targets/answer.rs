//! A server's answer: head, transfer coding, event stream, chunks of the protocol.
//!
//! The same bytes must be read alike however the socket cuts them, and what is held must stay within the bounds.

#![no_main]

use firstcheck_load::{
    protocol::answer::Answer,
    wire::{
        bounds::Bounds,
        error::WireError,
        response::{Piece, Response},
        sse::EventStream,
    },
};
use libfuzzer_sys::fuzz_target;
use std::mem::{Discriminant, discriminant};

const BOUNDS: Bounds = Bounds { head: 512, line: 256, event: 512, body: 1024 };

/// What a reader made of an answer: the status, each event's data, and how it went wrong.
#[derive(Debug, Default, PartialEq)]
struct Read {
    status: Option<u16>,
    events: Vec<Vec<u8>>,
    ended: bool,
    /// Its kind: a message quotes as much as had come.
    failed: Option<Discriminant<WireError>>,
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let (mut response, mut stream) = (Response::new(&BOUNDS), EventStream::new(&BOUNDS));
    let (mut answer, mut read) = (Answer::new(true), Read::default());
    for piece in pieces {
        if let Err(error) = take(piece, &mut response, &mut stream, &mut answer, &mut read) {
            read.failed = Some(discriminant(&error));
            break;
        }
        if read.ended {
            break;
        }
    }
    read
}

fn take(
    mut input: &[u8],
    response: &mut Response,
    stream: &mut EventStream,
    answer: &mut Answer,
    read: &mut Read,
) -> Result<(), WireError> {
    while let Some(piece) = response.next(&mut input)? {
        match piece {
            Piece::Head(head) => read.status = Some(head.status),
            Piece::Body(mut body) => {
                while let Some(data) = stream.next(&mut body)? {
                    assert!(data.len() <= BOUNDS.event);
                    // An event that the protocol refuses is a result like any other.
                    let _ = answer.event(data);
                    read.events.push(data.to_vec());
                }
                assert!(body.is_empty());
            }
            Piece::End => {
                read.ended = true;
                break;
            }
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let Some((step, bytes)) = data.split_first() else { return };
    let whole = read(std::iter::once(bytes));
    let bit_by_bit = read(bytes.chunks(usize::from(*step % 7) + 1));
    assert_eq!(whole, bit_by_bit);
    let _ = Answer::new(false).whole(bytes);
});

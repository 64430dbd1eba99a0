//! The body of an export, within limits.

use super::{Limits, answer::Refusal};
use flate2::read::MultiGzDecoder;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::{Request, StatusCode, body::Incoming, header::CONTENT_ENCODING};
use std::io::Read;
use tokio::time::timeout;

/// Reads a body and takes off its compression.
pub(super) async fn read(request: Request<Incoming>, limits: &Limits) -> Result<Vec<u8>, Refusal> {
    let encoding = request.headers().get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase());
    let collecting = Limited::new(request.into_body(), limits.body_bytes).collect();
    let collected = timeout(limits.patience, collecting).await.map_err(|_| {
        let reason = format!("the body did not come within {} s", limits.patience.as_secs_f64());
        Refusal::new(StatusCode::REQUEST_TIMEOUT, reason)
    })?;
    let bytes = collected.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => too_large(limits.body_bytes),
        None => Refusal::bad(format!("the body breaks off: {error}")),
    })?;
    let bytes = bytes.to_bytes();
    match encoding.as_deref() {
        None | Some(b"identity" | b"") => Ok(bytes.into()),
        Some(b"gzip") => unpacked(&bytes, limits.unpacked_bytes),
        Some(_) => Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the content encoding is not gzip")),
    }
}

fn unpacked(bytes: &[u8], limit: usize) -> Result<Vec<u8>, Refusal> {
    let mut plain = Vec::new();
    let mut source = MultiGzDecoder::new(bytes).take(limit as u64 + 1);
    source.read_to_end(&mut plain).map_err(|error| Refusal::bad(format!("no gzip: {error}")))?;
    if plain.len() > limit { Err(too_large(limit)) } else { Ok(plain) }
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("more than {limit} bytes: export smaller batches"))
}

//! Both encodings of OTLP over HTTP: reading an export, and answering it in the encoding that it came in.
//!
//! An answer is an `ExportTraceServiceResponse`, that of a refusal a `google.rpc.Status`, as the protocol's
//! specification has it ("OTLP/HTTP Response"). Only their one or two fields are needed, so they are written by hand.

use firstcheck_ingest::{
    guarded::guarded,
    otlp::{read_otlp_json, read_otlp_protobuf},
};
use firstcheck_model::trace_span::TraceSpan;
use hyper::{HeaderMap, StatusCode, header::CONTENT_TYPE};
use serde_json::json;
use std::path::Path;

/// Why an export is not taken.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into() }
    }

    /// It cannot be read, and sending it again would not help.
    pub(super) fn bad(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, reason)
    }
}

/// How an export is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// What the content type says.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let stated = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        match stated.split(';').next()?.trim().to_ascii_lowercase().as_str() {
            "application/x-protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }

    /// The spans of a body; prompts, answers and keys are left out.
    pub(super) fn read(self, bytes: &[u8]) -> Result<Vec<TraceSpan>, Refusal> {
        let name = Path::new("export");
        let read = || match self {
            Self::Protobuf => read_otlp_protobuf(name, bytes),
            Self::Json => read_otlp_json(name, None, bytes),
        };
        guarded(name, "export of spans", read).map_err(|error| Refusal::bad(error.to_string()))
    }

    /// The answer to an export that was taken but for `beyond` spans, which were left out for `reason`.
    pub(super) fn success(self, beyond: u64, reason: &str) -> Vec<u8> {
        match (self, beyond) {
            (Self::Protobuf, 0) => Vec::new(),
            (Self::Json, 0) => b"{}".to_vec(),
            (Self::Json, _) => json!({"partialSuccess": {"rejectedSpans": beyond.to_string(), "errorMessage": reason}})
                .to_string()
                .into_bytes(),
            (Self::Protobuf, _) => {
                // partial_success = 1 { rejected_spans = 1 (varint), error_message = 2 }
                let mut partial = vec![0x08];
                partial.extend(varint(beyond));
                partial.extend(field(2, reason.as_bytes()));
                field(1, &partial)
            }
        }
    }

    /// The answer to an export that is not taken.
    pub(super) fn error(self, refusal: &Refusal) -> Vec<u8> {
        match self {
            Self::Json => json!({ "message": refusal.reason }).to_string().into_bytes(),
            // google.rpc.Status: message = 2
            Self::Protobuf => field(2, refusal.reason.as_bytes()),
        }
    }
}

/// A field of variable length.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    bytes.extend(varint(content.len() as u64));
    bytes.extend_from_slice(content);
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

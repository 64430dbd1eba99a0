//! The bytes of a request.

use crate::options::{Api, Key, Target};
use firstcheck_observe::Headers;
use firstcheck_workload::{body::schema, prompt::Prompt, trace::Offered};
use serde_json::{Map, Value, json};
use std::fmt::Write;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// A header that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the header {name:?} cannot be sent: {reason}")]
pub struct HeaderError {
    /// Its name; the value is not repeated, it may be a secret.
    pub name: String,
    /// Why not.
    pub reason: String,
}

/// Headers that the client sets itself; a second one would contradict it.
const OWN_HEADERS: [&str; 9] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "content-type",
    "accept",
    "accept-encoding",
    "traceparent",
    "expect",
];

/// Names a request where no trace context is passed on: engines and gateways put it into their logs and spans.
const REQUEST_ID: &str = "x-request-id";

/// Renders requests to one deployment.
#[derive(Debug)]
pub struct Renderer {
    api: Api,
    model: String,
    streaming: Map<String, Value>,
    extra: Map<String, Value>,
    salt: Option<String>,
    head: String,
    /// Whether the caller names requests himself.
    named: bool,
    trace_seed: String,
}

/// A request, ready to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Head and body.
    pub bytes: Vec<u8>,
    /// Hash of the prompt as sent (xxh3, 64 bits), salt included.
    pub prompt_hash: u64,
    /// Hash of the schema that the answer has to keep to; see [`firstcheck_workload::body::schema`].
    pub schema: Option<u64>,
    /// W3C trace id, 32 hexadecimal digits; also the request id, unless the caller sets that.
    pub trace_id: String,
}

impl Renderer {
    /// A renderer for `target`, asking for `model`; `run` makes the trace ids unique, `salt` goes before each prompt.
    ///
    /// # Errors
    /// [`HeaderError`] when one of the target's headers cannot be sent.
    pub fn new(target: &Target, model: &str, run: &str, salt: Option<&str>) -> Result<Self, HeaderError> {
        let mut streaming = Map::new();
        streaming.insert("stream".into(), Value::Bool(target.streaming));
        if target.streaming && target.include_usage {
            streaming.insert("stream_options".into(), json!({ "include_usage": true }));
        }
        Ok(Self {
            api: target.api,
            model: model.to_owned(),
            streaming,
            extra: target.extra_body.clone(),
            salt: salt.map(str::to_owned),
            head: head(target)?,
            named: target.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(REQUEST_ID)),
            trace_seed: run.to_owned(),
        })
    }

    /// The request of trace row `row`.
    pub fn render(&self, row: u32, offered: &Offered) -> Rendered {
        let (body, prompt_hash, schema) = self.body(offered);
        let trace = xxh3_128(format!("{}/{row}", self.trace_seed).as_bytes());
        // A trace id or span id of zero is invalid.
        let (trace_id, span) = (format!("{:032x}", trace | 1), (trace >> 64) as u64 | 1);
        let mut head = self.head.clone();
        // Writing to a string cannot fail.
        let mut written = write!(head, "traceparent: 00-{trace_id}-{span:016x}-01\r\n");
        if !self.named {
            written = written.and(write!(head, "{REQUEST_ID}: {trace_id}\r\n"));
        }
        written = written.and(write!(head, "content-length: {}\r\n\r\n", body.len()));
        debug_assert!(written.is_ok(), "a string takes everything");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&body);
        Rendered { bytes, prompt_hash, schema, trace_id }
    }

    /// The body with the hashes of its prompt and of its schema.
    fn body(&self, offered: &Offered) -> (Vec<u8>, u64, Option<u64>) {
        let mut fields = Map::new();
        fields.insert("model".into(), Value::String(self.model.clone()));
        if let Some(tokens) = offered.output_tokens {
            fields.insert("max_tokens".into(), tokens.into());
            fields.insert("ignore_eos".into(), Value::Bool(true));
        }
        fields.extend(self.streaming.clone());
        fields.extend(self.extra.clone());
        if let Some(mut body) = offered.prompt.body(self.salt.as_deref()) {
            body.extend(fields);
            let schema = schema(&body);
            let bytes = Value::Object(body).to_string().into_bytes();
            let hash = xxh3_64(&self.prompt(&offered.prompt));
            return (bytes, hash, schema);
        }
        let prompt = self.prompt(&offered.prompt);
        let name = match self.api {
            Api::Chat => "messages",
            Api::Completions => "prompt",
        };
        // The prompt is by far the largest field, so it is written as it is and not through a `Value`.
        fields.remove(name);
        let rest = Value::Object(fields).to_string();
        let mut bytes = Vec::with_capacity(prompt.len() + rest.len() + 16);
        bytes.extend_from_slice(format!("{{\"{name}\":").as_bytes());
        bytes.extend_from_slice(&prompt);
        bytes.push(b',');
        bytes.extend_from_slice(&rest.as_bytes()[1..]);
        (bytes, xxh3_64(&prompt), schema(&self.extra))
    }

    fn prompt(&self, prompt: &Prompt) -> Vec<u8> {
        let mut bytes = Vec::new();
        match self.api {
            Api::Chat => prompt.write_messages_json(self.salt.as_deref(), &mut bytes),
            Api::Completions => prompt.write_prompt_json(self.salt.as_deref(), &mut bytes),
        }
        bytes
    }
}

/// The head up to the lines that differ from request to request.
fn head(target: &Target) -> Result<String, HeaderError> {
    let accept = if target.streaming { "text/event-stream" } else { "application/json" };
    let address = target.address.root().join(target.api.path()).to_string();
    let (_, rest) = address.split_once("://").unwrap_or(("", &address));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\nuser-agent: firstcheck/{}\r\ncontent-type: application/json\r\n\
         accept: {accept}\r\naccept-encoding: identity\r\n",
        path,
        authority,
        env!("CARGO_PKG_VERSION"),
    );
    for (name, value) in &target.headers {
        check_header(name, value, target.key.is_some())?;
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(key) = target.key.as_ref().map(Key::reveal) {
        head.push_str(&format!("authorization: Bearer {key}\r\n"));
    }
    Ok(head)
}

fn check_header(name: &str, value: &str, has_key: bool) -> Result<(), HeaderError> {
    let refuse = |reason: &str| HeaderError { name: name.to_owned(), reason: reason.to_owned() };
    Headers::default().add(name, value).map_err(|error| refuse(&error.to_string()))?;
    if OWN_HEADERS.iter().any(|own| name.eq_ignore_ascii_case(own)) {
        return Err(refuse("the client sets it itself"));
    }
    if has_key && name.eq_ignore_ascii_case("authorization") {
        return Err(refuse("the key is sent in it"));
    }
    Ok(())
}

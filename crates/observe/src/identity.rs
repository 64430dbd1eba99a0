//! What a deployment says it is.

use crate::{
    address::Address,
    client::{Answer, HttpClient},
    error::{Error, Result},
    headers::Headers,
};
use firstcheck_ingest::{
    fingerprint::{self, redact},
    prometheus,
};
use firstcheck_model::fingerprint::Fingerprint;
use serde_json::Value;

/// What a deployment says it is, secrets redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// Its fields, each with the endpoint that stated it.
    pub fingerprint: Fingerprint,
    /// The answers, to be kept with a run.
    pub pages: Vec<RawPage>,
    /// What could not be learned, and why.
    pub notes: Vec<String>,
}

/// An answer under a file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawPage {
    /// Name of the file.
    pub name: String,
    /// Its content, secrets redacted.
    pub bytes: Vec<u8>,
}

/// Most bytes of an answer in JSON: some hundred times real ones, and what they become in memory is a hundred times more.
const LARGEST_JSON: usize = 4 << 20;

/// Adds what an answer says to a fingerprint; `false`: not understood.
type Extract = fn(&[u8], &str, &mut Fingerprint) -> bool;

struct Endpoint {
    /// The path, and names that it had in earlier versions.
    paths: &'static [&'static str],
    file: &'static str,
    extract: Extract,
    /// Why it may well be absent.
    absent: &'static str,
}

/// In this order: what comes later knows better.
const ENDPOINTS: [Endpoint; 3] = [
    Endpoint {
        paths: &["/v1/models"],
        file: "models.json",
        extract: fingerprint::from_models,
        absent: "not an OpenAI-compatible server?",
    },
    Endpoint {
        paths: &["/version"],
        file: "version.json",
        extract: fingerprint::from_version,
        absent: "vLLM and TensorRT-LLM have it",
    },
    Endpoint {
        paths: &["/server_info?config_format=json", "/get_server_info"],
        file: "server_info.json",
        extract: fingerprint::from_server_info,
        absent: "SGLang has it, vLLM with VLLM_SERVER_DEV_MODE=1",
    },
];

/// Asks the deployment at `base` what it is: `/metrics`, `/v1/models`, `/version`, `/server_info`. Each is optional; what
/// is absent or not understood is noted.
///
/// # Errors
/// That of the first question, when none got any answer in HTTP.
pub async fn identify(client: &HttpClient, base: &Address, headers: &Headers) -> Result<Identity> {
    let root = base.root();
    let mut identity = Identity { fingerprint: Fingerprint::default(), pages: Vec::new(), notes: Vec::new() };
    let mut first_failure = None;
    let mut answered = false;
    let metrics = client.get(&root.join("/metrics"), headers, "text/plain").await;
    answered |= is_answer(&metrics);
    match metrics {
        Ok(answer) => identity.take_metrics(&answer),
        Err(error) => {
            identity.note("/metrics", &error, "SGLang needs --enable-metrics");
            first_failure = Some(error);
        }
    }
    for endpoint in &ENDPOINTS {
        let (path, answer) = ask(client, &root, headers, endpoint).await;
        answered |= is_answer(&answer);
        match answer {
            Ok(answer) => identity.take(path, endpoint, &answer.body),
            Err(error) => {
                identity.note(path, &error, endpoint.absent);
                first_failure = first_failure.or(Some(error));
            }
        }
    }
    match first_failure {
        Some(error) if !answered => Err(error),
        _ => Ok(identity),
    }
}

/// Whether a server spoke, whatever it said.
fn is_answer(answer: &Result<Answer>) -> bool {
    answer.as_ref().map_or_else(|error| error.status().is_some(), |_| true)
}

/// Asks under each name until one is known.
async fn ask(
    client: &HttpClient,
    root: &Address,
    headers: &Headers,
    endpoint: &Endpoint,
) -> (&'static str, Result<Answer>) {
    let mut last = None;
    for whole in endpoint.paths {
        let path = whole.split_once('?').map_or(*whole, |(path, _)| path);
        let answer = client.get(&root.join(whole), headers, "application/json").await;
        let unknown = answer.as_ref().is_err_and(|error| error.status().is_some_and(is_absent));
        let first = last.take();
        if !unknown {
            return (path, answer);
        }
        // When no name is known, the present one is the one to speak of.
        last = first.or(Some((path, answer)));
    }
    last.unwrap_or_else(|| ("", Err(Error::Address { address: root.to_string(), why: "nothing to ask".into() })))
}

fn is_absent(status: u16) -> bool {
    matches!(status, 404 | 405 | 501)
}

impl Identity {
    fn take_metrics(&mut self, answer: &Answer) {
        let page = prometheus::parse(&answer.body);
        if page.samples.is_empty() {
            self.notes.push("/metrics holds no sample in Prometheus' text format".into());
            return;
        }
        fingerprint::from_page(&page, "/metrics", &mut self.fingerprint);
        self.pages.push(RawPage { name: "metrics.prom".into(), bytes: answer.body.to_vec() });
    }

    fn take(&mut self, path: &str, endpoint: &Endpoint, body: &[u8]) {
        if body.len() > LARGEST_JSON {
            self.notes.push(format!("{path} answered with {} bytes, more than is read of it", body.len()));
            return;
        }
        let Ok(mut json) = serde_json::from_slice::<Value>(body) else {
            self.notes.push(format!("{path} did not answer in JSON"));
            return;
        };
        redact(&mut json);
        let bytes = json.to_string().into_bytes();
        if !(endpoint.extract)(&bytes, path, &mut self.fingerprint) {
            self.notes.push(format!("{path} is not understood: its answer is kept, nothing was learned from it"));
        }
        self.pages.push(RawPage { name: endpoint.file.into(), bytes });
    }

    fn note(&mut self, path: &str, error: &Error, absent: &str) {
        self.notes.push(match error.status() {
            Some(status) if is_absent(status) => format!("{path} is not there ({status}): {absent}"),
            Some(status @ (401 | 403)) => format!("{path} was refused ({status}): it needs a key"),
            _ => format!("{path}: {error}"),
        });
    }
}

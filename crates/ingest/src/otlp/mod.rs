//! OpenTelemetry's traces: OTLP as JSON (one document, or one a line) and as protobuf, and their spans joined to requests.

mod belongs;
mod clocks;
pub(crate) mod format;
mod join;
mod json;
mod protobuf;
mod stages;
mod traced;

pub use clocks::Offset;
pub use join::{Joined, join_spans};
pub use json::{is_otlp_json, read_otlp_json};
pub use protobuf::{is_otlp_protobuf, read_otlp_protobuf};

use firstcheck_model::trace_span::Attributes;

/// Which clock a span's times are of: the instance of its service, else its pod or host.
fn instance(resource: &Attributes) -> Option<String> {
    let names = ["service.instance.id", "k8s.pod.name", "host.name", "host.id"];
    names.iter().find_map(|name| resource.text(name)).map(str::to_owned)
}

/// Whether a name of an attribute is one whose text is never kept: prompts, answers, keys.
fn holds_text(name: &str) -> bool {
    const STARTS: [&str; 6] = [
        "gen_ai.prompt",
        "gen_ai.completion",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "http.request.header.authorization",
    ];
    STARTS.iter().any(|start| name.starts_with(start))
}

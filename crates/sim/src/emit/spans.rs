//! The span that the server exports for each request, as OTLP in JSON.

use crate::request::Life;
use serde_json::{Value, json};

/// A request as its span tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestSpan {
    /// Trace id, 32 hexadecimal digits: the client's, from `traceparent`.
    pub trace_id: String,
    /// Span of the client, 16 hexadecimal digits; `None`: the span has no parent.
    pub parent_id: Option<String>,
    /// Its own id, 16 hexadecimal digits.
    pub span_id: String,
    /// Name of the request.
    pub request_id: String,
    /// Prompt tokens.
    pub prompt_tokens: u32,
    /// Tokens generated.
    pub output_tokens: u32,
    /// Most tokens asked for.
    pub max_tokens: Option<u32>,
    /// Its course, on the engine's clock.
    pub life: Life,
}

/// A batch of spans of one server as one line: what its exporter sends at once. Times are Unix nanoseconds of the
/// engine's time plus `zero_unix_ns`. Requests without a token have no span.
pub fn export(service: &str, pid: u32, zero_unix_ns: i64, spans: &[RequestSpan]) -> String {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let resource = [
        text("telemetry.sdk.language", "python"),
        text("telemetry.sdk.name", "opentelemetry"),
        text("telemetry.sdk.version", "1.45.2"),
        text("service.instance.id", service),
        text("service.name", "vllm"),
        text("vllm.instrumenting_module_name", "vllm.llm_engine"),
        text("vllm.process_id", &pid.to_string()),
    ];
    let spans: Vec<Value> = spans.iter().filter_map(|span| told(span, zero_unix_ns)).collect();
    let document = json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": "vllm.tracing.otel"}, "spans": spans}],
    }]});
    document.to_string()
}

fn told(span: &RequestSpan, zero_unix_ns: i64) -> Option<Value> {
    let life = &span.life;
    let (scheduled, first, last) = (life.scheduled_ns?, life.first_token_ns?, life.last_token_ns?);
    // The front end takes these: when it has a token, not when the step ended.
    let (first_seen, last_seen) = (life.first_seen_ns?, life.last_seen_ns?);
    let seconds = |key: &str, ns: i64| json!({"key": key, "value": {"doubleValue": ns as f64 * 1e-9}});
    let number = |key: &str, value: u32| json!({"key": key, "value": {"intValue": value.to_string()}});
    let mut attributes = vec![
        seconds("gen_ai.latency.time_to_first_token", first_seen - life.arrival_ns),
        seconds("gen_ai.latency.e2e", last_seen - life.arrival_ns),
        seconds("gen_ai.latency.time_in_queue", scheduled - life.queued_ns),
        number("gen_ai.usage.prompt_tokens", span.prompt_tokens),
        number("gen_ai.usage.completion_tokens", span.output_tokens),
        seconds("gen_ai.latency.time_in_model_prefill", first - scheduled),
        seconds("gen_ai.latency.time_in_model_decode", last - first),
        seconds("gen_ai.latency.time_in_model_inference", last - scheduled),
        json!({"key": "gen_ai.request.id", "value": {"stringValue": span.request_id}}),
    ];
    attributes.extend(span.max_tokens.map(|most| number("gen_ai.request.max_tokens", most)));
    attributes.push(number("gen_ai.request.n", 1));
    let mut told = json!({
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": "llm_request",
        "kind": 2,
        "startTimeUnixNano": (zero_unix_ns + life.arrival_ns).to_string(),
        "endTimeUnixNano": (zero_unix_ns + last_seen).to_string(),
        "attributes": attributes,
        "status": {},
        "flags": 256,
    });
    if let (Some(parent), Some(fields)) = (&span.parent_id, told.as_object_mut()) {
        fields.insert("parentSpanId".into(), Value::from(parent.as_str()));
    }
    Some(told)
}

//! OpenTelemetry's spans, as JSON and as protobuf, and what joins them to requests.

#![no_main]

use firstcheck_ingest::otlp::{is_otlp_json, is_otlp_protobuf, join_spans, read_otlp_json, read_otlp_protobuf};
use firstcheck_model::{
    moment::Moment,
    request::{Request, Requests},
    run::{Clock, ClockKind},
};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let path = Path::new("spans");
    let _ = (is_otlp_json(data), is_otlp_protobuf(data));
    let clock = Clock { started_unix_ns: Some(1_700_000_000_000_000_000), kind: ClockKind::Real };
    for spans in [read_otlp_json(path, Some(1), data), read_otlp_protobuf(path, data)].into_iter().flatten() {
        let request = |span: &firstcheck_model::trace_span::TraceSpan| {
            let mut request = Request::offered(Moment::at(0));
            request.trace_id = Some(span.trace_id.clone());
            request
        };
        let requests = Requests(spans.iter().take(4).map(request).collect());
        let joined = join_spans(&spans, &requests, clock);
        assert_eq!(joined.joined + joined.others, spans.len());
    }
});

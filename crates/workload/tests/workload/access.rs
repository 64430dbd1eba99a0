//! Access logs: times and sizes of requests for answers, whatever wrote them.

use crate::from_text;
use firstcheck_model::moment::Moment;
use firstcheck_workload::{
    spec::{Generated, Source, Spec},
    trace::Due,
};
use proptest::prelude::*;

fn spec() -> Spec {
    Spec { source: Source::Access, ..Spec::default() }
}

fn in_bytes() -> Spec {
    Spec { prompt_bytes_per_token: Some(4.0), output_bytes_per_token: Some(200.0), ..spec() }
}

/// Milliseconds, prompt and output tokens of a request.
type Row = (f64, u64, u32);

fn rows(generated: &Generated) -> Vec<Row> {
    let at = |due: Due| match due {
        Due::At(at) => (at.since(Moment::at(0)).unwrap().0 * 1e3).round(),
        other => panic!("{other:?}"),
    };
    let items = generated.trace.items.iter();
    items.map(|item| (at(item.due), item.prompt.prompt_tokens(), item.output_tokens.unwrap())).collect()
}

const NGINX: &str = r#"
{"time_iso8601":"2026-11-30T15:49:10.500+00:00","request":"POST /v1/chat/completions HTTP/1.1","status":200,"request_length":4000,"bytes_sent":20000,"request_time":"0.500"}
{"time_iso8601":"2026-11-30T15:49:11+00:00","request":"GET /health HTTP/1.1","status":200,"request_length":90,"bytes_sent":2}
{"time_iso8601":"2026-11-30T15:49:12+00:00","request":"POST /v1/completions?key=abc HTTP/1.1","status":503,"request_length":800,"bytes_sent":0,"request_time":"1.0"}
"#;
const ENVOY: &str = r#"
{"start_time":"2026-11-30T15:49:10.000Z","path":"/v1/chat/completions","bytes_received":400,"bytes_sent":2000,"duration":912}
{"start_time":"2026-11-30T15:49:10.250Z","path":"/v1/models","bytes_received":0,"bytes_sent":2000,"duration":1}
{"start_time":"2026-11-30T15:49:11.750Z","path":"/v1/chat/completions","bytes_received":800,"bytes_sent":400,"duration":80}
"#;
const OPENAI: &str = r#"
{"created":1764517750,"model":"m","usage":{"prompt_tokens":512,"completion_tokens":64}}
{"created":1764517751.5,"request":{"messages":[{"role":"user","content":"SECRET"}]},"response":{"usage":{"input_tokens":9,"output_tokens":3}}}
"#;
const COMBINED: &str = r#"
10.0.0.1 - alice [30/Nov/2026:15:49:10 +0000] "POST /v1/chat/completions HTTP/1.1" 200 2000 "-" "python" request_length=400
10.0.0.1 - alice [30/Nov/2026:15:49:10 +0000] "POST /v1/chat/completions HTTP/1.1" 200 4000 "-" "python" request_length=800
10.0.0.1 - - [30/Nov/2026:15:49:12 +0000] "POST /generate HTTP/1.1" 200 600 "-" "curl/8" request_length=40
"#;

#[test]
fn every_form_gives_times_and_tokens() {
    let cases: [(&str, Spec, &[Row]); 4] = [
        // nginx writes when a request ends: it began as much earlier as it took.
        (NGINX, in_bytes(), &[(0.0, 1_000, 100), (1_000.0, 200, 1)]),
        (ENVOY, in_bytes(), &[(0.0, 100, 10), (1_750.0, 200, 2)]),
        (OPENAI, spec(), &[(0.0, 512, 64), (1_500.0, 9, 3)]),
        // Whole seconds: two requests of one second are half a second apart.
        (COMBINED, in_bytes(), &[(0.0, 100, 10), (500.0, 200, 20), (2_000.0, 10, 3)]),
    ];
    for (text, spec, expected) in cases {
        let generated = from_text(&spec, text).unwrap();
        assert_eq!(rows(&generated), expected, "{text}");
    }
}

#[test]
fn what_asks_for_no_answer_is_left_out_and_said() {
    let generated = from_text(&in_bytes(), NGINX).unwrap();
    let [skipped] = &generated.skipped[..] else { panic!("{:?}", generated.skipped) };
    assert!(skipped.place.to_string() == "line 3" && skipped.reason.contains("asks for no answer"), "{skipped:?}");
    assert!(generated.trace.description.contains("rows left out 1"), "{}", generated.trace.description);
}

#[test]
fn bytes_are_no_tokens_unless_it_is_said_how_many_make_one() {
    let error = |spec: &Spec, text: &str| from_text(spec, text).unwrap_err().to_string();
    assert!(error(&spec(), ENVOY).contains("line 2: the prompt is known in bytes alone"), "{}", error(&spec(), ENVOY));
    let halved = Spec { output_bytes_per_token: None, ..in_bytes() };
    assert!(error(&halved, ENVOY).contains("output_bytes_per_token"), "{}", error(&halved, ENVOY));
    let forced = Spec { output: Some("fixed:7".parse().unwrap()), ..halved };
    assert_eq!(rows(&from_text(&forced, ENVOY).unwrap())[0], (0.0, 100, 7), "a forced length needs none");
    let cases = [
        ("{\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}", "no time"),
        ("{\"created\":\"soon\",\"prompt_tokens\":1,\"completion_tokens\":1}", "the time is `soon`"),
        ("{\"created\":1,\"completion_tokens\":1}", "no length of the prompt"),
        ("hello", "neither JSON nor"),
    ];
    for (text, expected) in cases {
        assert!(error(&spec(), text).contains(expected), "{text}: {}", error(&spec(), text));
    }
    let elsewhere = Spec { prompt_bytes_per_token: Some(4.0), source: Source::Mooncake, ..Spec::default() };
    assert!(error(&elsewhere, "{}").contains("only an access log takes it"));
}

proptest! {
    #[test]
    fn damaged_logs_never_panic(at in 0usize..600, byte: u8, cut in 0usize..600) {
        for text in [NGINX, ENVOY, OPENAI, COMBINED] {
            let mut bytes = text.as_bytes().to_vec();
            let place = at % bytes.len();
            bytes[place] = byte;
            bytes.truncate(bytes.len() - cut % bytes.len());
            let _ = Spec { skip_bad: true, ..in_bytes() }.generate(1, Some(&mut bytes.as_slice()));
        }
    }
}

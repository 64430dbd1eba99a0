use crate::from_text;
use firstcheck_model::{moment::Moment, run::Arrivals};
use firstcheck_workload::{
    error::Place,
    hash::trace_hash,
    prompt::{Prompt, Speaker},
    spec::{Source, Spec},
    trace::Due,
};
use proptest::prelude::*;

fn of(source: Source) -> Spec {
    let arrivals = match source {
        Source::Mooncake | Source::Azure => None,
        _ => Some("constant:2".parse().unwrap()),
    };
    Spec { source, arrivals, ..Spec::default() }
}

const MOONCAKE: &str = r#"
{"timestamp": 100, "input_length": 1100, "output_length": 5, "hash_ids": [1, 2, 3]}
{"timestamp": 600, "input_length": 1536, "output_length": 6, "hash_ids": [1, 2, 3]}

{"timestamp": 2100, "input_length": 600, "output_length": 7, "hash_ids": [1, 4], "extra": true}
"#;

const AZURE: &str = "TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
";

const SHAREGPT: &str = r#"[
 {"id": "x", "conversations": [
   {"from": "system", "value": "be brief"},
   {"from": "human", "value": "what is a cat"}, {"from": "gpt", "value": "an animal it is"},
   {"from": "human", "value": "and a dog"}, {"from": "gpt", "value": "too"}]},
 {"id": "y", "conversations": [{"from": "user", "value": "no answer follows"}]}
]"#;

const BODIES: &str = r#"{"messages": [{"role": "user", "content": "a cat"}], "temperature": 0, "max_tokens": 9}
{"prompt": "the dog sat"}
"#;

/// Milliseconds of the rows that are due at a moment.
fn times(trace: &firstcheck_workload::trace::Trace) -> Vec<i64> {
    let at = trace.items.iter().map(|item| match item.due {
        Due::At(moment) => moment.get().unwrap() / 1_000_000,
        Due::WhenFree | Due::After { .. } => panic!("not due at a moment"),
    });
    at.collect()
}

#[test]
fn mooncake_ids_are_blocks() {
    let trace = from_text(&of(Source::Mooncake), MOONCAKE).unwrap().trace;
    let ids: Vec<Vec<u32>> = trace.items.iter().map(|item| item.prompt.token_ids(None)).collect();
    assert_eq!(ids.iter().map(Vec::len).collect::<Vec<_>>(), [1100, 1536, 600]);
    assert_eq!(ids[0][..], ids[1][..1100], "a partial last block is the start of the whole one");
    assert_eq!(ids[0][..512], ids[2][..512]);
    assert_ne!(ids[0][512..600], ids[2][512..600]);
    assert_eq!(times(&trace), [0, 500, 2000]);
    assert_eq!(trace.items[2].output_tokens, Some(7));
    assert_eq!(trace.arrivals, Arrivals::Open { rate: 1.0, cv: None });
}

#[test]
fn a_trace_is_scaled_cut_and_offered_at_another_rate() {
    let spec = Spec { arrivals: Some("trace:0.5".parse().unwrap()), ..of(Source::Mooncake) };
    assert_eq!(times(&from_text(&spec, MOONCAKE).unwrap().trace), [0, 250, 1000]);

    let spec = Spec { offset: 1, requests: Some(1), ..of(Source::Mooncake) };
    let trace = from_text(&spec, MOONCAKE).unwrap().trace;
    assert_eq!((times(&trace), trace.items[0].output_tokens), (vec![0], Some(6)));
    assert_eq!(trace.arrivals, Arrivals::Unknown, "one request has no rate");

    let spec = Spec { duration_s: Some(1.0), ..of(Source::Mooncake) };
    let trace = from_text(&spec, MOONCAKE).unwrap().trace;
    assert_eq!((trace.len(), trace.arrivals), (2, Arrivals::Open { rate: 2.0, cv: None }));

    let spec = Spec {
        arrivals: Some("constant:10".parse().unwrap()),
        output: Some("9".parse().unwrap()),
        ..of(Source::Mooncake)
    };
    let trace = from_text(&spec, MOONCAKE).unwrap().trace;
    assert_eq!(times(&trace), [0, 100, 200]);
    assert!(trace.items.iter().all(|item| item.output_tokens == Some(9)));
}

#[test]
fn rows_out_of_order_are_put_in_order() {
    let mut lines: Vec<&str> = MOONCAKE.lines().collect();
    lines.reverse();
    let sorted = from_text(&of(Source::Mooncake), MOONCAKE).unwrap().trace;
    assert_eq!(trace_hash(&from_text(&of(Source::Mooncake), &lines.join("\n")).unwrap().trace), trace_hash(&sorted));
}

#[test]
fn azure_reads_times_of_both_years() {
    let trace = from_text(&of(Source::Azure), AZURE).unwrap().trace;
    assert_eq!(trace.items[1].due, Due::At(Moment::at(52_000_000)));
    assert_eq!(trace.items.iter().map(|item| item.prompt.prompt_tokens()).collect::<Vec<_>>(), [4808, 3180]);
    assert_eq!(trace.items[0].output_tokens, Some(10));

    let later = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
         2024-05-10 00:00:00.009930+00:00,2162,5\n\
         2024-05-10 00:00:01+00:00,2399,6\n\
         2024-05-10T01:00:02Z,7,8\n\
         2024-05-10 02:00:03,7,8\n\
         2024-05-10 04:00:04+02:00,7,8\n";
    let trace = from_text(&of(Source::Azure), later).unwrap().trace;
    assert_eq!(times(&trace), [0, 990, 3_601_990, 7_202_990, 7_203_990]);
}

#[test]
fn azure_columns_may_stand_in_any_order() {
    let other = "GeneratedTokens,TIMESTAMP,ContextTokens\r\n10,2023-11-16 18:17:03.9799600,4808\r\n";
    let trace = from_text(&of(Source::Azure), other).unwrap().trace;
    assert_eq!((trace.items[0].prompt.prompt_tokens(), trace.items[0].output_tokens), (4808, Some(10)));
}

#[test]
fn sharegpt_asks_the_first_question_or_all() {
    let first = from_text(&of(Source::Sharegpt), SHAREGPT).unwrap().trace;
    assert_eq!(first.len(), 2);
    assert_eq!(first.items[0].prompt.text(None), "be brief\nwhat is a cat");
    assert_eq!(first.items[0].output_tokens, Some(4));
    assert_eq!((first.items[1].output_tokens, first.items[1].session), (None, None));

    let spec = Spec { all_turns: true, think_ms: Some("250".parse().unwrap()), ..of(Source::Sharegpt) };
    let all = from_text(&spec, SHAREGPT).unwrap().trace;
    let due: Vec<Due> = all.items.iter().map(|item| item.due).collect();
    let after = Due::After { row: 0, think_ns: 250_000_000 };
    assert_eq!(due, [Due::At(Moment::at(0)), after, Due::At(Moment::at(500_000_000))]);
    assert_eq!(all.items[1].prompt.text(None), "be brief\nwhat is a cat\nan animal it is\nand a dog");
    assert_eq!(all.items.iter().map(|item| item.session).collect::<Vec<_>>(), [Some(0), Some(0), Some(1)]);
    let Prompt::Messages(messages) = &all.items[1].prompt else { panic!("no messages") };
    let speakers: Vec<_> = messages.iter().map(|message| message.speaker).collect();
    assert_eq!(speakers, [Speaker::System, Speaker::User, Speaker::Assistant, Speaker::User]);
}

#[test]
fn sharegpt_is_not_read_past_the_last_conversation_asked_for() {
    let cut = &SHAREGPT[..SHAREGPT.find("{\"id\": \"y\"").unwrap()];
    let spec = Spec { requests: Some(1), ..of(Source::Sharegpt) };
    assert_eq!(from_text(&spec, cut).unwrap().trace.len(), 1);
    assert!(from_text(&of(Source::Sharegpt), cut).is_err());
}

#[test]
fn bodies_are_kept_as_they_are() {
    let trace = from_text(&of(Source::Bodies), BODIES).unwrap().trace;
    assert_eq!(trace.items[0].prompt.body(None).unwrap()["temperature"], 0);
    assert_eq!((trace.items[0].output_tokens, trace.items[0].max_tokens()), (None, Some(9)));
    assert_eq!(trace.items[1].prompt.prompt_tokens(), 3);
}

/// Source, text, and what the error says from its start.
const MALFORMED: &[(Source, &str, &str)] = &[
    (Source::Mooncake, "{}", "line 1: timestamp is missing: expected milliseconds"),
    (Source::Mooncake, "\n\n{\"timestamp\": 0}", "line 3: input_length is missing: expected tokens of the prompt"),
    (
        Source::Mooncake,
        r#"{"timestamp": -1, "input_length": 1}"#,
        "line 1: timestamp is -1: expected milliseconds from 0",
    ),
    (Source::Mooncake, r#"{"timestamp": 0, "input_length": 1}"#, "line 1: output_length is missing"),
    (
        Source::Mooncake,
        r#"{"timestamp": 0, "input_length": 0, "output_length": 1, "hash_ids": []}"#,
        "line 1: input_length is 0: expected 1 to",
    ),
    (
        Source::Mooncake,
        r#"{"timestamp": 0, "input_length": 1, "output_length": 0, "hash_ids": [1]}"#,
        "line 1: output_length is 0",
    ),
    (
        Source::Mooncake,
        r#"{"timestamp": 0, "input_length": 9, "output_length": 1}"#,
        "line 1: hash_ids is missing: expected one whole number for each block of 512",
    ),
    (
        Source::Mooncake,
        r#"{"timestamp": 0, "input_length": 513, "output_length": 1, "hash_ids": [1]}"#,
        "line 1: hash_ids has 1 ids, but input_length 513 is 2 blocks",
    ),
    (
        Source::Mooncake,
        r#"{"timestamp": 0, "input_length": 9, "output_length": 1, "hash_ids": ["a"]}"#,
        "line 1: no valid JSON: invalid type",
    ),
    (Source::Mooncake, r#"{"timestamp": 0, "input_length": -9}"#, "line 1: no valid JSON: invalid value"),
    (Source::Mooncake, "{\"timestamp\": 0,", "line 1: no valid JSON: EOF"),
    (Source::Mooncake, "", "mooncake: no request"),
    (Source::Azure, "a,b,c\n", "line 1: column TIMESTAMP is missing: expected the header TIMESTAMP,ContextTokens"),
    (Source::Azure, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1\n", "line 2: 2 fields: expected 3"),
    (
        Source::Azure,
        "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1\n",
        "line 2: TIMESTAMP is `yesterday`: expected",
    ),
    (
        Source::Azure,
        "TIMESTAMP,ContextTokens,GeneratedTokens\n\n2023-11-16 18:17:03,x,1\n",
        "line 3: ContextTokens is `x`: expected a whole number",
    ),
    (
        Source::Azure,
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1,0\n",
        "line 2: GeneratedTokens is 0: expected 1 to",
    ),
    (Source::Azure, "TIMESTAMP,ContextTokens,GeneratedTokens\n", "azure: no request"),
    (Source::Sharegpt, "{}", "line 1: no JSON array of conversations"),
    (Source::Sharegpt, "[{}, {\n", "line 2: no JSON array of conversations"),
    (Source::Sharegpt, "[{\"id\": 1}]", "conversation 1: conversations is missing"),
    (Source::Sharegpt, r#"[{"conversations": 3}]"#, "conversation 1: conversations is no array"),
    (Source::Sharegpt, r#"[{"conversations": []}]"#, "conversation 1: holds no question"),
    (
        Source::Sharegpt,
        r#"[{"conversations": [{"from": "gpt", "value": "x"}]}]"#,
        "conversation 1: begins with an answer",
    ),
    (
        Source::Sharegpt,
        r#"[{"conversations": [{"from": "tool", "value": "x"}]}]"#,
        "conversation 1: turn 1: from is `tool`: expected human",
    ),
    (Source::Sharegpt, r#"[{"conversations": [{"from": "human"}]}]"#, "conversation 1: turn 1: value is missing"),
    (
        Source::Sharegpt,
        r#"[{"conversations": [{"from": "human", "value": " "}]}]"#,
        "conversation 1: turn 1: the question is empty",
    ),
    (Source::Sharegpt, "[]", "sharegpt: no request"),
    (Source::Bodies, "[1]", "line 1: no JSON object"),
    (Source::Bodies, r#"{"model": "m"}"#, "line 1: neither messages nor prompt"),
    (Source::Bodies, r#"{"prompt": "a", "messages": []}"#, "line 1: both messages and prompt"),
    (Source::Bodies, r#"{"messages": []}"#, "line 1: no text and no token ids"),
    (Source::Bodies, "{\"prompt\": \"a\"}\nnot json\n", "line 2: no valid JSON: expected"),
];

#[test]
fn what_is_malformed_is_named_with_its_place() {
    for (source, text, says) in MALFORMED {
        // An empty object is no conversation, so the one cut short is reached only when such are left out.
        let spec = Spec { skip_bad: text.starts_with("[{},"), ..of(*source) };
        let error = from_text(&spec, text).unwrap_err().to_string();
        assert!(error.starts_with(says), "{source}: {text}\n  {error}");
    }
}

#[test]
fn invalid_utf8_is_an_error_or_counted() {
    let mut bytes = b"{\"prompt\": \"\xff\"}\n".to_vec();
    bytes.extend_from_slice(BODIES.as_bytes());
    let error = of(Source::Bodies).generate(1, Some(&mut bytes.as_slice())).unwrap_err().to_string();
    assert_eq!(error, "line 1: not UTF-8");
    let spec = Spec { skip_bad: true, ..of(Source::Bodies) };
    let generated = spec.generate(1, Some(&mut bytes.as_slice())).unwrap();
    assert_eq!((generated.trace.len(), generated.skipped[0].place), (2, Place::Line(1)));
}

#[test]
fn bad_rows_are_left_out_only_when_asked_and_then_returned() {
    let text = MOONCAKE.replace("\"input_length\": 1536, ", "");
    assert!(from_text(&of(Source::Mooncake), &text).is_err());
    let generated = from_text(&Spec { skip_bad: true, ..of(Source::Mooncake) }, &text).unwrap();
    assert_eq!(generated.trace.len(), 2);
    assert_eq!(generated.skipped.len(), 1);
    assert_eq!(generated.skipped[0].place, Place::Line(3));
    assert!(generated.trace.description.contains("bad rows left out 1"), "{}", generated.trace.description);

    let spec = Spec { skip_bad: true, ..of(Source::Mooncake) };
    let error = from_text(&spec, "x\ny\n").unwrap_err().to_string();
    assert!(error.contains("every row is bad"), "{error}");
}

proptest! {
    #[test]
    fn common_prefixes_are_those_of_the_hash_ids(
        one in proptest::collection::vec(0u64..3, 1..6),
        other in proptest::collection::vec(0u64..3, 1..6),
        cut in 0u32..16,
    ) {
        let line = |ids: &[u64], cut: u32| {
            let length = ids.len() as u32 * 16 - cut;
            format!("{{\"timestamp\": 0, \"input_length\": {length}, \"output_length\": 1, \"hash_ids\": {ids:?}}}\n")
        };
        let spec = Spec { block_tokens: Some(16), ..of(Source::Mooncake) };
        let trace = from_text(&spec, &(line(&one, 0) + &line(&other, cut))).unwrap().trace;
        let (a, b) = (trace.items[0].prompt.token_ids(None), trace.items[1].prompt.token_ids(None));
        for (at, (x, y)) in a.chunks(16).zip(b.chunks(16)).enumerate() {
            let shared = x.len().min(y.len());
            let equal = x[..shared] == y[..shared];
            // Different blocks may begin alike by chance, one word in 1,024: a short last block says nothing.
            prop_assert!(equal == (one[at] == other[at]) || shared < 8, "block {at}");
        }
    }

    #[test]
    fn damaged_sources_never_panic(at in 0usize..400, byte: u8, cut in 0usize..400) {
        for (source, text) in [
            (Source::Mooncake, MOONCAKE), (Source::Azure, AZURE), (Source::Sharegpt, SHAREGPT), (Source::Bodies, BODIES),
        ] {
            let mut bytes = text.as_bytes().to_vec();
            let place = at % bytes.len();
            bytes[place] = byte;
            bytes.truncate(bytes.len() - cut % bytes.len());
            for skip_bad in [false, true] {
                let _ = Spec { skip_bad, ..of(source) }.generate(1, Some(&mut bytes.as_slice()));
            }
        }
    }
}

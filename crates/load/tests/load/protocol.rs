//! What an answer says: which events carry tokens, and which answers are refused.

use firstcheck_load::protocol::answer::{Answer, error_text};
use firstcheck_model::request::Finish;

fn delta(delta: &str) -> String {
    format!(
        r#"{{"id":"c","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#
    )
}

fn tokens(event: &str) -> Option<u16> {
    Answer::new(false).event(event.as_bytes()).unwrap().tokens
}

#[test]
fn which_events_carry_tokens() {
    let cases: &[(String, Option<u16>)] = &[
        (delta(r#"{"role":"assistant"}"#), Some(0)),
        (delta(r#"{"role":"assistant","content":""}"#), Some(0)),
        (delta(r#"{"content":null}"#), Some(0)),
        (delta("{}"), Some(0)),
        (delta(r#"{"content":"Hi"}"#), None),
        (delta(r#"{"role":"assistant","content":"Hi"}"#), None),
        (delta(r#"{"content":"a \"quoted\" word"}"#), None),
        (delta(r#"{"reasoning_content":"hm"}"#), None),
        (delta(r#"{"reasoning":"hm"}"#), None),
        (delta(r#"{"refusal":"no"}"#), None),
        (delta(r#"{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":""}}]}"#), None),
        (delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}"#), None),
        (delta(r#"{"tool_calls":[]}"#), Some(0)),
        (r#"{"choices":[{"text":" word","index":0}]}"#.into(), None),
        (r#"{"choices":[{"text":"","index":0,"finish_reason":"length"}]}"#.into(), Some(0)),
        (r#"{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":7}}"#.into(), Some(0)),
        (r#"{"choices":[{"text":" four tokens at once","token_ids":[1,2,3,4]}]}"#.into(), Some(4)),
        (r#"{"choices":[{"text":"","token_ids":[240]}]}"#.into(), Some(1)),
        (
            r#"{"choices":[{"delta":{"content":"ab"},"logprobs":{"content":[{"token":"a"},{"token":"b"}]}}]}"#.into(),
            Some(2),
        ),
        (r#"{"choices":[{"text":"ab","logprobs":{"tokens":["a","b"],"token_logprobs":[0,0]}}]}"#.into(), Some(2)),
        (r#"{"choices":[{"text":"ab"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#.into(), Some(2)),
        ("[DONE]".into(), Some(0)),
    ];
    for (event, expected) in cases {
        assert_eq!(tokens(event), *expected, "{event}");
    }
}

#[test]
fn running_usage_states_the_tokens_of_each_event() {
    let mut answer = Answer::new(false);
    let event =
        |n: u32| format!(r#"{{"choices":[{{"delta":{{"content":"x"}}}}],"usage":{{"completion_tokens":{n}}}}}"#);
    let seen: Vec<_> = [4, 8, 9].iter().map(|n| answer.event(event(*n).as_bytes()).unwrap().tokens).collect();
    assert_eq!(seen, [Some(4), Some(4), Some(1)]);
}

#[test]
fn usage_and_finish_are_kept() {
    let mut answer = Answer::new(true);
    let stream = [
        delta(r#"{"role":"assistant","content":""}"#),
        delta(r#"{"content":"Hello"}"#),
        delta(r#"{"content":" wor\nld"}"#),
        delta(r#"{"content":"!"}"#),
        r#"{"choices":[{"delta":{"content":"."},"finish_reason":"length"}]}"#.into(),
        r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":2}}}"#.into(),
    ];
    for event in &stream {
        answer.event(event.as_bytes()).unwrap();
        assert!(!answer.is_done());
    }
    answer.event(b"[DONE]").unwrap();
    assert!(answer.is_done());
    assert_eq!(answer.finish(), Some(Finish::Length));
    assert_eq!(answer.text(), Some("Hello wor\nld!."));
    let usage = answer.usage();
    let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, cached), (Some(5), Some(4), Some(2)));
}

/// The text of a stream, read by one reader (which learns) and by a fresh one for each event (which does not).
#[test]
fn a_learnt_structure_reads_the_same_as_the_full_parse() {
    let texts = ["Hello", " wor", "ld", "", "\n", "\"quoted\"", "tab\t", "umläut", " ", "{}", "\u{1}", "a", "b"];
    let mut events: Vec<String> = Vec::new();
    for text in texts {
        let quoted = serde_json::to_string(text).unwrap();
        events.push(delta(&format!(r#"{{"content":{quoted}}}"#)));
        events.push(delta(&format!(r#"{{"content":{quoted}}}"#)));
        events.push(format!(r#"{{"choices":[{{"text":{quoted},"index":0}}]}}"#));
        events.push(delta(&format!(r#"{{"role":"assistant","content":{quoted}}}"#)));
    }
    let mut learning = Answer::new(true);
    let mut text = String::new();
    for event in &events {
        let mut fresh = Answer::new(true);
        assert_eq!(learning.event(event.as_bytes()), fresh.event(event.as_bytes()), "{event}");
        text.push_str(fresh.text().unwrap());
    }
    assert_eq!(learning.text(), Some(text.as_str()));
}

#[test]
fn whole_answers() {
    let chat = r#"{"choices":[{"message":{"role":"assistant","content":"Hi","tool_calls":null},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
    let completion =
        r#"{"choices":[{"text":"Hi","finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1}}"#;
    for body in [chat, completion] {
        let mut answer = Answer::new(true);
        answer.whole(body.as_bytes()).unwrap();
        assert_eq!((answer.text(), answer.finish()), (Some("Hi"), Some(Finish::Stop)), "{body}");
        assert_eq!(answer.usage().completion_tokens, Some(1));
        assert!(answer.is_done());
    }
}

#[test]
fn unusable_events_are_named() {
    let cases: &[(&[u8], &str)] = &[
        (b"{\"choices\":[{\"text\":\"\xff\"}]}", "invalid utf-8"),
        (b"{\"choices\":", "invalid json"),
        (b"", "invalid json"),
        (b"[]]", "invalid json"),
        (b"{\"choices\":7}", "invalid json"),
        (br#"{"error":{"message":"out of memory","type":"x","code":500}}"#, "server error"),
        (br#"{"error":"overloaded"}"#, "server error"),
        (br#"{"error":{"code":1}}"#, "server error"),
        (br#"{"object":"error","message":"bad"}"#, "server error"),
    ];
    for (event, expected) in cases {
        let mut answer = Answer::new(false);
        // The reader behaves the same once it knows a template.
        answer.event(delta(r#"{"content":"Hi"}"#).as_bytes()).unwrap();
        let error = answer.event(event).unwrap_err();
        assert_eq!(error.name(), *expected, "{}", String::from_utf8_lossy(event));
    }
}

#[test]
fn text_of_an_error_answer() {
    let cases = [
        (r#"{"error":{"message":"too many requests"}}"#, "too many requests"),
        (r#"{"object":"error","message":"model not found"}"#, "model not found"),
        ("<html>\n  502 Bad   Gateway</html>", "<html> 502 Bad Gateway</html>"),
        ("", ""),
    ];
    for (body, expected) in cases {
        assert_eq!(error_text(body.as_bytes()), expected);
    }
}

use firstcheck_workload::{body, prompt::Prompt, text};
use serde_json::{Map, Value, json};
use std::sync::Arc;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn ids(words: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    text::write_token_ids(words, &mut ids);
    ids
}

#[test]
fn every_form_of_prompt_has_its_tokens() {
    let parts = json!([{"type": "text", "text": "a cat"}, {"type": "image_url", "image_url": {}}, {"text": "sat"}]);
    let table = [
        (
            json!({"messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "a cat"}]}),
            "be brief a cat",
        ),
        (json!({"messages": [{"role": "user", "content": parts}]}), "a cat sat"),
        (json!({"messages": [{"role": "assistant", "content": null}, {"role": "user", "content": "cat"}]}), "cat"),
        (json!({"prompt": "a cat"}), "a cat"),
        (json!({"prompt": ["a", "cat"]}), "a cat"),
        (json!({"prompt": []}), ""),
        (json!({"messages": 5}), ""),
        (json!({}), ""),
    ];
    for (body, words) in table {
        let prompt = Prompt::Body(Arc::new(object(body.clone())));
        assert_eq!(prompt.token_ids(None), ids(words), "{body}");
        assert_eq!(prompt.prompt_tokens(), ids(words).len() as u64, "{body}");
        assert_eq!(ids(&prompt.text(None)), ids(words), "{body}");
    }
    let given = Prompt::Body(Arc::new(object(json!({"prompt": [[7, 8], [9]]}))));
    assert_eq!(given.token_ids(None), [7, 8, 9]);
}

#[test]
fn the_salt_comes_first_in_every_form() {
    let table = [
        (
            json!({"messages": [{"content": "a"}, {"content": "b"}]}),
            json!({"messages": [{"content": "s a"}, {"content": "b"}]}),
        ),
        (
            json!({"messages": [{"content": [{"type": "text", "text": "a"}]}]}),
            json!({"messages": [{"content": [{"type": "text", "text": "s"}, {"type": "text", "text": "a"}]}]}),
        ),
        (json!({"messages": [{"content": null}]}), json!({"messages": [{"content": "s"}]})),
        (json!({"prompt": "a", "seed": 1}), json!({"prompt": "s a", "seed": 1})),
        (json!({"prompt": ["a", "b"]}), json!({"prompt": ["s a", "s b"]})),
    ];
    for (plain, salted) in table {
        let prompt = Prompt::Body(Arc::new(object(plain)));
        assert_eq!(Value::Object(prompt.body(Some("s")).unwrap()), salted);
    }
}

#[test]
fn token_ids_get_ids_that_stand_for_the_salt() {
    let prompt = Prompt::Body(Arc::new(object(json!({"prompt": [[7, 8], [7, 9]]}))));
    let salted = prompt.body(Some("s")).unwrap();
    let rows: Vec<Vec<u32>> = serde_json::from_value(salted["prompt"].clone()).unwrap();
    assert_eq!(rows[0][..4], rows[1][..4]);
    assert_eq!(rows[0][4..], [7, 8]);
    assert!(rows[0][..4].iter().all(|id| (512..1024).contains(id)));
    assert_ne!(prompt.token_ids(Some("s")), prompt.token_ids(Some("t")));
}

#[test]
fn fields_are_written_as_given() {
    let prompt = Prompt::Body(Arc::new(object(json!({"prompt": ["a"]}))));
    let (mut field, mut none) = (Vec::new(), Vec::new());
    prompt.write_prompt_json(Some("s"), &mut field);
    prompt.write_messages_json(Some("s"), &mut none);
    assert_eq!((field.as_slice(), none.as_slice()), (&b"[\"s a\"]"[..], &b"null"[..]));
}

#[test]
fn the_newer_name_of_the_limit_wins() {
    let limit = |value| body::max_tokens(&object(value));
    assert_eq!(limit(json!({"max_tokens": 5})), Some(5));
    assert_eq!(limit(json!({"max_tokens": 5, "max_completion_tokens": 6})), Some(6));
    assert_eq!(limit(json!({"max_tokens": null})), None);
    assert_eq!(limit(json!({"max_tokens": u64::MAX})), None);
}

/// What an engine would compile once has one hash; what binds nothing has none.
#[test]
fn a_schema_has_a_hash_and_free_text_has_none() {
    let bound = |value: Value| body::schema(&object(value));
    let shape = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let asked = json!({"prompt": "x", "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": shape}}});
    let first = bound(asked.clone());
    let mut other_prompt = object(asked);
    other_prompt.insert("prompt".into(), json!("y"));
    assert!(first.is_some() && first == body::schema(&other_prompt));
    for free in [
        json!({"prompt": "x"}),
        json!({"response_format": {"type": "text"}}),
        json!({"response_format": null}),
        json!({"tools": [{"type": "function"}]}),
        json!({"tools": [{"type": "function"}], "tool_choice": "auto"}),
    ] {
        assert_eq!(bound(free.clone()), None, "{free}");
    }
    let hashes: Vec<Option<u64>> = [
        json!({"response_format": {"type": "json_object"}}),
        json!({"structured_outputs": {"json": shape}}),
        json!({"guided_regex": "a+"}),
        json!({"guided_regex": "b+"}),
        json!({"tools": [{"type": "function"}], "tool_choice": "required"}),
    ]
    .into_iter()
    .map(bound)
    .collect();
    assert!(hashes.iter().all(Option::is_some));
    assert!((1..hashes.len()).all(|at| !hashes[..at].contains(&hashes[at])), "{hashes:?}");
}

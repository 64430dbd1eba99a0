use firstcheck_workload::{
    prompt::{Message, Piece, Prompt, Speaker},
    text,
};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashSet;

fn words(seed: u64, tokens: u32) -> Piece {
    Piece::Synthetic { seed, tokens }
}

/// A system message and a question with awkward text.
fn awkward() -> Prompt {
    Prompt::Messages(vec![
        Message::new(Speaker::System, vec![words(1, 20), Piece::Text("say \"no\"\\\n\ttab é 漢字 \u{1}".into())]),
        Message::new(Speaker::User, vec![words(2, 5), words(3, 7)]),
    ])
}

#[test]
fn the_vocabulary_is_distinct_short_and_plain() {
    let all: Vec<&str> = (0..text::VOCABULARY).map(|id| text::word(id).unwrap()).collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), text::VOCABULARY as usize);
    assert_eq!(text::word(text::VOCABULARY), None);
    for (id, word) in all.iter().enumerate() {
        assert!(!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
        assert_eq!(text::word_id(word), Some(id as u32));
        assert_eq!(text::token_id(word), id as u32);
    }
    assert_eq!(text::word_id("firstcheck"), None);
    assert!(text::token_id("firstcheck") >= text::VOCABULARY);
}

#[test]
fn words_are_spread_over_the_vocabulary() {
    let mut counts = vec![0u32; text::VOCABULARY as usize];
    text::word_ids(9, 1_024_000).for_each(|id| counts[id as usize] += 1);
    // Expected 1,000 each, standard deviation 32.
    assert!(counts.iter().all(|count| (800..1200).contains(count)));
}

#[test]
fn token_ids_are_those_of_the_text() {
    for salt in [None, Some("run-1"), Some("two words")] {
        let prompt = awkward();
        let mut read = Vec::new();
        text::write_token_ids(&prompt.text(salt), &mut read);
        assert_eq!(prompt.token_ids(salt), read);
        let more = salt.map_or(0, text::count_words);
        assert_eq!(prompt.prompt_tokens() + more, read.len() as u64);
    }
}

#[test]
fn json_says_what_text_says() {
    for salt in [None, Some("a \"salt\"")] {
        let prompt = awkward();
        let mut json = Vec::new();
        prompt.write_messages_json(salt, &mut json);
        let messages: Vec<Value> = serde_json::from_slice(&json).unwrap();
        let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user"]);
        let contents: Vec<&str> = messages.iter().map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(contents.join("\n"), prompt.text(salt));

        let mut json = Vec::new();
        prompt.write_prompt_json(salt, &mut json);
        assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), prompt.text(salt));
    }
}

#[test]
fn buffers_are_appended_to() {
    let prompt = Prompt::user(vec![words(1, 2)]);
    let (mut json, mut words, mut ids) = (b"x".to_vec(), "x".to_owned(), vec![1]);
    prompt.write_messages_json(None, &mut json);
    prompt.write_text(None, &mut words);
    prompt.write_token_ids(None, &mut ids);
    assert!(json.starts_with(b"x[{") && words.starts_with('x') && ids.len() == 3);
}

#[test]
fn a_salt_shares_no_first_block_and_keeps_the_structure_of_the_run() {
    let shared = words(1, 64);
    let one = Prompt::user(vec![shared.clone(), words(2, 100)]);
    let other = Prompt::user(vec![shared, words(3, 100)]);
    let common = |a: &[u32], b: &[u32]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let plain = common(&one.token_ids(None), &other.token_ids(None));
    assert!(plain >= 64);
    assert_eq!(common(&one.token_ids(Some("s1")), &other.token_ids(Some("s1"))), plain + 1);
    assert_eq!(common(&one.token_ids(Some("s1")), &one.token_ids(Some("s2"))), 0);
    assert_eq!(common(&one.token_ids(Some("s1")), &one.token_ids(None)), 0);
    assert!(one.text(Some("s1")).starts_with("s1 "));
}

#[test]
fn an_id_without_a_word_is_written_as_its_number() {
    let mut out = String::new();
    text::render([0, text::VOCABULARY], &mut out);
    assert_eq!(out, format!("{} <{}>", text::word(0).unwrap(), text::VOCABULARY));
}

proptest! {
    #[test]
    fn words_are_the_same_one_by_one_and_all_at_once(seed: u64, tokens in 0u32..100, first in 0usize..20) {
        let one_by_one: Vec<u32> = text::word_ids(seed, tokens).collect();
        let mut words = text::word_ids(seed, tokens);
        let mut ids: Vec<u32> = words.by_ref().take(first).collect();
        words.for_each(|id| ids.push(id));
        prop_assert_eq!(ids, one_by_one);
    }

    #[test]
    fn a_shorter_piece_is_a_prefix_of_a_longer_one(seed: u64, short in 0u32..300, more in 0u32..300) {
        let long: Vec<u32> = text::word_ids(seed, short + more).collect();
        let ids: Vec<u32> = text::word_ids(seed, short).collect();
        prop_assert_eq!(ids.len(), short as usize);
        prop_assert_eq!(&long[..ids.len()], &ids[..]);
        prop_assert!(long.iter().all(|id| *id < text::VOCABULARY));
    }

    #[test]
    fn rendered_words_read_back(seed: u64, tokens in 0u32..300) {
        let (mut out, mut ids) = (String::new(), Vec::new());
        text::render(text::word_ids(seed, tokens), &mut out);
        text::write_token_ids(&out, &mut ids);
        prop_assert_eq!(ids, text::word_ids(seed, tokens).collect::<Vec<_>>());
    }

    #[test]
    fn any_text_survives_json(given in "\\PC{0,40}", salt in "[a-z]{1,8}") {
        let prompt = Prompt::user(vec![Piece::Text(given.as_str().into())]);
        let mut json = Vec::new();
        prompt.write_prompt_json(Some(&salt), &mut json);
        prop_assert_eq!(serde_json::from_slice::<String>(&json).unwrap(), format!("{salt} {given}"));
    }
}

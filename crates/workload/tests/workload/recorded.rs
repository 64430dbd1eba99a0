//! A recorded workload keeps lengths, times and prefix structure, and reads back as what it was.

use crate::from_text;
use firstcheck_model::moment::Moment;
use firstcheck_workload::{
    recorded::{BLOCK_TOKENS, Recorded, write},
    spec::{Source, Spec},
    trace::{Due, Trace},
};
use proptest::prelude::*;

fn read(text: &str) -> Trace {
    from_text(&Spec { source: Source::Run, ..Spec::default() }, text).unwrap().trace
}

/// Tokens with which two prompts of a trace begin alike.
fn shared(trace: &Trace, one: usize, other: usize) -> usize {
    let (a, b) = (trace.items[one].prompt.token_ids(None), trace.items[other].prompt.token_ids(None));
    a.iter().zip(&b).take_while(|(a, b)| a == b).count()
}

#[test]
fn equal_prompts_turns_and_cached_beginnings_stay_shared() {
    let row = |at_s: i64, prompt_tokens: u32| Recorded {
        at_ns: at_s * 1_000_000_000,
        prompt_tokens,
        output_tokens: 5,
        ..Recorded::default()
    };
    let rows = [
        Recorded { identity: Some(77), ..row(10, 100) },
        Recorded { identity: Some(78), ..row(11, 100) },
        Recorded { identity: Some(77), ..row(12, 100) },
        Recorded { session: Some(4), ..row(13, 64) },
        Recorded { session: Some(4), ..row(14, 200) },
        Recorded { cached_tokens: Some(70), ..row(15, 160) },
        Recorded { cached_tokens: Some(96), ..row(16, 128) },
    ];
    let (text, left_out) = write(&rows);
    assert_eq!(left_out, 0);
    let trace = read(&text);
    let lengths: Vec<(u64, Option<u32>)> =
        trace.items.iter().map(|item| (item.prompt.prompt_tokens(), item.output_tokens)).collect();
    assert_eq!(lengths, [100, 100, 100, 64, 200, 160, 128].map(|prompt| (prompt, Some(5))));
    assert_eq!(trace.items[3].due, Due::At(Moment::at(3_000_000_000)));
    assert_eq!(shared(&trace, 0, 2), 100, "one prompt");
    assert_eq!(shared(&trace, 3, 4), 64, "the earlier turn");
    assert_eq!(shared(&trace, 5, 6), 64, "whole blocks of what was cached");
    assert!(shared(&trace, 0, 1) < 8 && shared(&trace, 0, 5) < 8, "strangers share nothing but chance");
}

#[test]
fn requests_without_a_length_are_counted() {
    let known = Recorded { prompt_tokens: 3, output_tokens: 2, ..Recorded::default() };
    let (text, left_out) =
        write(&[Recorded { output_tokens: 0, ..known }, known, Recorded { prompt_tokens: 0, ..known }]);
    assert_eq!((text.lines().count(), left_out), (1, 2));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        rows in proptest::collection::vec(
            (0..1_000_000_i64, 1..5_000_u32, 1..900_u32, proptest::option::of(0..4_u64), proptest::option::of(0..3_u32),
             proptest::option::of(0..6_000_u32)), 1..40),
    ) {
        let rows: Vec<Recorded> = rows.into_iter().map(|(ms, prompt_tokens, output_tokens, identity, session, cached_tokens)| {
            // Equal prompts are equally long.
            let prompt_tokens = identity.map_or(prompt_tokens, |identity| 100 + identity as u32);
            Recorded { at_ns: ms * 1_000_000, prompt_tokens, output_tokens, identity, session, cached_tokens }
        }).collect();
        let (text, left_out) = write(&rows);
        prop_assert_eq!(left_out, 0);
        let trace = read(&text);
        let mut sorted = rows.clone();
        sorted.sort_by_key(|row| row.at_ns);
        for (row, item) in sorted.iter().zip(&trace.items) {
            prop_assert_eq!(item.prompt.prompt_tokens(), u64::from(row.prompt_tokens));
            prop_assert_eq!(item.output_tokens, Some(row.output_tokens));
            prop_assert_eq!(item.due, Due::At(Moment::at(row.at_ns - sorted[0].at_ns)));
        }
        prop_assert!(text.lines().all(|line| line.len() < 100 + 12 * (5_000 / BLOCK_TOKENS as usize + 2)));
    }
}

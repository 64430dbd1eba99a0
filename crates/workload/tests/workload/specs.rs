use crate::{from_text, synthetic};
use firstcheck_model::{moment::Moment, run::Arrivals};
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    demo::{Mixed, mixed},
    hash::trace_hash,
    prompt::{Piece, Prompt},
    spec::{Source, Spec},
    trace::{Due, Trace},
};
use proptest::prelude::*;
use serde_json::json;

fn trace(spec: &Spec) -> Trace {
    spec.generate(7, None).unwrap().trace
}

fn lengths(trace: &Trace) -> Vec<u64> {
    trace.items.iter().map(|item| item.prompt.prompt_tokens()).collect()
}

#[test]
fn changing_one_thing_leaves_the_others() {
    let base = trace(&synthetic(200));
    let due = |trace: &Trace| trace.items.iter().map(|item| item.due).collect::<Vec<_>>();
    let outputs = |trace: &Trace| trace.items.iter().map(|item| item.output_tokens).collect::<Vec<_>>();

    let faster = trace(&Spec { arrivals: Some("gamma:20,cv=3".parse().unwrap()), ..synthetic(200) });
    assert_ne!(due(&faster), due(&base));
    assert_eq!((lengths(&faster), outputs(&faster)), (lengths(&base), outputs(&base)));

    let longer = trace(&Spec { input: Some("uniform:1-9".parse().unwrap()), ..synthetic(200) });
    assert_ne!(lengths(&longer), lengths(&base));
    assert_eq!((due(&longer), outputs(&longer)), (due(&base), outputs(&base)));

    let more = trace(&synthetic(300));
    assert_eq!(more.items[..200], base.items[..]);
}

#[test]
fn requests_and_duration_both_end_a_trace() {
    let constant = Spec { arrivals: Some("constant:10".parse().unwrap()), ..synthetic(1000) };
    assert_eq!(trace(&Spec { duration_s: Some(2.0), ..constant.clone() }).len(), 20);
    assert_eq!(trace(&Spec { duration_s: Some(2.0), requests: Some(5), ..constant.clone() }).len(), 5);
    assert_eq!(trace(&Spec { duration_s: Some(2.0), requests: None, ..constant }).len(), 20);
}

#[test]
fn arrivals_are_told_in_the_words_of_the_model() {
    let told = |text: &str| trace(&Spec { arrivals: Some(text.parse().unwrap()), ..synthetic(10) });
    assert_eq!(told("poisson:8").arrivals, Arrivals::Open { rate: 8.0, cv: Some(1.0) });
    assert_eq!(told("constant:8").arrivals, Arrivals::Open { rate: 8.0, cv: Some(0.0) });
    assert_eq!(told("gamma:8,cv=2").arrivals, Arrivals::Open { rate: 8.0, cv: Some(2.0) });
    let closed = told("closed:4");
    assert_eq!(closed.arrivals, Arrivals::Closed { concurrency: 4 });
    assert!(closed.items.iter().all(|item| item.due == Due::WhenFree));
}

#[test]
fn shared_prefixes_have_their_groups_length_and_share() {
    let spec = Spec {
        prefix: Some("groups=4,tokens=256,share=0.75".parse().unwrap()),
        input: Some("uniform:10-20".parse().unwrap()),
        ..synthetic(4000)
    };
    let with = trace(&spec);
    let mut groups = std::collections::HashMap::new();
    for item in &with.items {
        let Prompt::Messages(messages) = &item.prompt else { panic!("no messages") };
        if let [Piece::Synthetic { seed, tokens: 256 }, Piece::Synthetic { .. }] = messages[0].pieces.as_slice() {
            *groups.entry(*seed).or_insert(0) += 1;
        }
    }
    let sharing: i32 = groups.values().sum();
    assert_eq!(groups.len(), 4);
    assert!((2850..3150).contains(&sharing), "{sharing} of 4000 share");
    assert!(groups.values().all(|count| (600..900).contains(count)), "{groups:?}");

    let without = trace(&Spec { prefix: None, ..spec });
    assert_eq!(lengths(&with).iter().sum::<u64>() - lengths(&without).iter().sum::<u64>(), 256 * sharing as u64);
}

#[test]
fn a_session_repeats_what_was_said() {
    let spec = Spec {
        turns: Some("3".parse().unwrap()),
        think_ms: Some("uniform:100-200".parse().unwrap()),
        prefix: Some("tokens=8".parse().unwrap()),
        ..synthetic(7)
    };
    let trace = trace(&spec);
    assert_eq!(trace.len(), 7, "the last session is cut");
    let sessions: Vec<_> = trace.items.iter().map(|item| item.session.unwrap()).collect();
    assert_eq!(sessions, [0, 0, 0, 1, 1, 1, 2]);
    for (row, item) in trace.items.iter().enumerate() {
        match item.due {
            Due::At(_) => assert_eq!(row % 3, 0),
            Due::After { row: before, think_ns } => {
                assert_eq!(before as usize + 1, row);
                assert!((100_000_000..=200_000_000).contains(&think_ns));
                let (old, new) = (&trace.items[row - 1], &item.prompt);
                let (old_ids, new_ids) = (old.prompt.token_ids(None), new.token_ids(None));
                assert_eq!(new_ids[..old_ids.len()], old_ids[..]);
                assert!(new_ids.len() > old_ids.len() + old.output_tokens.unwrap() as usize);
            }
            Due::WhenFree => panic!("an open loop waits for no stream"),
        }
    }
    let Arrivals::Open { rate, .. } = trace.arrivals else { panic!("no open loop") };
    assert!((rate - 8.0 * 7.0 / 3.0).abs() < 1e-9, "requests a second, not sessions: {rate}");
}

#[test]
fn the_hash_sees_the_trace_and_not_the_salt() {
    let base = trace_hash(&trace(&synthetic(20)));
    assert_eq!(base.len(), 32);
    let salted = trace(&Spec { salt: Some("s".to_owned()), ..synthetic(20) });
    assert_eq!(salted.salt.as_deref(), Some("s"));
    assert_eq!(trace_hash(&salted), base);
    assert_eq!(trace_hash(&salted.with_salt(None)), base);

    let changes: [fn(&mut Trace); 6] = [
        |trace| trace.items[3].due = Due::WhenFree,
        |trace| trace.items[3].due = Due::At(Moment::at(1)),
        |trace| trace.items[3].output_tokens = None,
        |trace| trace.items[3].session = Some(0),
        |trace| trace.items[3].prompt = Prompt::user(vec![Piece::Text("a".into())]),
        |trace| trace.items.truncate(19),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = trace(&synthetic(20));
        change(&mut other);
        assert_ne!(trace_hash(&other), base, "change {number}");
    }
    assert_ne!(trace_hash(&synthetic(20).generate(8, None).unwrap().trace), base);
}

#[test]
fn the_hash_of_a_trace_stays_what_it_was() {
    // A change here breaks the comparison with every stored run: raise the version inside the hash, and say so.
    let spec = Spec { arrivals: Some("constant:1".parse().unwrap()), ..synthetic(3) };
    assert_eq!(trace_hash(&trace(&spec)), "cc07595c9211a565f6216c855d24533e");
}

#[test]
fn the_mixed_workload_has_short_and_long_prompts() {
    let trace = mixed(5000, 4.0, 1).unwrap();
    let all = lengths(&trace);
    let long = all.iter().filter(|tokens| **tokens >= 4000).count();
    assert!((150..260).contains(&long), "{long} of 5000 are long");
    assert!(all.iter().all(|tokens| (16..=12_000).contains(tokens)));
    let shape = Mixed { long_share: 0.0, ..Mixed::new(100, 4.0) };
    assert!(lengths(&shape.trace(1).unwrap()).iter().all(|tokens| *tokens <= 3500));
}

#[test]
fn fields_that_do_not_go_together_are_refused() {
    let file = |source| Spec { source, arrivals: Some("poisson:1".parse().unwrap()), ..Spec::default() };
    let some = || Some("5".parse().unwrap());
    let table = [
        (Spec { arrivals: None, ..synthetic(1) }, "arrivals: missing"),
        (
            Spec { arrivals: Some("trace".parse().unwrap()), ..synthetic(1) },
            "arrivals: a synthetic source has no times",
        ),
        (Spec { arrivals: Some(ArrivalProcess::Poisson { rate: -1.0 }), ..synthetic(1) }, "arrivals: `poisson:-1`"),
        (Spec { input: None, ..synthetic(1) }, "input: missing"),
        (Spec { output: None, ..synthetic(1) }, "output: missing"),
        (Spec { input: Some("0".parse().unwrap()), ..synthetic(1) }, "input: `fixed:0` may give 0"),
        (Spec { requests: None, ..synthetic(1) }, "requests: missing"),
        (Spec { requests: Some(0), ..synthetic(1) }, "requests: 0"),
        (Spec { duration_s: Some(f64::NAN), ..synthetic(1) }, "duration_s: out of range"),
        (Spec { think_ms: some(), ..synthetic(1) }, "think_ms: only sessions"),
        (Spec { offset: 1, ..synthetic(1) }, "offset: a synthetic"),
        (Spec { file: Some("x".into()), ..synthetic(1) }, "file: a synthetic"),
        (Spec { salt: Some(" ".to_owned()), ..synthetic(1) }, "salt: empty"),
        (Spec { all_turns: true, ..synthetic(1) }, "all_turns: only sharegpt"),
        (
            Spec { arrivals: Some("closed:2".parse().unwrap()), requests: None, duration_s: Some(5.0), ..synthetic(1) },
            "requests: missing: how many",
        ),
        (file(Source::Mooncake), "file: missing: a mooncake source"),
        (Spec { input: some(), ..file(Source::Azure) }, "input: only a synthetic"),
        (Spec { turns: some(), ..file(Source::Sharegpt) }, "turns: only a synthetic"),
        (Spec { block_tokens: Some(16), ..file(Source::Azure) }, "block_tokens: only mooncake"),
    ];
    for (spec, says) in table {
        let error = spec.generate(1, None).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    let error = from_text(&synthetic(1), "x").unwrap_err().to_string();
    assert!(error.starts_with("file: a synthetic workload reads none"), "{error}");
    let endless = Spec {
        arrivals: Some("constant:1000000".parse().unwrap()),
        requests: None,
        duration_s: Some(1e6),
        ..synthetic(1)
    };
    let error = Spec { input: some(), output: some(), ..endless }.generate(1, None).unwrap_err().to_string();
    assert!(error.starts_with("requests: more than 10000000: lower"), "{error}");
}

#[test]
fn configuration_reads_back_and_refuses_unknown_fields() {
    let written = json!({
        "source": "mooncake", "file": "trace.jsonl", "arrivals": "trace:0.5", "requests": 10, "output": "fixed:8",
        "all_turns": false, "offset": 2, "skip_bad": true, "salt": "s",
    });
    let spec: Spec = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&spec).unwrap(), written);
    assert_eq!(serde_json::from_value::<Spec>(json!({})).unwrap(), Spec::default());

    let error = serde_json::from_value::<Spec>(json!({"request": 10})).unwrap_err().to_string();
    assert!(error.contains("unknown field `request`"), "{error}");
    let error = serde_json::from_value::<Spec>(json!({"arrivals": "poisson:x"})).unwrap_err().to_string();
    assert!(error.contains("`x` is no rate"), "{error}");
    for source in Source::ALL {
        assert_eq!(source.name().parse::<Source>().unwrap(), source);
        assert_eq!(serde_json::to_value(source).unwrap(), source.name());
    }
}

proptest! {
    #[test]
    fn a_trace_is_repeatable_and_its_rows_are_in_order(seed: u64, turns in 1u32..4, rate in 0.1f64..100.0) {
        let spec = Spec {
            arrivals: Some(ArrivalProcess::Poisson { rate }),
            turns: Some(turns.to_string().parse().unwrap()),
            ..synthetic(30)
        };
        let one = spec.generate(seed, None).unwrap();
        prop_assert_eq!(&one, &spec.generate(seed, None).unwrap());
        let mut last = Moment::at(0);
        for (row, item) in one.trace.items.iter().enumerate() {
            match item.due {
                Due::At(moment) => { prop_assert!(moment >= last); last = moment; }
                Due::After { row: before, .. } => prop_assert!((before as usize) < row),
                Due::WhenFree => prop_assert!(false),
            }
        }
    }
}

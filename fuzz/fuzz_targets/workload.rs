//! A workload that exists already: a Mooncake or Azure trace, ShareGPT conversations, bodies of requests.
//!
//! The first byte says which, and whether bad rows are left out. What is made of one is the same each time, each row of it
//! is due after those before it, and no more rows come than were asked for.

#![no_main]

use firstcheck_model::moment::Moment;
use firstcheck_workload::{
    spec::{Source, Spec},
    trace::Due,
};
use libfuzzer_sys::fuzz_target;

/// Rows that are asked for.
const ROWS: u32 = 50;

fuzz_target!(|data: &[u8]| {
    let Some((choice, content)) = data.split_first() else { return };
    let sources = [Source::Mooncake, Source::Azure, Source::Sharegpt, Source::Bodies];
    let source = sources[usize::from(choice & 3)];
    let timed = matches!(source, Source::Mooncake | Source::Azure);
    let arrivals = (!timed).then(|| "constant:2".parse().expect("arrivals"));
    let spec = Spec { source, arrivals, requests: Some(ROWS), skip_bad: choice & 4 != 0, ..Spec::default() };
    let generate = || spec.generate(1, Some(&mut &content[..]));
    let Ok(generated) = generate() else {
        assert!(generate().is_err());
        return;
    };
    let again = generate().expect("what was read once is read again");
    assert_eq!(generated.trace.len(), again.trace.len());
    assert_eq!(generated.skipped, again.skipped);
    assert!(spec.skip_bad || generated.skipped.is_empty());
    assert!(!generated.trace.items.is_empty());
    assert!(source == Source::Sharegpt || generated.trace.items.len() <= ROWS as usize);
    let due = generated.trace.items.iter().filter_map(|item| match item.due {
        Due::At(moment) => Some(moment),
        Due::WhenFree | Due::After { .. } => None,
    });
    assert!(due.collect::<Vec<Moment>>().is_sorted());
});

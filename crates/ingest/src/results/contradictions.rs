//! What a file says twice and differently: said in the run's warnings, for whoever reads its numbers.

use firstcheck_model::{
    moment::Moment,
    recording::Recording,
    request::{Fate, Request},
};

/// Two of a file's own times may differ by this much, nanoseconds: they are rounded and not read at one instant, nor
/// always from one clock.
const ROUNDING_NS: i64 = 5_000_000;

/// In words what some requests do, and whether one of them does.
type Kind<'a> = (&'a str, &'a dyn Fn(&Request) -> bool);

/// Adds a warning for each kind of contradiction between the times of a recording.
pub(super) fn note(recording: &mut Recording) {
    let requests = &recording.requests.0;
    let streamed = recording.info.workload.streaming == Some(true);
    let end = recording.info.window.map(|window| window.end);
    let kinds: [Kind<'_>; 5] = [
        ("have a first token from before they were sent", &|r| before(r.first_token, r.sent)),
        ("have a last token from before their first", &|r| before(r.last_token, r.first_token)),
        ("ended before their last token, or before they were sent", &|r| {
            before(r.done, r.last_token) || before(r.done, r.sent)
        }),
        ("completed with output and without a first token: their latencies are missing", &|r| {
            streamed && r.output_tokens.is_some_and(|n| n > 0) && !r.first_token.reached()
        }),
        ("ended after the period that the file states: rates leave them out", &|r| {
            end.is_some_and(|end| before(end, r.done.max(r.last_token)))
        }),
    ];
    let warnings: Vec<String> = kinds.into_iter().filter_map(|(what, holds)| say(requests, what, holds)).collect();
    recording.info.warnings.extend(warnings);
}

fn say(requests: &[Request], what: &str, holds: &dyn Fn(&Request) -> bool) -> Option<String> {
    let mut found = requests.iter().enumerate().filter(|(_, r)| r.fate == Fate::Completed && holds(r));
    let (first, _) = found.next()?;
    Some(format!("the file contradicts itself: {} requests {what} (the first is request {first})", found.count() + 1))
}

/// Whether `one` is earlier than `other` by more than rounding, where both are known.
fn before(one: Moment, other: Moment) -> bool {
    one.get().zip(other.get()).is_some_and(|(one, other)| one < other.saturating_sub(ROUNDING_NS))
}

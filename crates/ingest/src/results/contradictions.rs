//! What a file says twice and differently. Where it concerns the whole run, or many of its requests, nothing may be
//! concluded from its numbers; of few requests, whoever reads them is told.

use firstcheck_model::{
    moment::Moment,
    recording::Recording,
    request::{Fate, Request},
    run::RunInfo,
};

/// Two of a file's own times may differ by this much, nanoseconds: they are rounded and not read at one instant, nor
/// always from one clock.
const ROUNDING_NS: i64 = 5_000_000;

/// Share of the completed requests up to which contradictions are those of single rows, and move no quantile that can be
/// claimed.
const FEW: f64 = 0.01;

/// In words what some requests do, and whether one of them does.
type Kind<'a> = (&'a str, &'a dyn Fn(&Request) -> bool);

/// Notes each kind of contradiction between the times of a recording.
pub(super) fn note(recording: &mut Recording) {
    let streamed = recording.info.workload.streaming == Some(true);
    let end = recording.info.window.map(|window| window.end);
    let kinds: [Kind<'_>; 5] = [
        ("have a first token from before they were sent", &|r| before(r.first_token, r.sent)),
        ("have a last token from before their first", &|r| before(r.last_token, r.first_token)),
        ("ended before their last token, or before they were sent", &|r| {
            before(r.done, r.last_token) || before(r.done, r.sent)
        }),
        ("completed with output and without a first token: their latencies are missing", &|r| {
            streamed && r.sent.reached() && r.output_tokens.is_some_and(|n| n > 0) && !r.first_token.reached()
        }),
        ("ended after the period that the file states: rates leave them out", &|r| {
            end.is_some_and(|end| before(end, r.done.max(r.last_token)))
        }),
    ];
    for kind in kinds {
        of_requests(&recording.requests.0, kind, &mut recording.info);
    }
}

/// Notes a contradiction within completed requests, if one has it.
pub(super) fn of_requests(requests: &[Request], (what, holds): Kind<'_>, info: &mut RunInfo) {
    let completed = || requests.iter().enumerate().filter(|(_, r)| r.fate == Fate::Completed);
    let mut found = completed().filter(|(_, r)| holds(r));
    let Some((first, _)) = found.next() else { return };
    let count = found.count() + 1;
    say(format!("{count} requests {what} (the first is request {first})"), (count, completed().count()), info);
}

/// Notes what holds of `found` of `completed` requests.
pub(super) fn say(what: String, (found, completed): (usize, usize), info: &mut RunInfo) {
    let said = format!("the file contradicts itself: {what}");
    let few = found as f64 <= FEW * completed as f64;
    if few { info.warnings.push(said) } else { info.contradictions.push(said) }
}

/// Whether `one` is earlier than `other` by more than rounding, where both are known.
fn before(one: Moment, other: Moment) -> bool {
    one.get().zip(other.get()).is_some_and(|(one, other)| one < other.saturating_sub(ROUNDING_NS))
}

//! What others send: requests that are served and not recorded.

use super::Rig;
use firstcheck_model::moment::Moment;
use firstcheck_workload::{
    prompt::{Piece, Prompt},
    trace::{Due, Offered},
};

/// Requests of others at most, so that a small period cannot fill memory.
const MOST: i64 = 1_000_000;

/// Seed of the prompts of others.
const PROMPTS: u64 = 0x07_4e_35;

/// Lengths of a request of others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lengths {
    pub(super) prompt_tokens: u32,
    pub(super) output_tokens: u32,
}

/// Others send a request each `period_seconds` while the fault acts, each with a prompt of its own.
pub(super) fn every(rig: &mut Rig<'_>, period_seconds: f64, lengths: Lengths) {
    let period = ((period_seconds * 1e9) as i64).max(1_000);
    let end = rig.end_ns().unwrap_or_else(|| last_send(rig));
    let start = rig.start_ns();
    let count = ((end - start) / period + 1).clamp(0, MOST);
    for number in 0..count {
        send(rig, start + number * period, number as u64, lengths);
    }
}

/// Others send `count` requests at once each `period_seconds` while the fault acts, each with a prompt of its own.
pub(super) fn bursts(rig: &mut Rig<'_>, period_seconds: f64, count: u32, lengths: Lengths) {
    let period = ((period_seconds * 1e9) as i64).max(1_000);
    let (start, count) = (rig.start_ns(), i64::from(count.max(1)));
    let end = rig.end_ns().unwrap_or_else(|| last_send(rig));
    let all = ((end - start) / period + 1).saturating_mul(count).clamp(0, MOST);
    for number in 0..all {
        send(rig, start + number / count * period, number as u64, lengths);
    }
}

/// Others send `count` requests at the fault's start, spread over `seconds`.
pub(super) fn burst(rig: &mut Rig<'_>, count: u32, seconds: f64, lengths: Lengths) {
    let start = rig.start_ns();
    for number in 0..count.min(MOST as u32) {
        let share = f64::from(number) / f64::from(count.max(1));
        send(rig, start + (seconds * 1e9 * share) as i64, u64::from(number), lengths);
    }
}

fn send(rig: &mut Rig<'_>, at_ns: i64, number: u64, lengths: Lengths) {
    // Numbers stay below MOST, which is less than 2^20.
    let seed = PROMPTS ^ number << 20 ^ rig.fault() << 40;
    let pieces = vec![Piece::Synthetic { seed, tokens: lengths.prompt_tokens }];
    rig.others_send(Offered {
        due: Due::At(Moment::at(at_ns)),
        prompt: Prompt::user(pieces),
        output_tokens: Some(lengths.output_tokens),
        session: None,
    });
}

/// The last send that the trace fixes, or a minute after the fault's start.
fn last_send(rig: &Rig<'_>) -> i64 {
    let planned = rig.trace().items.iter().filter_map(|item| match item.due {
        Due::At(at) => at.get(),
        _ => None,
    });
    planned.max().unwrap_or_else(|| rig.start_ns() + 60_000_000_000)
}

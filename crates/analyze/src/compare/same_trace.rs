//! Whether two runs replayed one trace.

use super::{columns::Columns, policy::Policy, reading::median};
use firstcheck_model::run::{Arrivals, RunInfo};

/// Whether two runs replayed one trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trace {
    /// The same prompts with the same intended send times.
    Same,
    /// Not the same, with the difference.
    Different(String),
    /// No rows to tell by.
    Unknown,
}

/// Hashes of a foreign file's lengths alone: equal is necessary, not sufficient.
const OF_LENGTHS: &str = "lengths:";

/// Equal trace hashes; for files without one, equal prompt lengths and requested (else generated) lengths in order, and
/// send offsets that agree.
///
/// Offsets agree when the median of their absolute differences, each run centred on its own shift, is at most
/// `offset_tolerance` mean gaps between sends. Two clients that follow one plan differ by how late each was, and most
/// sends are on time; offsets of independent arrivals drift apart by many gaps.
pub(super) fn decide(base: (&RunInfo, &Columns), candidate: (&RunInfo, &Columns), policy: &Policy) -> Trace {
    let hashes = (&base.0.workload.trace_hash, &candidate.0.workload.trace_hash);
    if let (Some(b), Some(c)) = hashes {
        match (b == c, b.starts_with(OF_LENGTHS) && c.starts_with(OF_LENGTHS)) {
            (true, false) => return Trace::Same,
            (false, of_lengths) => {
                let where_they_differ = if of_lengths { lengths(base.1, candidate.1) } else { None };
                return Trace::Different(where_they_differ.unwrap_or_else(|| "their trace hashes differ".into()));
            }
            (true, true) => {}
        }
    }
    if base.1.lines.is_empty() || candidate.1.lines.is_empty() {
        return Trace::Unknown;
    }
    match lengths(base.1, candidate.1) {
        Some(why) => Trace::Different(why),
        None => offsets(base, candidate, policy),
    }
}

fn lengths(base: &Columns, candidate: &Columns) -> Option<String> {
    let (b, c) = (base.lines.len(), candidate.lines.len());
    if b != c {
        return Some(format!("{b} requests were offered to base and {c} to the candidate"));
    }
    let differ = |b: Option<u32>, c: Option<u32>| b.zip(c).filter(|(b, c)| b != c);
    for (row, (b, c)) in base.lines.iter().zip(&candidate.lines).enumerate() {
        if let Some((b, c)) = differ(b.prompt, c.prompt) {
            return Some(format!("prompt lengths differ from request {row} on: {b} and {c} tokens"));
        }
        let requested = b.requested.is_some() && c.requested.is_some();
        let told = if requested { (b.requested, c.requested) } else { (b.output, c.output) };
        let comparable = requested || (b.complete && c.complete);
        if let Some((b, c)) = differ(told.0, told.1).filter(|_| comparable) {
            return Some(format!("output lengths differ from request {row} on: {b} and {c} tokens"));
        }
    }
    None
}

fn offsets(base: (&RunInfo, &Columns), candidate: (&RunInfo, &Columns), policy: &Policy) -> Trace {
    if let (Arrivals::Closed { concurrency: b }, Arrivals::Closed { concurrency: c }) =
        (&base.0.workload.arrivals, &candidate.0.workload.arrivals)
    {
        // In a closed loop the server sets the send times.
        return if b == c { Trace::Same } else { Trace::Different(format!("{b} streams and {c} streams")) };
    }
    let pairs: Vec<(f64, f64)> =
        base.1.lines.iter().zip(&candidate.1.lines).filter_map(|(b, c)| b.origin.zip(c.origin)).collect();
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return Trace::Unknown };
    let gap = (last.0 - first.0) / (pairs.len() as f64 - 1.0).max(1.0);
    let shifts: Vec<f64> = pairs.iter().map(|(b, c)| c - b).collect();
    let Some(shift) = median(shifts.clone()) else { return Trace::Unknown };
    let Some(apart) = median(shifts.iter().map(|s| (s - shift).abs()).collect()) else { return Trace::Unknown };
    if apart <= policy.offset_tolerance * gap.max(0.0) {
        Trace::Same
    } else {
        Trace::Different(format!(
            "send offsets differ by {apart:.3} s in the median, {gap:.3} s lie between sends (allowed {} of that)",
            policy.offset_tolerance
        ))
    }
}

//! The requests of a run as a workload.

use anyhow::bail;
use firstcheck_model::evidence::RunEvidence;
use firstcheck_workload::recorded::{Recorded, write};

/// The requests of a run as lines of a trace without text, how many they are, and how many were left out since a length is
/// not known.
///
/// # Errors
/// A run of which no request has a time and lengths.
pub(in crate::commands) fn recorded(run: &RunEvidence) -> anyhow::Result<(String, usize, usize)> {
    let requests = &run.requests.0;
    let of = |request: &firstcheck_model::request::Request| {
        let at = request.origin();
        Some(Recorded {
            at_ns: at.get()?,
            prompt_tokens: request.prompt_tokens?,
            // What was not answered in full asked for so many.
            output_tokens: request.requested_tokens.or(request.output_tokens)?,
            identity: request.prompt_hash,
            session: request.session,
            cached_tokens: request.cached_tokens,
        })
    };
    let rows: Vec<Recorded> = requests.iter().filter_map(of).collect();
    let (text, empty) = write(&rows);
    let kept = rows.len() - empty;
    if kept == 0 {
        bail!("{} has no request whose time and lengths are known", run.label);
    }
    Ok((text, kept, requests.len() - kept))
}

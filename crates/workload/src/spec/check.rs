//! Whether the fields of a workload go together.

use super::{Source, Spec};
use crate::{arrivals::ArrivalProcess, distribution::Distribution, error::Error, schedule::MOST_REQUESTS};

/// Longest duration in seconds: a hundred years.
const LONGEST_S: f64 = 100.0 * 365.25 * 86_400.0;

/// The arrival process: as given, or the source's own times.
pub(super) fn process(spec: &Spec) -> Result<ArrivalProcess, Error> {
    match spec.arrivals {
        Some(ArrivalProcess::Trace { .. }) if !spec.source.timed() => {
            let reason = format!("a {} source has no times of its own: give a process, as `poisson:8`", spec.source);
            Err(Error::field("arrivals", reason))
        }
        // Through its text, so that values which no text can give are refused as well.
        Some(process) => process.to_string().parse().map_err(|error| Error::field("arrivals", format!("{error}"))),
        None if spec.source.timed() => Ok(ArrivalProcess::Trace { time_scale: 1.0 }),
        None => Err(Error::field("arrivals", "missing: give a process, as `poisson:8` or `closed:16`")),
    }
}

/// Fails on the first field that is out of range or does not go with the others.
pub(super) fn fields(spec: &Spec, process: &ArrivalProcess, has_source: bool) -> Result<(), Error> {
    let synthetic = spec.source == Source::Synthetic;
    let sharegpt = spec.source == Source::Sharegpt;
    goes_with(synthetic, spec.input.is_some(), "input", "only a synthetic workload takes it")?;
    goes_with(synthetic, spec.prefix.is_some(), "prefix", "only a synthetic workload takes it")?;
    goes_with(synthetic, spec.turns.is_some(), "turns", "only a synthetic workload takes it (sharegpt: `all_turns`)")?;
    goes_with(sharegpt, spec.all_turns, "all_turns", "only sharegpt takes it (synthetic: `turns`)")?;
    let sessions = spec.turns.is_some() || spec.all_turns;
    goes_with(sessions, spec.think_ms.is_some(), "think_ms", "only sessions take it: give `turns` or `all_turns`")?;
    let mooncake = spec.source == Source::Mooncake;
    goes_with(mooncake, spec.block_tokens.is_some(), "block_tokens", "only mooncake takes it")?;
    let access = spec.source == Source::Access;
    for (field, bytes) in [
        ("prompt_bytes_per_token", spec.prompt_bytes_per_token),
        ("output_bytes_per_token", spec.output_bytes_per_token),
    ] {
        goes_with(access, bytes.is_some(), field, "only an access log takes it")?;
        if bytes.is_some_and(|bytes| !(bytes.is_finite() && bytes > 0.0)) {
            return Err(Error::field(field, "out of range: expected bytes above 0, as 4"));
        }
    }
    goes_with(!synthetic, spec.offset > 0, "offset", "a synthetic workload has no rows to leave out")?;
    goes_with(!synthetic, spec.skip_bad, "skip_bad", "a synthetic workload has no rows to leave out")?;
    goes_with(
        !synthetic,
        has_source || spec.file.is_some(),
        "file",
        "a synthetic workload reads none: give a `source`",
    )?;
    if !synthetic && !has_source {
        return Err(Error::field("file", format!("missing: a {} source is read from a file", spec.source)));
    }
    at_least_one("input", spec.input.as_ref())?;
    at_least_one("output", spec.output.as_ref())?;
    at_least_one("turns", spec.turns.as_ref())?;
    if spec.block_tokens == Some(0) {
        return Err(Error::field("block_tokens", "0: expected the tokens of a block, as 512"));
    }
    if spec.prefix.is_some_and(|prefix| prefix.to_string().parse::<crate::prefix::SharedPrefix>().is_err()) {
        return Err(Error::field("prefix", "out of range: expected as `groups=4,tokens=1024,share=0.8`"));
    }
    if spec.salt.as_ref().is_some_and(|salt| salt.trim().is_empty()) {
        return Err(Error::field("salt", "empty: leave it out for none"));
    }
    end(spec, process, synthetic)
}

fn end(spec: &Spec, process: &ArrivalProcess, synthetic: bool) -> Result<(), Error> {
    if spec.requests == Some(0) {
        return Err(Error::field("requests", "0: expected at least 1"));
    }
    if spec.duration_s.is_some_and(|seconds| !(seconds > 0.0 && seconds <= LONGEST_S)) {
        return Err(Error::field("duration_s", "out of range: expected seconds above 0"));
    }
    let drawn = process.rate().zip(spec.duration_s).map(|(rate, seconds)| rate * seconds);
    let most = spec.requests.map(f64::from).into_iter().chain(drawn.filter(|_| synthetic)).reduce(f64::min);
    if most.is_some_and(|most| most > f64::from(MOST_REQUESTS)) {
        let reason = format!("more than {MOST_REQUESTS}: lower the rate, `requests` or `duration_s`");
        return Err(Error::field("requests", reason));
    }
    let closed = matches!(process, ArrivalProcess::Closed { .. });
    match (synthetic, spec.requests, spec.duration_s) {
        (true, None, None) => Err(Error::field("requests", "missing: give `requests`, `duration_s` or both")),
        (true, None, Some(_)) if closed => {
            let reason = "missing: how many requests a closed loop sends in `duration_s` depends on the server; give \
                          more than it can answer";
            Err(Error::field("requests", reason))
        }
        _ => Ok(()),
    }
}

/// Fails when a field is given that does not go with the others.
fn goes_with(fits: bool, given: bool, field: &'static str, reason: &str) -> Result<(), Error> {
    if given && !fits { Err(Error::field(field, reason)) } else { Ok(()) }
}

fn at_least_one(field: &'static str, distribution: Option<&Distribution>) -> Result<(), Error> {
    match distribution {
        Some(lengths) if lengths.bounds().0 == 0 => {
            Err(Error::field(field, format!("`{lengths}` may give 0: expected at least 1 (as `min=1`)")))
        }
        _ => Ok(()),
    }
}

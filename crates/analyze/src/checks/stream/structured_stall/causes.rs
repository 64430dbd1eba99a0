//! What speaks for and against each cause.

use super::Params;
use crate::{
    case::Case,
    measure::{
        counters,
        structured::{Bystanders, Cold, Ends, RowCost, Structured},
    },
    side::Side,
    verdict::Weighed,
};
use firstcheck_model::{
    measurement::{Fact, Missing},
    signal::Signal,
};

type Told = Result<Weighed, Missing>;

/// What SGLang says of the compilations themselves.
pub(super) fn grammar_time(side: &Side<'_>, params: &Params) -> Told {
    counters::means_can_be_told(side)?;
    let mean = counters::mean_in(&side.evidence.runs, Signal::GrammarTime)?;
    let fact = mean.fact(format!("the engine compiled {} grammars, {:.3} s each", mean.n, mean.value.0));
    Ok(Weighed::by(mean.value.0 >= params.stall, vec![fact]))
}

pub(super) fn cold(side: &Side<'_>, params: &Params, told: Told, blocks: &Told) -> Told {
    if let Ok(Weighed::Supports(facts)) = told {
        return Ok(Weighed::Supports(facts));
    }
    // On the engine's thread plain requests wait as well, and each first token is late for that reason.
    let everybody = matches!(blocks, Ok(Weighed::Supports(_)));
    let each = side.measure::<Structured>().ok().and_then(|structured| {
        let later = structured.asked.value.0 - structured.plain.as_ref()?.value.0;
        let fact =
            structured.asked.fact(format!("each request with a schema waits {later:.3} s longer than plain ones"));
        (later >= params.stall && !everybody).then_some(fact)
    });
    let cold = match side.measure::<Cold>() {
        Ok(cold) => cold,
        Err(missing) => return each.map(|fact| Weighed::Supports(vec![fact])).ok_or(missing),
    };
    let (excess, spread) = (cold.excess.value.0, cold.spread.0);
    let longest = excess.max(0.0);
    let first = cold.excess.fact(format!(
        "the first request for a schema waits up to {longest:.3} s longer than later ones, which spread by {spread:.3} s ({} \
         schemas)",
        cold.excess.n
    ));
    let late = excess >= params.stall && excess > spread;
    Ok(match (late && !everybody, each) {
        (true, _) => Weighed::Supports(vec![first]),
        (false, Some(each)) => Weighed::Supports(vec![first, each]),
        (false, None) => Weighed::Excludes(vec![first]),
    })
}

pub(super) fn blocks(side: &Side<'_>, params: &Params) -> Told {
    let seen = match side.measure::<Bystanders>() {
        Ok(seen) => seen,
        // Streams that were seen and never stood still speak against it.
        Err(missing) if matches!(missing.why, firstcheck_model::measurement::Why::TooFew { .. }) => {
            let structured = side.measure::<Structured>()?;
            let fact = structured.asked.fact("fewer than five standstills of streams".to_owned());
            return Ok(Weighed::Excludes(vec![fact]));
        }
        Err(missing) => return Err(missing),
    };
    let (share, chance) = (seen.triggered.value.0, seen.chance);
    let fact = seen.triggered.fact(format!(
        "{:.0} % of {} standstills of {:.3} s begin right after a request with a schema, by chance {:.0} %",
        share * 100.0,
        seen.triggered.n,
        seen.length.value.0,
        chance * 100.0
    ));
    if chance + params.lift > 1.0 {
        return Ok(Weighed::from(Missing::not_exposed(
            format!("standstills with few requests with a schema around: chance alone gives {:.0} %", chance * 100.0),
            "repeat with a tenth of the requests with a schema",
        )));
    }
    let found = share >= params.triggered && share - chance >= params.lift;
    Ok(Weighed::by(found, vec![fact]))
}

fn share_of(cost: &RowCost, more: f64) -> f64 {
    if cost.mean.0 > 0.0 { more / cost.mean.0 } else { 0.0 }
}

/// A slope whose cost is this share of the time per token does not fit it: a share cannot exceed 1 but by its error.
const MISFIT: f64 = 2.0;

pub(super) fn mask(side: &Side<'_>, params: &Params) -> Told {
    let cost = side.measure::<RowCost>()?;
    let per_row = cost.per_row.value.0;
    let share = share_of(&cost, per_row * cost.rows);
    let fact = cost.per_row.fact(format!(
        "each running request with a schema adds {:.0} µs to a step, {:.0} % of the time per token with {:.1} of them",
        per_row * 1e6,
        share * 100.0,
        cost.rows
    ));
    let sure = cost.per_row.interval.is_some_and(|(low, _)| low.0 > params.row);
    if sure && share > MISFIT {
        // More than there is: the streams did not run long enough beside different numbers of them.
        return Err(Missing::not_exposed(
            "a cost of each row that fits the time per token",
            "vary the share of requests with a schema, below saturation",
        ));
    }
    Ok(Weighed::by(sure && share >= params.cost, vec![fact]))
}

pub(super) fn feature_off(side: &Side<'_>, params: &Params) -> Told {
    let cost = side.measure::<RowCost>()?;
    let Some(once) = &cost.once_any else {
        return Ok(Weighed::from(Missing::not_exposed(
            "streams with no request with a schema beside them",
            "measure plain requests alone: firstcheck run --url URL; and read the resolved configuration",
        )));
    };
    let share = share_of(&cost, once.value.0);
    let fact = once.fact(format!(
        "any request with a schema adds {:.0} µs to a token, {:.0} % of it",
        once.value.0 * 1e6,
        share * 100.0
    ));
    let sure = once.interval.is_some_and(|(low, _)| low.0 > 0.0);
    Ok(Weighed::by(sure && share >= params.cost, vec![fact]))
}

pub(super) fn unbounded(case: &Case<'_>, params: &Params) -> Told {
    let ends = case.side.measure::<Ends>()?;
    let share = ends.at_limit.value.0;
    let mut facts = vec![ends.at_limit.fact(format!(
        "{:.0} % of {} answers with a schema end at their limit",
        share * 100.0,
        ends.at_limit.n
    ))];
    if share < params.capped {
        return Ok(Weighed::Excludes(facts));
    }
    if let Some(blank) = &ends.blank {
        let plain = ends.plain_blank.map(|plain| format!(", plain answers of {:.0} %", plain * 100.0));
        facts.push(blank.fact(format!(
            "they consist of {:.0} % white space{}",
            blank.value.0 * 100.0,
            plain.unwrap_or_default()
        )));
        let says_nothing = blank.value.0 >= params.blank && ends.plain_blank.is_none_or(|plain| plain < params.blank);
        return Ok(Weighed::by(says_nothing, facts));
    }
    let before = case.base_for("lengths of answers with a schema, or the texts of these,")?.measure::<Ends>()?;
    let Some(long) = &ends.length_at_limit else { return Ok(Weighed::Excludes(facts)) };
    let grew = long.value.0 / before.length.value.0.max(1.0);
    let plain = match (ends.plain_length, before.plain_length) {
        (Some(now), Some(then)) if then > 0.0 => Some(now / then),
        _ => None,
    };
    let beside = plain.map(|plain| format!(", plain ones {plain:.2} times")).unwrap_or_default();
    facts.push(long.fact(format!(
        "those have {:.0} tokens, {grew:.2} times the base's answers with a schema{beside}",
        long.value.0
    )));
    let alone = plain.is_none_or(|plain| plain < params.growth);
    Ok(Weighed::by(grew >= params.growth && alone, facts))
}

/// Why it is not both the compile and the mask.
pub(super) fn not_both(cold: &Told, mask: &Told) -> Weighed {
    let against = |told: &Told| match told {
        Ok(Weighed::Excludes(facts)) => Some(facts.clone()),
        _ => None,
    };
    let missing = |told: &Told| match told {
        Ok(Weighed::Open(missing)) => missing.clone(),
        Err(missing) => vec![missing.clone()],
        _ => Vec::new(),
    };
    let facts: Vec<Fact> = [against(cold), against(mask)].into_iter().flatten().flatten().collect();
    if facts.is_empty() { Weighed::Open([missing(cold), missing(mask)].concat()) } else { Weighed::Excludes(facts) }
}

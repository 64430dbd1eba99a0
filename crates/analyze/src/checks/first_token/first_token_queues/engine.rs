//! Waits in the engine: what holds its queue up.

use super::{
    Params,
    client::{Places, in_client},
    symptom::ms,
};
use crate::{
    case::Case,
    measure::{
        counters::watched,
        first_token_waits::FirstTokenWaits,
        latency_means::LatencyMeans,
        prefill_queue::{PrefillQueue, buckets, middle},
        prefill_rate::PrefillRate,
        replicas::replicas,
        stated,
        waiting_moments::WaitingMoments,
    },
    side::Side,
    verdict::{MOST, Weighed},
};
use firstcheck_model::{
    measurement::{Fact, Measurement, Missing},
    signal::Signal,
    unit::{Ratio, Seconds},
};
use firstcheck_stats::{quantile::Sample, queue::Load, rank::spearman};

/// What the engine's wait comes to, if it is too small a part to have a cause in the engine.
pub(super) fn elsewhere(case: &Case<'_>, params: &Params) -> Option<Fact> {
    if let Some(fact) = in_client(case, params) {
        return Some(fact);
    }
    let places = Places::of(case).ok()?;
    (1.0 - places.front_share()? < params.share).then(|| places.fact())
}

/// The mean wait in the engine: its own histogram of all that it served, else what the client saw.
fn mean_wait(side: &Side<'_>) -> Result<Measurement<Seconds>, Missing> {
    match side.measure::<FirstTokenWaits>() {
        Ok(waits) => Ok(waits.mean.clone()),
        Err(missing) => side.measure::<LatencyMeans>().map(|means| means.queue.clone()).map_err(|_| missing),
    }
}

pub(super) fn saturation(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    if let Some(fact) = elsewhere(case, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let (mut facts, mut full, mut told) = (Vec::new(), false, None);
    match case.side.measure::<PrefillQueue>() {
        Ok(queue) => {
            facts.push(
                queue
                    .utilisation
                    .fact(format!("prompts keep a replica {:.0} % busy", queue.utilisation.value.0 * 100.0)),
            );
            full |= queue.utilisation.value.0 >= params.full;
        }
        Err(missing) => told = Some(missing),
    }
    match growth(case.side) {
        Ok((correlation, ratio)) => {
            let text = format!(
                "waits and time have a rank correlation of {:.2}; late ones are {ratio:.1} times early ones",
                correlation.value.0
            );
            facts.push(correlation.fact(text));
            full |= correlation.value.0 >= params.slope && ratio >= params.sane;
        }
        Err(missing) => told = told.or(Some(missing)),
    }
    // A queue that never empties says it as well; that nobody scraped it says nothing.
    if let Ok(moments) = case.side.measure::<WaitingMoments>() {
        let share = moments.share();
        facts.push(share.fact(format!(
            "requests wait at {:.0} % of the scrapes, {:.0} at most",
            share.value.0 * 100.0,
            moments.most.value.0
        )));
        full |= share.value.0 >= params.always;
    }
    match (full, told) {
        (true, _) => Ok(Weighed::Supports(facts)),
        (false, Some(missing)) => Err(missing),
        (false, None) => Ok(Weighed::Excludes(facts)),
    }
}

/// Rank correlation of wait and time over each run, the weakest of all, and how much longer the last third waits.
fn growth(side: &Side<'_>) -> Result<(Measurement<Ratio>, f64), Missing> {
    let waits = side.measure::<FirstTokenWaits>()?;
    let runs = (0..side.evidence.runs.len()).filter_map(|run| {
        let rows = waits.rows.iter().filter(|row| row.run == run).map(|row| (row.at, row.wait));
        let (at, wait): (Vec<f64>, Vec<f64>) = rows.unzip();
        let median = |part: &[f64]| Sample::new(part.to_vec()).ok()?.quantile(0.5);
        let third = wait.len() / 3;
        let ratio = median(&wait[wait.len() - third..])? / median(&wait[..third])?.max(SHORTEST_WAIT_S);
        Some((spearman(&at, &wait).ok()??, ratio))
    });
    let weakest = runs.reduce(|a, b| (a.0.min(b.0), a.1.min(b.1)));
    let (correlation, ratio) = weakest.ok_or_else(|| {
        Missing::not_exposed("waits that differ, of three requests or more in a run", "firstcheck run --url URL")
    })?;
    let source = waits.tail.source.clone();
    Ok((Measurement { value: Ratio(correlation), interval: None, n: waits.tail.n, source }, ratio))
}

/// How many times its share of the time a wait must hold: waits fall into what is always under way by chance.
const ABOVE_CHANCE: f64 = 1.5;

/// Wait below which how many times longer a later one is says nothing, seconds.
const SHORTEST_WAIT_S: f64 = 1e-3;

pub(super) fn long_prefill(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    if let Some(fact) = elsewhere(case, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let budget = stated::step_budget(case.side)?;
    let limit = budget.value.0;
    let stated = budget.fact(format!("a step computes {limit:.0} tokens at most"));
    let runs = &case.side.evidence.runs;
    // The client's own requests tell directly who waited behind whom.
    let waits = case.side.measure::<FirstTokenWaits>();
    if let Some(covered) = waits.as_ref().ok().and_then(|waits| waits.behind(limit, runs)) {
        let share = covered.waiting.value.0;
        let fact = covered.waiting.fact(format!(
            "{:.0} % of all waiting lies within the first tokens of {} prompts above that, which are under way {:.0} % \
             of the time; the longest takes {:.0} steps",
            share * 100.0,
            covered.prompts,
            covered.time * 100.0,
            (covered.longest.0 / limit).ceil()
        ));
        if share >= MOST && share >= ABOVE_CHANCE * covered.time {
            return Ok(Weighed::Supports(vec![stated, fact]));
        }
    }
    // Others' prompts stand in the server's histogram alone.
    let (fact, predicted) = by_histogram(case.side, limit, &waits)?;
    let wait = mean_wait(case.side)?;
    let seen = wait.fact(format!("mean wait for a first token {}", ms(wait.value.0)));
    let explains = predicted >= wait.value.0 / params.sane && predicted > 0.0;
    let facts = vec![stated, fact, seen];
    Ok(Weighed::by(explains, facts))
}

/// The mean wait that prompts above the budget bring about by themselves, by the server's histogram of computed tokens.
fn by_histogram(
    side: &Side<'_>,
    limit: f64,
    waits: &Result<std::sync::Arc<FirstTokenWaits>, Missing>,
) -> Result<(Fact, f64), Missing> {
    let runs = &side.evidence.runs;
    let buckets = match buckets(runs, Signal::PrefillComputedTokens) {
        Ok(buckets) => buckets,
        // Without the histogram the client's prompts are all that is known; they must then be all there is.
        Err(missing) => match waits {
            Ok(waits) if waits.rows.iter().all(|row| row.computed.is_some_and(|tokens| tokens <= limit)) => {
                return Ok((waits.tail.fact("no prompt of the client is longer than a step"), 0.0));
            }
            _ => return Err(missing),
        },
    };
    let long: Vec<(f64, f64)> = buckets
        .iter()
        .filter(|(lower, _, count)| *lower >= limit && *count > 0.0)
        .map(|(lower, upper, count)| (middle(*lower, *upper), *count))
        .collect();
    let count: f64 = long.iter().map(|(_, count)| count).sum();
    let rate = side.measure::<PrefillRate>()?;
    if count == 0.0 {
        return Ok((rate.rate.fact("the server computed no prompt that is longer than a step"), 0.0));
    }
    let per_token = 1.0 / rate.rate.value.0;
    let sum: f64 = long.iter().map(|(tokens, count)| tokens * count * per_token).sum();
    let squares: f64 = long.iter().map(|(tokens, count)| (tokens * per_token).powi(2) * count).sum();
    let load = Load::of(count, sum, squares, watched(runs) * replicas(runs) as f64);
    // A utilisation of 1 by long prompts alone is no steady state: any wait follows from it.
    let predicted = load.map_or(0.0, |load| load.mean_wait().unwrap_or(f64::INFINITY));
    let fact = rate.rate.fact(format!(
        "{count:.0} prompts of the server are longer than a step, {:.1} steps on average; a queue of these alone would \
         wait {}",
        sum / per_token / count / limit,
        ms(predicted)
    ));
    Ok((fact, predicted))
}

pub(super) fn variance(case: &Case<'_>, params: &Params, grows: bool, long: bool) -> Result<Weighed, Missing> {
    if let Some(fact) = elsewhere(case, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let queue = case.side.measure::<PrefillQueue>()?;
    let wait = mean_wait(case.side)?;
    let (predicted, seen) = (queue.wait.value.0, wait.value.0);
    let implied = queue.load.utilisation_for(seen);
    let (rho, spread) = (queue.utilisation.value.0, queue.variation.value.0);
    let mut facts = vec![
        queue.utilisation.fact(format!("ρ = {rho:.2} by prompts, CV² of what they take {spread:.1}")),
        queue.wait.fact(format!(
            "such a queue waits {} on average, seen {}; the wait seen implies ρ = {implied:.2}",
            ms(predicted),
            ms(seen)
        )),
    ];
    if grows || long {
        let why = if grows { "the queue has no steady state" } else { "prompts of more than a step hold it up" };
        facts.push(wait.fact(why));
        return Ok(Weighed::Excludes(facts));
    }
    // Without the budget a prompt of many steps cannot be told from one of a single step.
    let budget = stated::step_budget(case.side);
    let plausible =
        (seen / params.sane..=seen * params.sane).contains(&predicted) || (implied - rho).abs() <= params.near;
    if !plausible || (rho < params.busy && spread < params.busy) {
        return Ok(Weighed::Excludes(facts));
    }
    budget.map(|_| Weighed::Supports(facts))
}

pub(super) fn seats_full(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    at_moments(case, params, "running requests while others wait", |moments| {
        let seats = stated::seats(case.side)?;
        let full = moments.at_which("running requests at the same scrape", |at| Some(at.running? >= seats.value.0))?;
        let text = format!(
            "all {:.0} seats are taken at {:.0} % of the moments of waiting",
            seats.value.0,
            full.value.0 * 100.0
        );
        Ok(Weighed::by(full.value.0 >= MOST, vec![full.fact(text)]))
    })
}

pub(super) fn pool_full(case: &Case<'_>, params: &Params) -> Result<Weighed, Missing> {
    at_moments(case, params, "KV usage while requests wait", |moments| {
        let full = moments.at_which("KV usage at the same scrape", |at| Some(at.usage? >= params.pool))?;
        let text = format!(
            "{:.0} % of the pool or more is in use at {:.0} % of the moments of waiting",
            params.pool * 100.0,
            full.value.0 * 100.0
        );
        Ok(Weighed::by(full.value.0 >= MOST, vec![full.fact(text)]))
    })
}

/// Weighs what holds at the moments at which requests wait; where nobody is seen waiting it holds nobody up.
fn at_moments(
    case: &Case<'_>,
    params: &Params,
    what: &str,
    told: impl FnOnce(&WaitingMoments) -> Result<Weighed, Missing>,
) -> Result<Weighed, Missing> {
    if let Some(fact) = elsewhere(case, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let moments = case.side.measure::<WaitingMoments>()?;
    if moments.moments.is_empty() {
        let share = moments.share();
        return Ok(Weighed::Excludes(vec![share.fact(format!("no scrape shows {what}"))]));
    }
    told(&moments)
}

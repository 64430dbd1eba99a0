//! Whether a prompt that does not fit the KV pool holds up those behind it.

use super::{Params, engine::elsewhere};
use crate::{
    case::Case,
    measure::{
        counters::{growth, growth_in, runs_of},
        first_token_waits::{FirstTokenWaits, overlap, union},
        kv_pool::KvPool,
        prefill_queue::{buckets, middle},
        replicas::together,
        stalls::Stalls,
        stated,
        waiting_moments::{Waiting, WaitingMoments},
    },
    side::Side,
    verdict::{MOST, Weighed},
};
use firstcheck_model::{
    evidence::RunEvidence,
    measurement::{Measurement, Missing, Source, Why},
    signal::{Part, Signal},
    unit::{Ratio, Tokens},
};

/// Requests wait with seats and a part of the pool free, and the largest prompt does not fit that part. It is the head of
/// the queue where what runs has no more than requests usually do; else it may be among them, and hold others up by being
/// computed, where long prompts explain the waits (`long`). Between scrapes streams tell: they stand still for what is
/// computed, and go on while a head waits for room.
///
/// Where a second KV tier serves requests, who waits may wait for it, with others' room free: that is not told apart.
pub(super) fn admission(case: &Case<'_>, params: &Params, long: bool) -> Result<Weighed, Missing> {
    let tier = growth(case.side, Signal::ExternalHits, Part::Value).is_ok_and(|found| found.value > 0.0);
    match told(case, params, long)? {
        Weighed::Supports(_) if tier => {
            let what = "who waits for room and who for the second KV tier (S05)";
            Err(Missing::not_exposed(what, "num_requests_waiting_by_reason of a later vLLM"))
        }
        weighed => Ok(weighed),
    }
}

fn told(case: &Case<'_>, params: &Params, long: bool) -> Result<Weighed, Missing> {
    if let Some(fact) = elsewhere(case, params) {
        return Ok(Weighed::Excludes(vec![fact]));
    }
    let moments = case.side.measure::<WaitingMoments>()?;
    let room = Room::of(case.side, params)?;
    let any = room.share(&moments, |_| true)?;
    let head = room.share(&moments, |at| room.holds_no_large(at))?;
    let (any_share, head_share) = (any.value.0, head.value.0);
    let mut facts = vec![any.fact(format!(
        "the largest prompt (about {:.0} tokens of a pool of {:.0}) does not fit at {:.0} % of the moments of waiting, with \
         room for others; at {:.0} % it is not among those that run",
        room.largest,
        room.pool,
        any_share * 100.0,
        head_share * 100.0
    ))];
    if head_share >= params.share || (any_share >= MOST && !long) {
        return Ok(Weighed::Supports(facts));
    }
    match room.blocks_at_some_scrape(case.side) {
        _ if room.is_taken(&moments)? => return Ok(Weighed::Excludes(facts)),
        Some(true) => {}
        None if any_share >= MOST => {
            let what = "whether the largest prompt is among those that run: how many do, and what they usually hold";
            return Err(Missing::not_exposed(what, "firstcheck run --url URL --scrape-interval 1s"));
        }
        Some(false) | None => return Ok(Weighed::Excludes(facts)),
    }
    let going = beside_going_streams(case.side, params)?;
    facts.push(going.fact(format!(
        "streams go on as usual during {:.0} % of the waiting: nothing is computed that holds them up",
        going.value.0 * 100.0
    )));
    Ok(Weighed::by(going.value.0 >= params.share, facts))
}

/// What there is room for.
struct Room {
    pool: f64,
    largest: f64,
    seats: f64,
    /// Tokens that a running request has; `None`: not told.
    usual: Option<f64>,
    /// Share of the pool in use from which it is full.
    full: f64,
}

/// How many times what requests usually have those that run may have: they differ.
const SPREAD: f64 = 2.0;

impl Room {
    fn of(side: &Side<'_>, params: &Params) -> Result<Self, Missing> {
        Ok(Self {
            pool: side.measure::<KvPool>()?.tokens.value.0,
            largest: largest_prompt(side)?.value.0,
            seats: stated::seats(side).map(|seats| seats.value.0).unwrap_or(f64::INFINITY),
            usual: tokens_of_one(side),
            full: params.pool,
        })
    }

    /// Share of the moments of waiting at which the largest prompt does not fit while seats are free, and `also` holds. What
    /// is held up by a full pool now and then says nothing of the head; where it mostly is, the pool is what lacks.
    fn share(&self, moments: &WaitingMoments, also: impl Fn(&Waiting) -> bool) -> Result<Measurement<Ratio>, Missing> {
        const WHAT: &str = "KV usage at the same scrape";
        let mostly_full = moments.at_which(WHAT, |at| Some(at.usage? >= self.full))?.value.0 >= MOST;
        moments.at_which(WHAT, |at| {
            let usage = at.usage?;
            if usage >= self.full {
                return mostly_full.then_some(false);
            }
            let seated = at.running.is_none_or(|running| running < self.seats);
            Some((1.0 - usage) * self.pool < self.largest && seated && also(at))
        })
    }

    /// Whether seats or the pool are taken at most moments of waiting: then that is what lacks.
    fn is_taken(&self, moments: &WaitingMoments) -> Result<bool, Missing> {
        let taken = moments.at_which("KV usage at the same scrape", |at| {
            Some(at.usage? >= self.full || at.running.is_some_and(|running| running >= self.seats))
        })?;
        Ok(taken.value.0 >= MOST)
    }

    /// Whether at some scrape, whoever waits, the largest prompt would not have been admitted beside what runs; `None`: no
    /// page says how many run, or no request what one holds.
    fn blocks_at_some_scrape(&self, side: &Side<'_>) -> Option<bool> {
        self.usual?;
        let scrapes = side.evidence.runs.iter().flat_map(|run| {
            let usage = run.series(Signal::KvCacheUsage, Part::Value);
            usage.flat_map(|series| together(run, series, Signal::Running))
        });
        let mut scrapes = scrapes.peekable();
        scrapes.peek()?;
        Some(scrapes.any(|(usage, running)| {
            let at = Waiting { at: 0.0, waiting: 0.0, running: Some(running), usage: Some(usage) };
            let blocks = usage < self.full && (1.0 - usage) * self.pool < self.largest;
            blocks && running < self.seats && self.holds_no_large(&at)
        }))
    }

    /// Whether what runs has no more tokens than as many requests usually do, so that the largest prompt is not among them.
    fn holds_no_large(&self, at: &Waiting) -> bool {
        let told = at.running.zip(self.usual).zip(at.usage);
        told.is_some_and(|((running, usual), usage)| usage * self.pool <= SPREAD * running * usual)
    }
}

/// Tokens of prompt and answer that a running request has, about: the mean of the client's that were answered.
fn tokens_of_one(side: &Side<'_>) -> Option<f64> {
    let requests = side.evidence.runs.iter().flat_map(RunEvidence::window).map(|(_, request)| request);
    let each =
        requests.filter_map(|request| Some(f64::from(request.prompt_tokens?) + f64::from(request.output_tokens?)));
    let (sum, n) = each.fold((0.0, 0_u64), |(sum, n), tokens| (sum + tokens, n + 1));
    (n > 0).then(|| sum / n as f64)
}

/// Usual gaps from which a stream stands still.
const STILL: f64 = 3.0;

/// Share of the noticed waits during which no stream stood still: an engine that computes prompts lets its streams wait.
///
/// # Errors
/// Stalls of that length are not all listed, or nobody waited for so long.
fn beside_going_streams(side: &Side<'_>, params: &Params) -> Result<Measurement<Ratio>, Missing> {
    let (waits, stalls) = (side.measure::<FirstTokenWaits>()?, side.measure::<Stalls>()?);
    let least = STILL * stalls.usual.0;
    if stalls.shortest.0 > least {
        return Err(Missing {
            what: "whether streams stood still while requests waited: the run has too many gaps to list".into(),
            why: Why::Mixed,
            obtain: "read the pages more often, or measure for a shorter time: firstcheck run --url URL --duration 60s"
                .into(),
        });
    }
    let (mut waited, mut still, mut n) = (0.0, 0.0, 0);
    for run in 0..side.evidence.runs.len() {
        let mine = stalls.stalls.iter().filter(|stall| stall.run == run && stall.length.0 >= least);
        let spans = union(mine.filter_map(|stall| Some((stall.start.seconds()?, stall.end.seconds()?))).collect());
        let late = waits.rows.iter().filter(|row| row.run == run && row.wait.is_finite() && row.wait >= params.noticed);
        for row in late {
            n += 1;
            waited += row.wait;
            still += overlap(&spans, row.at, row.at + row.wait);
        }
    }
    if waited <= 0.0 {
        return Err(Missing::not_exposed("requests that waited for long", "firstcheck run --url URL"));
    }
    let by = "waits during which no stream stood still / waits".into();
    let source = Source::Derived { by, from: runs_of(&side.evidence.runs) };
    Ok(Measurement { value: Ratio(1.0 - still / waited), interval: None, n, source })
}

/// The largest prompt: of the client's requests and, if it is longer, the mean of the last bucket of the server's histogram
/// that holds one.
fn largest_prompt(side: &Side<'_>) -> Result<Measurement<Tokens>, Missing> {
    let runs = &side.evidence.runs;
    let own: Vec<f64> = runs
        .iter()
        .flat_map(RunEvidence::window)
        .filter_map(|(_, request)| Some(request.prompt_tokens?.into()))
        .collect();
    let longest_own = own.iter().copied().fold(0.0, f64::max);
    // Without the histogram longer prompts of others may be hidden: what is told then is of the client alone.
    let histogram = buckets(runs, Signal::PromptLength).ok();
    // One of the client's own in the same bucket is the better figure.
    let beyond = histogram
        .as_ref()
        .and_then(|histogram| mean_of_last(runs, histogram, &own))
        .filter(|(lower, _)| *lower >= longest_own);
    let longest = longest_own.max(beyond.map_or(0.0, |(_, mean)| mean));
    if longest <= 0.0 {
        return Err(Missing::not_exposed("lengths of prompts", "firstcheck run --url URL"));
    }
    let by = match histogram {
        Some(_) => "largest prompt of the client and of the server's histogram",
        None => "largest prompt of the client: the server shows no histogram of theirs",
    };
    let by = by.into();
    Ok(Measurement {
        value: Tokens(longest),
        interval: None,
        n: 1,
        source: Source::Derived { by, from: runs_of(runs) },
    })
}

/// Lower bound of the last bucket that holds a prompt, and the mean of the prompts in it: what the histogram's sum has
/// beyond all shorter ones, where those are as many as the client's and so as long; else where a bucket's are taken to lie.
fn mean_of_last(runs: &[RunEvidence], histogram: &[(f64, f64, f64)], own: &[f64]) -> Option<(f64, f64)> {
    let (lower, upper, count) = *histogram.iter().rfind(|(_, _, count)| *count > 0.0)?;
    let shorter: f64 = histogram.iter().map(|(_, _, count)| count).sum::<f64>() - count;
    let clients = own.len() as f64;
    let of_sum = || {
        let sum = growth_in(runs, Signal::PromptLength, Part::Sum).ok()?.value;
        let told = clients > 0.0 && (shorter - clients).abs() <= SAME * clients;
        let mean = (sum - shorter * own.iter().sum::<f64>() / clients) / count;
        (told && mean > lower && mean <= upper).then_some(mean)
    };
    Some((lower, of_sum().unwrap_or_else(|| middle(lower, upper))))
}

/// Share by which two counts may differ and still be of the same requests.
const SAME: f64 = 0.05;

//! How long each first token waited, beyond what its own prompt took.

use super::{counters::runs_of, prefill_rate::PrefillRate, prefix_hits::PrefixHits};
use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    measurement::{Measurement, Missing, Source, Why},
    moment::Moment,
    request::Request,
    signal::{Part, Signal},
    span::Stage,
    unit::{Ratio, Seconds, Tokens},
};
use firstcheck_stats::quantile::Sample;

/// One request's wait for its first token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// Which of the side's runs.
    pub run: usize,
    /// When it was to be sent, seconds on the run's clock.
    pub at: f64,
    /// Prompt tokens that had to be computed, where they are known.
    pub computed: Option<f64>,
    /// What its own prompt takes, seconds.
    pub own: f64,
    /// What it waited beyond, seconds.
    pub wait: f64,
}

/// Waits of the requests in the windows that were answered: that others were not is another symptom.
///
/// What a prompt takes by itself is the shortest time to first token of any request with at least as many tokens to
/// compute: no request of the run shows that it must take longer. Where all of them waited, it is its tokens at the prefill
/// rate.
/// Where nothing tells which prompts were cached, it is the request's own prefill span, else all of its prompt at the
/// prefill rate.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstTokenWaits {
    /// All of them, by run and time.
    pub rows: Vec<Wait>,
    /// The tail: a high quantile of the waits, with its 95 % interval.
    pub tail: Measurement<Seconds>,
    /// Which quantile that is: the highest of which enough requests lie beyond.
    pub level: f64,
    /// The same quantile of each wait over what its own prompt takes.
    pub ratio: f64,
    /// Median of what prompts take by themselves.
    pub own: Measurement<Seconds>,
    /// Median time to first token.
    pub median: Measurement<Seconds>,
    /// Mean wait of those that were answered.
    pub mean: Measurement<Seconds>,
}

/// Quantiles that can be the tail, the highest first.
const LEVELS: [f64; 4] = [0.99, 0.98, 0.95, 0.9];

/// Values that must lie beyond a quantile.
const BEYOND: f64 = 5.0;

/// The quantile that is the tail of so many values: the highest of which enough of them lie beyond.
pub(super) fn tail_level(n: f64) -> Option<f64> {
    LEVELS.into_iter().find(|level| n * (1.0 - level) >= BEYOND - 1e-9)
}

/// Share of prompt tokens found in the cache up to which every prompt counts as computed in full.
const NO_HITS: f64 = 0.02;

impl FirstTokenWaits {
    /// The tail's name: `p95`.
    pub fn level_name(&self) -> String {
        format!("p{:.0}", self.level * 100.0)
    }

    /// The waits' value at another level, where the sample has one.
    pub fn at_level(&self, level: f64) -> Option<f64> {
        Sample::new(self.rows.iter().map(|row| row.wait).collect()).ok()?.quantile(level)
    }
}

impl Measure for FirstTokenWaits {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let runs = &side.evidence.runs;
        let rate = side.measure::<PrefillRate>().ok().map(|measured| measured.rate.value.0);
        let mut rows: Vec<Wait> = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            rows.extend(of_run(at, run, rate)?);
        }
        let n = rows.len() as u64;
        let need = (BEYOND / (1.0 - LEVELS[3])).round() as u64;
        let Some(level) = tail_level(n as f64) else {
            return Err(Missing {
                what: "times to first token for a tail".into(),
                why: if n == 0 { Why::NotGiven } else { Why::TooFew { have: n, need } },
                obtain: "firstcheck run --url URL --duration 120s".into(),
            });
        };
        let source = Source::Derived { by: "time to first token beyond the prompt's own".into(), from: runs_of(runs) };
        let of = |value: f64, interval, n| Measurement { value: Seconds(value), interval, n, source: source.clone() };
        let told = |error: firstcheck_stats::Error| Missing::not_exposed(error.to_string(), "firstcheck run --url URL");
        let sample = |of: fn(&Wait) -> f64| Sample::new(rows.iter().map(of).collect()).map_err(told);
        let middle = |of: fn(&Wait) -> f64| Ok::<_, Missing>(sample(of)?.quantile(0.5).unwrap_or(0.0));
        let waits = sample(|row| row.wait)?;
        let ratios = sample(|row| row.wait / row.own.max(1e-6))?;
        let bounds = waits.order_interval(level, 0.95).map_err(told)?;
        let interval = bounds.lo.zip(bounds.hi).map(|(low, high)| (Seconds(low), Seconds(high)));
        let answered: Vec<f64> = rows.iter().map(|row| row.wait).filter(|wait| wait.is_finite()).collect();
        let mean = answered.iter().sum::<f64>() / answered.len().max(1) as f64;
        Ok(Self {
            tail: of(waits.quantile(level).unwrap_or(0.0), interval, n),
            level,
            ratio: ratios.quantile(level).unwrap_or(0.0),
            own: of(middle(|row| row.own)?, None, n),
            median: of(middle(|row| row.own + row.wait)?, None, n),
            mean: of(mean, None, answered.len() as u64),
            rows,
        })
    }
}

/// Waits of one run, by the time of sending.
fn of_run(at: usize, run: &RunEvidence, rate: Option<f64>) -> Result<Vec<Wait>, Missing> {
    let offered = run.window().count();
    let requests: Vec<(usize, &Request, f64)> = run
        .window()
        .filter_map(|(row, request)| Some((row, request, request.ttft()?.0)))
        .filter(|(_, request, ttft)| request.origin().reached() && ttft.is_finite())
        .collect();
    if 2 * requests.len() < offered {
        let what = "answers to most requests: a server that does not answer has no queue to speak of";
        return Err(Missing::not_exposed(what, "firstcheck run --url URL, once the server answers"));
    }
    let nothing_cached = nothing_cached(run);
    let computed = |(_, request, _): &(usize, &Request, f64)| computed(request, nothing_cached);
    let mut rows = match requests.iter().map(computed).collect::<Option<Vec<f64>>>() {
        Some(tokens) => {
            let own = own_times(&tokens, &requests, rate);
            let timed = requests.iter().zip(&tokens).zip(own);
            let row = |(((_, request, ttft), tokens), own): ((&(usize, &Request, f64), &f64), f64)| Wait {
                run: at,
                at: seconds(request.origin()),
                computed: Some(*tokens),
                own,
                wait: (ttft - own).max(0.0),
            };
            timed.map(row).collect()
        }
        None => match by_spans(at, run, &requests).or_else(|| in_full(at, &requests, rate)) {
            Some(rows) => rows,
            None => return Err(cached_unknown()),
        },
    };
    rows.sort_by(|a: &Wait, b| a.at.total_cmp(&b.at));
    Ok(rows)
}

/// Prompt tokens that a request had to compute; `None` where nothing tells how many were cached.
fn computed(request: &Request, nothing_cached: bool) -> Option<f64> {
    let prompt = f64::from(request.prompt_tokens?);
    match request.cached_tokens {
        Some(cached) => Some((prompt - f64::from(cached)).max(0.0)),
        // One that was never answered has no own time to be wrong about.
        None if !request.first_token.reached() => Some(prompt),
        None => nothing_cached.then_some(prompt),
    }
}

/// Whether the run's pages say that no prompt was found in a cache.
fn nothing_cached(run: &RunEvidence) -> bool {
    let off = run.info.fingerprint.get(field::PREFIX_CACHING).is_some_and(|value| value.eq_ignore_ascii_case("false"));
    let mut external = run.series(Signal::ExternalHits, Part::Value);
    let hits = PrefixHits::of(std::slice::from_ref(run));
    off || (hits.is_ok_and(|hits| hits.rate.value.0 <= NO_HITS)
        && external.all(|series| series.delta(run.info.window).is_ok_and(|delta| delta.value <= 0.0)))
}

/// The shortest time to first token is no prompt's own time where even that is so many times its tokens at the prefill rate:
/// then every request of the run waited.
const ALWAYS_WAITED: f64 = 5.0;

/// How much more than in proportion to its tokens a longer prompt may take.
const SUPERLINEAR: f64 = 1.5;

/// For each request the least time that one with at least as many tokens took, no more than a shorter one's in proportion.
fn own_times(tokens: &[f64], requests: &[(usize, &Request, f64)], rate: Option<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_by(|a, b| tokens[*a].total_cmp(&tokens[*b]));
    let mut own = vec![0.0; tokens.len()];
    let mut least = f64::INFINITY;
    for group in order.chunk_by(|a, b| tokens[*a] == tokens[*b]).rev() {
        least = group.iter().map(|at| requests[*at].2).fold(least, f64::min);
        group.iter().for_each(|at| own[*at] = least);
    }
    // The longest have nobody beyond them, so one that waited would count as slow by itself.
    let mut per_token = f64::INFINITY;
    for at in order.into_iter().filter(|at| tokens[*at] > 0.0) {
        per_token = per_token.min(own[at] / tokens[at]);
        let by_rate = rate.map_or(f64::INFINITY, |rate| tokens[at] / rate);
        let least = own[at].min(SUPERLINEAR * per_token * tokens[at]);
        own[at] = if least > ALWAYS_WAITED * by_rate { by_rate } else { least };
    }
    own.into_iter().map(|time| if time.is_finite() { time } else { 0.0 }).collect()
}

/// Where spans tell: the request's own prefill, the rest is wait.
fn by_spans(at: usize, run: &RunEvidence, requests: &[(usize, &Request, f64)]) -> Option<Vec<Wait>> {
    let mut prefill = vec![None; run.requests.len()];
    for span in run.spans.iter().filter(|span| span.stage == Stage::Prefill) {
        if let (Some(slot), Some(length)) = (prefill.get_mut(span.request as usize), span.end.since(span.start)) {
            *slot = Some(length.0);
        }
    }
    let rows = requests.iter().map(|(row, request, ttft)| {
        let own = prefill.get(*row).copied().flatten().or_else(|| ttft.is_infinite().then_some(0.0))?;
        Some(Wait { run: at, at: seconds(request.origin()), computed: None, own, wait: (ttft - own).max(0.0) })
    });
    rows.collect()
}

/// Where only the prompts' lengths are known: each as if it had been computed in full, at the prefill rate. Waits are then
/// too short rather than too long.
fn in_full(at: usize, requests: &[(usize, &Request, f64)], rate: Option<f64>) -> Option<Vec<Wait>> {
    let rows = requests.iter().map(|(_, request, ttft)| {
        let own = (f64::from(request.prompt_tokens?) / rate?).min(*ttft);
        Some(Wait { run: at, at: seconds(request.origin()), computed: None, own, wait: (ttft - own).max(0.0) })
    });
    rows.collect()
}

fn cached_unknown() -> Missing {
    Missing::not_exposed(
        "cached tokens of each request: a prompt that was computed in full cannot be told from one that waited",
        "start vLLM with --enable-prompt-tokens-details (SGLang: --enable-cache-report), or its OpenTelemetry exporter",
    )
}

fn seconds(moment: Moment) -> f64 {
    moment.seconds().unwrap_or(0.0)
}

/// What the waits of a side have to do with prompts of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Covered {
    /// Share of all waiting that lay within the time to first token of such a prompt.
    pub waiting: Measurement<Ratio>,
    /// Share of the time in which such a prompt was under way.
    pub time: f64,
    /// How many such prompts there were.
    pub prompts: u64,
    /// The longest of them.
    pub longest: Tokens,
}

impl FirstTokenWaits {
    /// How much of the waiting lay within the first tokens of prompts that computed more than `tokens`; those prompts' own
    /// waits are left out. `None` where tokens are not known, or there is no such prompt.
    pub fn behind(&self, tokens: f64, from: &[RunEvidence]) -> Option<Covered> {
        let (mut waited, mut covered, mut busy, mut whole) = (0.0, 0.0, 0.0, 0.0);
        let (mut prompts, mut longest, mut n) = (0, 0.0_f64, 0);
        for run in 0..from.len() {
            let rows: Vec<&Wait> = self.rows.iter().filter(|row| row.run == run && row.wait.is_finite()).collect();
            let (long, short): (Vec<&Wait>, Vec<&Wait>) =
                rows.into_iter().partition(|row| row.computed.is_some_and(|computed| computed > tokens));
            let spans = union(long.iter().map(|row| (row.at, row.at + row.own + row.wait)).collect());
            prompts += long.len() as u64;
            longest = long.iter().filter_map(|row| row.computed).fold(longest, f64::max);
            busy += spans.iter().map(|(from, to)| to - from).sum::<f64>();
            whole += from[run].span().and_then(|window| window.length()).map_or(0.0, |length| length.0);
            n += short.len() as u64;
            for row in short {
                waited += row.wait;
                let (start, end) = (row.at, row.at + row.wait);
                covered += overlap(&spans, start, end);
            }
        }
        if prompts == 0 || waited <= 0.0 || whole <= 0.0 {
            return None;
        }
        let source =
            Source::Derived { by: "waits within the first tokens of longer prompts".into(), from: runs_of(from) };
        let waiting = Measurement { value: Ratio(covered / waited), interval: None, n, source };
        Some(Covered { waiting, time: (busy / whole).min(1.0), prompts, longest: Tokens(longest) })
    }
}

/// How much of `start..end` lies in spans as [`union`] gives them: in order, none overlapping another.
pub(crate) fn overlap(spans: &[(f64, f64)], start: f64, end: f64) -> f64 {
    let first = spans.partition_point(|(_, to)| *to <= start);
    spans[first..]
        .iter()
        .take_while(|(from, _)| *from < end)
        .map(|(from, to)| (to.min(end) - from.max(start)).max(0.0))
        .sum()
}

/// Spans joined where they overlap.
pub(crate) fn union(mut spans: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

//! An ordered list of versions, bisected: each step compares one of them with the first, in pairs, until they decide.

use super::Isolated;
use crate::{
    ab::{AbBench, side},
    drive::{Bench, Deployments, Driven, LEDGER, Runs, drive},
    error::Error,
    event::{Event, RatioSoFar},
    ledger::{Begun, LedgerFile},
    plan::{Cell, Plan, WarmUp, file_name},
    rig::{Offer, Rig},
    target::Target,
};
use firstcheck_analyze::{
    compare::Policy,
    isolate::{Answer, Key, Next, Question, Taken, Weight, next},
    judge::judge,
    settings::Settings,
};
use firstcheck_load::Stop;
use firstcheck_model::{
    evidence::RunEvidence,
    isolation::{Culprit, Isolation, Method, Stand, StepRow},
    metric::{Stat, Worse},
    report::{Claim, MetricRow, Quantity, Report, Verdict},
    unit::Seconds,
};
use std::{collections::BTreeMap, path::PathBuf};

/// Pairs at which a step looks.
pub const LOOKS: [u32; 4] = [6, 8, 12, 16];
/// Pairs beyond which more are not worth asking for.
const MOST_PAIRS: u32 = 64;
/// Shares nearer to 0 or 1 than this count as so far from them.
const SHARE_FLOOR: f64 = 1e-4;
/// Factor that stands for a quantile that reaches unanswered requests.
const LOST: f64 = 100.0;

/// What is bisected, how it is judged, and where it goes.
pub struct VersionsOptions {
    /// The experiment of each step: its plan's seed, looks and warm-up are that of all.
    pub begun: Begun,
    /// The versions in order; the first is known to be good.
    pub versions: Vec<String>,
    /// The deployment of each.
    pub targets: Vec<Target>,
    /// What all are offered.
    pub offer: Offer,
    /// What the last version is held to against the first.
    pub policy: Policy,
    /// The metric to look at; `None`: the one that the last version makes worse most surely.
    pub key: Option<Key>,
    /// Parameters of checks.
    pub settings: Settings,
    /// Folder of the ledgers and the bundles.
    pub out: PathBuf,
    /// Ends it early.
    pub stop: Stop,
}

/// Steps that it takes at most where every version can be told, the comparison of the ends included.
///
/// # Example
/// ```
/// use firstcheck_experiment::isolate::steps_at_most;
/// assert_eq!((steps_at_most(2), steps_at_most(3), steps_at_most(9)), (1, 2, 4));
/// ```
pub fn steps_at_most(versions: usize) -> u32 {
    let between = versions.saturating_sub(1).max(1);
    1 + (usize::BITS - (between - 1).leading_zeros())
}

/// What a step found.
struct Step {
    report: Report,
    answer: Option<Answer>,
    warm_up: Seconds,
    interrupted: Option<String>,
}

/// Compares the last version with the first, and where it is worse, bisects. In a folder of the same search it goes on where
/// that ended.
///
/// # Errors
/// Fewer than two versions, an end that cannot be started, a folder that cannot be written.
pub fn versions(options: VersionsOptions, tell: &mut dyn FnMut(Event)) -> Result<Isolated, Error> {
    let fail = |source| Error::File { action: "create", path: options.out.clone(), source };
    std::fs::create_dir_all(&options.out).map_err(fail)?;
    // That of the whole search, held to the end: nobody else searches in this folder, nor for something else.
    let _ledger = LedgerFile::open(&options.out.join(LEDGER), options.begun.clone())?;
    let mut search =
        Search { options: &options, known: BTreeMap::new(), rows: Vec::new(), bundles: Vec::new(), warm_up: None };
    let last = options.versions.len().checked_sub(1).filter(|last| *last > 0).ok_or(Error::Versions)?;
    let ends = search.step(last, None, tell)?;
    search.warm_up = Some(ends.warm_up);
    let mut report = ends.report.clone();
    let chosen = options.key.or_else(|| surest(&report));
    let question = chosen.map_or(Ok(None), |key| search.question(key, &report))?;
    let worse = report.verdict == Verdict::Fail && question.is_some() && ends.interrupted.is_none();
    search.ends(last, &ends, question.as_ref(), worse);
    let mut interrupted = ends.interrupted;
    let mut suspects = Vec::new();
    if let Some(question) = question.filter(|_| worse) {
        (suspects, interrupted) = search.bisect(&question, &mut report, tell)?;
    }
    report.verb = "isolate".into();
    report.seed = Some(options.begun.plan.seed);
    let Search { rows, bundles, .. } = search;
    let isolation = conclude(&options, &mut report, rows, &suspects, worse, interrupted.as_deref());
    report.isolation = Some(isolation);
    Ok(Isolated { report, bundles, interrupted })
}

/// The gated metric that regressed most surely: whose interval is farthest from its margin, in its own width.
fn surest(report: &Report) -> Option<Key> {
    let sure = |row: &&MetricRow| {
        let [low, high] = row.interval?;
        let (low, high) = (low.finite()?.ln(), high.finite()?.ln());
        let near = if row.metric.worse() == Worse::Higher { low } else { -high };
        Some(near / (high - low).max(1e-9))
    };
    let rows = report.metrics.iter().filter(|row| row.claim == Claim::Regressed && row.slice.is_none());
    let row = rows.max_by(|a, b| sure(a).unwrap_or(0.0).total_cmp(&sure(b).unwrap_or(0.0)))?;
    let stat = match (row.quantile, row.stat.as_str()) {
        (Some(p), _) => Stat::Quantile(p),
        (None, "total") => Stat::Total,
        _ => Stat::Mean,
    };
    Some(Key { metric: row.metric, stat })
}

/// The change from the first to the last version, on the scale on which effects add up, worse positive.
fn whole(key: Key, ends: &Report) -> Option<f64> {
    let row = ends.metric(key.metric, &key.stat.to_string())?;
    let logit = |share: Option<Quantity>| {
        let share = share?.finite()?.clamp(SHARE_FLOOR, 1.0 - SHARE_FLOOR);
        Some((share / (1.0 - share)).ln())
    };
    let change = match (row.ratio?, key.scale()) {
        (Quantity::Finite(ratio), Weight::Ratio) => ratio.ln(),
        (Quantity::Finite(_), Weight::Odds) => logit(row.candidate)? - logit(row.base)?,
        (Quantity::Unbounded, _) => LOST.ln(),
    };
    Some(key.worse() * change)
}

struct Search<'s> {
    options: &'s VersionsOptions,
    known: BTreeMap<usize, Stand>,
    rows: Vec<StepRow>,
    bundles: Vec<PathBuf>,
    /// That of the first step, which then holds for all.
    warm_up: Option<Seconds>,
}

impl Search<'_> {
    /// What is asked of versions between the ends: on which side of half of the whole change they are.
    fn question(&self, key: Key, ends: &Report) -> Result<Option<Question>, Error> {
        let Some(whole) = whole(key, ends).filter(|whole| *whole > 0.0) else { return Ok(None) };
        let alpha = self.options.policy.alpha / f64::from(steps_at_most(self.options.versions.len()));
        Ok(Some(Question::new(key, whole / 2.0, alpha, &self.options.begun.plan.looks, MOST_PAIRS)?))
    }

    /// One comparison with the first version, in a folder of its own.
    fn step(&mut self, at: usize, question: Option<&Question>, tell: &mut dyn FnMut(Event)) -> Result<Step, Error> {
        let VersionsOptions { begun, versions, targets, offer, policy, settings, out, stop, .. } = self.options;
        tell(Event::Phase { title: format!("{} against {}", versions[at], versions[0]) });
        let warm_up = self.warm_up.map_or(begun.plan.warm_up, WarmUp::Fixed);
        let plan = Plan { warm_up, ..begun.plan.clone() };
        let mut subject = begun.subject.clone();
        subject.insert("version".into(), versions[at].clone());
        let begun = Begun { plan: plan.clone(), subject, nonce: begun.nonce.clone() };
        let folder = out.join(format!("version-{:03}-{}", at + 1, file_name(&versions[at])));
        let pair = vec![targets[0].clone(), targets[at].clone()];
        let policy = Policy { looks: plan.looks.clone(), ..policy.clone() };
        let rig = Rig::new("isolate", begun.clone(), pair, offer.clone(), (folder.clone(), stop.clone()));
        let ab = AbBench { rig, policy, runs: Runs::default() };
        let mut bench = StepBench { ab, question };
        let Driven { bundles, end, warm_up } = drive(begun, &folder, &mut bench, tell)?;
        self.bundles.extend(bundles);
        let answer = bench.answer()?;
        let (base, candidate) = (side(bench.ab.runs.take(0)), side(bench.ab.runs.take(1)));
        let report = judge(&base, &candidate, &bench.ab.policy, settings);
        Ok(Step { report, answer, warm_up, interrupted: end.err() })
    }

    /// Notes what the ends say.
    fn ends(&mut self, last: usize, step: &Step, question: Option<&Question>, worse: bool) {
        let row = question.and_then(|q| step.report.metric(q.key.metric, &q.key.stat.to_string()));
        self.known.insert(last, if worse { Stand::Bad } else { Stand::Unknown });
        self.rows.push(StepRow {
            version: self.options.versions[last].clone(),
            place: last as u64 + 1,
            stand: match step.report.verdict {
                Verdict::Fail if worse => Stand::Bad,
                Verdict::Pass => Stand::Good,
                _ => Stand::Unknown,
            },
            pairs: step.report.metrics.iter().map(|row| row.pairs).max().unwrap_or(0),
            of: question.map_or_else(|| "the gate".into(), |question| question.key.name()),
            ratio: row.and_then(|row| row.ratio),
            interval: row.and_then(|row| row.interval),
            threshold: None,
            why: step.report.why.first().cloned().unwrap_or_default(),
        });
    }

    /// Goes on until the first bad one is known, or nothing more can be told: gives the places it may have, and why it was
    /// interrupted. The report becomes that of the earliest bad version.
    fn bisect(
        &mut self,
        question: &Question,
        report: &mut Report,
        tell: &mut dyn FnMut(Event),
    ) -> Result<(Vec<usize>, Option<String>), Error> {
        let count = self.options.versions.len();
        let mut earliest = count - 1;
        loop {
            let at = match next(count, &self.known) {
                Next::Among(among) => return Ok((among, None)),
                Next::Judge(at) => at,
            };
            let step = match self.step(at, Some(question), tell) {
                Ok(step) => step,
                // A version that does not run is neither good nor bad: it is gone round.
                Err(error) if does_not_run(&error) => {
                    self.note(at, question, Stand::Unknown, None, format!("it does not run: {error}"));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if step.interrupted.is_some() {
                return Ok((Vec::new(), step.interrupted));
            }
            let refused = step.report.verdict == Verdict::NotComparable;
            let (stand, why) = match &step.answer {
                _ if refused => (Stand::Unknown, step.report.why.first().cloned().unwrap_or_default()),
                Some(answer) => (answer.stand, answer.why.clone()),
                None => (Stand::Unknown, "no pair was run".into()),
            };
            self.note(at, question, stand, step.answer.as_ref(), why);
            if stand == Stand::Bad && at < earliest {
                (earliest, *report) = (at, step.report);
            }
        }
    }

    fn note(&mut self, at: usize, question: &Question, stand: Stand, answer: Option<&Answer>, why: String) {
        self.known.insert(at, stand);
        let ratio = (question.key.worse() * question.threshold).exp();
        self.rows.push(StepRow {
            version: self.options.versions[at].clone(),
            place: at as u64 + 1,
            stand,
            pairs: answer.map_or(0, |answer| answer.pairs as u64),
            of: question.key.name(),
            ratio: answer.and_then(|answer| answer.ratio),
            interval: answer.and_then(|answer| answer.interval),
            threshold: Some(ratio),
            why,
        });
    }
}

/// Whether a version, and not the experiment, has failed.
fn does_not_run(error: &Error) -> bool {
    matches!(error, Error::Start { .. } | Error::Hook { .. } | Error::ServerEnded { .. } | Error::NotReady { .. })
}

fn conclude(
    options: &VersionsOptions,
    report: &mut Report,
    steps: Vec<StepRow>,
    among: &[usize],
    worse: bool,
    interrupted: Option<&str>,
) -> Isolation {
    let name = |at: usize| options.versions[at].clone();
    let (first, last) = (name(0), name(options.versions.len() - 1));
    let mut culprits = Vec::new();
    let mut why = Vec::new();
    if let Some(reason) = interrupted {
        report.verdict = Verdict::Inconclusive;
        why.push(format!("interrupted: {reason}; the same command goes on from there"));
    } else if let [at] = among {
        let told = steps.iter().find(|step| step.version == name(*at)).map_or(String::new(), |step| step.of.clone());
        why.push(format!("{} is the first bad version, {} the last good one", name(*at), name(at - 1)));
        culprits.push(Culprit { name: name(*at), why: vec![format!("first worse in {told}")] });
    } else if let (Some(from), Some(to)) = (among.first(), among.last()) {
        let untold = among.len() - 1;
        why.push(format!(
            "the first bad version is one of {} … {}: {untold} between them cannot be told ({} is good, {} is bad)",
            name(*from),
            name(*to),
            name(from - 1),
            name(*to)
        ));
    } else if !worse {
        why.push(match report.verdict {
            Verdict::Pass => format!("{last} is no worse than {first}: there is nothing to look for"),
            Verdict::Fail => {
                format!("{last} is worse than {first} in nothing that can be followed through the versions")
            }
            _ => format!("{last} is not shown to be worse than {first}: nothing was bisected"),
        });
    }
    // A version that is named, or a regression that is narrowed down, is a failure as the ends are.
    if !among.is_empty() {
        report.verdict = Verdict::Fail;
    }
    report.why.splice(..0, why);
    let suspects = if among.len() > 1 { among.iter().map(|at| name(*at)).collect() } else { Vec::new() };
    Isolation { method: Method::Bisection, culprits, suspects, combinations: Vec::new(), effects: Vec::new(), steps }
}

/// Pairs of a version and the first one, looked at as its question says; without one as the gate does.
struct StepBench<'q> {
    ab: AbBench,
    question: Option<&'q Question>,
}

impl StepBench<'_> {
    fn answer(&self) -> Result<Option<Answer>, Error> {
        let Some(question) = self.question else { return Ok(None) };
        let keys = [question.key];
        let place = |run: &RunEvidence| run.info.place.as_ref().map(|place| (place.pair, place.order));
        let pair = |base: &RunEvidence| {
            let (number, first) = place(base)?;
            let version = self.ab.runs.of(1).iter().find(|run| place(run).is_some_and(|(pair, _)| pair == number))?;
            let taken = |run| Taken::of(run, &keys, &self.ab.policy);
            Some((taken(base), taken(version), first == 0))
        };
        let pairs: Vec<_> = self.ab.runs.of(0).iter().filter_map(pair).collect();
        Ok(Some(question.answer(&pairs)?))
    }
}

impl Bench for StepBench<'_> {
    fn deployments(&mut self) -> &mut dyn Deployments {
        self.ab.deployments()
    }

    fn keep(&mut self, cell: Cell, run: RunEvidence) {
        self.ab.keep(cell, run);
    }

    fn look(&mut self, pairs: u32) -> Result<(Verdict, bool), Error> {
        let Some(answer) = self.answer()? else { return self.ab.look(pairs) };
        Ok(match answer.stand {
            Stand::Good => (Verdict::Pass, true),
            Stand::Bad => (Verdict::Fail, true),
            Stand::Unknown => (Verdict::Inconclusive, false),
        })
    }

    fn so_far(&mut self) -> Option<RatioSoFar> {
        self.ab.so_far()
    }
}

//! One experiment: pairs of runs whose true difference is known, and the comparison made of them.

use super::{regime::Regime, rivals::Latencies};
use crate::{error::Error, simulated};
use firstcheck_analyze::compare::{Comparison, Effect, Gate, Policy};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::{Metric, Stat},
    report::{Claim, MetricRow, Verdict},
    run::{PairPlace, Role},
    unit::Seconds,
};
use firstcheck_sim::{Scenario, SimulateOptions};
use firstcheck_workload::trace::Trace;
use rand::{RngExt, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

/// Drift over a whole session, standard deviation of its end in natural logarithms.
const DRIFT_SD: f64 = 0.06;
/// The random numbers of a drift are a stream of their own: order and noise of a run stay the same beside it.
const DRIFT_STREAM: u64 = 1;
/// How much slower the second run of a pair is.
const SECOND_RUN: f64 = 0.01;
/// How much slower the second device is.
const SECOND_DEVICE: f64 = 0.02;
/// Requests before the window.
const WARM_UP_REQUESTS: u32 = 40;

/// How experiments are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Pairs of an experiment.
    pub pairs: u32,
    /// Traces; experiments take them by turns. The true effect belongs to a trace, and to its session.
    pub traces: u64,
    /// How the host drifts while an experiment runs.
    pub sessions: Sessions,
    /// What the candidate's steps take longer, relative: 0 is no difference.
    pub slower: f64,
    /// Seed of traces, of every run's noise and of the order.
    pub seed: u64,
}

/// How the host drifts while an experiment runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sessions {
    /// Every experiment on a trace meets the same drift. Where queues amplify, the effect depends on how slow the host is,
    /// and the truth that an experiment can know is that of the hours in which it was made.
    OfTrace,
    /// Each experiment meets a drift of its own, and the true effect is the mean over all of them: how far a comparison
    /// made today holds for a host of another day.
    Fresh,
}

/// What was judged of one experiment.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The trace, by number.
    pub trace: u64,
    /// Effects on what is gated and may be claimed, on the scale of their tests.
    pub effects: Vec<Effect>,
    /// The same of every slice, from the report.
    pub slices: Vec<OfSlice>,
    /// The verdict by the default margins.
    pub verdict: Verdict,
    /// What was gated, and where a claim was held back although its interval allowed it.
    pub comparison: Comparison,
    /// Latencies of the runs, for other ways to compare.
    pub latencies: [Vec<Latencies>; 2],
}

/// The effect on a gated statistic in one slice.
#[derive(Debug, Clone, PartialEq)]
pub struct OfSlice {
    /// The slice, as reports name it.
    pub slice: String,
    /// Which metric.
    pub metric: Metric,
    /// Which statistic of it.
    pub stat: Stat,
    /// Natural logarithm of candidate over base.
    pub delta: f64,
}

/// Experiments in one regime.
#[derive(Debug, Clone)]
pub struct Experiment<'r> {
    regime: &'r Regime,
    options: Options,
    rate: f64,
    traces: Vec<Trace>,
}

impl<'r> Experiment<'r> {
    /// Measures the regime's capacity and makes the traces.
    ///
    /// # Errors
    /// A regime that the simulator or the workload refuses.
    pub fn new(regime: &'r Regime, options: Options) -> Result<Self, Error> {
        let rate = regime.capacity()? * regime.load;
        let requests = regime.requests + WARM_UP_REQUESTS;
        let traces = (0..options.traces).map(|number| regime.trace(rate, requests, options.seed ^ number << 32));
        Ok(Self { regime, options, rate, traces: traces.collect::<Result<_, _>>()? })
    }

    /// Offered rate, requests a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The policy: what a release gate looks at, and what else a report shows an interval of.
    pub fn policy(&self) -> Policy {
        let also = [
            (Metric::E2e, Some(0.95), 0.10),
            (Metric::Tpot, Some(0.95), 0.10),
            (Metric::Itl, None, 0.05),
            (Metric::LongestGap, Some(0.5), 0.10),
        ];
        let also = also.map(|(metric, quantile, margin)| Gate { metric, quantile, margin, required: false });
        let mut policy = Policy { slo: Some(self.regime.slo()), ..Policy::default() };
        policy.gates.extend(also);
        policy
    }

    /// The experiment of that number.
    ///
    /// # Errors
    /// A run that the simulator refuses.
    pub fn run(&self, number: u64) -> Result<Judgement, Error> {
        let trace = number % self.options.traces.max(1);
        let mut rng = ChaCha8Rng::seed_from_u64(self.options.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ number);
        let mut comparison = Comparison::new(self.policy());
        let mut latencies = [Vec::new(), Vec::new()];
        let mut drift = self.drift(trace, number);
        for (pair, cell) in (0..).zip(cells(self.options.pairs, self.regime.two_devices, &mut rng)) {
            let mut take = |role: Role| {
                let drift = drift.next().unwrap_or_default();
                let second = cell.base_first == (role == Role::Candidate);
                let slow_device = cell.base_slow.map(|base_slow| base_slow == (role == Role::Base));
                let factors = [
                    (role == Role::Candidate, self.options.slower),
                    (second, SECOND_RUN),
                    (slow_device == Some(true), SECOND_DEVICE),
                ];
                let slowness = factors.iter().filter(|(holds, _)| *holds).map(|(_, more)| 1.0 + more).product::<f64>();
                let place = PairPlace {
                    experiment: format!("{number}"),
                    pair,
                    role,
                    order: u8::from(second),
                    device: slow_device.map(|slow| if slow { "b" } else { "a" }.to_owned()),
                    cell: None,
                    looks: Vec::new(),
                };
                self.record(trace, slowness * drift.exp(), place, rng.random())
            };
            let first = if cell.base_first { Role::Base } else { Role::Candidate };
            let (one, other) = (take(first)?, take(opposite(first))?);
            let (base, candidate) = if cell.base_first { (one, other) } else { (other, one) };
            comparison.add_pair(&base, &candidate);
            latencies[0].push(Latencies::of(&base));
            latencies[1].push(Latencies::of(&candidate));
        }
        let report = comparison.finish();
        let mut effects = comparison.effects();
        effects.retain(|effect| is_claimed(effect, &report.metrics));
        let slices = of_slices(&comparison.policy().gates, &report.metrics);
        Ok(Judgement { trace, effects, slices, verdict: report.verdict, comparison, latencies })
    }

    /// The host's drift at each run of an experiment, in natural logarithms: a random walk.
    fn drift(&self, trace: u64, number: u64) -> impl Iterator<Item = f64> + use<> {
        let session = match self.options.sessions {
            Sessions::OfTrace => trace,
            Sessions::Fresh => number,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(self.options.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ session);
        rng.set_stream(DRIFT_STREAM);
        let step = DRIFT_SD / f64::from(2 * self.options.pairs).sqrt();
        std::iter::repeat_with(move || step * normal(&mut rng)).scan(0.0, |at, step| {
            *at += step;
            Some(*at)
        })
    }

    fn record(&self, trace: u64, slowness: f64, place: PairPlace, seed: u64) -> Result<RunEvidence, Error> {
        let name = format!("{}-{}-{}", place.experiment, place.pair, place.role.name());
        let options = SimulateOptions {
            warm_up: Seconds(f64::from(WARM_UP_REQUESTS) / self.rate),
            slo: Some(self.regime.slo()),
            ..SimulateOptions::new(seed, name.clone())
        };
        let scenario = Scenario::steady(self.regime.deployment(slowness));
        let mut recording = simulated::record(&scenario, &self.traces[trace as usize], &options)?.recording;
        recording.info.place = Some(place);
        recording.info.load = Some(self.regime.load);
        Ok(recording.into_evidence(name))
    }
}

/// How a pair is run.
struct Cell {
    base_first: bool,
    /// Whether base has the slow device; `None`: there is one device.
    base_slow: Option<bool>,
}

/// Balanced over order and device, in random sequence.
fn cells(pairs: u32, two_devices: bool, rng: &mut ChaCha8Rng) -> Vec<Cell> {
    let cell = |pair: u32| Cell {
        base_first: pair.is_multiple_of(2),
        base_slow: two_devices.then_some((pair / 2).is_multiple_of(2)),
    };
    let mut cells: Vec<Cell> = (0..pairs).map(cell).collect();
    cells.shuffle(rng);
    cells
}

fn opposite(role: Role) -> Role {
    match role {
        Role::Base => Role::Candidate,
        Role::Candidate => Role::Base,
    }
}

/// A standard normal draw (Box and Muller).
fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Whether anything may be claimed of the effect: from enough requests, of a level and not of a jump.
fn is_claimed(effect: &Effect, rows: &[MetricRow]) -> bool {
    let stat = effect.stat.to_string();
    let nothing = |claim| matches!(claim, Claim::NotClaimable | Claim::Shown | Claim::NotComparable);
    rows.iter().any(|row| row.metric == effect.metric && row.stat == stat && row.slice.is_none() && !nothing(row.claim))
}

/// The effects on gated latencies in every slice that has one.
fn of_slices(gates: &[Gate], rows: &[MetricRow]) -> Vec<OfSlice> {
    let of = |row: &MetricRow| {
        let gate = gates.iter().find(|gate| gate.metric == row.metric && gate.stat().to_string() == row.stat)?;
        let ratio = row.ratio.and_then(|ratio| ratio.finite()).filter(|ratio| *ratio > 0.0)?;
        gate.quantile?;
        Some(OfSlice { slice: row.slice.clone()?, metric: gate.metric, stat: gate.stat(), delta: ratio.ln() })
    };
    rows.iter().filter_map(of).collect()
}

/// What tables call a gated statistic.
pub(super) fn name(metric: Metric, stat: Stat) -> String {
    format!("{} {stat}", metric.label())
}

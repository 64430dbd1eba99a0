//! What is gated, by which margins, and every other threshold of a comparison.

use super::{
    condition::{self, Condition},
    slice::Slices,
};
use firstcheck_model::{
    metric::{Metric, Stat},
    report::Parameter,
    slo::Slo,
};
use firstcheck_stats::{max_t::MIN_ROTATIONS, quantile, sequential};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One gated metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// Which metric.
    pub metric: Metric,
    /// Which quantile, in (0, 1); without one the mean of a latency or the total of anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantile: Option<f64>,
    /// How much worse it may be: relative (0.1 is 10 %); for `good_share` and `failed_share` in points of the share (0.01 is one point).
    pub margin: f64,
    /// Whether a pass needs it. One that is not required is left out, and said so, where it cannot be claimed.
    #[serde(default = "yes")]
    pub required: bool,
}

fn yes() -> bool {
    true
}

impl Gate {
    const fn of(metric: Metric, quantile: f64, margin: f64, required: bool) -> Self {
        Self { metric, quantile: Some(quantile), margin, required }
    }

    /// The statistic that is gated.
    pub fn stat(&self) -> Stat {
        match self.quantile {
            Some(p) => Stat::Quantile(p),
            None if super::plan::is_latency(self.metric) => Stat::Mean,
            None => Stat::Total,
        }
    }
}

macro_rules! policy {
    ($($(#[$meta:meta])* $name:ident: $type:ty = $default:expr, [$unit:literal] $meaning:literal;)+) => {
        /// Everything that decides a comparison. Each field has a default; an unknown key is refused.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Policy {
            /// What is gated. Empty: effects are shown and nothing is judged.
            pub gates: Vec<Gate>,
            /// The SLO of goodput; without one the runs' own.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub slo: Option<Slo>,
            /// Pairs at which a gate looks before the last, the last included. Empty: one look, whatever the pairs.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub looks: Vec<u32>,
            /// Slices of requests in which what is gated is judged too.
            pub slices: Slices,
            /// Cells: conditions that are judged by themselves, all of which a pass needs.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub cells: Vec<Condition>,
            /// Load of the runs where they do not know it: offered rate over the highest without a growing queue.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub load: Option<f64>,
            /// GPUs of the deployment where its fingerprint does not say.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub gpus: Option<f64>,
            /// Cost of a GPU for an hour, in any currency.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub cost_per_gpu_hour: Option<f64>,
            $(#[doc = $meaning] #[doc = concat!("Unit: ", $unit, ".")] pub $name: $type,)+
        }

        impl Default for Policy {
            fn default() -> Self {
                Self {
                    gates: default_gates(),
                    slo: None,
                    looks: Vec::new(),
                    slices: Slices::default(),
                    cells: Vec::new(),
                    load: None,
                    gpus: None,
                    cost_per_gpu_hour: None,
                    $($name: $default,)+
                }
            }
        }

        impl Policy {
            /// Every threshold in force, by name.
            pub fn parameters(&self) -> BTreeMap<String, Parameter> {
                let mut all = BTreeMap::new();
                let mut put = |name: &str, value: f64, unit: &str, meaning: String| {
                    all.insert(name.to_owned(), Parameter { value, unit: unit.into(), meaning });
                };
                $(put(stringify!($name), self.$name as f64, $unit, $meaning.into());)+
                for (name, value, unit, meaning) in [
                    ("load", self.load, "1", "load of runs that do not know theirs"),
                    ("gpus", self.gpus, "count", "GPUs of the deployment where its fingerprint does not say"),
                    ("cost_per_gpu_hour", self.cost_per_gpu_hour, "cost", "cost of a GPU for an hour"),
                ] {
                    value.into_iter().for_each(|value| put(name, value, unit, meaning.into()));
                }
                for (name, bounds) in [("prompt", &self.slices.prompt), ("output", &self.slices.output)] {
                    for (at, bound) in bounds.iter().enumerate() {
                        let meaning = format!("longest {name} of a slice");
                        put(&format!("slice.{name}.{}", at + 1), f64::from(*bound), "tokens", meaning);
                    }
                }
                for (name, value, meaning) in [
                    ("cache", usize::from(self.slices.cache), "whether cached and uncached requests are told apart"),
                    ("tenant", usize::from(self.slices.tenant), "whether tenants are told apart"),
                    ("most_tenants", self.slices.most_tenants, "most sessions that count as tenants"),
                    ("required", usize::from(self.slices.required), "whether a pass needs every slice"),
                ] {
                    put(&format!("slice.{name}"), value as f64, "count", meaning.into());
                }
                for gate in &self.gates {
                    let unit = if is_share(gate.metric) { "points of the share" } else { "1" };
                    let need = if gate.required { "required to pass" } else { "left out where it cannot be claimed" };
                    let meaning = format!("largest tolerated worsening of {} {}, {need}", gate.metric, gate.stat());
                    put(&format!("margin.{}.{}", gate.metric, gate.stat()), gate.margin, unit, meaning);
                }
                for own in &self.slices.margins {
                    let unit = if is_share(own.metric) { "points of the share" } else { "1" };
                    let meaning = format!("largest tolerated worsening of {} {} in that slice", own.metric, own.stat());
                    put(&format!("margin.{}.{} ({})", own.metric, own.stat(), own.slice), own.margin, unit, meaning);
                }
                for (at, look) in self.looks.iter().enumerate() {
                    put(&format!("look.{}", at + 1), f64::from(*look), "pairs", "pairs at a planned look".into());
                }
                if let Some(tail) = quantile::claimable_from(0.0) {
                    put("tail_requests", tail as f64, "requests", "a quantile p may be claimed from this / (1 − p) offered requests a run".into());
                }
                put("coalesced_gap", firstcheck_model::event::COALESCED_NS as f64 * 1e-9, "s", "event gaps shorter than this were not paced by a server".into());
                all
            }
        }
    };
}

policy! {
    alpha: f64 = 0.05, ["1"] "One-sided error of the gate.";
    alpha_fresh_traces: f64 = 0.025, ["1"] "One-sided error of the gate where pairs replay different traces: their differences are skewed.";
    min_pairs: u32 = 8, ["pairs"] "Fewer pairs cannot pass.";
    max_pairs: u32 = 16, ["pairs"] "The number of pairs that would decide is looked for up to here.";
    rotations: u32 = 9_999, ["count"] "Random rotations behind the family-wise p values of a failure.";
    seed: u64 = 1, ["1"] "Seed of the rotations.";
    pass_load: f64 = 0.8, ["1"] "Above this load, or when it is unknown, a latency that holds the queue cannot pass.";
    queue_growth: f64 = 3.0, ["1"] "Median TTFT of a run's last quarter over its first from which the queue counts as growing.";
    mix_tolerance: f64 = 0.02, ["1"] "Largest relative difference in offered tokens or rate between two comparable workloads.";
    window_ratio: f64 = 1.5, ["1"] "Largest ratio between the windows of two comparable measured runs.";
    hit_rate_apart: f64 = 0.1, ["points of the share"] "Difference in prefix hits on one trace from which the caches were not in one state.";
    host_load: f64 = 1.0, ["processes a core"] "Load of the client's host before a run from which it counts as busy.";
    offset_tolerance: f64 = 0.1, ["mean gaps between sends"] "Two files without a trace hash hold one trace if the median difference of their send offsets is at most this.";
    send_lag_floor_s: f64 = 0.005, ["s"] "TTFT is void where the send-lag p99 exceeds this and the share below.";
    send_lag_share: f64 = 0.01, ["1"] "Share of the median TTFT that the send-lag p99 may reach.";
    coalesced_share: f64 = 0.05, ["1"] "Share of coalesced event gaps above which a client cannot speak of gap quantiles.";
    continuity: f64 = 1.5, ["1"] "A gap quantile is a level, not a jump, where q(p+h)/q(p−h) is below this, h = min(0.02, (1−p)/2).";
    split_half_width: f64 = 0.005, ["1"] "Half width, in ranks, of the kernel that splits a quantile into stages.";
    span_coverage: f64 = 0.95, ["1"] "Share of the completed requests that must have spans for a split into stages.";
    signature_change: f64 = 0.05, ["1"] "Smallest relative change with an interval that a signature counts.";
    signature_shown: f64 = 0.25, ["1"] "Smallest relative change without an interval that a signature counts.";
    signature_queue_share: f64 = 0.3, ["1"] "Share of a rise in TTFT that the queue has to take for the queue to count as grown.";
    signature_stable_share: f64 = 0.5, ["1"] "TTFT counts as stable beside a rise in ITL while it rises by less than this part of it, in log points.";
    ledger_tolerance: f64 = 0.05, ["1"] "Largest relative difference between the requests that the engine and the client count, for the engine's means to be held against the client's.";
    share_floor: f64 = 0.01, ["1"] "Relative change of a total below which one pair does not divide it into shares.";
    resamples: u32 = 4_000, ["count"] "Resamples of the pairs behind the intervals of a quantile's stages.";
    single_batches: u32 = 5, ["count"] "Contiguous batches of a single run.";
    single_confidence: f64 = 0.95, ["1"] "Confidence of the interval shown for single runs.";
    single_bound: f64 = 0.995, ["1"] "Confidence of the lower bound by which a single run's tail may fail at a known low load.";
    single_load: f64 = 0.7, ["1"] "Highest load at which that bound may speak.";
    single_tail_ratio: f64 = 1.5, ["1"] "Smallest ratio of p95 or p99 that may fail with that bound.";
    single_tail_margin: f64 = 0.1, ["1"] "Margin of that bound for a metric that is not gated.";
    single_ratio: f64 = 8.0, ["1"] "Ratio from which any claimable latency quantile of single runs on one trace fails.";
    single_failed_share: f64 = 0.05, ["points of the share"] "Smallest excess of the failed share by which single runs may fail, where exact bounds of both sides are apart as well.";
    single_itl_p99_ratio: f64 = 2.0, ["1"] "Ratio of ITL p99 from which single runs on different traces fail.";
    single_tpot_p50_ratio: f64 = 4.0, ["1"] "Ratio of TPOT p50 from which single runs on different traces fail.";
}

/// TTFT and TPOT medians and the TTFT p95 are required; p99s, which take a thousand requests a run, and goodput, which
/// takes an SLO, are gated where they can be.
fn default_gates() -> Vec<Gate> {
    vec![
        Gate::of(Metric::Ttft, 0.5, 0.10, true),
        Gate::of(Metric::Ttft, 0.95, 0.10, true),
        Gate::of(Metric::Ttft, 0.99, 0.10, false),
        Gate::of(Metric::Itl, 0.99, 0.10, false),
        Gate::of(Metric::Tpot, 0.5, 0.05, true),
        Gate { metric: Metric::GoodShare, quantile: None, margin: 0.01, required: false },
        Gate { metric: Metric::FailedShare, quantile: None, margin: 0.002, required: false },
    ]
}

/// A policy that cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PolicyError {
    /// A number outside its range.
    #[error("policy: {name} is {value}: {need}")]
    Range {
        /// The key.
        name: String,
        /// Its value.
        value: f64,
        /// What it must be.
        need: &'static str,
    },
    /// A gate that no run could be held against, or two for one thing.
    #[error("policy: the gate on {name} {why}")]
    Gate {
        /// Its metric and statistic.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A margin of a slice that cannot be there.
    #[error("policy: there is no slice `{name}`: by these bounds there are {known}")]
    Slice {
        /// The name given.
        name: String,
        /// Those that may be there.
        known: String,
    },
    /// A cell that no pair could be told to be of.
    #[error("policy: the cell `{name}` {why}")]
    Cell {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Two values that cannot both be followed.
    #[error("policy: {one} is {value} and {other} is {than}: {mend}")]
    Contradiction {
        /// The one key.
        one: String,
        /// Its value.
        value: f64,
        /// The other key.
        other: String,
        /// Its value.
        than: f64,
        /// How to mend it.
        mend: &'static str,
    },
    /// Looks that cannot be planned.
    #[error("policy: looks: {0}")]
    Looks(#[source] firstcheck_stats::Error),
}

/// Beyond this a length is no slice of its own.
const MOST_BOUNDS: usize = 20;

/// Beyond this a number is a rate and no load: nothing serves several times what it can.
const HIGHEST_LOAD: f64 = 2.0;

/// Beyond this, eleven times as slow, a gate tolerates everything.
const WIDEST_MARGIN: f64 = 10.0;

/// Beyond this nobody waits for the last pair.
const MOST_PAIRS: usize = 1_000;

/// Beyond this, rotations only take time: p values are good to 1e-6.
const MOST_ROTATIONS: u32 = 10_000_000;

/// Below this the tails of resamples are coarse.
const MIN_RESAMPLES: u32 = 1_000;

/// Beyond this a batch is no batch.
const MOST_BATCHES: u32 = 1_000;

impl Policy {
    /// The gate on that metric and statistic.
    pub fn gate(&self, metric: Metric, stat: Stat) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.metric == metric && gate.stat() == stat)
    }

    /// The gates of the policy and of its cells.
    pub fn all_gates(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().chain(self.cells.iter().flat_map(|cell| cell.gates.iter().flatten()))
    }

    /// Whether every threshold lies in its range.
    ///
    /// # Errors
    /// [`PolicyError`] naming the first that does not.
    pub fn check(&self) -> Result<(), PolicyError> {
        for (name, value) in [
            ("alpha", self.alpha),
            ("alpha_fresh_traces", self.alpha_fresh_traces),
            ("single_confidence", self.single_confidence),
            ("single_bound", self.single_bound),
        ] {
            range(name, value, value > 0.0 && value < 1.0, OPEN)?;
        }
        for (name, value) in [("alpha", self.alpha), ("alpha_fresh_traces", self.alpha_fresh_traces)] {
            range(name, value, value < 0.5, "an error of half the cases or more shows nothing: 0.05 is usual")?;
        }
        for (name, value) in [
            ("window_ratio", self.window_ratio),
            ("queue_growth", self.queue_growth),
            ("continuity", self.continuity),
            ("single_tail_ratio", self.single_tail_ratio),
            ("single_ratio", self.single_ratio),
            ("single_itl_p99_ratio", self.single_itl_p99_ratio),
            ("single_tpot_p50_ratio", self.single_tpot_p50_ratio),
        ] {
            range(name, value, value > 1.0, "a ratio must be above 1")?;
        }
        self.check_amounts()?;
        self.check_slo()?;
        self.check_looks()?;
        self.check_pairs()?;
        self.check_slices()?;
        condition::check(&self.cells)?;
        check_gates(&self.gates)
    }

    /// Tolerances, shares and counts.
    fn check_amounts(&self) -> Result<(), PolicyError> {
        for (name, value) in [
            ("mix_tolerance", self.mix_tolerance),
            ("offset_tolerance", self.offset_tolerance),
            ("send_lag_floor_s", self.send_lag_floor_s),
            ("send_lag_share", self.send_lag_share),
            ("hit_rate_apart", self.hit_rate_apart),
            ("host_load", self.host_load),
            ("signature_change", self.signature_change),
            ("signature_shown", self.signature_shown),
            ("signature_queue_share", self.signature_queue_share),
            ("signature_stable_share", self.signature_stable_share),
            ("coalesced_share", self.coalesced_share),
            ("pass_load", self.pass_load),
            ("single_load", self.single_load),
            ("single_tail_margin", self.single_tail_margin),
            ("single_failed_share", self.single_failed_share),
            ("span_coverage", self.span_coverage),
            ("ledger_tolerance", self.ledger_tolerance),
            ("share_floor", self.share_floor),
        ] {
            range(name, value, value >= 0.0 && value.is_finite(), "it must be zero or more, and finite")?;
        }
        for (name, value) in [("load", self.load), ("gpus", self.gpus), ("cost_per_gpu_hour", self.cost_per_gpu_hour)] {
            let Some(value) = value else { continue };
            range(name, value, value > 0.0 && value.is_finite(), "it must be positive, and finite")?;
        }
        if let Some(load) = self.load {
            range(
                "load",
                load,
                load <= HIGHEST_LOAD,
                "it is a share of the highest rate without a growing queue (0.7)",
            )?;
        }
        let half = self.split_half_width;
        range("split_half_width", half, half > 0.0 && half < 0.5, "it must lie between 0 and 0.5, both excluded")?;
        let (rotations, batches) = (f64::from(self.rotations), f64::from(self.single_batches));
        range("rotations", rotations, self.rotations as usize >= MIN_ROTATIONS, "at least 9999 are needed")?;
        range("rotations", rotations, self.rotations <= MOST_ROTATIONS, "at most ten million are of use")?;
        let resamples = f64::from(self.resamples);
        range("resamples", resamples, self.resamples >= MIN_RESAMPLES, "at least 1000 are needed")?;
        range("resamples", resamples, self.resamples <= MOST_ROTATIONS, "at most ten million are of use")?;
        range("single_batches", batches, self.single_batches >= 2, "at least 2 are needed")?;
        range("single_batches", batches, self.single_batches <= MOST_BATCHES, "at most 1000 are of use")
    }

    /// Bounds ascend, so that every length is of one bin.
    fn check_slices(&self) -> Result<(), PolicyError> {
        for (name, bounds) in [("slices.prompt", &self.slices.prompt), ("slices.output", &self.slices.output)] {
            for pair in bounds.windows(2) {
                range(name, f64::from(pair[1]), pair[0] < pair[1], "each bound must be above the one before")?;
            }
            range(name, bounds.len() as f64, bounds.len() <= MOST_BOUNDS, "at most 20 bounds are of use")?;
        }
        self.check_slice_margins()
    }

    /// That the numbers of pairs can be reached together.
    fn check_pairs(&self) -> Result<(), PolicyError> {
        let (least, most) = (f64::from(self.min_pairs), f64::from(self.max_pairs));
        range("min_pairs", least, self.min_pairs >= 2, "a single pair has no interval: at least 2 are needed")?;
        ascending(("min_pairs", least), ("max_pairs", most), "no number of pairs could pass: raise max_pairs")?;
        let Some(last) = self.looks.last().map(|last| f64::from(*last)) else { return Ok(()) };
        ascending(("the last of looks", last), ("max_pairs", most), "that look is never reached: raise max_pairs")?;
        ascending(
            ("min_pairs", least),
            ("the last of looks", last),
            "no look could pass: lower min_pairs or look later",
        )
    }

    /// Covariates are not known here: at most order and device are fitted.
    fn check_looks(&self) -> Result<(), PolicyError> {
        let looks: Vec<usize> = self.looks.iter().map(|look| *look as usize).collect();
        let Some(most) = looks.last() else { return Ok(()) };
        range("looks", *most as f64, *most <= MOST_PAIRS, "at most 1000 pairs can be planned")?;
        sequential::plan(&looks, 2, self.alpha).map(drop).map_err(PolicyError::Looks)
    }

    fn check_slo(&self) -> Result<(), PolicyError> {
        let Some(slo) = &self.slo else { return Ok(()) };
        let bounds = [("slo.ttft", slo.ttft), ("slo.tpot", slo.tpot), ("slo.e2e", slo.e2e), ("slo.gap", slo.gap)];
        bounds.into_iter().filter_map(|(name, bound)| Some((name, bound?.0))).try_for_each(|(name, bound)| {
            range(name, bound, bound > 0.0 && bound.is_finite(), "a bound is a positive number of seconds")
        })
    }
}

const OPEN: &str = "it must lie between 0 and 1, both excluded";

pub(super) fn range(name: &str, value: f64, ok: bool, need: &'static str) -> Result<(), PolicyError> {
    if ok { Ok(()) } else { Err(PolicyError::Range { name: name.to_owned(), value, need }) }
}

/// Whether the value of the key `one` is at most that of the `other`.
pub(super) fn ascending(one: (&str, f64), other: (&str, f64), mend: &'static str) -> Result<(), PolicyError> {
    if one.1 <= other.1 {
        return Ok(());
    }
    let ((one, value), (other, than)) = (one, other);
    Err(PolicyError::Contradiction { one: one.to_owned(), value, other: other.to_owned(), than, mend })
}

/// Whether every gate can be held, and none is there twice.
pub(super) fn check_gates(gates: &[Gate]) -> Result<(), PolicyError> {
    gates.iter().enumerate().try_for_each(|(at, gate)| check_gate(gate, &gates[..at]))
}

/// Whether margins of the metric are points of a share.
fn is_share(metric: Metric) -> bool {
    matches!(metric, Metric::GoodShare | Metric::FailedShare)
}

fn check_gate(gate: &Gate, before: &[Gate]) -> Result<(), PolicyError> {
    let name = format!("{} {}", gate.metric, gate.stat());
    let margin = format!("margin of {name}");
    range(&margin, gate.margin, gate.margin > 0.0 && gate.margin.is_finite(), "it must be positive")?;
    range(&margin, gate.margin, gate.margin <= WIDEST_MARGIN, "it is relative (0.1 is 10 %): nothing could exceed it")?;
    if is_share(gate.metric) {
        range(&margin, gate.margin, gate.margin < 1.0, "it is in points of the share (0.01 is one) and below 1")?;
    }
    if let Some(p) = gate.quantile {
        range(&format!("quantile of {}", gate.metric), p, p > 0.0 && p < 1.0, OPEN)?;
        if !super::plan::is_latency(gate.metric) && gate.metric != Metric::SendLag {
            return Err(PolicyError::Gate {
                name,
                why: "has a quantile, and the metric has one value a run: leave it out",
            });
        }
    }
    if before.iter().any(|other| other.metric == gate.metric && other.stat() == gate.stat()) {
        return Err(PolicyError::Gate { name, why: "is given twice" });
    }
    Ok(())
}

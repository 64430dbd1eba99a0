//! A pair of runs reduced to one number a metric.

use super::{
    attribute::{self, Splits},
    columns::{Columns, Line},
    comparability::{self, Comparability},
    plan::{Key, is_latency},
    policy::Policy,
    reading::{Basis, Cell, Reading, mean},
    same_trace::Trace,
    slice::{self, SliceCells},
    told::Told,
};
use firstcheck_model::{
    evidence::RunEvidence,
    metric::{Metric, Stat},
};
use firstcheck_stats::{asymmetry::tail_asymmetry, design::Code};

/// Two runs side by side. Nothing a request long is kept.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub base: Reading,
    pub candidate: Reading,
    pub comparable: Comparability,
    /// Share of the requests in both windows that completed on both sides: means are over those.
    pub complete_on_both: Option<f64>,
    /// Tail asymmetry of TTFT and of E2E, in log points.
    pub asymmetry: Vec<(Metric, f64)>,
    pub splits: Splits,
    /// What is looked at in every slice.
    pub slice_keys: Vec<Key>,
    /// The pair slice by slice; empty where the runs did not replay one trace.
    pub slices: Vec<SliceCells>,
    /// Output tokens of base and candidate over the requests that completed on both sides.
    pub answered_tokens: Option<(u64, u64)>,
}

/// Latencies whose tails are compared request by request.
pub(super) const ASYMMETRIC: [Metric; 2] = [Metric::Ttft, Metric::E2e];

impl Pair {
    /// Reduces two runs; both may be dropped afterwards.
    pub fn of(base: (&RunEvidence, Told), candidate: (&RunEvidence, Told), keys: &[Key], policy: &Policy) -> Self {
        let (b, b_columns) = Reading::of(base.0, base.1, keys, policy);
        let (c, c_columns) = Reading::of(candidate.0, candidate.1, keys, policy);
        Self::from_columns((b, &b_columns), (c, &c_columns), keys, policy)
    }

    /// A pair of two runs that were read before.
    pub fn from_columns(
        (mut b, b_columns): (Reading, &Columns),
        (mut c, c_columns): (Reading, &Columns),
        keys: &[Key],
        policy: &Policy,
    ) -> Self {
        let comparable = comparability::check((&b, b_columns), (&c, c_columns), policy);
        let common = if comparable.trace == Trace::Same { common(b_columns, c_columns) } else { Vec::new() };
        let same = !common.is_empty();
        if same {
            means_on_both(&mut b, &mut c, &common, keys);
        }
        one_slo(&mut b, &mut c, keys);
        let asymmetry = ASYMMETRIC.into_iter().filter(|_| same).filter_map(|metric| {
            let latencies = common.iter().filter_map(|(b, c)| b.latency(metric).zip(c.latency(metric)));
            Some((metric, tail_asymmetry(latencies)?.value))
        });
        let slice_keys = super::plan::of_slices(policy);
        let slices = slice::of_pair(&common, (&b, &c), (keys, &slice_keys), &policy.slices);
        let row_by_row = common.len() == b_columns.lines.len() && common.len() == c_columns.lines.len();
        Self {
            answered_tokens: same.then(|| answered_tokens(&common)),
            slice_keys,
            slices,
            complete_on_both: same.then(|| share_on_both(&common)),
            asymmetry: asymmetry.collect(),
            splits: attribute::splits((&b, b_columns), (&c, c_columns), keys, same && row_by_row, policy),
            comparable,
            base: b,
            candidate: c,
        }
    }

    /// The readings, base first.
    pub fn sides(&self) -> [&Reading; 2] {
        [&self.base, &self.candidate]
    }

    /// Offered requests of the side with fewer.
    pub fn requests(&self) -> u64 {
        self.base.requests().min(self.candidate.requests())
    }

    /// The condition that its runs carry by name.
    pub fn cell(&self) -> Option<&str> {
        self.sides().into_iter().find_map(|side| side.info.place.as_ref()?.cell.as_deref())
    }

    /// +1 when base ran first.
    pub fn order(&self) -> Option<Code> {
        let (b, c) = (self.base.info.place.as_ref()?, self.candidate.info.place.as_ref()?);
        Some(if b.order <= c.order { Code::Plus } else { Code::Minus })
    }

    /// Which way round the two devices were; `None` where both ran on one, or it is not known.
    pub fn device(&self) -> Option<Code> {
        let (b, c) = (self.base.info.place.as_ref()?, self.candidate.info.place.as_ref()?);
        match b.device.as_ref()?.cmp(c.device.as_ref()?) {
            std::cmp::Ordering::Less => Some(Code::Plus),
            std::cmp::Ordering::Greater => Some(Code::Minus),
            std::cmp::Ordering::Equal => None,
        }
    }

    /// The highest load known of either side; `None`: unknown.
    pub fn load(&self) -> Option<f64> {
        [self.base.info.load, self.candidate.info.load].into_iter().flatten().max_by(f64::total_cmp)
    }
}

/// One request in both runs.
pub(super) type Both<'l> = (&'l Line, &'l Line);

/// The requests of one trace that lie in both windows. In a closed loop the server sets the send times, so that two
/// windows hold different rows: the n-th of one is not the n-th of the other.
fn common<'l>(base: &'l Columns, candidate: &'l Columns) -> Vec<Both<'l>> {
    let mut both = Vec::with_capacity(base.lines.len());
    let mut theirs = candidate.lines.iter().peekable();
    for ours in &base.lines {
        while theirs.next_if(|line| line.row < ours.row).is_some() {}
        if let Some(line) = theirs.next_if(|line| line.row == ours.row) {
            both.push((ours, line));
        }
    }
    both
}

/// Replaces the means of request latencies by means over the requests that completed on both sides.
fn means_on_both(b: &mut Reading, c: &mut Reading, common: &[Both], keys: &[Key]) {
    let complete: Vec<Both> = common.iter().copied().filter(|(b, c)| b.complete && c.complete).collect();
    for (at, key) in keys.iter().enumerate().filter(|(_, key)| key.stat == Stat::Mean && is_latency(key.metric)) {
        if key.metric == Metric::Itl {
            if b.unanswered + c.unanswered > 0 {
                replace(&mut b.cells[at], mean_itl(complete.iter().map(|(line, _)| *line)));
                replace(&mut c.cells[at], mean_itl(complete.iter().map(|(_, line)| *line)));
            }
            continue;
        }
        let known = complete.iter().filter_map(|(b, c)| b.latency(key.metric).zip(c.latency(key.metric)));
        let (b_values, c_values): (Vec<f64>, Vec<f64>) = known.unzip();
        let n = b_values.len() as u64;
        replace(&mut b.cells[at], Cell::over(mean(&b_values), n));
        replace(&mut c.cells[at], Cell::over(mean(&c_values), n));
    }
}

/// Decode time over the tokens after the first, all requests together.
fn mean_itl<'l>(lines: impl Iterator<Item = &'l Line>) -> Cell {
    let sum = |(seconds, tokens): (f64, u64), (s, n): (f64, u32)| (seconds + s, tokens + u64::from(n));
    let (seconds, tokens) = lines.filter_map(|line| line.decode).fold((0.0, 0), sum);
    Cell::over((tokens > 0).then(|| seconds / tokens as f64), tokens)
}

/// Keeps what is known about a cell while its value is replaced, where there is a new one.
fn replace(cell: &mut Cell, new: Cell) {
    if new.value.is_some() && cell.basis == Basis::Taken {
        (cell.value, cell.n) = (new.value, new.n);
    }
}

fn answered_tokens(common: &[Both]) -> (u64, u64) {
    let complete = common.iter().filter(|(b, c)| b.complete && c.complete);
    let tokens = complete.filter_map(|(b, c)| b.output.zip(c.output));
    tokens.fold((0, 0), |sum, (b, c)| (sum.0 + u64::from(b), sum.1 + u64::from(c)))
}

fn share_on_both(common: &[Both]) -> f64 {
    let complete = common.iter().filter(|(b, c)| b.complete && c.complete).count();
    complete as f64 / common.len() as f64
}

/// Good requests under two different SLOs are not one metric.
fn one_slo(b: &mut Reading, c: &mut Reading, keys: &[Key]) {
    let (Some(ours), Some(theirs)) = (b.slo, c.slo) else { return };
    if ours == theirs {
        return;
    }
    for (at, _) in keys.iter().enumerate().filter(|(_, k)| matches!(k.metric, Metric::Goodput | Metric::GoodShare)) {
        c.cells[at].doubt = Some(format!("base was measured under {ours}, the candidate under {theirs}: give one SLO"));
    }
    (b.good, c.good) = (None, None);
}

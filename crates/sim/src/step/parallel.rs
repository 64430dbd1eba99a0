//! Ranks that take a step together: the slowest one sets its length.

use super::StepRecord;
use crate::{
    config::{AllReduce, Parallel},
    kv_cache::hash::mix,
    timing::{StepShape, StepTime},
};

/// One rank's part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RankStep {
    /// Tokens that it computes, padding aside.
    pub tokens: u32,
    /// Tokens of context that it reads.
    pub kv_tokens: u64,
    /// Whether it computes prompt tokens.
    pub prompt: bool,
    /// Time of its own work, seconds.
    pub compute_seconds: f64,
    /// Time that it waits for the slowest, seconds.
    pub wait_seconds: f64,
}

/// The parts of a step's time that depend on ranks; there is none where all do the same as in the calibration.
#[derive(Debug, Clone)]
pub(super) struct ParallelModel {
    parallel: Parallel,
    ranks: u32,
    /// Messages a step and bytes a token of each, where the model's geometry is known.
    messages: f64,
    message_bytes: f64,
}

impl ParallelModel {
    pub(super) fn new(parallel: &Parallel, time: &StepTime) -> Option<Self> {
        // Which rank of a server it is changes nothing within a step.
        if *parallel == (Parallel { data: parallel.data, ..Parallel::default() }) {
            return None;
        }
        let ranks = time.tensor_parallel();
        let (messages, message_bytes) = (2.0 * time.layers().unwrap_or(0.0), time.token_bytes());
        Some(Self { parallel: parallel.clone(), ranks, messages, message_bytes })
    }

    /// Time of a step's kernels on the slowest rank, seconds; adds the ranks to `record`, which has none yet.
    pub(super) fn seconds(&self, time: &StepTime, shape: &StepShape, padded: u32, record: &mut StepRecord) -> f64 {
        let own = StepShape { tokens: padded, ..*shape };
        let compute_seconds = time.seconds(&own);
        let all = RankStep { compute_seconds, ..rank_step(shape) };
        record.ranks.resize(self.ranks as usize, all);
        if let Some(slow) = self.parallel.slow_rank
            && let Some(rank) = record.ranks.get_mut(slow.rank as usize)
        {
            rank.compute_seconds *= slow.factor;
        }
        if let Some(late) = self.parallel.late_rank {
            let turn = (mix(record.index ^ 0x6c61_7465) % u64::from(self.ranks)) as u32;
            if let Some(rank) = record.ranks.get_mut(late.rank.unwrap_or(turn) as usize) {
                rank.compute_seconds += late.seconds;
            }
        }
        self.experts(record, shape.tokens);
        let slowest = record.ranks.iter().map(|rank| rank.compute_seconds).fold(0.0, f64::max);
        for rank in &mut record.ranks {
            rank.wait_seconds = slowest - rank.compute_seconds;
        }
        slowest + self.reduced(time, padded) + self.travelled(shape.tokens)
    }

    /// Experts' work is spread unevenly: one rank has more of it than the mean, the others a little less.
    fn experts(&self, record: &mut StepRecord, tokens: u32) {
        let Some(experts) = self.parallel.experts else { return };
        let most = record.ranks.iter().map(|rank| rank.compute_seconds).fold(0.0, f64::max);
        let count = experts.ranks.max(1);
        record.ranks.resize(count as usize, record.ranks.first().copied().unwrap_or_default());
        let share = f64::from(tokens) / f64::from(count);
        let others = (f64::from(count) - experts.imbalance).max(0.0) / (f64::from(count) - 1.0).max(1.0);
        for (place, rank) in record.ranks.iter_mut().enumerate() {
            let load = if place == 0 { experts.imbalance } else { others };
            rank.tokens = (share * load).round() as u32;
            rank.compute_seconds += most * experts.share * (load - 1.0);
        }
    }

    /// Time of all-reduces beyond that in the calibration; less than nothing where the model is faster.
    fn reduced(&self, time: &StepTime, padded: u32) -> f64 {
        let AllReduce::Model { latency_seconds, bytes_per_second } = self.parallel.all_reduce else { return 0.0 };
        let ranks = f64::from(time.tensor_parallel());
        if ranks < 2.0 {
            return 0.0;
        }
        let bytes = f64::from(padded) * self.message_bytes;
        let message = latency_seconds + 2.0 * (ranks - 1.0) / ranks * bytes / bytes_per_second;
        self.messages * message - time.reduce_seconds(padded)
    }

    /// Time that tokens travel to their experts and back; the rank with most sends and receives most.
    fn travelled(&self, tokens: u32) -> f64 {
        let Some(experts) = self.parallel.experts else { return 0.0 };
        let copies = f64::from(tokens) / f64::from(experts.ranks) * f64::from(experts.top_k) * experts.imbalance;
        self.messages * (experts.latency_seconds + copies * self.message_bytes / experts.bytes_per_second)
    }
}

fn rank_step(shape: &StepShape) -> RankStep {
    RankStep {
        tokens: shape.tokens,
        kv_tokens: shape.kv_read_tokens,
        prompt: shape.prefill_pairs > 0.0,
        ..RankStep::default()
    }
}

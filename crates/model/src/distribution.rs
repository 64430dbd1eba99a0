//! A distribution of durations at a fixed relative resolution, in bounded memory.

use crate::unit::Seconds;

/// Sub-buckets of an octave: 2¹³, so a bucket is at most 0.012 % wide and its midpoint at most 0.006 % off.
const SUB_BITS: u32 = 13;

/// Durations in logarithmic buckets: counts are exact, each value is kept to 0.006 %, below 16 µs to a nanosecond.
///
/// Memory is bounded by the largest value (1.2 MB up to a second, 3.4 MB for anything), whatever the number of samples;
/// this is what lets a run of a hundred million gaps be compared without holding them.
///
/// # Example: a quantile is the bucket of that rank
/// ```
/// use firstcheck_model::distribution::Distribution;
/// let mut gaps = Distribution::default();
/// for ms in 1..=100 {
///     gaps.add_ns(ms * 1_000_000, 1);
/// }
/// let p95 = gaps.quantile(0.95).unwrap().0;
/// assert!((p95 / 0.095 - 1.0).abs() < 1e-4);
/// assert_eq!(gaps.count(), 100);
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Distribution {
    /// Samples a bucket, as far as the largest seen.
    buckets: Vec<u64>,
    count: u64,
    sum_ns: i128,
    sum_of_squares: f64,
    min_ns: i64,
    max_ns: i64,
}

fn bucket_of(ns: u64) -> u32 {
    let bits = u64::BITS - ns.leading_zeros();
    if bits <= SUB_BITS + 1 {
        return ns as u32;
    }
    let shift = bits - SUB_BITS - 1;
    (shift << SUB_BITS) + (ns >> shift) as u32
}

fn midpoint_ns(bucket: u32) -> f64 {
    if bucket < 1 << (SUB_BITS + 1) {
        return f64::from(bucket);
    }
    let shift = (bucket >> SUB_BITS) - 1;
    let mantissa = u64::from(bucket) - (u64::from(shift) << SUB_BITS);
    let low = mantissa << shift;
    low as f64 + ((1u64 << shift) - 1) as f64 / 2.0
}

impl Distribution {
    /// Adds `times` samples of `ns` nanoseconds; a negative duration (a clock that went backwards) counts as zero.
    pub fn add_ns(&mut self, ns: i64, times: u64) {
        if times == 0 {
            return;
        }
        let ns = ns.max(0);
        self.put(bucket_of(ns as u64), times);
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (ns, ns);
        }
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.count += times;
        self.sum_ns += i128::from(ns) * i128::from(times);
        self.sum_of_squares += (ns as f64) * (ns as f64) * times as f64;
    }

    fn put(&mut self, bucket: u32, times: u64) {
        let at = bucket as usize;
        if at >= self.buckets.len() {
            self.buckets.resize(at + 1, 0);
        }
        self.buckets[at] += times;
    }

    /// Adds all samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.min_ns, self.max_ns) = (other.min_ns, other.max_ns);
        }
        for (bucket, times) in (0..).zip(&other.buckets).filter(|(_, times)| **times > 0) {
            self.put(bucket, *times);
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_of_squares += other.sum_of_squares;
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Exact mean; `None` without samples.
    pub fn mean(&self) -> Option<Seconds> {
        (self.count > 0).then(|| Seconds(self.sum_ns as f64 / self.count as f64 * 1e-9))
    }

    /// Population standard deviation; `None` without samples.
    pub fn standard_deviation(&self) -> Option<Seconds> {
        let mean = self.mean()?.0 * 1e9;
        Some(Seconds((self.sum_of_squares / self.count as f64 - mean * mean).max(0.0).sqrt() * 1e-9))
    }

    /// Largest sample, exact.
    pub fn max(&self) -> Option<Seconds> {
        (self.count > 0).then_some(Seconds(self.max_ns as f64 * 1e-9))
    }

    /// The value of rank ⌈p·n⌉ (inverse CDF, no interpolation), to 0.006 %; `None` without samples or for p outside (0, 1].
    pub fn quantile(&self, p: f64) -> Option<Seconds> {
        if self.count == 0 || !(p > 0.0 && p <= 1.0) {
            return None;
        }
        // A hair is taken off so that 0.95 × 100 is rank 95, not 96 by rounding of the product.
        let rank = ((p * self.count as f64 - 1e-9).ceil() as u64).clamp(1, self.count);
        self.value_of_rank(rank)
    }

    /// The value of the `rank`-th smallest sample (1 = smallest); `None` outside `1..=count`.
    pub fn value_of_rank(&self, rank: u64) -> Option<Seconds> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0;
        for (bucket, times) in (0..).zip(&self.buckets) {
            seen += times;
            if seen >= rank {
                let ns = midpoint_ns(bucket).clamp(self.min_ns as f64, self.max_ns as f64);
                return Some(Seconds(ns * 1e-9));
            }
        }
        None
    }

    /// Number of samples of at most `ns` nanoseconds, to the bucket's resolution.
    pub fn count_up_to(&self, ns: i64) -> u64 {
        if ns < 0 {
            return 0;
        }
        self.buckets.iter().take(bucket_of(ns as u64) as usize + 1).sum()
    }

    /// Buckets as (midpoint in seconds, samples), ascending: what a histogram draws.
    pub fn buckets(&self) -> impl Iterator<Item = (Seconds, u64)> + '_ {
        (0..)
            .zip(&self.buckets)
            .filter(|(_, times)| **times > 0)
            .map(|(bucket, times)| (Seconds(midpoint_ns(bucket) * 1e-9), *times))
    }
}

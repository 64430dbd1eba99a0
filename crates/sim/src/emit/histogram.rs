//! Histograms over whole raw units, so that sums are exact and equal from run to run.

/// Bucket bounds of a family, in the unit its name states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Buckets {
    /// Upper bounds, ascending; the last bucket, without a bound, is not among them.
    pub bounds: &'static [f64],
    /// Raw units (nanoseconds, tokens) a stated unit (second, token).
    pub raw_per_unit: f64,
}

const NANOSECONDS: f64 = 1e9;

impl Buckets {
    /// Time to first token.
    pub const FIRST_TOKEN: Self = Self {
        bounds: &[
            0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
            80.0, 160.0, 640.0, 2560.0,
        ],
        raw_per_unit: NANOSECONDS,
    };
    /// Times between tokens.
    pub const TOKEN_GAP: Self = Self {
        bounds: &[
            0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
        ],
        raw_per_unit: NANOSECONDS,
    };
    /// Stages of a request and the whole of it.
    pub const REQUEST: Self = Self {
        bounds: &[
            0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0,
            960.0, 1920.0, 7680.0,
        ],
        raw_per_unit: NANOSECONDS,
    };
    /// Waits for the slowest rank.
    pub const RANK_WAIT: Self = Self {
        bounds: &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0],
        raw_per_unit: NANOSECONDS,
    };
    /// Tokens a step.
    pub const ITERATION: Self = Self {
        bounds: &[1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0],
        raw_per_unit: 1.0,
    };
    /// Answers asked for at once.
    pub const CHOICES: Self = Self { bounds: &[1.0, 2.0, 5.0, 10.0, 20.0], raw_per_unit: 1.0 };
    /// Duration of a KV transfer.
    pub const TRANSFER: Self = Self {
        bounds: &[0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 5.0],
        raw_per_unit: NANOSECONDS,
    };
    /// Time to post a KV transfer.
    pub const TRANSFER_POST: Self = Self {
        bounds: &[0.001, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 5.0],
        raw_per_unit: NANOSECONDS,
    };
    /// Bytes of a KV transfer: powers of four from 2 KiB.
    pub const TRANSFER_BYTES: Self = Self {
        bounds: &[
            2048.0,
            8192.0,
            32768.0,
            131072.0,
            524288.0,
            2097152.0,
            8388608.0,
            33554432.0,
            134217728.0,
            536870912.0,
            2147483648.0,
            8589934592.0,
        ],
        raw_per_unit: 1.0,
    };
    /// Bytes of an operation of the KV offload.
    pub const OFFLOAD_BYTES: Self = Self {
        bounds: &[1048576.0, 5242880.0, 10485760.0, 20971520.0, 41943040.0, 62914560.0, 83886080.0, 104857600.0],
        raw_per_unit: 1.0,
    };
    /// One look-up in the KV offload.
    pub const OFFLOAD_LOOKUP: Self = Self {
        bounds: &[1e-5, 5e-5, 0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0],
        raw_per_unit: NANOSECONDS,
    };
    /// Descriptors of a KV transfer.
    pub const TRANSFER_DESCRIPTORS: Self = Self {
        bounds: &[10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 200.0, 400.0, 1000.0, 2000.0, 4000.0, 10000.0, 20000.0, 50000.0],
        raw_per_unit: 1.0,
    };
    /// Stays of KV blocks in the pool.
    pub const RESIDENCY: Self = Self {
        bounds: &[
            0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0,
            600.0, 1200.0, 1800.0,
        ],
        raw_per_unit: NANOSECONDS,
    };
    /// Preemptions a request.
    pub const PREEMPTIONS: Self = Self { bounds: &[1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0], raw_per_unit: 1.0 };

    /// Tokens a request: 1, 2, 5 times powers of ten up to the longest sequence.
    pub fn tokens(max_model_len: u32) -> Self {
        const BOUNDS: [f64; 22] = [
            1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6,
            2e6, 5e6, 1e7,
        ];
        static ALL: [f64; 22] = BOUNDS;
        let count = ALL.partition_point(|bound| *bound <= f64::from(max_model_len));
        Self { bounds: ALL.get(..count).unwrap_or(&[]), raw_per_unit: 1.0 }
    }
}

/// A histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    buckets: Buckets,
    raw_bounds: Vec<i64>,
    counts: Vec<u64>,
    raw_sum: i64,
}

impl Histogram {
    /// An empty histogram.
    pub fn new(buckets: Buckets) -> Self {
        let raw_bounds: Vec<i64> =
            buckets.bounds.iter().map(|bound| (bound * buckets.raw_per_unit).round() as i64).collect();
        Self { buckets, counts: vec![0; raw_bounds.len() + 1], raw_bounds, raw_sum: 0 }
    }

    /// Adds a value in raw units (nanoseconds, tokens).
    pub fn observe(&mut self, raw: i64) {
        // Most values lie in the first buckets: a scan beats a binary search.
        let bucket = self.raw_bounds.iter().position(|bound| raw <= *bound).unwrap_or(self.raw_bounds.len());
        self.counts[bucket] += 1;
        self.raw_sum = self.raw_sum.saturating_add(raw);
    }

    /// Values seen.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Their sum in the stated unit.
    pub fn sum(&self) -> f64 {
        self.raw_sum as f64 / self.buckets.raw_per_unit
    }

    /// Upper bounds with the number of values up to each, `+∞` last.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let bounds = self.buckets.bounds.iter().copied().chain([f64::INFINITY]);
        bounds.zip(self.counts.iter().scan(0, |total, count| {
            *total += count;
            Some(*total)
        }))
    }
}

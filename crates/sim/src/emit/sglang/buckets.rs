//! SGLang's histogram bounds.

use crate::emit::{
    histogram::{Buckets, Histogram},
    stats::Stats,
};

const NANOSECONDS: f64 = 1e9;

const FIRST_TOKEN: Buckets = Buckets {
    bounds: &[0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0],
    raw_per_unit: NANOSECONDS,
};

const TOKEN_GAP: Buckets = Buckets {
    bounds: &[
        0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8,
        1.0, 2.0, 4.0, 6.0, 8.0,
    ],
    raw_per_unit: NANOSECONDS,
};

const WHOLE: Buckets = Buckets {
    bounds: &[
        0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0, 400.0, 600.0,
        1200.0, 1800.0, 2400.0,
    ],
    raw_per_unit: NANOSECONDS,
};

const QUEUE: Buckets = Buckets {
    bounds: &[
        0.0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0,
        60.0, 70.0, 80.0, 90.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0, 900.0, 1000.0, 1200.0, 1400.0,
        1600.0, 1800.0, 2000.0, 2500.0, 3000.0,
    ],
    raw_per_unit: NANOSECONDS,
};

const LENGTH: Buckets = Buckets {
    bounds: &[
        1e2, 3e2, 5e2, 7e2, 1e3, 1.5e3, 2e3, 3e3, 4e3, 5e3, 6e3, 7e3, 8e3, 9e3, 1e4, 1.25e4, 1.5e4, 1.75e4, 2e4,
        2.25e4, 2.5e4, 2.75e4, 3e4, 3.5e4, 4e4, 6e4, 8e4, 1e5, 2e5, 3e5, 4e5, 6e5, 8e5, 1e6, 1.1e6,
    ],
    raw_per_unit: 1.0,
};

/// Gives the histograms of an engine that has not run yet SGLang's bounds.
pub(crate) fn adopt(stats: &mut Stats) {
    stats.ttft = Histogram::new(FIRST_TOKEN);
    stats.itl = Histogram::new(TOKEN_GAP);
    stats.tpot = Histogram::new(TOKEN_GAP);
    stats.e2e = Histogram::new(WHOLE);
    stats.queue = Histogram::new(QUEUE);
    stats.request_prompt_tokens = Histogram::new(LENGTH);
    stats.request_generation_tokens = Histogram::new(LENGTH);
    stats.request_computed_tokens = Histogram::new(LENGTH);
}

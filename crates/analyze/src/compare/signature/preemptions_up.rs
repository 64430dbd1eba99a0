//! Running requests are thrown out of the batch and computed again.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::metric::Metric;

pub(super) static RULE: Rule = Rule {
    name: "preemptions-up",
    means: "preemptions rose: the KV cache is too small for the requests that run",
    leads: &[
        ("S15", "whether the pool shrank, the batch grew, or requests grew longer"),
        ("S16", "whether captured graphs took the memory of the pool"),
        ("S14", "which term of the memory ledger grew"),
    ],
    read,
};

/// Fewer than this a run come and go without a cause.
const A_FEW: f64 = 1.0;

fn read(changes: &Changes<'_>) -> Reading {
    let Some(row) = changes.row(&[(Metric::Preemptions, "total")]) else {
        return Reading::Unknown(vec!["the engine's preemption counter on both sides".into()]);
    };
    let facts = vec![said(row, changes.went(row))];
    let more = Changes::delta(row).is_some_and(|more| more >= A_FEW);
    if more && changes.went(row) == Went::Up { Reading::Present(facts) } else { Reading::Absent(facts) }
}

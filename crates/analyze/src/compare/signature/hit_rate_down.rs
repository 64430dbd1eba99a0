//! The prefix cache answers less.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::metric::Metric;

pub(super) static RULE: Rule = Rule {
    name: "hit-rate-down",
    means: "the prefix-cache hit rate fell: prompts share less, or less of them is kept",
    leads: &[
        ("S01", "whether the template, the tokenizer or the cache's key changed"),
        ("S03", "whether blocks are evicted before they are used again"),
        ("S44", "whether the router spreads a prefix over replicas"),
        ("S04", "whether a burst flushed the cache"),
    ],
    read,
};

fn read(changes: &Changes<'_>) -> Reading {
    let Some(row) = changes.row(&[(Metric::HitRate, "total")]) else {
        return Reading::Unknown(vec!["the engine's prefix-cache counters on both sides".into()]);
    };
    let facts = vec![said(row, changes.went(row))];
    if changes.went(row) == Went::Down { Reading::Present(facts) } else { Reading::Absent(facts) }
}

//! First tokens are late because requests wait for their turn.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::metric::Metric;

pub(super) static RULE: Rule = Rule {
    name: "ttft-up-queue-up",
    means: "TTFT rose and the queue grew: the deployment takes in less than it did",
    leads: &[
        ("S02", "whether the load came near the capacity, or one long request held up the others"),
        ("S15", "whether preemptions took the capacity"),
        ("S29", "whether one replica of several is slow or gone"),
        ("S44", "whether the router fills some replicas more than others"),
        ("S06", "whether one rank's long prompt holds up the others"),
        ("S04", "whether a burst left the scheduler in its slower order"),
    ],
    read,
};

/// What the queue took of the rise in TTFT.
pub(super) enum QueueShare {
    /// TTFT did not rise, or it cannot be told that it did.
    NotUp(String),
    /// It rose, and this share of the rise is the queue's.
    Of(f64, Vec<String>),
    /// It rose, and nothing tells of the queue.
    Unknown,
    /// No TTFT on one side.
    NoTtft,
}

/// Means, because they add up: the mean of TTFT and that of the wait in the engine's queue.
pub(super) fn queue_share(changes: &Changes<'_>) -> QueueShare {
    let Some(ttft) =
        changes.row(&[(Metric::Ttft, "mean"), (Metric::TtftServer, "mean"), (Metric::TtftFromSent, "mean")])
    else {
        return QueueShare::NoTtft;
    };
    let went = changes.went(ttft);
    let rise = Changes::delta(ttft).filter(|delta| went == Went::Up && *delta > 0.0);
    let Some(rise) = rise else { return QueueShare::NotUp(said(ttft, went)) };
    let Some(queue) = changes.row(&[(Metric::QueueTime, "mean")]) else { return QueueShare::Unknown };
    let Some(more) = Changes::delta(queue) else { return QueueShare::Unknown };
    let share = more / rise;
    let split =
        format!("{:.0} % of the {:.1} ms more are the queue's", (share * 100.0).clamp(-999.0, 999.0), rise * 1e3);
    QueueShare::Of(share, vec![said(ttft, went), said(queue, changes.went(queue)), split])
}

/// What would tell the queue.
pub(super) const QUEUE: &str = "the engine's queue times: scrape its /metrics before and after the window";

fn read(changes: &Changes<'_>) -> Reading {
    match queue_share(changes) {
        QueueShare::NoTtft => Reading::Unknown(vec!["TTFT on both sides".into()]),
        QueueShare::NotUp(fact) => Reading::Absent(vec![fact]),
        QueueShare::Unknown => Reading::Unknown(vec![QUEUE.into()]),
        QueueShare::Of(share, facts) if share >= changes.policy.signature_queue_share => Reading::Present(facts),
        QueueShare::Of(_, facts) => Reading::Absent(facts),
    }
}

//! First tokens are late although requests do not wait for their turn.

use super::{
    Reading, Rule,
    changes::Changes,
    ttft_up_queue_up::{QUEUE, QueueShare, queue_share},
};

pub(super) static RULE: Rule = Rule {
    name: "ttft-up-queue-stable",
    means: "TTFT rose with a stable queue: the work of a first token, or the way to it, takes longer",
    leads: &[
        ("S01", "whether prompts, their template or their shared prefix changed"),
        ("S03", "whether the cache holds less of the prompts"),
        ("S22", "whether another backend, graph mode or limit is in force"),
        ("S20", "whether the prefill kernel of a quantised model is slow"),
        ("S23", "whether tokenising or the front end takes the time"),
        ("S13", "whether handing the KV cache over takes the time"),
        ("S05", "whether loading from a KV tier takes longer than computing"),
    ],
    read,
};

fn read(changes: &Changes<'_>) -> Reading {
    match queue_share(changes) {
        QueueShare::NoTtft => Reading::Unknown(vec!["TTFT on both sides".into()]),
        QueueShare::NotUp(fact) => Reading::Absent(vec![fact]),
        QueueShare::Unknown => Reading::Unknown(vec![QUEUE.into()]),
        QueueShare::Of(share, facts) if share < changes.policy.signature_queue_share => Reading::Present(facts),
        QueueShare::Of(_, facts) => Reading::Absent(facts),
    }
}

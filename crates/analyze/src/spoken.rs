//! What users call a symptom in words that its check does not use.

/// Words by the code of the check that is meant by them.
const SPOKEN: &[(&str, &str)] = &[
    ("S01", "template prompt deploy deployment release"),
    ("S02", "queue queued queueing backlog waiting tokenizer tokeniser overloaded saturated"),
    ("S03", "cache hit rate prefix dropped eviction evicted"),
    ("S04", "retry retries storm metastable recover recovers recovery"),
    ("S05", "offload offloading lmcache hicache mooncake tier cpu"),
    ("S06", "dp attention data parallel rank skew imbalance"),
    ("S07", "choppy jerky stutters stuttering stutter uneven"),
    ("S08", "every second seconds minute periodic regularly spikes interval"),
    ("S09", "freeze freezes frozen froze pause pauses mid answer"),
    ("S10", "speculative speculation draft drafts mtp eagle acceptance"),
    ("S11", "json grammar schema guided xgrammar outlines structured tool tools"),
    ("S12", "come lumps clumps chunky bursts bursty batches arrive coalesced"),
    ("S13", "disaggregation disaggregated pd handoff nixl transfer decode pool"),
    ("S14", "cuda start starts startup boot launch crash crashes crashed oom memory won come up load"),
    ("S15", "preempt preempted preemptions kv cache full recompute"),
    ("S16", "cuda graph graphs capture"),
    ("S17", "leak leaks rss grows growing oom memory host"),
    ("S18", "cuda image images multimodal vision video oom memory encoder"),
    ("S19", "hang hangs hung stuck deadlock response nothing back nccl"),
];

/// The words for a check; empty where its own say all.
pub(crate) fn spoken(code: &str) -> &'static str {
    SPOKEN.iter().find(|(of, _)| *of == code).map_or("", |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::SPOKEN;
    use crate::registry::by_code_or_slug;

    #[test]
    fn words_are_those_of_checks() {
        for (code, _) in SPOKEN {
            assert!(by_code_or_slug(code).is_some(), "{code}");
        }
    }
}

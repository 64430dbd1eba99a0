//! Symptoms that have a code and no check yet: whoever asks about one is told so, and not that there is no such thing.

use crate::symptom::{same, words};

/// Codes with what each is about.
pub const PLANNED: [(&str, &str); 25] = [
    ("S20", "weights in FP8 made a replica slower"),
    ("S21", "weights in INT4 are slower than BF16 in large batches"),
    ("S22", "a new engine version is slower with the same flags"),
    ("S23", "the GPU is idle between steps of a small model"),
    ("S24", "each kernel of a step is fast and the step is slow"),
    ("S25", "a kernel reaches half of the memory bandwidth"),
    ("S26", "a kernel is slower on a newer GPU"),
    ("S27", "all-reduce takes a large part of a tensor-parallel step"),
    ("S28", "steps of a mixture of experts are slow: hot experts or communication"),
    ("S29", "one slow replica of several makes the tail of all"),
    ("S30", "answers end early or got worse after a change of engine"),
    ("S31", "answers differ at temperature 0"),
    ("S32", "logits depend on the size of the batch"),
    ("S33", "a quantised model fails retrieval in long contexts"),
    ("S34", "log-probabilities of rollout and trainer disagree"),
    ("S35", "an attention kernel is wrong in low precision at long context"),
    ("S36", "the step after a speculative verification diverges"),
    ("S37", "a seeded request depends on the order of the batch"),
    ("S38", "a kernel fails now and then: a data race"),
    ("S39", "the benchmark shows a gain that production does not"),
    ("S40", "the time to first token fell when the benchmark's load rose"),
    ("S41", "a small gain from one run a side"),
    ("S42", "prefill and decode pools compute prompts twice without a word"),
    ("S43", "more rollout concurrency yields fewer usable samples"),
    ("S44", "a cache-aware router fills some replicas more than others"),
];

/// The planned symptom of that code, or the only one that holds every word of `text` that says something.
pub fn planned(text: &str) -> Option<(&'static str, &'static str)> {
    let text = text.trim();
    if let Some(one) = PLANNED.iter().find(|(code, _)| code.eq_ignore_ascii_case(text)) {
        return Some(*one);
    }
    let asked = words(text);
    let holds = |about: &str| {
        let known = words(about);
        !asked.is_empty() && asked.iter().all(|word| known.iter().any(|other| same(word, other)))
    };
    let mut fits = PLANNED.iter().filter(|(_, about)| holds(about));
    match (fits.next(), fits.next()) {
        (Some(one), None) => Some(*one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::CHECKS;

    #[test]
    fn what_has_a_check_is_not_planned_any_more() {
        for check in CHECKS {
            assert_eq!(planned(check.code), None, "{} has a check", check.code);
        }
    }

    #[test]
    fn words_mean_one_or_none() {
        assert_eq!(planned("s29").map(|(code, _)| code), Some("S29"));
        assert_eq!(planned("slow replica").map(|(code, _)| code), Some("S29"));
        for nothing in ["", "S45", "the", "kernel", "slow replica on the moon"] {
            assert_eq!(planned(nothing), None, "{nothing:?}");
        }
    }
}

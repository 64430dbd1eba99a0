//! Defaults of the engines that are known to have changed from one version to another.

use crate::version::order;
use firstcheck_model::fingerprint::{Fingerprint, field};
use std::{cmp::Ordering, fmt::Write as _};

/// A default that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The engine.
    pub engine: &'static str,
    /// The field, as a fingerprint names it.
    pub field: &'static str,
    /// The default before.
    pub from: &'static str,
    /// The default after.
    pub to: &'static str,
    /// The last version known to have the one before.
    pub after: &'static str,
    /// The first version known to have the one after.
    pub by: &'static str,
    /// What it does.
    pub effect: &'static str,
}

impl Change {
    /// What changed, and between which versions, in words.
    pub fn when(&self) -> String {
        let Self { engine, from, to, after, by, .. } = self;
        format!("the default of {engine} went from {from} to {to} after {after}, at the latest in {by}")
    }

    /// Whether it lies between two versions, in the direction from the first to the second.
    fn lies_between(&self, one: &str, other: &str) -> bool {
        let at_most = |a: &str, b: &str| order(a, b).is_some_and(Ordering::is_le);
        at_most(one, self.after) && at_most(self.by, other)
    }
}

macro_rules! changes {
    ($(($engine:literal, $field:literal, $from:literal => $to:literal, $after:literal .. $by:literal, $effect:literal),)+) => {
        /// All that are known, in the order of the versions.
        pub static CHANGES: &[Change] = &[$(Change {
            engine: $engine, field: $field, from: $from, to: $to, after: $after, by: $by, effect: $effect,
        }),+];
    };
}

changes! {
    ("vllm", "env.VLLM_USE_V1", "0" => "1", "0.7.3" .. "0.8.0", "another scheduler; chunked prefill and prefix caching on, no swapping"),
    ("vllm", "generation_config", "none" => "auto", "0.7.3" .. "0.8.0", "the model's sampling defaults apply: other lengths of answers"),
    ("vllm", "max_num_seqs", "256" => "1024", "0.7.3" .. "0.8.5", "on GPUs of 70 GiB or more: larger batches, a longer ITL, more preemption"),
    ("vllm", "prefix_caching_hash_algo", "builtin" => "sha256", "0.10.0" .. "0.10.2", "more CPU time a block"),
    ("vllm", "env.VLLM_USE_DEEP_GEMM", "false" => "true", "0.10.2" .. "0.11.0", "block-FP8 models use DeepGEMM: compiled at first use, other numerics"),
    ("vllm", "cudagraph_mode", "PIECEWISE" => "FULL_AND_PIECEWISE", "0.10.2" .. "0.11.0", "more graphs: more memory, faster decode"),
    ("vllm", "optimization_level", "none" => "2", "0.11.2" .. "0.12.0", "compilation and graphs come as presets"),
    ("vllm", "async_scheduling", "false" => "true", "0.12.0" .. "0.14.0", "the next step is scheduled before the last has ended"),
    ("vllm", "all2all_backend", "naive" => "allgather_reducescatter", "0.10.2" .. "0.14.0", "another exchange between experts"),
    ("vllm", "gpu_memory_utilization", "0.9" => "0.92", "0.18.0" .. "0.20.0", "more KV cache; out of memory on a GPU that is shared"),
    ("vllm", "env.VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS", "false" => "true", "0.18.0" .. "0.20.0", "memory of graphs is set aside before the KV cache is sized: a smaller pool at the same flags"),
    ("vllm", "swap_space", "4" => "removed", "0.18.0" .. "0.20.0", "the option is an error"),
    ("vllm", "scheduler_reserve_full_isl", "absent" => "true", "0.18.0" .. "0.20.0", "a request is admitted when its whole prompt has KV blocks"),
    ("vllm", "env.VLLM_USE_V2_MODEL_RUNNER", "false" => "auto", "0.20.0" .. "0.23.0", "another model runner"),
    ("vllm", "env.VLLM_USE_FLASHINFER_SAMPLER", "none" => "true", "0.20.0" .. "0.23.0", "another sampling kernel"),
    ("vllm", "max_num_batched_tokens", "8192" => "16384", "0.26.0" .. "0.33.0", "on GPUs of 160 GiB or more: longer prefill steps, a longer tail of ITL, less KV"),
    ("sglang", "schedule_policy", "lpm" => "fcfs", "0.4.3" .. "0.4.6", "a queue is no longer ordered by shared prefixes"),
    ("sglang", "grammar_backend", "outlines" => "none", "0.4.3" .. "0.4.6", "resolved at the start"),
    ("sglang", "kv_block_size", "1" => "none", "0.4.9" .. "0.5.2", "set by the attention backend: reuse of prefixes is rounded to pages"),
    ("sglang", "disable_piecewise_cuda_graph", "true" => "false", "0.5.8" .. "0.5.10", "prefill is captured: a longer start, more memory"),
    ("sglang", "hicache_ratio", "2.0" => "none", "0.5.14" .. "0.5.18", "the host tier is sized by other rules"),
}

/// Both engines and versions, where one engine is on both sides.
fn versions<'a>((base, candidate): (&'a Fingerprint, &'a Fingerprint)) -> Option<(&'a str, &'a str, &'a str)> {
    let engine = base.get(field::ENGINE).filter(|engine| candidate.get(field::ENGINE) == Some(*engine))?;
    Some((engine, base.get(field::ENGINE_VERSION)?, candidate.get(field::ENGINE_VERSION)?))
}

/// The change of a default that two values show: each is the default of its own version.
pub(super) fn seen(
    name: &str,
    base: &str,
    candidate: &str,
    prints: (&Fingerprint, &Fingerprint),
) -> Option<&'static Change> {
    let (engine, old, new) = versions(prints)?;
    let is = |value: &str, default: &str| value.eq_ignore_ascii_case(default);
    CHANGES.iter().filter(|change| change.engine == engine && change.field == name).find(|change| {
        (change.lies_between(old, new) && is(base, change.from) && is(candidate, change.to))
            || (change.lies_between(new, old) && is(base, change.to) && is(candidate, change.from))
    })
}

/// What is known to have changed between the two versions, of fields that not both fingerprints state.
pub(super) fn unseen(base: &Fingerprint, candidate: &Fingerprint) -> Option<String> {
    let (engine, old, new) = versions((base, candidate))?;
    let both = |name: &str| base.field(name).is_some() && candidate.field(name).is_some();
    let changed: Vec<&Change> = CHANGES
        .iter()
        .filter(|change| change.engine == engine && (change.lies_between(old, new) || change.lies_between(new, old)))
        .filter(|change| !both(change.field))
        .collect();
    let mut text =
        format!("defaults of {engine} that changed between {old} and {new}, and that not both sides state: ");
    for (at, change) in changes_in_words(&changed).enumerate() {
        let _ = write!(text, "{}{change}", if at == 0 { "" } else { "; " });
    }
    (!changed.is_empty()).then_some(text)
}

fn changes_in_words<'a>(changes: &'a [&Change]) -> impl Iterator<Item = String> + 'a {
    changes.iter().map(|change| format!("{} {} → {} ({})", change.field, change.from, change.to, change.effect))
}

/// All known changes as Markdown.
pub fn page() -> String {
    let mut page = String::from(
        "| engine | field | default | after | at the latest in | what it does |\n|---|---|---|---|---|---|\n",
    );
    for Change { engine, field, from, to, after, by, effect } in CHANGES {
        let _ = writeln!(page, "| {engine} | `{field}` | {from} → {to} | {after} | {by} | {effect} |");
    }
    page
}

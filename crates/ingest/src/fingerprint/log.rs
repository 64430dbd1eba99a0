//! From an engine's log: what was given, what was resolved, which kernels were chosen, what the KV cache holds.

use super::{
    names::{group_of, is_of_instance, setting_name},
    redact::{Place, state},
};
use firstcheck_model::{
    engine_log::{ChoiceOf, EngineLog, Setting, Term},
    fingerprint::{Fingerprint, Group, field},
};

/// What a log states of the deployment, each field with its line.
pub fn from_log(log: &EngineLog, from: &str, into: &mut Fingerprint) {
    let place = |line| Place { from, line };
    if let Some(engine) = &log.engine {
        state(into, Group::Engine, field::ENGINE, engine, place(None));
    }
    if let Some(version) = &log.version {
        state(into, Group::Engine, field::ENGINE_VERSION, version, place(None));
    }
    for setting in named(&log.given) {
        let name = format!("{}{}", field::GIVEN, setting_name(&setting.name));
        state(into, Group::Given, &name, &setting.value, place(Some(setting.line)));
    }
    for setting in named(&log.resolved) {
        let name = setting_name(&setting.name);
        state(into, group_of(&name), &name, &setting.value, place(Some(setting.line)));
    }
    unresolved(log, from, into);
    kv(log, from, into);
    memory(log, from, into);
    choices(log, from, into);
    if let Some(event) = log.events.iter().rfind(|event| event.kind == "profiler") {
        let on = if event.text.contains("stop") { "stopped" } else { "started" };
        state(into, Group::Resolved, field::PROFILER, on, place(Some(event.line)));
    }
}

/// Settings of the set-up, not of the instance.
fn named(settings: &[Setting]) -> impl Iterator<Item = &Setting> {
    settings.iter().filter(|setting| !is_of_instance(&setting.name))
}

/// What was given counts as resolved where the log does not print what became of it: vLLM's log leaves out the limits of
/// its scheduler.
fn unresolved(log: &EngineLog, from: &str, into: &mut Fingerprint) {
    for setting in named(&log.given) {
        let name = setting_name(&setting.name);
        let telling = matches!(
            name.as_str(),
            field::MAX_NUM_SEQS
                | field::MAX_NUM_BATCHED_TOKENS
                | field::GPU_MEMORY_UTILIZATION
                | field::KV_BLOCKS
                | field::KV_BLOCK_SIZE
        );
        if telling && into.field(&name).is_none() {
            state(into, Group::Resolved, &name, &setting.value, Place { from, line: Some(setting.line) });
        }
    }
}

fn kv(log: &EngineLog, from: &str, into: &mut Fingerprint) {
    let place = Place { from, line: log.kv.line };
    if let Some(tokens) = log.kv.tokens {
        state(into, Group::Resolved, field::KV_TOKENS, &tokens.to_string(), place);
    }
    if let Some(blocks) = log.kv.blocks {
        state(into, Group::Resolved, field::KV_BLOCKS, &blocks.to_string(), place);
    }
    if let Some(concurrency) = log.kv.concurrency {
        state(into, Group::Resolved, "kv_concurrency", &concurrency.to_string(), place);
    }
}

/// Terms of the memory ledger that do not hang on the moment.
fn memory(log: &EngineLog, from: &str, into: &mut Fingerprint) {
    const TERMS: [(Term, &str); 4] = [
        (Term::Weights, "memory.weights_bytes"),
        (Term::KvCache, "memory.kv_cache_bytes"),
        (Term::ActivationPeak, "memory.activation_peak_bytes"),
        (Term::GraphsActual, "memory.graphs_bytes"),
    ];
    for (term, name) in TERMS {
        if let Some(stated) = log.memory.iter().find(|stated| stated.term == term) {
            let value = format!("{:.0}", stated.bytes.0);
            state(into, Group::Resolved, name, &value, Place { from, line: Some(stated.line) });
        }
    }
}

fn choices(log: &EngineLog, from: &str, into: &mut Fingerprint) {
    for choice in &log.choices {
        let (group, name) = match choice.of {
            ChoiceOf::Attention => (Group::Resolved, "attention_backend"),
            ChoiceOf::Moe => (Group::Resolved, "moe_backend"),
            ChoiceOf::Linear => (Group::Resolved, "linear_backend"),
            ChoiceOf::Sampler => (Group::Resolved, "sampling_backend"),
            ChoiceOf::AllReduce => (Group::Resolved, "all_reduce"),
            ChoiceOf::AllToAll => (Group::Resolved, "all2all_backend"),
            ChoiceOf::Graphs => (Group::Resolved, "cudagraph_mode"),
            ChoiceOf::Platform => (Group::Hardware, "platform"),
            ChoiceOf::Nccl => (Group::Software, "nccl_version"),
            ChoiceOf::KvConnector => (Group::Resolved, "kv_connector"),
        };
        state(into, group, name, &choice.value, Place { from, line: Some(choice.line) });
    }
}

//! Rules over what the two deployments are, where that makes their figures mean different things.

use super::{Found, Judge, Rule, Two};
use firstcheck_model::fingerprint::{Fingerprint, Group, field};

pub(super) static HARDWARE: Rule = Rule {
    name: "hardware",
    finds: "notes: another machine; warns: and other changes with it",
    mend: "measure both sides on one machine, or change one thing at a time",
    judge: Judge::Two(hardware),
};

pub(super) static TOKENIZER: Rule = Rule {
    name: "tokenizer",
    finds: "blocks: another tokenizer",
    mend: "serve both sides with one tokenizer, or compare requests and characters, which it does not change",
    judge: Judge::Two(tokenizer),
};

pub(super) static MODEL: Rule = Rule {
    name: "model",
    finds: "notes: other weights, another name or chat template",
    mend: "serve the same weights and chat template on both sides, unless they are what is in question",
    judge: Judge::Two(model),
};

pub(super) static PROFILER: Rule = Rule {
    name: "profiler",
    finds: "blocks: a profiler was on for one side alone; warns: for both, or one side traces itself in more detail",
    mend: "measure without a profiler and detailed tracing; profile in a run of its own",
    judge: Judge::Two(profiler),
};

/// Fields that tell one machine from another. What moves by itself (a clock at one moment, a temperature) is not among
/// them.
const MACHINE: [&str; 6] =
    [field::GPU_MODEL, field::GPU_COUNT, "gpu_memory", "gpu_mig", "gpu_power_limit_watts", "cpu_model"];

/// Settings by which an engine watches itself at a price.
const WATCHING: [&str; 3] = [
    "observability_config.enable_layerwise_nvtx_tracing",
    "observability_config.collect_detailed_traces",
    "enable_layerwise_nvtx_marker",
];

fn prints<'a>(two: &Two<'a>) -> (&'a Fingerprint, &'a Fingerprint) {
    (&two.base.0.info.fingerprint, &two.candidate.0.info.fingerprint)
}

/// Those of `names` that both state differently, in words.
fn differing(two: &Two<'_>, names: &[&str]) -> Vec<String> {
    let (base, candidate) = prints(two);
    let differing = base.differences(candidate).filter(|(name, ..)| names.contains(name));
    differing.map(|(name, b, c)| format!("{name} {} and {}", b.stated.value, c.stated.value)).collect()
}

/// Other hardware is a fair question by itself; together with another change the two cannot be told apart.
fn hardware(two: &Two<'_>) -> Vec<Found> {
    let machine = differing(two, &MACHINE);
    if machine.is_empty() {
        return Vec::new();
    }
    let (base, candidate) = prints(two);
    let others = base
        .differences(candidate)
        .filter(|(_, field, _)| matches!(field.group, Group::Engine | Group::Model | Group::Given | Group::Software));
    let others: Vec<&str> = others.map(|(name, ..)| name).collect();
    let machine = machine.join(", ");
    vec![match &others[..] {
        [] => Found::notes(format!("other hardware: {machine}")),
        [one] => Found::warns(format!("other hardware ({machine}) and another {one}: two changes at once")),
        [first, rest @ ..] => Found::warns(format!(
            "other hardware ({machine}), another {first} and {} other changes at once",
            rest.len()
        )),
    }]
}

/// A token of one tokenizer is none of another: nothing a token may be compared.
fn tokenizer(two: &Two<'_>) -> Vec<Found> {
    let other = differing(two, &[field::TOKENIZER_HASH]);
    other.into_iter().map(|said| Found::blocks(format!("another tokenizer: {said}: their tokens differ"))).collect()
}

fn model(two: &Two<'_>) -> Vec<Found> {
    let names = [field::MODEL, field::WEIGHTS_HASH, field::WEIGHTS_LAYOUT, field::CHAT_TEMPLATE_HASH];
    let other = differing(two, &names);
    if other.is_empty() { Vec::new() } else { vec![Found::notes(format!("another model: {}", other.join(", ")))] }
}

fn profiler(two: &Two<'_>) -> Vec<Found> {
    let on = |print: &Fingerprint| print.get(field::PROFILER) == Some("started");
    let (base, candidate) = prints(two);
    let mut found = Vec::new();
    match (on(base), on(candidate)) {
        (true, true) => {
            found.push(Found::warns("a profiler was on in both runs: their times are not those of use".into()))
        }
        (true, false) => found.push(Found::blocks("a profiler was on for base alone".into())),
        (false, true) => found.push(Found::blocks("a profiler was on for the candidate alone".into())),
        (false, false) => {}
    }
    let watching = differing(two, &WATCHING);
    if !watching.is_empty() {
        found.push(Found::warns(format!("one side watches itself in more detail: {}", watching.join(", "))));
    }
    found
}

//! Files of a model's folder as formats.

use crate::{
    Error,
    fingerprint::{
        self, Shard, from_adapter_config, from_chat_template, from_generation_config, from_model_config,
        from_tokenizer, from_tokenizer_config,
    },
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Piece, Reading},
};
use firstcheck_model::fingerprint::Fingerprint;
use std::io::Read as _;
use xxhash_rust::xxh3::Xxh3;

/// Largest header of a file of weights that is held, bytes: that of a model of 100,000 tensors is some 15 MB.
const LARGEST_HEADER: u64 = 1 << 26;

/// Bytes that are hashed at a time.
const CHUNK: usize = 1 << 18;

macro_rules! json_format {
    ($name:ident, $id:literal, $words:literal, $takes:literal, $recognise:expr, $read:expr) => {
        pub(crate) static $name: Format = Format {
            id: $id,
            group: Group::Model,
            name: $words,
            versions: "Hugging Face",
            takes: $takes,
            recognise: $recognise,
            action: Action::Read(|artefact, intake| take(artefact, intake, $name.name, $read)),
        };
    };
}

json_format!(
    CONFIG,
    "model-config",
    "config.json of a model",
    "shape, data type, quantisation",
    |head| Confidence::certain_if(head.object(&["architectures", "model_type"]).is_some()),
    from_model_config
);
json_format!(
    GENERATION,
    "generation-config",
    "generation_config.json of a model",
    "defaults of sampling",
    |head| {
        let first = head.object(&["transformers_version"])?;
        Confidence::certain_if(first.get("model_type").is_none() && first.has(&["eos_token_id"]))
    },
    from_generation_config
);
json_format!(
    TOKENIZER,
    "tokenizer",
    "tokenizer.json of a model",
    "a hash of vocabulary and rules",
    |head| Confidence::certain_if(head.object(&["version", "truncation", "padding"]).is_some()),
    from_tokenizer
);
json_format!(
    TOKENIZER_CONFIG,
    "tokenizer-config",
    "tokenizer_config.json of a model",
    "its class, a hash of the chat template",
    |head| Confidence::certain_if(head.object(&["tokenizer_class"]).is_some()),
    from_tokenizer_config
);
json_format!(
    ADAPTER,
    "lora-adapter",
    "adapter_config.json of a LoRA adapter",
    "rank, scale, modules, base model",
    |head| Confidence::certain_if(head.object(&["peft_type"]).is_some()),
    from_adapter_config
);

pub(crate) static CHAT_TEMPLATE: Format = Format {
    id: "chat-template",
    group: Group::Model,
    name: "chat template (Jinja)",
    versions: "Hugging Face",
    takes: "its hash",
    recognise: |head: &Head<'_>| {
        let says = |part: &[u8]| memchr::memmem::find(head.start(), part).is_some();
        (says(b"{%") && says(b"messages") && head.json().is_none()).then_some(Confidence::Likely)
    },
    action: Action::Read(|artefact, intake| take(artefact, intake, CHAT_TEMPLATE.name, from_chat_template)),
};

pub(crate) static WEIGHTS: Format = Format {
    id: "weights",
    group: Group::Model,
    name: "weights of a model (safetensors)",
    versions: "with PyTorch's mark, as models are published",
    takes: "a hash of the layout of all tensors and the files' sizes; of every byte with `fingerprint --hash-weights`",
    recognise: |head| {
        let (length, rest) = head.bytes().split_first_chunk::<8>()?;
        let marked = memchr::memmem::find(&rest[..rest.len().min(256)], b"\"format\":\"pt\"").is_some();
        Confidence::certain_if(u64::from_le_bytes(*length) <= LARGEST_HEADER && rest.starts_with(b"{") && marked)
    },
    action: Action::Read(weights),
};

fn take(
    artefact: &mut Artefact<'_>,
    intake: &mut Intake,
    format: &'static str,
    read: fn(&[u8], &str, &mut Fingerprint) -> bool,
) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let from = artefact.path().display().to_string();
    let mut stated = Fingerprint::default();
    if !read(&bytes, &from, &mut stated) {
        return Err(Error::malformed(artefact.path(), None, format, "it is no object in JSON"));
    }
    let reading = Reading { rows: stated.len() as u64, unit: "settings", ..Reading::default() };
    intake.give(stated);
    Ok(reading)
}

/// The header of a file of weights: names, types, shapes and places of its tensors. What follows is read on request.
fn weights(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let malformed = |artefact: &Artefact<'_>, why| Err(Error::malformed(artefact.path(), None, WEIGHTS.name, why));
    artefact.hold(8);
    let Some(length) = artefact.head().bytes().first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes)) else {
        return malformed(artefact, "it is cut within its first bytes");
    };
    let whole = usize::try_from(length.min(LARGEST_HEADER)).unwrap_or(usize::MAX).saturating_add(8);
    artefact.hold(whole);
    let held = artefact.head();
    let Some(header) = held.bytes().get(8..whole) else { return malformed(artefact, "it is cut within its header") };
    let Some((tensors, bytes)) = layout(header) else { return malformed(artefact, "its header is no list of tensors") };
    let layout = xxhash_rust::xxh3::xxh3_64(header);
    let content = if intake.limits().whole_weights { Some(content(artefact)?) } else { None };
    let name = artefact.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    intake.give(Piece::Weights(Shard { name, bytes: (whole as u64).saturating_add(bytes), layout, content }));
    Ok(Reading { rows: tensors, unit: "tensors", ..Reading::default() })
}

/// How many tensors a header names, and the bytes that they take.
fn layout(header: &[u8]) -> Option<(u64, u64)> {
    let tensors: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let of_tensors = tensors.iter().filter(|(name, _)| *name != "__metadata__");
    let ends = of_tensors.map(|(_, about)| about.get("data_offsets")?.get(1)?.as_u64());
    let ends: Option<Vec<u64>> = ends.collect();
    let ends = ends?;
    Some((ends.len() as u64, ends.into_iter().max().unwrap_or(0)))
}

/// A hash of everything that was not yet taken.
fn content(artefact: &mut Artefact<'_>) -> Result<u64, Error> {
    let (mut hash, mut chunk) = (Xxh3::new(), vec![0; CHUNK]);
    loop {
        match artefact.read(&mut chunk) {
            Ok(0) => return Ok(hash.digest()),
            Ok(read) => hash.update(&chunk[..read]),
            Err(error) => return Err(Error::io(artefact.path(), error)),
        }
    }
}

/// The fields of all files of weights in one folder.
pub(crate) fn together(shards: &[Shard], from: &str) -> Fingerprint {
    let mut stated = Fingerprint::default();
    fingerprint::from_weights(shards, from, &mut stated);
    stated
}

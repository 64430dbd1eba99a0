//! Answers of an engine's endpoints, saved to a file: what the deployment states of itself.

use crate::{
    Error, fingerprint,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
    json::Outline,
};
use firstcheck_model::fingerprint::{Fingerprint, field};

pub(crate) static VERSION: Format = Format {
    id: "version",
    group: Group::Answers,
    name: "answer of /version",
    versions: "vLLM",
    takes: "the engine's version",
    recognise: |head| {
        let first = head.object(&["version"])?;
        Confidence::certain_if(matches!(first, Outline::Object(fields) if fields.len() == 1) && head.whole())
    },
    action: Action::Read(|artefact, intake| take(artefact, intake, VERSION.name, fingerprint::from_version)),
};

pub(crate) static MODELS: Format = Format {
    id: "models",
    group: Group::Answers,
    name: "answer of /v1/models",
    versions: "OpenAI-compatible servers",
    takes: "the model served and its longest sequence",
    recognise: |head| {
        let first = head.object(&["object", "data"])?;
        let model = first.get("data").and_then(Outline::first);
        let is_list = first.get("object") == Some(&Outline::Text("list".into()));
        Confidence::certain_if(is_list && model.is_some_and(|model| model.has(&["id"])))
    },
    action: Action::Read(|artefact, intake| take(artefact, intake, MODELS.name, fingerprint::from_models)),
};

pub(crate) static SERVER_INFO: Format = Format {
    id: "server-info",
    group: Group::Answers,
    name: "answer of /server_info",
    versions: "vLLM (JSON and text), SGLang",
    takes: "the resolved settings, secrets left out",
    recognise: |head: &Head<'_>| {
        let vllm = head.object(&["vllm_config"]).is_some();
        Confidence::certain_if(vllm || head.object(&["model_path", "tp_size"]).is_some())
    },
    action: Action::Read(|artefact, intake| take(artefact, intake, SERVER_INFO.name, fingerprint::from_server_info)),
};

fn take(
    artefact: &mut Artefact<'_>,
    intake: &mut Intake,
    format: &'static str,
    read: fn(&[u8], &str, &mut Fingerprint) -> bool,
) -> Result<Reading, Error> {
    let json = artefact.all(intake.limits())?;
    let from = artefact.path().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let mut stated = Fingerprint::default();
    if !read(&json, &from, &mut stated) {
        return Err(Error::malformed(artefact.path(), None, format, "none of the fields that such an answer has"));
    }
    let reading = Reading {
        rows: stated.len() as u64,
        unit: "settings",
        engine: stated.get(field::ENGINE).map(str::to_owned),
        version: stated.get(field::ENGINE_VERSION).map(str::to_owned),
        ..Reading::default()
    };
    intake.give(stated);
    Ok(reading)
}

//! What a capture says of itself, and the facts that it noted of processes and hosts.

use crate::{
    Error,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
};
use firstcheck_model::capture::{Manifest, SCHEMA};
use serde_json::Value;

pub(crate) static MANIFEST: Format = Format {
    id: "capture",
    group: Group::Other,
    name: "manifest of a capture",
    versions: SCHEMA,
    takes: "when it was taken, and what it could not get",
    recognise: |head| states(head, |schema| schema == SCHEMA),
    action: Action::Read(manifest),
};

pub(crate) static FACTS: Format = Format {
    id: "capture-facts",
    group: Group::Host,
    name: "facts of a process or host, of a capture",
    versions: "firstcheck.capture.process/1, firstcheck.capture.host/1",
    takes: "nothing yet: command line, environment, load and pressure are there for people",
    recognise: |head| states(head, |schema| schema.starts_with("firstcheck.capture.") && schema != SCHEMA),
    action: Action::Read(facts),
};

/// Whether the first object names a schema.
fn states(head: &Head<'_>, is: impl Fn(&str) -> bool) -> Option<Confidence> {
    let object = head.object(&["schema"])?;
    Confidence::certain_if(matches!(object.get("schema"), Some(crate::json::Outline::Text(schema)) if is(schema)))
}

fn manifest(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|error| Error::json(artefact.path(), MANIFEST.name, &error))?;
    let notes = manifest.gaps().map(|(item, why)| format!("not captured: {item}: {why}")).collect();
    Ok(Reading { rows: manifest.items.len() as u64, unit: "items", notes, ..Reading::default() })
}

fn facts(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let facts: serde_json::Map<String, Value> =
        serde_json::from_slice(&bytes).map_err(|error| Error::json(artefact.path(), FACTS.name, &error))?;
    Ok(Reading { rows: facts.len() as u64, unit: "facts", ..Reading::default() })
}

//! Lists of software as formats: Python packages, and what collect_env says of a host.

use crate::{
    Error,
    fingerprint::{from_collect_env, from_packages, package},
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
};
use firstcheck_model::fingerprint::{Fingerprint, field};

/// Lines of a list that are looked at to tell it.
const LOOKED_AT: usize = 40;

pub(crate) static PACKAGES: Format = Format {
    id: "python-packages",
    group: Group::Host,
    name: "list of Python packages",
    versions: "pip freeze, pip list, uv pip freeze",
    takes: "versions of the engine, PyTorch, NCCL, kernel libraries and every other package",
    recognise: |head| Confidence::certain_if(is_list(head)),
    action: Action::Read(|artefact, intake| take(artefact, intake, from_packages, "packages")),
};

pub(crate) static COLLECT_ENV: Format = Format {
    id: "collect-env",
    group: Group::Host,
    name: "output of collect_env",
    versions: "PyTorch, vLLM",
    takes: "versions of PyTorch, CUDA, cuDNN, driver and libraries, GPU and CPU model, environment variables, secrets left out",
    recognise: |head| {
        let text = String::from_utf8_lossy(head.start());
        Confidence::certain_if(text.contains("PyTorch version") && text.contains("CUDA used to build PyTorch"))
    },
    action: Action::Read(|artefact, intake| take(artefact, intake, from_collect_env, "settings")),
};

/// A list of requirements, of which all lines name a package with its version, or the table of `pip list`.
fn is_list(head: &Head<'_>) -> bool {
    let lines = head.lines().filter_map(|line| std::str::from_utf8(line).ok()).map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['#', '-'])).take(LOOKED_AT).peekable();
    if lines.peek().is_some_and(|first| first.split_whitespace().eq(["Package", "Version"])) {
        return true;
    }
    let (mut all, mut pinned) = (0, 0);
    for line in lines {
        all += 1;
        let pins = line.contains("==") || line.contains(" @ ");
        pinned += usize::from(pins && package(line).is_some());
    }
    all >= 3 && pinned == all
}

fn take(
    artefact: &mut Artefact<'_>,
    intake: &mut Intake,
    read: fn(&str, &str, &mut Fingerprint) -> usize,
    unit: &'static str,
) -> Result<Reading, Error> {
    let bytes = artefact.all(intake.limits())?;
    let from = artefact.path().display().to_string();
    let mut stated = Fingerprint::default();
    let rows = read(&String::from_utf8_lossy(&bytes), &from, &mut stated);
    let reading = Reading {
        rows: rows as u64,
        unit,
        engine: stated.get(field::ENGINE).map(str::to_owned),
        version: stated.get(field::ENGINE_VERSION).map(str::to_owned),
        ..Reading::default()
    };
    intake.give(stated);
    Ok(reading)
}

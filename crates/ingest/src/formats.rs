//! The registry: every format that is known, and how an artefact finds its own.

use crate::{
    Error, answers, beside, capture,
    frame::{Action, Artefact, Confidence, Format, Head, Reading},
    guarded::{caught, guarded},
    hang, host, log, model_folder, otlp, prometheus, prompts, results,
    unpack::Unpack,
};
use firstcheck_model::{moment::Moment, report::ReadRow};
use std::{fmt::Write as _, sync::LazyLock};

/// Formats that are read. Of two that are as sure, the first wins.
static READ: &[&Format] = &[
    &results::vllm::FORMAT,
    &results::sglang::FORMAT,
    &results::aiperf::RECORDS,
    &results::aiperf::SUMMARY,
    &results::guidellm::FORMAT,
    &results::inference_perf::FORMAT,
    &results::answers::FORMAT,
    &prometheus::FORMAT,
    &prometheus::API,
    &answers::VERSION,
    &answers::MODELS,
    &answers::SERVER_INFO,
    &log::format::FORMAT,
    &hang::format::PY_SPY,
    &hang::format::GDB,
    &hang::format::FLIGHT_RECORD,
    &hang::format::NCCL_LOG,
    &host::format::NVIDIA_SMI,
    &host::format::TOPOLOGY,
    &host::format::SMAPS,
    &host::software::PACKAGES,
    &host::software::COLLECT_ENV,
    &model_folder::CONFIG,
    &model_folder::GENERATION,
    &model_folder::TOKENIZER,
    &model_folder::TOKENIZER_CONFIG,
    &model_folder::ADAPTER,
    &model_folder::CHAT_TEMPLATE,
    &model_folder::WEIGHTS,
    &otlp::format::JSON,
    &otlp::format::PROTOBUF,
    &prompts::FORMAT,
    &capture::MANIFEST,
    &capture::FACTS,
];

/// All formats: those that are read, and those that are known and read elsewhere or not at all.
pub static FORMATS: LazyLock<Vec<&'static Format>> =
    LazyLock::new(|| READ.iter().copied().chain(beside::FORMATS.iter()).collect());

/// The format of an artefact that begins like this, with how sure it is.
pub(crate) fn recognise(head: &Head<'_>) -> Option<(&'static Format, Confidence)> {
    let mut best: Option<(&'static Format, Confidence)> = None;
    for format in FORMATS.iter() {
        if let Some(confidence) = (format.recognise)(head)
            && best.is_none_or(|(_, sure)| confidence > sure)
        {
            best = Some((format, confidence));
        }
    }
    best
}

/// The format of an artefact. JSON that its start does not settle is looked at as a whole.
pub(crate) fn format_of(artefact: &mut Artefact<'_>, most: u64) -> Option<&'static Format> {
    let found = recognise(&artefact.head());
    let sure = matches!(found, Some((_, Confidence::Certain)));
    let unsettled = !sure && !artefact.head().whole() && artefact.head().json().is_some();
    if !unsettled {
        return found.map(|(format, _)| format);
    }
    artefact.hold(usize::try_from(most).unwrap_or(usize::MAX).saturating_add(1));
    recognise(&artefact.head()).map(|(format, _)| format)
}

/// Gives an artefact to its format; what it could not be read for is listed.
pub(crate) fn take(artefact: &mut Artefact<'_>, unpack: &mut Unpack<'_>) {
    let intake = &mut *unpack.intake;
    let (path, folder) = (artefact.path().to_owned(), artefact.folder().to_owned());
    intake.begin(&path, &folder);
    let limits = *intake.limits();
    let format = match caught(|| format_of(artefact, limits.file_bytes)) {
        Ok(format) => format,
        Err(reason) => return unpack.refuse(&path, &folder, reason),
    };
    match format {
        Some(format) if !(unpack.wanted)(format) => {}
        Some(format) => match format.action {
            Action::Read(read) => match guarded(&path, format.name, || read(artefact, intake)) {
                Ok(reading) => intake.read.push(row(&path.display().to_string(), format, reading)),
                Err(error) => intake.failed(error),
            },
            Action::Later(place) => intake.unread(None, format!("{}: {place}", format.name)),
            Action::OutOfScope(why) => intake.unread(None, format!("{}: {why}", format.name)),
        },
        None => {
            if let Some((line, reason)) = unknown(artefact)
                && (unpack.lists_all || line.is_some())
            {
                intake.unread(line, reason);
            }
        }
    }
    intake.end();
}

/// Why an artefact has no format, in words, with the line where JSON ends that should go on.
fn unknown(artefact: &Artefact<'_>) -> Option<(Option<u64>, String)> {
    let head = artefact.head();
    if let Some(reason) = artefact.broken() {
        return Some((Some(1), format!("breaks off before it could be told what it is: {reason}")));
    }
    if artefact.is_empty() {
        return Some((None, "empty".into()));
    }
    if matches!(head.bytes(), [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..]) {
        return Some((Some(1), "it is written in UTF-32: save it as UTF-8".into()));
    }
    if let Some(outline) = head.json() {
        let whole = serde_json::Deserializer::from_slice(&crate::json::lenient(head.bytes()))
            .into_iter::<serde::de::IgnoredAny>()
            .next();
        if let (true, Some(Err(error))) = (head.whole(), whole) {
            let error = Error::json(artefact.path(), "JSON", &error);
            return Some((error.line(), error.reason()));
        }
        let keys = outline.first().map(crate::json::Outline::keys).unwrap_or_default();
        return Some((None, format!("JSON of no known format (keys: {})", crate::json::clip(&keys.join(", "), 80))));
    }
    let text = std::str::from_utf8(head.bytes()).map_or_else(|e| e.error_len().is_none(), |_| true);
    let what = if text && !head.bytes().contains(&0) { "text" } else { "binary data" };
    Some((None, format!("{what} of no known format")))
}

/// An artefact as a report lists it.
fn row(path: &str, format: &Format, reading: Reading) -> ReadRow {
    let started = reading.clock.and_then(|clock| clock.started_unix_ns);
    let unix = |moment: Moment| Some((started? as f64 + moment.get()? as f64) * 1e-9);
    ReadRow {
        path: path.into(),
        format: format.id.into(),
        what: format.name.into(),
        rows: reading.rows,
        unit: reading.unit.into(),
        from_unix_s: reading.window.and_then(|window| unix(window.start)),
        to_unix_s: reading.window.and_then(|window| unix(window.end)),
        // A single page speaks of one moment.
        length_s: reading
            .window
            .and_then(|window| window.length())
            .map(|length| length.0)
            .filter(|length| *length > 0.0),
        engine: reading.engine,
        version: reading.version,
        replicas: reading.replicas.into_iter().collect(),
        notes: reading.notes,
    }
}

/// The registry as a page: what is read, of which versions, and what is taken.
pub fn page() -> String {
    let mut text = String::from(
        "# Formats\n\nWhat a file is, firstcheck tells by its content. Each may be compressed (gzip, zstd, xz), lie in \
         a tar or zip archive, stand behind the head of an HTTP answer, be written in UTF-16, or come on standard \
         input. The folder of a run may be packed into an archive.\n",
    );
    let mut formats: Vec<&Format> = FORMATS.clone();
    formats.sort_by_key(|format| format.group);
    let mut group = None;
    for format in formats {
        if group != Some(format.group) {
            group = Some(format.group);
            let _ =
                write!(text, "\n## {}\n\n| format | versions | what is taken |\n|---|---|---|\n", format.group.name());
        }
        let takes = match format.action {
            Action::Read(_) => format.takes.to_owned(),
            Action::Later(why) | Action::OutOfScope(why) => format!("nothing: {why}"),
        };
        let versions = if format.versions.is_empty() { "any" } else { format.versions };
        let _ = writeln!(text, "| {} | {versions} | {takes} |", format.name);
    }
    text
}

/// What bytes are, by themselves and not unpacked.
pub fn detect_bytes(bytes: &[u8]) -> Option<&'static Format> {
    recognise(&Head::new(bytes, true)).map(|(format, _)| format)
}

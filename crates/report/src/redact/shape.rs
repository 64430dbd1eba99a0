//! What looks like an address, a path, a user or a text of a request.

use super::{
    REMOVED,
    names::{Kind, Names},
};

/// Labels of a series that name nothing of a user's.
const HARMLESS_LABELS: [&str; 14] = [
    "le",
    "quantile",
    "engine",
    "finished_reason",
    "status",
    "stage",
    "rank",
    "tp_rank",
    "dp_rank",
    "pp_rank",
    "type",
    "reason",
    "method",
    "code",
];
/// Words with a stroke that are no paths.
const STROKES: [&str; 8] =
    ["and/or", "I/O", "n/a", "N/A", "input/output", "tokens/request", "ms/token", "base/candidate"];
/// Files that this program writes, or that stand for any such file in its advice.
const OWN_FILES: [&str; 10] = [
    "run.json",
    "firstcheck.toml",
    "requests.parquet",
    "events.parquet",
    "signals.parquet",
    "spans.parquet",
    "server.log",
    "engine.log",
    "gpus.xml",
    "report.html",
];
/// Endings of files that artefacts have.
const ENDINGS: [&str; 28] = [
    "json",
    "jsonl",
    "log",
    "txt",
    "xml",
    "toml",
    "yaml",
    "yml",
    "csv",
    "tsv",
    "parquet",
    "zst",
    "gz",
    "xz",
    "zip",
    "tar",
    "tgz",
    "prom",
    "html",
    "md",
    "py",
    "sh",
    "pt",
    "safetensors",
    "gguf",
    "sqlite",
    "pb",
    "out",
];
/// Last parts of host names.
const DOMAINS: [&str; 22] = [
    "com", "net", "org", "io", "ai", "dev", "cloud", "local", "internal", "lan", "corp", "svc", "de", "eu", "uk", "fr",
    "cn", "jp", "in", "ru", "us", "edu",
];
/// Quoted words up to which a quote is a name and no text.
const LONGEST_QUOTE: usize = 3;

/// The kind of name that a fingerprint's field holds; `None` where it names nothing.
pub(super) fn kind_of_field(field: &str) -> Option<Kind> {
    let has = |words: &[&str]| words.iter().any(|word| field.contains(word));
    if has(&["hash", "_len", "layout", "bytes", "gpu_model", "model_len", "hostname_hash"]) {
        return None;
    }
    if has(&["model", "lora", "adapter", "served", "tokenizer", "draft"]) {
        return Some(Kind::Model);
    }
    let names =
        ["host", "node", "pod", "user", "url", "addr", "endpoint", "namespace", "cluster", "container", "image"];
    if has(&names) {
        return Some(Kind::Host);
    }
    has(&["path", "root", "dir", "file", "template", "command", "home"]).then_some(Kind::File)
}

/// The kind of name that a label holds.
pub(super) fn kind_of_label(label: &str) -> Kind {
    match label {
        _ if label.contains("model") => Kind::Model,
        "user" | "tenant" | "customer" | "api_key" => Kind::User,
        _ => Kind::Host,
    }
}

/// Names and values of a page's labels that may name something of a user's.
pub(super) fn labels(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = text.trim_matches(['{', '}']).split("\",");
    let pairs = pairs.filter_map(|pair| {
        let (name, value) = pair.split_once("=\"")?;
        Some((name.trim(), value.trim_end_matches('"')))
    });
    pairs.filter(|(name, _)| !HARMLESS_LABELS.contains(name))
}

/// Whether it is a path of a server and none of a machine.
pub(super) fn is_endpoint(text: &str) -> bool {
    let known = ["/metrics", "/version", "/health", "/server_info", "/get_server_info", "/get_model_info", "/props"];
    known.contains(&text) || text.starts_with("/v1/")
}

/// A file without the line that follows its name.
pub(super) fn without_line(text: &str) -> &str {
    match text.rsplit_once(':') {
        Some((file, line)) if !line.is_empty() && line.chars().all(|c| c.is_ascii_digit() || c == '–') => file,
        _ => text,
    }
}

/// Hosts of the addresses in a text.
pub(super) fn hosts(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).filter_map(|rest| {
        let authority = rest.split(|c: char| ends(c) || c == '/').next()?;
        let host = authority.rsplit('@').next()?;
        let host = host.split(':').next().unwrap_or(host);
        (host.contains(|c: char| c.is_ascii_alphabetic()) && host != "localhost").then_some(host)
    })
}

/// Whether a word ends before it.
fn ends(c: char) -> bool {
    c.is_whitespace() || "\"'`()[]{}<>,;=|“”".contains(c)
}

/// `text` without what names or quotes; a command quotes nobody.
pub(super) fn clean(text: &str, is_command: bool, names: &mut Names) -> String {
    let unquoted = if is_command { text.to_owned() } else { without_quotes(text) };
    // An address goes as a whole before its host does.
    let whole = words(&unquoted, |word| word.contains("://").then(|| names.placeholder(Kind::Address, word)));
    let known = names.replace(&whole);
    words(&known, |word| kind_of(word).map(|kind| names.placeholder(kind, word)))
}

/// Each word replaced where `say` says by what.
fn words(text: &str, mut say: impl FnMut(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(ends) {
        let end = piece.chars().next_back().filter(|c| ends(*c));
        let word = end.map_or(piece, |c| &piece[..piece.len() - c.len_utf8()]);
        let core = word.trim_end_matches(['.', ':', '!', '?', '…']);
        match say(core) {
            Some(instead) if !core.is_empty() => out += &format!("{instead}{}", &piece[core.len()..]),
            _ => out += piece,
        }
    }
    out
}

/// What a word looks like.
fn kind_of(word: &str) -> Option<Kind> {
    let bare = without_line(word);
    if is_address(word) || is_address(bare) {
        return Some(Kind::Address);
    }
    if let Some((user, host)) = word.split_once('@')
        && !user.is_empty()
        && !host.is_empty()
    {
        return Some(Kind::User);
    }
    if word.contains('\\') || word.starts_with("~/") || (word.contains('/') && !is_no_path(word)) {
        return Some(Kind::File);
    }
    let (stem, last) = bare.rsplit_once('.')?;
    let last = last.to_ascii_lowercase();
    if ENDINGS.contains(&last.as_str()) && !stem.is_empty() && !OWN_FILES.contains(&bare) {
        return Some(Kind::File);
    }
    let name = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    (DOMAINS.contains(&last.as_str()) && stem.chars().all(name) && !stem.is_empty()).then_some(Kind::Host)
}

/// Four numbers of a byte, or groups of hexadecimal digits of which all or a run of zeros is written.
fn is_address(word: &str) -> bool {
    let four: Vec<_> = word.split('.').map(str::parse::<u8>).collect();
    let hexadecimal = |group: &str| group.len() <= 4 && group.chars().all(|c| c.is_ascii_hexdigit());
    let six = word.contains("::") || word.matches(':').count() == 7;
    (four.len() == 4 && four.iter().all(Result::is_ok)) || (six && word.split(':').all(hexadecimal))
}

/// A stroke between units, counts or abbreviations.
fn is_no_path(word: &str) -> bool {
    let rate = ["/s", "/min", "/h"].iter().any(|unit| word.ends_with(unit)) && word.matches('/').count() == 1;
    let short = |part: &str| {
        !part.is_empty()
            && (part.chars().all(|c| c.is_ascii_digit() || c == '.') || part.chars().all(|c| c.is_ascii_uppercase()))
    };
    rate && !word.starts_with('/')
        || STROKES.contains(&word)
        || is_endpoint(word)
        || word.split('/').all(short)
        || word == "/"
}

/// `text` without quoted passages of several words: what an artefact or a request said.
fn without_quotes(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(start) = rest.find(['"', '“', '`']) {
        let open = rest[start..].chars().next().unwrap_or('"');
        let close = if open == '“' { '”' } else { open };
        let inner = start + open.len_utf8();
        let Some(length) = rest[inner..].find(close) else { break };
        let quoted = &rest[inner..inner + length];
        out += &rest[..inner];
        out += if quoted.split_whitespace().count() > LONGEST_QUOTE || quoted.len() > 60 { REMOVED } else { quoted };
        out.push(close);
        rest = &rest[inner + length + close.len_utf8()..];
    }
    out + rest
}

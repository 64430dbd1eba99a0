//! What a report says of how it came about: the call that made it, and the lines that its findings rest on.

use firstcheck_ingest::fingerprint::redact_text;
use firstcheck_model::{
    finding::{Cause, Outcome},
    measurement::{Fact, Source},
    report::{Quote, Report},
};
use firstcheck_observe::capture::quotable;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::{BufRead as _, BufReader, Read as _},
    ops::Range,
    path::Path,
};

/// Lines of one source that are quoted.
const MOST_LINES: u32 = 8;
/// Sources that are quoted.
const MOST_QUOTES: usize = 100;
/// Characters of a line that are quoted.
const LONGEST_LINE: usize = 500;
/// Bytes of a file that are read for its lines.
const LARGEST: u64 = 1 << 30;
/// Options whose value may be a secret.
const CONFIDENTIAL: [&str; 2] = ["--header", "--extra-body"];

/// Adds the call and the quotes.
pub fn complete(report: &mut Report) {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    report.command.get_or_insert_with(|| call(arguments));
    if report.quotes.is_empty() {
        report.quotes = quotes(report);
    }
}

/// The call as a shell reads it, without secrets.
fn call(arguments: impl Iterator<Item = String>) -> String {
    let mut out = String::from("firstcheck");
    let mut confidential = false;
    for argument in arguments {
        let (name, value) = argument.split_once('=').unwrap_or((&argument, ""));
        let shown = match std::mem::replace(&mut confidential, CONFIDENTIAL.contains(&argument.as_str())) {
            true => "…".to_owned(),
            false if CONFIDENTIAL.contains(&name) && !value.is_empty() => format!("{name}=…"),
            false => redact_text(&argument),
        };
        out.push(' ');
        out += &quoted(&shown);
    }
    out
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%…*".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The lines that what is there rests on, of files that can be read as they are.
fn quotes(report: &Report) -> Vec<Quote> {
    let mut wanted: BTreeMap<&str, BTreeSet<(u32, u32)>> = BTreeMap::new();
    let present = report.findings.iter().filter_map(|finding| match &finding.outcome {
        Outcome::Present { facts, causes, .. } => Some(facts.iter().chain(causes.iter().flat_map(facts_of))),
        _ => None,
    });
    for fact in present.flatten() {
        lines(&fact.source, &mut |path, lines| {
            let end = lines.end.min(lines.start.saturating_add(MOST_LINES));
            wanted.entry(path).or_default().insert((lines.start, end));
        });
    }
    let read = wanted.into_iter().flat_map(|(path, ranges)| of_file(path, &ranges));
    read.take(MOST_QUOTES).collect()
}

fn facts_of(cause: &Cause) -> &[Fact] {
    match cause {
        Cause::Supported { facts, .. } | Cause::Excluded { facts, .. } => facts,
        Cause::Open { .. } => &[],
    }
}

fn lines<'s>(source: &'s Source, say: &mut dyn FnMut(&'s str, &'s Range<u32>)) {
    match source {
        Source::Lines { path, lines } => say(path, lines),
        Source::Derived { from, .. } => from.iter().for_each(|one| lines(one, say)),
        _ => {}
    }
}

/// Quotes of one file; none where it is packed, gone or no file at all: the source then stands by itself.
fn of_file(path: &str, ranges: &BTreeSet<(u32, u32)>) -> Vec<Quote> {
    let is_file = std::fs::metadata(Path::new(path)).is_ok_and(|about| about.is_file());
    let Some(last) = ranges.iter().map(|(_, end)| *end).max().filter(|_| is_file) else { return Vec::new() };
    let Ok(file) = File::open(path) else { return Vec::new() };
    let mut reader = BufReader::new(file.take(LARGEST));
    let mut texts: BTreeMap<(u32, u32), String> = BTreeMap::new();
    let (mut number, mut line) = (0u32, Vec::new());
    while number.saturating_add(1) < last {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => number += 1,
        }
        let Ok(text) = std::str::from_utf8(&line) else { return Vec::new() };
        for range in ranges.iter().filter(|(start, end)| (*start..*end).contains(&number)) {
            let kept: String = text.trim_end().chars().take(LONGEST_LINE).collect();
            let quote = texts.entry(*range).or_default();
            *quote += &kept;
            quote.push('\n');
        }
    }
    let quote = |((line, _), text): ((u32, u32), String)| Quote { path: path.into(), line, quote: quotable(&text) };
    texts.into_iter().map(quote).filter(|quote| !quote.quote.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_can_be_repeated_and_holds_no_secret() {
        let said = |words: &[&str]| call(words.iter().map(|word| (*word).to_owned()));
        for (words, expected) in [
            (
                &["compare", "--base", "old run", "--slo", "ttft=1s"][..],
                "firstcheck compare --base 'old run' --slo ttft=1s",
            ),
            (&["run", "--header", "X-Key:planted"][..], "firstcheck run --header …"),
            (&["run", "--header=X-Key:planted"][..], "firstcheck run --header=…"),
            (
                &["run", "--url", "http://me:planted@host:80/v1"][..],
                "firstcheck run --url 'http://(redacted)@host:80/v1'",
            ),
            (&["diagnose", "it's"][..], "firstcheck diagnose 'it'\\''s'"),
        ] {
            assert_eq!(said(words), expected);
        }
    }
}

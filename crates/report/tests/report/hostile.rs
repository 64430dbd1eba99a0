//! Text from outside (paths, error messages, model names) cannot break a page.

use crate::fixtures;
use firstcheck_model::report::{NotUnderstood, ReadRow, Report, Unread};
use firstcheck_report::{Format, Style, render};
use serde_json::Value;

const EVIL: &str = "evil\u{1b}[2J\n\u{202e}name|<script>`x`]]></failure>&amp;\"\n::error::x%0A";
const EVERY: [Format; 5] = [Format::Terminal, Format::Html, Format::Markdown, Format::Junit, Format::Github];

/// A report whose every text is hostile.
fn hostile() -> Report {
    fn spoil(value: &mut Value) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(spoil),
            Value::Object(fields) => {
                let free = |name: &str| {
                    ["text", "means", "symptom", "path", "label", "workload", "note", "stage", "measure", "command"]
                        .contains(&name)
                        || ["obtain", "what", "quote", "slug", "effect", "base_from", "reason", "mend", "mitigation"]
                            .contains(&name)
                };
                for (name, value) in fields {
                    match value {
                        Value::String(text) if free(name) => *text = EVIL.into(),
                        Value::Array(texts) if ["why", "notes", "warnings", "invalid"].contains(&name.as_str()) => {
                            texts.iter_mut().filter(|text| text.is_string()).for_each(|text| *text = EVIL.into());
                            texts.iter_mut().for_each(spoil);
                        }
                        other => spoil(other),
                    }
                }
            }
            _ => {}
        }
    }
    let mut report = fixtures::regression();
    for difference in &mut report.differences {
        difference.field = EVIL.into();
        difference.base = EVIL.into();
    }
    report.invalid.push(EVIL.into());
    report.figures.marks[0].what = EVIL.into();
    report.figures.timelines[0].signal = EVIL.into();
    report.metrics[0].slice = Some(EVIL.into());
    let evil = || String::from(EVIL);
    report.unread.push(Unread { path: evil(), line: Some(3), reason: evil() });
    report.read.push(ReadRow {
        path: evil(),
        format: evil(),
        what: evil(),
        rows: 1,
        unit: evil(),
        from_unix_s: None,
        to_unix_s: None,
        length_s: None,
        engine: Some(evil()),
        version: Some(evil()),
        replicas: vec![evil()],
        notes: vec![evil()],
    });
    let not_understood =
        NotUnderstood { path: evil(), what: evil(), kind: evil(), count: 1, line: None, example: evil() };
    report.not_understood.push(not_understood);
    let mut value = serde_json::to_value(report).unwrap();
    spoil(&mut value);
    serde_json::from_value(value).unwrap()
}

#[test]
fn control_characters_never_reach_a_page() {
    for format in EVERY {
        let page = render(&hostile(), format, &Style { all: true, ..Style::default() }).unwrap();
        assert!(page.contains("evil"), "{page}");
        assert!(!page.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{page:?}");
    }
}

#[test]
fn junit_stays_xml_with_as_many_cases() {
    let [good, evil] = [fixtures::regression(), hostile()].map(|report| {
        let page = render(&report, Format::Junit, &Style::default()).unwrap();
        let document = roxmltree::Document::parse(&page).unwrap_or_else(|error| panic!("{error}\n{page}"));
        let of = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        let root = document.root_element();
        assert_eq!(root.attribute("tests").unwrap(), of("testcase").to_string());
        assert_eq!(root.attribute("failures").unwrap(), of("failure").to_string());
        assert_eq!(root.attribute("skipped").unwrap(), of("skipped").to_string());
        (of("testcase"), of("failure"), of("error"))
    });
    assert_eq!(good, evil);
    assert!(good.1 > 1, "{good:?}");
}

#[test]
fn an_annotation_is_one_command() {
    let lines = |report: &Report| {
        let page = render(report, Format::Github, &Style::default()).unwrap();
        for line in page.lines() {
            let of = ["::error ", "::warning ", "::notice "].iter().find_map(|command| line.strip_prefix(command));
            assert!(of.is_some_and(|rest| rest.contains("title=")), "{line}");
        }
        page.lines().count()
    };
    assert_eq!(lines(&fixtures::regression()), lines(&hostile()));
}

#[test]
fn markdown_tables_keep_their_columns() {
    let mut report = fixtures::regression();
    report.differences[0].base = EVIL.into();
    let page = render(&report, Format::Markdown, &Style::default()).unwrap();
    let line = page.lines().find(|line| line.contains("evil")).unwrap();
    assert_eq!(line.replace("\\|", "").matches('|').count(), 5, "{line}");
    assert!(!page.replace("\\<", "").contains("<script"), "{page}");
}

#[test]
fn an_empty_report_still_has_a_page_in_each_format() {
    let report = firstcheck_model::report::Report::new("run", "firstcheck 0.1.0");
    for format in EVERY.into_iter().chain([Format::Json]) {
        assert!(!render(&report, format, &Style::default()).unwrap().is_empty());
    }
}

/// What a page is made of stays what this program wrote: one script, one style, and the same elements whatever a text says.
#[test]
fn html_keeps_its_elements() {
    let tags = |report: &Report| {
        let page = render(report, Format::Html, &Style::default()).unwrap();
        assert_eq!(page.matches("<script").count(), 1);
        assert_eq!(page.matches("<style").count(), 1);
        let of = |name: &str| page.matches(&format!("<{name}")).count();
        ["article", "figure", "svg", "table", "details"].map(of)
    };
    let good = tags(&fixtures::regression());
    assert!(good.iter().all(|n| *n > 1), "{good:?}");
    let evil = tags(&hostile());
    // A list of files read and not understood came with it, and a signal of another name.
    assert_eq!(good[0], evil[0]);
}

#[test]
fn nobody_is_mentioned_and_no_workflow_commanded() {
    let mut report = fixtures::regression();
    report.why.push("@octocat #12 ::error::planted and c10::Error, std::vector::size".into());
    report.why.push("::ERROR::planted ::add-matcher::/x ##[error]planted".into());
    let markdown = render(&report, Format::Markdown, &Style::default()).unwrap();
    assert!(!markdown.contains("@octocat") && !markdown.contains("#12"), "{markdown}");
    let page = render(&report, Format::Terminal, &Style::default()).unwrap();
    for command in ["::error", "::ERROR", "::add-matcher", "##["] {
        assert!(!page.contains(command), "{command}: {page}");
    }
    assert!(page.contains("c10::Error, std::vector::size"), "{page}");
}

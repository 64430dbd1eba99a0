//! Text from outside (paths, error messages, model names) cannot break a page.

use crate::fixtures;
use firstcheck_model::report::{NotUnderstood, ReadRow};
use firstcheck_report::{Format, Style, render};

const EVIL: &str = "evil\u{1b}[2J\n\u{202e}name|<script>`x`";

#[test]
fn control_characters_never_reach_a_page() {
    let mut report = fixtures::regression();
    for difference in &mut report.differences {
        difference.field = EVIL.into();
    }
    report.why.push(EVIL.into());
    report.notes.push(EVIL.into());
    report.metrics[0].slice = Some(EVIL.into());
    report.stages[0].stage = EVIL.into();
    report.findings[0].symptom = EVIL.into();
    let evil = || String::from(EVIL);
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
    report.not_understood.push(NotUnderstood {
        path: evil(),
        what: evil(),
        kind: evil(),
        count: 1,
        line: None,
        example: evil(),
    });
    for run in report.sides.candidate.iter_mut().flat_map(|side| &mut side.runs) {
        run.label = EVIL.into();
        run.workload = EVIL.into();
    }
    for format in [Format::Terminal, Format::Markdown] {
        let page = render(&report, format, &Style::default()).unwrap();
        assert!(!page.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{page:?}");
    }
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
    for format in [Format::Terminal, Format::Markdown, Format::Json] {
        assert!(!render(&report, format, &Style::default()).unwrap().is_empty());
    }
}

//! Whole pages of three reports.

use crate::fixtures;
use firstcheck_model::report::{MetricRow, NotUnderstood, Quantity, Report, Verdict};
use firstcheck_model::{
    comparability::{Level, Reach, Ruling},
    metric::{Metric, Stat},
};
use firstcheck_report::{Format, Style, render};

fn page(report: &Report, format: Format) -> String {
    render(report, format, &Style::default()).unwrap()
}

/// Each fixed report with its name.
fn fixed() -> [(&'static str, Report); 4] {
    [
        ("regression", fixtures::regression()),
        ("clean", fixtures::clean()),
        ("cannot_tell", fixtures::cannot_tell()),
        ("not_comparable", fixtures::not_comparable()),
    ]
}

#[test]
fn every_page_of_every_report() {
    for (format, folder) in [
        (Format::Terminal, "terminal"),
        (Format::Markdown, "markdown"),
        (Format::Junit, "junit"),
        (Format::Github, "github"),
    ] {
        for (name, report) in fixed() {
            insta::assert_snapshot!(format!("{folder}_{name}"), page(&report, format));
        }
    }
}

/// The only side of a report is no candidate, in its figures neither.
#[test]
fn one_run_is_called_no_candidate() {
    let mut report = fixtures::regression();
    (report.verb, report.verdict) = ("run".into(), Verdict::None);
    (report.why, report.findings, report.stages) = (Vec::new(), Vec::new(), Vec::new());
    (report.notes, report.comparability, report.differences) = (Vec::new(), Vec::new(), Vec::new());
    report.sides.base = None;
    for run in report.sides.candidate.iter_mut().flat_map(|side| &mut side.runs) {
        run.label = "bundle".into();
    }
    report.metrics.iter_mut().for_each(|row| (row.base, row.margin, row.note) = (None, None, None));
    report.figures.distributions.iter_mut().for_each(|row| row.base = None);
    report.figures.marks.clear();
    report.command = None;
    report.figures.timelines.retain(|row| row.side == firstcheck_model::run::Role::Candidate);
    for format in [Format::Terminal, Format::Markdown] {
        let page = render(&report, format, &Style { all: true, ..Style::default() }).unwrap();
        assert!(!page.contains("candidate"), "{page}");
    }
    let page = render(&report, Format::Html, &Style::default()).unwrap();
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    assert!(!body.contains(">candidate<") && !body.contains("show-candidate"), "{body}");
}

#[test]
fn a_run_shows_one_side_and_claims_nothing() {
    let mut report = Report::new("run", "firstcheck 0.1.0");
    report.sides.candidate = fixtures::not_comparable().sides.candidate;
    let ttft = Some(Quantity::Finite(0.12));
    report.metrics = vec![MetricRow::shown(Metric::Ttft, Stat::Quantile(0.5), None, ttft, [None, Some(140)])];
    insta::assert_snapshot!("terminal_run", page(&report, Format::Terminal));
}

#[test]
fn json_is_the_report_itself() {
    for (_, report) in fixed() {
        let text = page(&report, Format::Json);
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }
}

#[test]
fn colour_adds_escapes_and_nothing_else() {
    let colored =
        render(&fixtures::regression(), Format::Terminal, &Style { color: true, ..Style::default() }).unwrap();
    assert!(colored.starts_with("\u{1b}["), "the verdict is coloured: {colored:?}");
    let mut plain = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain += before;
        rest = after.split_once('m').unwrap().1;
    }
    assert_eq!(plain + rest, page(&fixtures::regression(), Format::Terminal));
}

#[test]
fn a_narrow_terminal_moves_the_detectable_difference_below_the_table() {
    let narrow = render(&fixtures::regression(), Format::Terminal, &Style { width: 80, ..Style::default() }).unwrap();
    assert!(narrow.contains("smallest difference found four times in five: TTFT p95 5.3 %"), "{narrow}");
    assert!(!narrow.contains("≥ 5.3 %"), "{narrow}");
}

#[test]
fn a_deployment_without_runs_is_what_it_says_it_is() {
    let mut report = Report::new("fingerprint", "firstcheck 0.1.0");
    report.why.push("http://127.0.0.1:8000".into());
    report.sides.candidate = fixtures::not_comparable().sides.candidate;
    report.sides.candidate.as_mut().unwrap().runs.clear();
    insta::assert_snapshot!("terminal_fingerprint", page(&report, Format::Terminal));
}

/// What a page leaves out it says.
#[test]
fn a_long_list_of_what_was_not_understood_is_cut_with_a_word() {
    let mut report = Report::new("diagnose", "firstcheck 0.1.0");
    report.not_understood = (0..103)
        .map(|n| NotUnderstood {
            path: "server.log".into(),
            what: "line".into(),
            kind: format!("kind {n}"),
            count: 1,
            line: Some(n + 1),
            example: String::new(),
        })
        .collect();
    for format in [Format::Terminal, Format::Markdown] {
        let page = page(&report, format);
        assert!(page.contains("and 3 more kinds: --format json lists all"), "{page}");
    }
}

/// Sixteen runs of a busy host say one thing, not sixteen.
#[test]
fn what_differs_in_its_numbers_alone_is_said_once() {
    let mut report = fixtures::not_comparable();
    let ruling = |run: u32| Ruling {
        level: Level::Warns,
        reach: Reach::Everything,
        rule: "busy_host".into(),
        reason: format!("run {run}: the client's host was busy: {}.5 processes a core", run + 1),
        mend: "measure where nothing else runs".into(),
    };
    report.comparability = (1..=16).map(ruling).collect();
    let mut one = report.sides.candidate.as_ref().unwrap().runs[0].clone();
    one.warnings = vec!["never steady (it would cut 89 % of it)".into()];
    let mut other = one.clone();
    other.warnings = vec!["never steady (it would cut 9.1 % of it)".into()];
    report.sides.candidate.as_mut().unwrap().runs = vec![one, other];
    let all = |format| render(&report, format, &Style { all: true, ..Style::default() }).unwrap();
    for format in [Format::Terminal, Format::Markdown] {
        let folded = page(&report, format);
        assert_eq!(folded.matches("processes a core").count(), 1, "{folded}");
        assert!(folded.contains("and 15 more like it"), "{folded}");
        assert!(folded.contains("2 runs: never steady"), "{folded}");
        assert_eq!(all(format).matches("processes a core").count(), 16);
        assert_eq!(all(format).matches("never steady").count(), 2);
    }
}

#[test]
fn with_all_every_distribution_and_signal_is_drawn_within_the_width() {
    for width in [60, 100] {
        let style = Style { all: true, width, ..Style::default() };
        let page = render(&fixtures::regression(), Format::Terminal, &style).unwrap();
        let drawn = &page[page.find("Distributions").unwrap()..];
        let end = drawn.find("\nFinding ").unwrap();
        insta::assert_snapshot!(format!("terminal_plots_{width}"), &drawn[..end]);
    }
}

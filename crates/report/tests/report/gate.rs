//! A gate with cells, slices and signatures: what decides is shown, the rest is folded and counted.

use crate::fixtures;
use firstcheck_model::report::{CellRow, Claim, Lead, MetricRow, Report, SignatureRow, SignatureState, Verdict};
use firstcheck_report::{Format, Style, render};

fn report() -> Report {
    let mut report = fixtures::regression();
    let row = report.metrics.iter().find(|row| row.margin.is_some()).unwrap().clone();
    let slice = |name: &str, claim| MetricRow { slice: Some(name.into()), claim, note: None, ..row.clone() };
    report.metrics.extend([
        slice("prompt above 8192", Claim::Regressed),
        slice("prompt up to 1024", Claim::NonInferior),
        slice("cached", Claim::NonInferior),
        slice("tenant 7", Claim::NotClaimable),
    ]);
    let cell = |name: &str, verdict| CellRow {
        cell: name.into(),
        required: true,
        verdict,
        pairs: 8,
        why: vec![format!("why of {name}")],
    };
    report.cells = vec![cell("cold", Verdict::Pass), cell("high | load", Verdict::Fail)];
    let signature = |name: &str, state| SignatureRow {
        name: name.into(),
        means: format!("what {name} means"),
        state,
        exploratory: false,
        facts: vec!["queue wait mean rose: +330 %".into()],
        missing: if state == SignatureState::Unknown { vec!["the engine's log".into()] } else { Vec::new() },
        checks: vec![Lead { code: "S15".into(), tells: "whether the pool shrank".into() }],
    };
    report.signatures = vec![
        signature("ttft-up-queue-up", SignatureState::Present),
        signature("start-up-slower", SignatureState::Unknown),
        signature("hit-rate-down", SignatureState::Absent),
    ];
    report
}

/// The rows of `report` where every slice that can be told is as bad as the whole.
fn alike() -> Report {
    let mut report = report();
    report.metrics.retain(|row| row.slice.is_none() || row.claim != Claim::NonInferior);
    report
}

#[test]
fn slices_that_say_what_their_whole_says_are_counted() {
    let page = render(&alike(), Format::Terminal, &Style { width: 160, ..Style::default() }).unwrap();
    assert!(!page.contains("(prompt above 8192)"), "{page}");
    assert!(page.contains("2 rows of slices are folded (1 regressed, 1 not claimable): --all"), "{page}");
}

#[test]
fn reasons_beyond_the_first_few_are_counted() {
    let mut report = fixtures::regression();
    report.why = (1..=9).map(|n| format!("reason {n}")).collect();
    let page = |all| render(&report, Format::Terminal, &Style { all, ..Style::default() }).unwrap();
    assert!(page(false).contains("reason 5") && !page(false).contains("reason 6"), "{}", page(false));
    assert!(page(false).contains("and 4 more reasons: --all") && page(true).contains("reason 9"), "{}", page(false));
}

/// No line is wider than the terminal, but for commands, which are copied whole.
#[test]
fn a_narrow_terminal_is_not_exceeded() {
    for columns in [24, 36, 60, 80] {
        for report in [report(), fixtures::cannot_tell(), fixtures::clean()] {
            for all in [false, true] {
                let style = Style { width: columns, columns: Some(columns), all, ..Style::default() };
                let page = render(&report, Format::Terminal, &style).unwrap();
                let wide =
                    page.lines().find(|line| line.chars().count() > columns && !line.trim_start().starts_with("$ "));
                assert_eq!(wide, None, "at {columns}:\n{page}");
                assert!(page.contains("TTFT"), "at {columns}:\n{page}");
            }
        }
    }
}

#[test]
fn what_decides_is_shown_and_the_rest_is_counted() {
    for format in [Format::Terminal, Format::Markdown] {
        let page = render(&report(), format, &Style { width: 160, ..Style::default() }).unwrap();
        for shown in [
            "(prompt above 8192)",
            "3 rows of slices are folded (2 no worse, 1 not claimable): --all",
            "why of cold",
            "what ttft-up-queue-up means",
            "queue wait mean rose: +330 %",
            "look at: S15 whether the pool shrank",
        ] {
            assert!(page.contains(shown), "{shown} is not in\n{page}");
        }
        for folded in ["(prompt up to 1024)", "(tenant 7)", "hit-rate-down", "start-up-slower"] {
            assert!(!page.contains(folded), "{folded} is in\n{page}");
        }
        let all = render(&report(), format, &Style { width: 160, all: true, ..Style::default() }).unwrap();
        for shown in ["(prompt up to 1024)", "(cached)", "(tenant 7)"] {
            assert!(all.contains(shown), "{shown} is not in\n{all}");
        }
        assert!(!all.contains("are folded"), "{all}");
    }
    let markdown = render(&report(), Format::Markdown, &Style::default()).unwrap();
    assert!(markdown.contains("high \\| load"), "{markdown}");
}

//! Results for whatever reads JUnit's XML: a case for the verdict, one a gated metric, one a check.

use crate::{
    gated::{self, Weight},
    layout::tame,
    number, words,
};
use firstcheck_model::{
    finding::{Finding, Outcome},
    report::{MetricRow, Report},
};

/// One case.
struct Case {
    class: &'static str,
    name: String,
    weight: Weight,
    /// The one line that readers list.
    message: String,
    /// The rest.
    body: String,
}

/// Lays out the report.
pub(crate) fn page(report: &Report) -> String {
    let mut suites = vec![("verdict", vec![verdict(report)])];
    suites.push(("gates", gated::rows(report).map(gate).collect()));
    suites.push(("checks", report.findings.iter().map(check).collect()));
    suites.retain(|(_, cases)| !cases.is_empty());
    let all = || suites.iter().flat_map(|(_, cases)| cases);
    let time = report.took_s.map_or(String::new(), |s| format!(" time=\"{s:.3}\""));
    let name = escape(&format!("firstcheck {}", report.verb));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    out += &format!("<testsuites name=\"{name}\" {}{time}>\n", counts(all()));
    for (name, cases) in &suites {
        out += &format!("  <testsuite name=\"{name}\" {}>\n", counts(cases.iter()));
        cases.iter().for_each(|case| out += &element(case));
        out += "  </testsuite>\n";
    }
    out + "</testsuites>\n"
}

fn counts<'c>(cases: impl Iterator<Item = &'c Case>) -> String {
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for case in cases {
        tests += 1;
        match case.weight {
            Weight::Fails => failures += 1,
            // A run that decides nothing is no run that passed.
            Weight::Untold if case.class == VERDICT => errors += 1,
            Weight::Untold => skipped += 1,
            Weight::Warns | Weight::Fine => {}
        }
    }
    format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
}

const VERDICT: &str = "firstcheck.verdict";

fn element(case: &Case) -> String {
    let (name, message, body) = (escape(&case.name), escape(&case.message), escape_lines(&case.body));
    let open = format!("    <testcase classname=\"{}\" name=\"{name}\">\n", case.class);
    let inner = match case.weight {
        Weight::Fails => format!("<failure message=\"{message}\">{body}</failure>"),
        Weight::Untold if case.class == VERDICT => format!("<error message=\"{message}\">{body}</error>"),
        Weight::Untold => format!("<skipped message=\"{message}\"/>\n      <system-out>{body}</system-out>"),
        Weight::Warns | Weight::Fine => format!("<system-out>{message}\n{body}</system-out>"),
    };
    format!("{open}      {inner}\n    </testcase>\n")
}

fn verdict(report: &Report) -> Case {
    let seed = report.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    let first = report.why.first().or(report.invalid.first()).map_or(String::new(), |why| format!(": {why}"));
    Case {
        class: VERDICT,
        name: report.verb.clone(),
        weight: gated::of_verdict(report),
        message: format!("{}{first}", gated::title(report)),
        body: format!("{}\n{}{seed}", gated::conclusion(report), report.tool),
    }
}

fn gate(row: &MetricRow) -> Case {
    let n = row.n.iter().copied().flatten().min().map_or(String::new(), |n| format!("n = {}", number::count(n)));
    let pairs = if row.pairs == 0 { String::new() } else { format!("{} pairs", row.pairs) };
    Case {
        class: "firstcheck.gate",
        name: words::row(row),
        weight: gated::of_claim(row.claim),
        message: gated::judged(row),
        body: [n, pairs].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
    }
}

fn check(finding: &Finding) -> Case {
    let state = match &finding.outcome {
        Outcome::Present { .. } => words::severity(finding.severity),
        Outcome::Absent { .. } => "not there",
        Outcome::Undecided { .. } => "undecided",
        Outcome::NotApplicable { .. } => "not applicable",
    };
    Case {
        class: "firstcheck.check",
        name: format!("{} {}", finding.code, finding.slug),
        weight: gated::of_finding(finding),
        message: format!("{state}: {}", finding.symptom),
        body: gated::told(finding).join("\n"),
    }
}

/// Text from outside on one line of XML. What XML cannot hold at all becomes a space.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in tame(text).chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            _ => out.push(c),
        }
    }
    out
}

/// The same for text of several lines that this crate joined.
fn escape_lines(text: &str) -> String {
    text.split('\n').map(escape).collect::<Vec<_>>().join("\n")
}

//! The same facts stand in every rendering: the verdict, each gated metric with its effect and interval, and each finding
//! with its code and its cause.

use crate::fixtures;
use firstcheck_model::{
    finding::{Cause, Outcome},
    report::{Report, Verdict},
};
use firstcheck_report::{Format, Style, number, render};

/// Every rendering for people or pipelines.
const RENDERINGS: [Format; 5] = [Format::Terminal, Format::Html, Format::Markdown, Format::Junit, Format::Github];

/// A page as a reader sees it: without the escapes of its format, on one line.
fn read(report: &Report, format: Format) -> String {
    let style = Style { width: 1000, ..Style::default() };
    let page = render(report, format, &style).unwrap();
    let plain = match format {
        Format::Junit => page.replace("&apos;", "'").replace("&gt;", ">"),
        Format::Github => page.replace("%0A", " ").replace("%25", "%").replace("%3A", ":").replace("%2C", ","),
        Format::Markdown => page.replace('\\', ""),
        Format::Html => text_of(&page),
        _ => page,
    };
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands between the tags of a page, figures and their titles apart.
fn text_of(page: &str) -> String {
    let body = page.split_once("<main").unwrap().1;
    let head = page.split_once("<h1>").unwrap().1.split_once("</header>").unwrap().0;
    let mut out = String::new();
    for part in format!("{head}{body}").split('<') {
        out += part.split_once('>').map_or("", |(_, text)| text);
        out.push(' ');
    }
    out.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

/// What every rendering says of a report.
fn facts(report: &Report) -> Vec<String> {
    let mut facts = vec![
        match report.verdict {
            Verdict::Pass => "PASS",
            Verdict::Fail => "FAIL",
            Verdict::Inconclusive => "INCONCLUSIVE",
            Verdict::NotComparable => "NOT COMPARABLE",
            Verdict::None => &report.verb,
        }
        .to_owned(),
    ];
    facts.extend(report.why.first().cloned());
    for row in report.metrics.iter().filter(|row| row.margin.is_some()) {
        facts.push(row.metric.label().into());
        facts.push(number::change_of(row.ratio));
        facts.extend(row.interval.map(number::change_interval));
    }
    for finding in &report.findings {
        facts.push(finding.code.clone());
        if let Outcome::Present { causes, .. } = &finding.outcome {
            facts.extend(causes.iter().filter_map(|cause| match cause {
                Cause::Supported { means, .. } => Some(means.clone()),
                _ => None,
            }));
        }
    }
    facts
}

#[test]
fn every_rendering_says_the_same() {
    for report in [fixtures::regression(), fixtures::clean(), fixtures::cannot_tell(), fixtures::not_comparable()] {
        let facts = facts(&report);
        assert!(facts.len() > 2, "{facts:?}");
        for format in RENDERINGS {
            let page = read(&report, format);
            for fact in &facts {
                assert!(page.contains(fact.as_str()), "{format:?} does not say `{fact}`:\n{page}");
            }
        }
    }
}

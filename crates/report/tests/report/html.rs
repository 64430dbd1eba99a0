//! The page for a browser. What only a browser can tell, `scripts/page-check` does.

use crate::fixtures;
use firstcheck_model::{
    figure::{DistributionRow, Histogram},
    metric::Metric,
    report::Report,
};
use firstcheck_report::{Format, Style, render};

fn page(report: &Report) -> String {
    render(report, Format::Html, &Style::default()).unwrap()
}

/// The page without its style, its script and their hashes, a tag a line.
fn body(report: &Report) -> String {
    let page = page(report);
    let body = page.split_once("<body>").unwrap().1.split_once("<script>").unwrap().0;
    body.replace("><", ">\n<")
}

#[test]
fn a_diagnosis_begins_with_what_changed_and_what_to_do() {
    let mut report = fixtures::regression();
    (report.verb, report.verdict) = ("diagnose".into(), firstcheck_model::report::Verdict::None);
    let page = firstcheck_report::render(&report, firstcheck_report::Format::Html, &Default::default()).unwrap();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text} in\n{page}"));
    let order = ["In short", "What changed", "What to do now", "What to measure next", "What the checks found"];
    let main = at("<main");
    let places: Vec<usize> = order.iter().map(|text| main + page[main..].find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn pages() {
    insta::assert_snapshot!("html_regression", body(&fixtures::regression()));
    insta::assert_snapshot!("html_clean", body(&fixtures::clean()));
    insta::assert_snapshot!("html_cannot_tell", body(&fixtures::cannot_tell()));
}

#[test]
fn it_asks_the_network_for_nothing() {
    let page = page(&fixtures::regression());
    for (what, allowed) in [("http://", 0), ("https://", 0), ("src=", 0), ("@import", 0), ("url(", 0), (" style=", 0)] {
        assert_eq!(page.matches(what).count(), allowed, "{what}");
    }
    let policy = page.split_once("Content-Security-Policy").unwrap().1.split_once('>').unwrap().0;
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
}

#[test]
fn every_figure_has_a_name_and_a_table_of_its_values() {
    let page = page(&fixtures::regression());
    let figures: Vec<&str> =
        page.split("<figure>").skip(1).map(|rest| rest.split("</figure>").next().unwrap()).collect();
    // The gate's intervals, a split, three distributions, one signal.
    assert_eq!(figures.len(), 6);
    for figure in figures {
        assert!(figure.contains("<figcaption>") && figure.contains("<table>"), "{figure}");
        assert!(figure.contains("role=\"img\" aria-label=") && figure.contains("<title>"), "{figure}");
    }
}

#[test]
fn every_link_within_the_page_leads_somewhere() {
    let page = page(&fixtures::regression());
    let mut seen = 0;
    for target in page.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        assert_eq!(page.matches(&format!(" id=\"{target}\"")).count(), 1, "{target}");
        seen += 1;
    }
    assert!(seen > 5, "{seen}");
}

/// However many requests there were, and however widely they are spread, the page stays small.
#[test]
fn a_million_requests_take_less_than_two_megabytes() {
    let mut report = fixtures::regression();
    let side = || {
        let mut histogram = Histogram::default();
        (0..1_000_000u32).for_each(|n| histogram.add(1e-6 * 1.000_018f64.powi(n as i32), 1));
        Some(histogram)
    };
    let row = |metric: Metric| DistributionRow { metric, unit: "s".into(), base: side(), candidate: side() };
    report.figures.distributions =
        [Metric::Ttft, Metric::Tpot, Metric::E2e, Metric::EventGap, Metric::LongestGap].map(row).to_vec();
    let size = page(&report).len();
    assert!(size < 2_000_000, "{size} bytes");
}

#[test]
fn evidence_leads_to_the_very_line() {
    let page = page(&fixtures::regression());
    assert!(page.contains("<a href=\"#quote-1\"><code>pairs/candidate-1/attached/server.log:41</code></a>"), "{page}");
    assert!(page.contains("Sequence group 7 is preempted"), "{page}");
}

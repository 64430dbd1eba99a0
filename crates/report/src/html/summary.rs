//! The first screen of a diagnosis, as on a terminal: what changed, what to do now, what would settle most.

use super::findings;
use crate::terminal::first_screen::{changes, first_follow_up, is_present};
use firstcheck_model::{
    finding::Finding,
    report::{Report, Verdict},
};
use maud::{Markup, html};

/// What a reader wants first; `None` where a verdict says it.
pub(super) fn summary(report: &Report) -> Option<Markup> {
    if report.verb != "diagnose" || report.verdict != Verdict::None {
        return None;
    }
    let present: Vec<&Finding> = report.findings.iter().filter(|finding| is_present(finding)).collect();
    let follow_up = first_follow_up(&present);
    let now = follow_up.filter(|(_, supported)| *supported).and_then(|(one, _)| one.mitigation.as_ref());
    Some(html! {
        h3 { "What changed" }
        ul { @for text in changes(report) { li { (text) } } }
        @if let Some(now) = now {
            h3 { "What to do now" }
            p { (now) " (can be undone)" }
        }
        @if let Some((follow_up, _)) = follow_up {
            h3 { "What to measure next" }
            (findings::measure(follow_up))
        }
        @if let Some(most) = report.settles.first() {
            h3 { "What would settle most" }
            p { (most.what) "; obtain: " (most.obtain) }
        }
    })
}

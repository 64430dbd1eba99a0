//! The order of findings.

use firstcheck_analyze::rank::ranked;
use firstcheck_model::finding::{Cause, Explained, Finding, FollowUp, Outcome, Severity};

fn finding(code: &str, severity: Severity, share: Option<f64>) -> Finding {
    let explains = share.map(|explained| Explained {
        metric: "mean TTFT".into(),
        delta: 1.0,
        explained,
        unit: "s".into(),
        basis: "a test".into(),
    });
    let outcome = Outcome::Present { facts: Vec::new(), causes: Vec::new(), explains };
    let slug = format!("check-{code}");
    Finding { code: code.into(), slug, symptom: "s".into(), severity, consequence_of: None, outcome }
}

#[test]
fn what_explains_most_comes_first_then_the_worst_then_what_cannot_be_told() {
    let undecided = Outcome::Undecided { missing: Vec::new() };
    let absent = Outcome::Absent { why: Vec::new() };
    let of = |code: &str, outcome| Finding { outcome, ..finding(code, Severity::Critical, None) };
    let ranked = ranked(vec![
        of("S01", absent),
        of("S02", undecided),
        finding("S03", Severity::Minor, None),
        finding("S04", Severity::Critical, None),
        finding("S05", Severity::Minor, Some(0.2)),
        finding("S06", Severity::Info, Some(0.9)),
    ]);
    let codes: Vec<&str> = ranked.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["S06", "S05", "S04", "S03", "S02", "S01"]);
}

/// A server that is down is no matter of second rank, whatever it is down for.
#[test]
fn what_stops_a_server_comes_before_what_slows_it() {
    let ranked = ranked(vec![
        supported("S07", "stream-stutter", Severity::Major, "graph-bucket"),
        finding("S14", Severity::Critical, None),
    ]);
    let codes: Vec<_> = ranked.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["S14", "S07"]);
}

/// A finding of a real check with one cause that evidence speaks for.
fn supported(code: &str, slug: &str, severity: Severity, cause: &str) -> Finding {
    let follow_up = FollowUp { measure: String::new(), command: String::new(), requests: 0, mitigation: None };
    let cause = Cause::Supported { id: cause.into(), means: String::new(), facts: Vec::new(), follow_up };
    let outcome = Outcome::Present { facts: Vec::new(), causes: vec![cause], explains: None };
    Finding { slug: slug.into(), outcome, ..finding(code, severity, None) }
}

/// Frozen streams are preemption's doing here: preemption explains two symptoms, so it comes before a graver one that
/// explains itself alone.
#[test]
fn what_brought_others_about_comes_before_what_stands_alone() {
    let ranked = ranked(vec![
        supported("S07", "stream-stutter", Severity::Major, "graph-bucket"),
        supported("S09", "frozen-streams", Severity::Major, "preemption"),
        supported("S15", "constant-preemption", Severity::Minor, "kv-pool-shrank"),
    ]);
    let codes: Vec<_> = ranked.iter().map(|one| (one.code.as_str(), one.consequence_of.as_deref())).collect();
    assert_eq!(codes, [("S15", None), ("S09", Some("S15")), ("S07", None)]);
}

/// An engine that waits for its second KV tier tells nothing of its ranks meanwhile.
#[test]
fn what_has_no_cause_of_its_own_stands_under_what_brings_it_about_otherwise() {
    let hang = |cause: Option<&str>| match cause {
        Some(cause) => supported("S19", "multi-node-hang", Severity::Critical, cause),
        None => Finding { slug: "multi-node-hang".into(), ..finding("S19", Severity::Critical, None) },
    };
    let tier = || supported("S05", "tier-hits-late", Severity::Major, "break-even-not-met");
    let under = |all: Vec<Finding>| {
        let ranked = ranked(all);
        ranked.into_iter().find(|one| one.code == "S19").unwrap().consequence_of
    };
    assert_eq!(under(vec![hang(None), tier()]).as_deref(), Some("S05"));
    assert_eq!(under(vec![hang(None)]), None);
    assert_eq!(under(vec![hang(Some("transport")), tier()]), None);
}

use firstcheck_model::{
    exit_code::exit_code,
    finding::{Finding, Outcome, Severity},
    report::{Report, Verdict},
};

fn report(verdict: Verdict, invalid: bool, finding: Option<Severity>) -> Report {
    let mut report = Report::new("compare", "firstcheck test");
    report.verdict = verdict;
    report.invalid.extend(invalid.then(|| "client saturated".to_owned()));
    report.findings.extend(finding.map(|severity| Finding {
        code: "S15".into(),
        slug: "constant-preemption".into(),
        symptom: "preemptions".into(),
        severity,
        consequence_of: None,
        outcome: Outcome::Present { facts: Vec::new(), causes: Vec::new(), explains: None },
    }));
    report
}

#[test]
fn the_order_of_the_codes() {
    use Severity::{Major, Minor};
    use Verdict::{Fail, Inconclusive, None as Nothing, NotComparable, Pass};
    let rows = [
        (report(Pass, false, None), None, 0),
        (report(Nothing, false, None), None, 0),
        (report(Fail, false, None), None, 1),
        (report(Fail, true, None), None, 3),
        (report(NotComparable, false, Some(Major)), Some(Minor), 3),
        (report(Inconclusive, false, None), None, 3),
        (report(Inconclusive, false, Some(Major)), Some(Major), 1),
        (report(Pass, false, Some(Minor)), Some(Major), 0),
        (report(Pass, false, Some(Major)), Some(Major), 1),
        (report(Pass, false, Some(Major)), None, 0),
    ];
    for (report, fail_on, code) in rows {
        assert_eq!(exit_code(&report, fail_on), code, "{:?} {:?} {fail_on:?}", report.verdict, report.invalid);
    }
}

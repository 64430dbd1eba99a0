//! A diagnosis that is asked about one symptom.

use anyhow::bail;
use firstcheck_analyze::{
    declare::Check, planned::planned, registry::CHECKS, settings::nearest, settling::settles, symptom,
};
use firstcheck_model::{finding::Finding, report::Report};

/// The checks that are meant.
///
/// # Errors
/// Words that no check is known by.
pub(super) fn meant(words: &str) -> anyhow::Result<Vec<&'static Check>> {
    if let Some((code, about)) = planned(words) {
        bail!("{code} ({about}) has no check yet: `firstcheck explain` lists the symptoms that can be asked about");
    }
    let checks = symptom::meant(words);
    if !checks.is_empty() {
        return Ok(checks);
    }
    match nearest(words, CHECKS.iter().flat_map(|check| [check.code, check.slug])) {
        Some(near) => bail!("no check knows the symptom `{words}`; did you mean `{near}`?"),
        None => bail!("no check knows the symptom `{words}`: `firstcheck explain` lists them"),
    }
}

/// Leaves what those checks found, and what it is a consequence of.
pub(super) fn narrow(report: &mut Report, checks: &[&'static Check]) {
    report.asked = checks.iter().map(|check| check.code.to_owned()).collect();
    let asked = report.asked.clone();
    let own = |finding: &Finding| asked.contains(&finding.code);
    let roots: Vec<String> =
        report.findings.iter().filter(|finding| own(finding)).filter_map(|one| one.consequence_of.clone()).collect();
    report.findings.retain(|finding| own(finding) || roots.contains(&finding.code));
    report.settles = settles(&report.findings);
}

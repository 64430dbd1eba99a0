//! Which one missing artefact would settle most.

use firstcheck_model::{
    finding::{Cause, Finding, Outcome},
    first_look::Settles,
    measurement::Missing,
};
use std::cmp::Reverse;

/// What is missing, grouped by what supplies it: what settles most open causes of symptoms that are there first, then what
/// lets most undecided checks tell theirs.
pub fn settles(findings: &[Finding]) -> Vec<Settles> {
    let mut all: Vec<Settles> = Vec::new();
    for finding in findings {
        match &finding.outcome {
            Outcome::Present { causes, .. } => {
                for cause in causes {
                    if let Cause::Open { id, missing, .. } = cause {
                        let name = format!("{} {id}", finding.code);
                        each(&mut all, missing, |one| &mut one.causes, &name);
                    }
                }
            }
            Outcome::Undecided { missing } => each(&mut all, missing, |one| &mut one.checks, &finding.code),
            Outcome::Absent { .. } | Outcome::NotApplicable { .. } => {}
        }
    }
    all.sort_by_key(|one| (Reverse(one.causes.len()), Reverse(one.checks.len())));
    all
}

fn each(all: &mut Vec<Settles>, missing: &[Missing], of: fn(&mut Settles) -> &mut Vec<String>, name: &str) {
    for one in missing {
        let known = all.iter().position(|settles| settles.obtain == one.obtain);
        let at = known.unwrap_or(all.len());
        if known.is_none() {
            let (what, obtain) = (one.what.clone(), one.obtain.clone());
            all.push(Settles { what, obtain, causes: Vec::new(), checks: Vec::new() });
        }
        if let Some(names) = all.get_mut(at).map(of)
            && !names.iter().any(|known| known == name)
        {
            names.push(name.to_owned());
        }
    }
}

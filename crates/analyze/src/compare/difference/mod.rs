//! What differs between two deployments: ranked by what it is known to do to serving, and told apart by how it came
//! about.

mod came;
pub mod defaults;

use firstcheck_model::{
    fingerprint::{Field, Fingerprint, Impact, Stated, field, impact},
    report::{Difference, OneSided, Report},
    run::Role,
};

/// What two fingerprints differ in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    /// Fields that both state, differently: the most telling first.
    pub differing: Vec<Difference>,
    /// Fields that one states alone: the most telling first.
    pub one_sided: Vec<OneSided>,
    /// Defaults that are known to have changed between the two versions, and that neither fingerprint shows.
    pub notes: Vec<String>,
}

impl Differences {
    /// Compares two fingerprints.
    ///
    /// # Example: what somebody set, and what the machine brought
    /// ```
    /// use firstcheck_analyze::compare::Differences;
    /// use firstcheck_model::{fingerprint::{Fingerprint, Group, Stated}, report::Came};
    /// let print = |seqs: &str, gpu: &str| {
    ///     let mut print = Fingerprint::default();
    ///     print.set("given.max_num_seqs", seqs, "server.log");
    ///     print.set("max_num_seqs", seqs, "server.log");
    ///     print.state(Group::Hardware, "gpu_model", Stated::new(gpu, "gpus.xml"));
    ///     print
    /// };
    /// let found = Differences::between(&print("256", "NVIDIA A100"), &print("64", "NVIDIA H100"));
    /// let came: Vec<_> = found.differing.iter().map(|one| (one.field.as_str(), one.came)).collect();
    /// assert_eq!(came, [("gpu_model", Came::Environment), ("max_num_seqs", Came::Given)]);
    /// ```
    pub fn between(base: &Fingerprint, candidate: &Fingerprint) -> Self {
        let differing = base.differences(candidate);
        // What was given stands under the option's own name too, with what came of it.
        let shown = differing.filter(|(name, ..)| !is_told_resolved(name, base, candidate));
        let mut differing: Vec<Difference> =
            shown.map(|(name, b, c)| difference(name, b, c, base, candidate)).collect();
        differing.sort_by_cached_key(|one| impact::rank(&one.field));
        let alone = |side, has: &Fingerprint, lacks: &Fingerprint| -> Vec<OneSided> {
            has.iter()
                .filter(|(name, _)| lacks.field(name).is_none())
                .map(|(name, f)| one_sided(side, name, f))
                .collect()
        };
        let mut one_sided = alone(Role::Base, base, candidate);
        one_sided.extend(alone(Role::Candidate, candidate, base));
        one_sided.sort_by_cached_key(|one| (impact::rank(&one.field), one.side == Role::Candidate));
        Self { differing, one_sided, notes: defaults::unseen(base, candidate).into_iter().collect() }
    }

    /// Puts them into a report.
    pub fn put(self, report: &mut Report) {
        report.differences = self.differing;
        report.one_sided = self.one_sided;
        report.notes.extend(self.notes);
    }
}

/// Whether `given.NAME` differs and NAME differs as well: one change, told once.
fn is_told_resolved(name: &str, base: &Fingerprint, candidate: &Fingerprint) -> bool {
    let Some(resolved) = name.strip_prefix(field::GIVEN) else { return false };
    base.differences(candidate).any(|(other, ..)| other == resolved)
}

fn difference(name: &str, base: &Field, candidate: &Field, all: &Fingerprint, theirs: &Fingerprint) -> Difference {
    let change = defaults::seen(name, &base.stated.value, &candidate.stated.value, (all, theirs));
    let came = came::of(name, base.group, change.is_some(), (all, theirs));
    let known = impact::of(name);
    Difference {
        field: name.into(),
        group: base.group,
        base: shown(base),
        candidate: shown(candidate),
        base_from: source(&base.stated),
        candidate_from: source(&candidate.stated),
        came,
        impact: known.map_or(Impact::Unknown, |known| known.impact),
        effect: known.map(|known| known.effect.to_owned()),
        since: change.map(|change| change.when()),
    }
}

fn one_sided(side: Role, name: &str, field: &Field) -> OneSided {
    OneSided { field: name.into(), group: field.group, side, value: shown(field), from: source(&field.stated) }
}

/// The value, with those that contradict it.
fn shown(field: &Field) -> String {
    let mut said = field.stated.value.clone();
    for other in &field.also {
        said += &format!(" (but {} in {})", other.value, source(other));
    }
    said
}

/// Where it was read.
fn source(stated: &Stated) -> String {
    stated.line.map_or_else(|| stated.from.clone(), |line| format!("{}:{line}", stated.from))
}

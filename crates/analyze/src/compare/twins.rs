//! One run that is named twice.

use firstcheck_model::evidence::RunEvidence;

/// The runs of a side, each once, and what was left out.
pub(super) fn once(runs: &[RunEvidence]) -> (Vec<&RunEvidence>, Vec<String>) {
    let (mut kept, mut notes): (Vec<&RunEvidence>, Vec<String>) = (Vec::new(), Vec::new());
    for run in runs {
        match kept.iter().find(|other| same(other, run)) {
            Some(other) => notes.push(format!("{} is the run of {} once more: it counts once", run.label, other.label)),
            None => kept.push(run),
        }
    }
    (kept, notes)
}

/// Why the sides may not be compared: a run that stands on both.
pub(super) fn on_both(base: &[&RunEvidence], candidate: &[&RunEvidence]) -> Vec<String> {
    let twins = base.iter().flat_map(|b| candidate.iter().filter(|c| same(b, c)).map(move |c| (b, c)));
    let say = |(b, c): (&&RunEvidence, &&RunEvidence)| {
        format!("one run stands on both sides ({} and {}): compared with itself it shows nothing", b.label, c.label)
    };
    twins.map(say).collect()
}

/// Copies of a run keep its id; that its rows are the same too guards against ids that were given twice.
fn same(one: &RunEvidence, other: &RunEvidence) -> bool {
    one.info.id == other.info.id
        && one.info.window == other.info.window
        && one.info.reported == other.info.reported
        && one.requests == other.requests
}

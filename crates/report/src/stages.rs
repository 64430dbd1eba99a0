//! Which splits of time a page shows, shared by the renderings.

use crate::words;
use firstcheck_model::report::StageRow;

/// Splits in the order in which a reader wants them: the tail before the mean, requests before histograms.
const PREFERRED: [(&str, &str); 3] = [("p95", "spans"), ("mean", "spans"), ("mean", "histogram means")];

/// Rows of one split: same total, same basis.
pub(crate) type Split<'r> = &'r [StageRow];

/// The best split of each metric, and how many others there are.
pub(crate) fn chosen(rows: &[StageRow]) -> (Vec<Split<'_>>, usize) {
    let all: Vec<Split<'_>> = rows.chunk_by(|a, b| a.of == b.of && a.basis == b.basis).collect();
    let mut best: Vec<Split<'_>> = Vec::new();
    for split in &all {
        match best.iter_mut().find(|known| metric(known) == metric(split)) {
            Some(known) if rank(split) < rank(known) => *known = split,
            Some(_) => {}
            None => best.push(split),
        }
    }
    let others = all.len() - best.len();
    (best, others)
}

/// What is split, and from what.
pub(crate) fn title(split: Split<'_>) -> String {
    split
        .first()
        .map_or(String::new(), |first| format!("Where the time went: {} (by {})", words::split(&first.of), first.basis))
}

fn metric<'r>(split: &Split<'r>) -> Option<&'r str> {
    split.first()?.of.split(' ').next()
}

fn rank(split: &Split<'_>) -> usize {
    let Some(first) = split.first() else { return PREFERRED.len() };
    let stat = first.of.split(' ').nth(1).unwrap_or("");
    PREFERRED.iter().position(|known| *known == (stat, first.basis.as_str())).unwrap_or(PREFERRED.len())
}

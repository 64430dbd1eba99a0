//! Where time was gained or lost, with a bar for each stage's share.

use super::{Page, rows};
use crate::{layout::tame, stages, tone::Tone};
use firstcheck_model::report::StageRow;

/// Characters of a bar that stands for the whole difference.
const BAR: f64 = 20.0;

fn bar(share: f64) -> String {
    let length = (share.clamp(0.0, 1.0) * BAR).round() as usize;
    "█".repeat(length)
}

/// The best split of each metric under a heading of its own.
pub(super) fn stages(page: &mut Page, splits: &[StageRow]) {
    let chosen = stages::chosen(splits);
    for split in chosen.splits {
        page.heading(&tame(&stages::title(split)));
        rows(page, &stages::table(split, Some(bar)), "  ", &[]);
    }
    for total in chosen.unseen {
        page.prose("  ", &tame(&stages::unseen(total)), Tone::Dim);
    }
    if chosen.others > 0 {
        page.prose("  ", &format!("{} more splits: --format json", chosen.others), Tone::Dim);
    }
}

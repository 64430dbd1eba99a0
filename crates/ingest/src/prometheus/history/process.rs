//! What the start times of a process tell: a restart, or several processes behind one address.

use firstcheck_model::signal::Labels;
use std::collections::BTreeMap;

/// Start times in the order in which they were seen, by the labels they stand under; one that stays is there once.
pub(in crate::prometheus) type Starts = BTreeMap<Labels, Vec<f64>>;

/// Why counters of these pages may not be taken as growth: several processes answer at one address.
pub(in crate::prometheus) fn flapping(starts: &Starts) -> Option<String> {
    // As one that stays is there once, one that comes again has come back.
    let (labels, distinct) = starts.iter().find_map(|(labels, values)| {
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        (distinct.len() < values.len()).then_some((labels, distinct.len()))
    })?;
    Some(format!(
        "process_start_time_seconds{} goes back and forth between {distinct} values: several processes answer at one \
         address, and their counters cannot be told apart. Scrape each replica by itself",
        labels.render()
    ))
}

/// A line for each process that was started again.
pub(in crate::prometheus) fn restarts(starts: &Starts) -> impl Iterator<Item = String> {
    let restarted = starts.iter().filter(|(_, values)| values.len() > 1);
    restarted.map(|(labels, values)| {
        format!("the process{} restarted {} times within these pages", labels.render(), values.len() - 1)
    })
}

//! What the start times of a process tell: a restart, or several processes behind one address.

use firstcheck_model::signal::Labels;
use std::collections::BTreeMap;

/// Start times in the order in which they were seen, by the labels they stand under; one that stays is there once.
pub(in crate::prometheus) type Starts = BTreeMap<Labels, Vec<f64>>;

/// Why counters of these pages may not be taken as growth: several processes answer at one address.
pub(in crate::prometheus) fn flapping(starts: &Starts) -> Option<String> {
    let back = |(_, values): &(&Labels, &Vec<f64>)| values.iter().enumerate().any(|(at, v)| values[..at].contains(v));
    let (labels, values) = starts.iter().find(back)?;
    let mut distinct = values.clone();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    Some(format!(
        "process_start_time_seconds{} goes back and forth between {} values: several processes answer at one address, \
         and their counters cannot be told apart. Scrape each replica by itself",
        labels.render(),
        distinct.len()
    ))
}

/// A line for each process that was started again.
pub(in crate::prometheus) fn restarts(starts: &Starts) -> impl Iterator<Item = String> {
    let restarted = starts.iter().filter(|(_, values)| values.len() > 1);
    restarted.map(|(labels, values)| {
        format!("the process{} restarted {} times within these pages", labels.render(), values.len() - 1)
    })
}

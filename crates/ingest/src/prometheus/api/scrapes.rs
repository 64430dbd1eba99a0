//! What the times of samples tell of the scraping: targets that were not scraped for a while, or not all the time.

use firstcheck_model::{run::Clock, signal::Series};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// The series in which Prometheus keeps whether a scrape succeeded.
pub(super) const UP: &str = "up";

/// Labels that name a scraped target.
const TARGET: [&str; 4] = ["job", "namespace", "pod", "instance"];

/// Times the usual distance of samples from which a distance is a gap: two scrapes in a row failed.
const GAP: i64 = 3;

/// Targets of which gaps are told one by one.
const MOST_TARGETS: usize = 5;

/// When a target was scraped.
struct Target<'s> {
    name: String,
    /// Its series with the most samples.
    fullest: &'s Series,
    /// Scrapes, and those that failed, as the server counts them.
    up: Option<(usize, usize)>,
}

/// A line for each target with gaps, failed scrapes, or a life shorter than the window.
pub(super) fn remarks(series: &[Series], clock: Clock) -> Vec<String> {
    let targets = targets(series);
    let start = series.iter().filter_map(|series| series.at.first()?.get()).min();
    let end = series.iter().filter_map(|series| series.at.last()?.get()).max();
    let (Some(start), Some(end)) = (start, end) else { return Vec::new() };
    let mut remarks: Vec<String> = targets.iter().filter_map(|target| target.remark(clock)).collect();
    if remarks.len() > MOST_TARGETS {
        let more = remarks.split_off(MOST_TARGETS).len();
        remarks.push(format!("{more} more targets have gaps or failed scrapes"));
    }
    let partly = targets.iter().filter(|target| target.is_there_partly(start, end)).count();
    if partly > 0 {
        remarks.push(format!(
            "{partly} of {} targets were not there all the time: what their counters grew by before their first sample \
             is not known",
            targets.len()
        ));
    }
    remarks
}

fn targets(series: &[Series]) -> Vec<Target<'_>> {
    let mut targets: BTreeMap<String, Target<'_>> = BTreeMap::new();
    for one in series.iter().filter(|series| !series.at.is_empty()) {
        let words = TARGET.iter().filter_map(|label| Some(format!("{label}={}", one.labels.get(label)?)));
        let name = words.collect::<Vec<_>>().join(",");
        let target = targets.entry(name.clone()).or_insert(Target { name, fullest: one, up: None });
        if one.at.len() > target.fullest.at.len() {
            target.fullest = one;
        }
        if one.name == UP {
            target.up = Some((one.value.len(), one.value.iter().filter(|up| **up == 0.0).count()));
        }
    }
    targets.into_values().collect()
}

impl Target<'_> {
    /// The usual distance of its samples, nanoseconds: their median.
    fn usual(&self) -> Option<i64> {
        let mut distances: Vec<i64> = self.distances().map(|(_, distance)| distance).collect();
        distances.sort_unstable();
        distances.get(distances.len() / 2).copied().filter(|usual| *usual > 0)
    }

    /// Distances of neighbouring samples, each with where it begins.
    fn distances(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.fullest.at.windows(2).filter_map(|pair| {
            let (from, to) = (pair[0].get()?, pair[1].get()?);
            Some((from, to.saturating_sub(from)))
        })
    }

    fn remark(&self, clock: Clock) -> Option<String> {
        let mut parts = Vec::new();
        if let Some((all, failed)) = self.up.filter(|(_, failed)| *failed > 0) {
            parts.push(format!("{failed} of {all} scrapes failed"));
        }
        if let Some(usual) = self.usual() {
            let gaps: Vec<(i64, i64)> = self.distances().filter(|(_, distance)| *distance >= GAP * usual).collect();
            if let Some((from, longest)) = gaps.iter().copied().max_by_key(|(_, distance)| *distance) {
                let seconds = |ns: i64| (ns as f64 / 1e9 * 10.0).round() / 10.0;
                let began = clock.started_unix_ns.and_then(|start| time(start.saturating_add(from)));
                let began = began.map_or(String::new(), |began| format!(" from {began}"));
                parts.push(format!(
                    "{} gaps between samples that are usually {} s apart, the longest of {} s{began}",
                    gaps.len(),
                    seconds(usual),
                    seconds(longest)
                ));
            }
        }
        let name = if self.name.is_empty() { "the target" } else { &self.name };
        (!parts.is_empty()).then(|| format!("{name}: {}", parts.join("; ")))
    }

    /// Whether its samples begin after the window's start or end before its end, by more than a gap.
    fn is_there_partly(&self, start: i64, end: i64) -> bool {
        let ends = self.fullest.at.first().zip(self.fullest.at.last());
        let (Some(usual), Some((Some(first), Some(last)))) =
            (self.usual(), ends.map(|(first, last)| (first.get(), last.get())))
        else {
            return false;
        };
        first - start >= GAP * usual || end - last >= GAP * usual
    }
}

fn time(unix_ns: i64) -> Option<Timestamp> {
    Timestamp::from_second(unix_ns.div_euclid(1_000_000_000)).ok()
}

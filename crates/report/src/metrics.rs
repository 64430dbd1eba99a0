//! The table of metrics, shared by the renderings.

use crate::{
    layout::{Align, Table},
    number, words,
};
use firstcheck_model::{
    metric::Metric,
    report::{Claim, MetricRow, Quantity, Report},
};

/// Column of the smallest detectable difference.
pub(crate) const MDE: usize = 5;

/// Columns that go first where there is no room for all, by what a reader misses least; the JSON report has them.
pub(crate) const LEAST_MISSED: [(usize, &str); 3] = [(MDE, "finds"), (6, "n"), (4, "interval")];

/// The table with its footnotes.
pub(crate) struct Metrics {
    /// One row a metric row that is shown, in the report's order.
    pub(crate) table: Table,
    /// What each row of the table claims.
    pub(crate) claims: Vec<Claim>,
    /// Footnotes in the order of their numbers, then what `–` means where it occurs.
    pub(crate) footnotes: Vec<String>,
}

fn samples([base, candidate]: [Option<u64>; 2], two_sides: bool) -> String {
    let one = |n: Option<u64>| n.map_or(number::MISSING.into(), number::count);
    match (base, candidate) {
        (None, None) => String::new(),
        (b, c) if two_sides && b != c => format!("{} / {}", one(b), one(c)),
        (_, c) => one(c),
    }
}

fn interval(row: &MetricRow) -> String {
    row.interval.map_or(String::new(), number::change_interval)
}

/// The interval column's head, from the confidence that the rows state.
fn interval_head(rows: &[MetricRow]) -> String {
    let mut levels = rows.iter().filter(|row| row.interval.is_some()).map(|row| row.confidence);
    match levels.next() {
        Some(Some(first)) if levels.all(|level| level == Some(first)) => {
            format!("{} interval", number::relative(first))
        }
        _ => "interval".into(),
    }
}

/// Whether a page shows a row: all that is judged, and of the rest what a reader looks for first. Of slices, what fails
/// and is not what their whole says.
fn is_shown(row: &MetricRow, report: &Report) -> bool {
    if row.slice.is_some() {
        return row.claim == Claim::Regressed && !repeats(row, report);
    }
    let judged =
        row.margin.is_some() || !matches!(row.claim, Claim::Shown | Claim::NotClaimable | Claim::NotComparable);
    let there = |metric: Metric| report.metrics.iter().any(|other| other.metric == metric && other.stat == row.stat);
    let headline = match row.metric {
        Metric::Ttft => ["mean", "p50", "p95", "p99"].contains(&row.stat.as_str()),
        Metric::TtftFromSent => ["p50", "p95"].contains(&row.stat.as_str()) && !there(Metric::Ttft),
        Metric::Itl => ["mean", "p50", "p99"].contains(&row.stat.as_str()),
        Metric::EventGap => ["mean", "p50", "p99"].contains(&row.stat.as_str()) && !there(Metric::Itl),
        Metric::Tpot => row.stat == "p50" || (row.stat == "mean" && !has(report, Metric::Tpot, "p50")),
        Metric::LongestGap => ["mean", "p50", "p95"].contains(&row.stat.as_str()),
        Metric::E2e => ["p50", "p95"].contains(&row.stat.as_str()),
        Metric::OutputThroughput | Metric::RequestThroughput | Metric::Goodput | Metric::GoodShare => true,
        Metric::FailedShare => {
            [row.base, row.candidate].into_iter().flatten().any(|side| side != Quantity::Finite(0.0))
        }
        Metric::Preemptions | Metric::HitRate | Metric::KvCapacity => true,
        Metric::WeightMemory | Metric::NonKvMemory | Metric::StartUpTime => true,
        Metric::GpuTimePerGood | Metric::CostPerGood => true,
        Metric::QueueTime | Metric::PrefillTime | Metric::DecodeTime => report.stages.is_empty(),
        Metric::TtftServer | Metric::ItlServer => true,
        Metric::InputThroughput | Metric::SendLag => false,
    };
    judged || headline
}

/// Whether a slice that is worse says no more than its whole: that is worse too, and no other slice is known to be fine.
fn repeats(slice: &MetricRow, report: &Report) -> bool {
    let same = |row: &&MetricRow| (row.metric, &row.stat, &row.cell) == (slice.metric, &slice.stat, &slice.cell);
    let (slices, whole): (Vec<_>, Vec<_>) = report.metrics.iter().filter(same).partition(|row| row.slice.is_some());
    let fine = |claim| matches!(claim, Claim::NonInferior | Claim::Improved | Claim::RegressedWithinMargin);
    whole.iter().any(|row| row.claim == Claim::Regressed) && !slices.iter().any(|row| fine(row.claim))
}

fn has(report: &Report, metric: Metric, stat: &str) -> bool {
    report.metrics.iter().any(|row| row.metric == metric && row.stat == stat)
}

/// Lays out the rows of `report` that a page shows; the JSON report has all.
pub(crate) fn metrics(report: &Report, all: bool) -> Metrics {
    let shown: Vec<&MetricRow> = report.metrics.iter().filter(|row| all || is_shown(row, report)).collect();
    let two_sides = report.sides.base.is_some() || report.metrics.iter().any(|row| row.base.is_some());
    let interval_head = interval_head(&report.metrics);
    let value_head = if two_sides { "candidate" } else { "value" };
    let mut table = Table::new(&[
        ("metric", Align::Left),
        ("base", Align::Right),
        (value_head, Align::Right),
        ("change", Align::Right),
        (&interval_head, Align::Right),
        ("finds", Align::Right),
        ("n", Align::Right),
        ("claim", Align::Left),
    ]);
    let mut footnotes: Vec<String> = Vec::new();
    let mut missing = false;
    for row in &shown {
        let mut name = words::row(row);
        if let Some(note) = &row.note {
            let at = footnotes.iter().position(|known| known == note).unwrap_or_else(|| {
                footnotes.push(note.clone());
                footnotes.len() - 1
            });
            name += &format!(" [{}]", at + 1);
        }
        // A statistic of pairs (tail asymmetry) has a ratio and no value on either side.
        let of_pairs = row.base.is_none() && row.candidate.is_none() && row.ratio.is_some();
        missing |= !of_pairs && (row.candidate.is_none() || (two_sides && row.base.is_none()));
        let value = |quantity| if of_pairs { String::new() } else { number::quantity(quantity, &row.unit) };
        let on_two_sides = |text: String| if two_sides { text } else { String::new() };
        table.row(vec![
            name,
            on_two_sides(value(row.base)),
            value(row.candidate),
            on_two_sides(if row.ratio.is_some() { number::change_of(row.ratio) } else { String::new() }),
            interval(row),
            row.mde.map_or(String::new(), |mde| format!("≥ {}", number::relative(mde))),
            samples(row.n, two_sides),
            on_two_sides(words::claim(row.claim).into()),
        ]);
    }
    let mut footnotes: Vec<String> =
        footnotes.into_iter().enumerate().map(|(at, note)| format!("[{}] {note}", at + 1)).collect();
    if missing {
        footnotes.push(format!("{} not known: missing is not zero", number::MISSING));
    }
    footnotes.extend(folded_slices(report, all));
    let is_whole = |row: &&MetricRow| row.slice.is_none();
    let hidden = report.metrics.iter().filter(is_whole).count() - shown.iter().copied().filter(is_whole).count();
    if hidden > 0 {
        footnotes.push(format!("{hidden} more rows: --format json"));
    }
    Metrics { table, footnotes, claims: shown.iter().map(|row| row.claim).collect() }
}

/// How many rows of slices are folded, by what they claim.
fn folded_slices(report: &Report, all: bool) -> Option<String> {
    let folded: Vec<&MetricRow> =
        report.metrics.iter().filter(|row| row.slice.is_some() && !all && !is_shown(row, report)).collect();
    let mut claims: Vec<(&str, usize)> = Vec::new();
    for name in folded.iter().map(|row| words::claim(row.claim)) {
        match claims.iter_mut().find(|(known, _)| *known == name) {
            Some((_, times)) => *times += 1,
            None => claims.push((name, 1)),
        }
    }
    let list: Vec<String> = claims.iter().map(|(name, times)| format!("{times} {name}")).collect();
    (!folded.is_empty()).then(|| format!("{} rows of slices are folded ({}): --all", folded.len(), list.join(", ")))
}

/// The smallest detectable differences of what is gated as a sentence, for where the column does not fit.
pub(crate) fn mde_sentence(rows: &[MetricRow]) -> Option<String> {
    let gated = rows.iter().filter(|row| row.margin.is_some() && row.slice.is_none());
    let parts: Vec<String> =
        gated.filter_map(|row| Some(format!("{} {}", words::row(row), number::relative(row.mde?)))).collect();
    (!parts.is_empty()).then(|| format!("{MDE_MEANS}: {}", parts.join(", ")))
}

/// What the column `finds` says.
pub(crate) const MDE_MEANS: &str = "smallest difference found four times in five";

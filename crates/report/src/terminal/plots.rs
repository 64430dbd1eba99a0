//! Small plots in text: the distributions that the numbers come from, and signals over time.

use super::{
    Page,
    chart::{self, LogAxis},
};
use crate::{layout::tame, number, tone::Tone, words};
use firstcheck_model::{
    figure::{BUCKETS_A_DECADE, DistributionRow, Figures, Histogram, Mark, TimelineRow},
    metric::Metric,
    report::{Claim, MetricRow, Report},
    run::Role,
};

/// Lines of a curve.
const HEIGHT: usize = 7;
/// Columns at the left that say what a line is.
const LEAD: usize = 14;
/// Columns at the right for a signal's range.
const RANGE: usize = 20;
/// Columns of a plot: fewer tell nothing, more are no easier to read.
const COLUMNS: std::ops::RangeInclusive<usize> = 20..=72;
/// Things that happened and are named under the signals.
const MOST_MARKS: usize = 4;

/// Lays out the plots: the distribution that decides and the gaps between events; of one deployment by itself the signals
/// too; with `--all` everything.
pub(super) fn plots(page: &mut Page, report: &Report) {
    // A plot on fewer columns tells nothing.
    if page.style.columns.is_some_and(|columns| columns < LEAD + COLUMNS.start() + RANGE) {
        return;
    }
    let figures = &report.figures;
    let decides = deciding(report);
    let shown = |row: &&DistributionRow| page.style.all || row.metric == decides || row.metric == Metric::EventGap;
    let rows: Vec<&DistributionRow> = figures.distributions.iter().filter(shown).collect();
    if !rows.is_empty() {
        page.heading("Distributions");
        legend(page, figures);
        rows.iter().for_each(|row| distribution(page, row, figures));
    }
    if page.style.all || report.sides.base.is_none() {
        signals(page, figures);
    }
}

/// The latency whose row decides: the first that failed, else the first that is gated, else the first token.
fn deciding(report: &Report) -> Metric {
    let drawn = |row: &&MetricRow| report.figures.distributions.iter().any(|figure| figure.metric == row.metric);
    let whole = || report.metrics.iter().filter(|row| row.slice.is_none()).filter(drawn);
    let failed = whole().find(|row| row.claim == Claim::Regressed);
    failed.or_else(|| whole().find(|row| row.margin.is_some())).map_or(Metric::Ttft, |row| row.metric)
}

fn legend(page: &mut Page, figures: &Figures) {
    if figures.distributions.iter().any(|row| row.base.is_some() && row.candidate.is_some()) {
        let text = format!("{} base   {} candidate   {} both", mark(Role::Base), mark(Role::Candidate), BOTH);
        let text = page.paint(&text, Tone::Dim);
        page.line(&format!("  {text}"));
    }
}

const BOTH: char = '◉';

const fn mark(side: Role) -> char {
    match side {
        Role::Base => '○',
        Role::Candidate => '●',
    }
}

/// Both sides that are known.
fn sides(row: &DistributionRow) -> Vec<(Role, &Histogram)> {
    let both = [(Role::Base, &row.base), (Role::Candidate, &row.candidate)];
    both.into_iter().filter_map(|(role, side)| Some((role, side.as_ref()?))).collect()
}

fn columns(page: &Page, at_the_right: usize) -> usize {
    page.style.width.saturating_sub(LEAD + at_the_right).clamp(*COLUMNS.start(), *COLUMNS.end())
}

fn distribution(page: &mut Page, row: &DistributionRow, figures: &Figures) {
    let sides = sides(row);
    let bounds = || sides.iter().flat_map(|(_, side)| &side.buckets).map(|(bound, _)| *bound);
    let sane = |bound: &f64| bound.is_finite() && *bound > 0.0;
    let ends = bounds().filter(sane).reduce(f64::min).zip(bounds().filter(sane).reduce(f64::max));
    let bucket = 10f64.powf(1.0 / BUCKETS_A_DECADE);
    let Some((low, high)) = ends.map(|(low, high)| (low / bucket, high)) else { return };
    let columns = match row.metric {
        // A column without a bucket of its own would look like a gap that nobody had.
        Metric::EventGap => columns(page, 0).min(((high / low).log10() * BUCKETS_A_DECADE).round() as usize),
        _ => columns(page, 0),
    };
    let Some(axis) = LogAxis::new(low, high, columns) else { return };
    page.line("");
    match row.metric {
        Metric::EventGap => gaps(page, &sides, axis, figures),
        metric => cumulative(page, metric, &sides, axis),
    }
    let labels = axis.labels(|value| number::value(value, &row.unit));
    let labels = page.paint(&tame(&labels), Tone::Dim);
    page.line(&format!("{:LEAD$}{labels}", ""));
}

fn cumulative(page: &mut Page, metric: Metric, sides: &[(Role, &Histogram)], axis: LogAxis) {
    let of = if metric == Metric::LongestGap { "streams" } else { "requests" };
    page.line(&format!("  {}: share of {of} up to it", metric.label()));
    let curve = |side: &Histogram| (0..axis.columns()).map(|column| side.share_up_to(axis.edge(column))).collect();
    let curves: Vec<_> = sides.iter().map(|(role, side)| (mark(*role), curve(side))).collect();
    for (at, line) in chart::curves(&curves, BOTH, HEIGHT).iter().enumerate() {
        let share = match at {
            0 => "100 %",
            at if 2 * at == HEIGHT - 1 => "50 %",
            at if at == HEIGHT - 1 => "0 %",
            _ => "",
        };
        page.line(format!("{share:>width$} │{line}", width = LEAD - 2).trim_end());
    }
}

/// How many gaps are that long, on a logarithmic scale: a stall is one in a million and decides all the same.
fn gaps(page: &mut Page, sides: &[(Role, &Histogram)], axis: LogAxis, figures: &Figures) {
    page.line("  gaps between events: how many are that long (logarithmic)");
    let counts = |side: &Histogram| {
        let mut counts = vec![0u64; axis.columns()];
        for (bound, n) in &side.buckets {
            let count = &mut counts[axis.column(*bound)];
            *count = count.saturating_add(*n);
        }
        counts
    };
    let sides: Vec<(Role, Vec<u64>)> = sides.iter().map(|(role, side)| (*role, counts(side))).collect();
    let height = |n: u64| 1.0 + (n as f64).log10();
    let fullest = sides.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(0);
    for (role, counts) in sides {
        let heights: Vec<_> = counts.into_iter().map(|n| (n > 0).then(|| height(n))).collect();
        let bars = chart::bars(&heights, height(fullest));
        page.line(&format!("    {:<width$}{bars}", words::side(figures, role), width = LEAD - 4));
    }
}

fn signals(page: &mut Page, figures: &Figures) {
    let mut names: Vec<&str> = Vec::new();
    for row in &figures.timelines {
        if !names.contains(&row.signal.as_str()) {
            names.push(&row.signal);
        }
    }
    let of = |name: &str| figures.timelines.iter().filter(|row| row.signal == name).collect::<Vec<_>>();
    let moves = |rows: &[&TimelineRow]| rows.iter().any(|row| row.points.iter().any(|(_, value)| *value != 0.0));
    let shown: Vec<_> = names.into_iter().map(|name| (name, of(name))).filter(|(_, rows)| moves(rows)).collect();
    if shown.is_empty() {
        return;
    }
    page.heading("Signals over time");
    let points = shown.iter().flat_map(|(_, rows)| rows).map(|row| row.points.len()).max().unwrap_or(0);
    let columns = columns(page, RANGE).min(points);
    for (name, rows) in shown {
        signal(page, name, &rows, columns, figures);
    }
    what_happened(page, &figures.marks);
}

fn signal(page: &mut Page, name: &str, rows: &[&TimelineRow], columns: usize, figures: &Figures) {
    let values = || rows.iter().flat_map(|row| row.points.iter().map(|(_, value)| *value));
    let highest = values().fold(0.0, f64::max);
    page.line(&format!("  {}", tame(&name.replace('_', " "))));
    for row in rows {
        let bars = chart::bars(&spread(&row.points, columns), highest);
        let own = || row.points.iter().map(|(_, value)| *value);
        let (low, high) = (own().fold(f64::INFINITY, f64::min), own().fold(f64::NEG_INFINITY, f64::max));
        let range = format!("{} … {}", number::value(low, &row.unit), number::value(high, &row.unit));
        let side = words::side(figures, row.side);
        let range = page.paint(&tame(&range), Tone::Dim);
        page.line(&format!("    {side:<width$}{bars:<columns$}  {range}", width = LEAD - 4));
    }
}

/// The means of the points in each of `columns` equal parts of their span.
fn spread(points: &[(f64, f64)], columns: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0.0, 0u32); columns];
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return Vec::new() };
    for (at, value) in points {
        let place = if last > first { (at - first) / (last - first) * columns as f64 } else { 0.0 };
        if let Some(part) = sums.get_mut((place as usize).min(columns - 1)) {
            *part = (part.0 + value, part.1 + 1);
        }
    }
    sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
}

fn what_happened(page: &mut Page, marks: &[Mark]) {
    for mark in marks.iter().take(MOST_MARKS) {
        let text = format!("{} at {} of {}", mark.what, number::value(mark.at_s, "s"), mark.run);
        page.prose("  ▲ ", &text, Tone::Plain);
    }
    if marks.len() > MOST_MARKS {
        page.line(&format!(
            "    and {} more: --format json lists all",
            number::count((marks.len() - MOST_MARKS) as u64)
        ));
    }
}

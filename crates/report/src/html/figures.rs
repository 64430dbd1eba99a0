//! Figures with their captions and the tables of their values.

use super::{plot, table};
use crate::{
    RenderError, gated, number,
    stages::{self, Split},
    words,
};
use firstcheck_model::{
    figure::{DistributionRow, Figures, Histogram, Mark, TimelineRow},
    first_look::Began,
    metric::Metric,
    report::{MetricRow, Report},
    run::Role,
};
use maud::{Markup, html};

/// Values of a distribution that its table lists.
const QUANTILES: [f64; 8] = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999];

/// A figure; without a drawing only its table stands there.
fn figure(caption: &str, drawing: Option<Markup>, values: Markup) -> Markup {
    html! {
        figure {
            figcaption { (caption) }
            @if let Some(drawing) = drawing {
                div class="scroll" role="region" aria-label={ "Figure: " (caption) } tabindex="0" { (drawing) }
            }
            (values)
        }
    }
}

/// The intervals of what is gated, of all requests.
pub(super) fn intervals(report: &Report) -> Result<Option<Markup>, RenderError> {
    let (rows, slices) = gated::whole(report);
    if rows.is_empty() {
        return Ok(None);
    }
    let drawing = plot::intervals(&rows)?;
    let cells = |row: &&MetricRow| {
        let of = |size: Option<f64>| size.map_or(number::MISSING.into(), number::relative);
        vec![
            words::row(row),
            number::change_of(row.ratio),
            row.interval.map_or(number::MISSING.into(), number::change_interval),
            of(row.margin),
            of(row.mde),
            words::claim(row.claim).into(),
        ]
    };
    let cells: Vec<_> = rows.iter().map(cells).collect();
    let caption = "Change of each gated metric: point, interval, and margin as a tick";
    let values = table::values(caption, &["metric", "change", "interval", "margin", "finds", "claim"], &cells);
    Ok(Some(html! {
        (figure(caption, drawing, values))
        @if let Some(text) = gated::worse_slices(slices) { p { (text) ": " a href="#slices" { "Slices" } } }
    }))
}

/// Distributions of both sides.
pub(super) fn distributions(figures: &Figures) -> Result<Vec<Markup>, RenderError> {
    let mut all = Vec::new();
    for row in &figures.distributions {
        let (drawing, caption) = match row.metric {
            Metric::EventGap => {
                (plot::gaps(row)?, "How often gaps between events were so long (both axes logarithmic)".into())
            }
            Metric::LongestGap => (plot::cumulative(row)?, "Longest gap of each stream: share up to it".to_owned()),
            metric => (plot::cumulative(row)?, format!("{}: share of requests up to it", metric.label())),
        };
        all.push(figure(&caption, drawing, quantiles(&caption, row, words::has_base(figures))));
    }
    Ok(all)
}

fn quantiles(caption: &str, row: &DistributionRow, with_base: bool) -> Markup {
    let of = |side: &Option<Histogram>, p: f64| {
        side.as_ref().map_or(number::MISSING.into(), |side| {
            side.quantile(p).map_or(number::UNBOUNDED.into(), |bound| number::value(bound, &row.unit))
        })
    };
    let mut rows: Vec<Vec<String>> = QUANTILES
        .iter()
        .map(|p| vec![format!("p{}", (p * 1000.0).round() / 10.0), of(&row.base, *p), of(&row.candidate, *p)])
        .collect();
    let count = |side: &Option<Histogram>, of: fn(&Histogram) -> u64| {
        side.as_ref().map_or(number::MISSING.into(), |side| number::count(of(side)))
    };
    rows.push(vec!["samples".into(), count(&row.base, |side| side.n), count(&row.candidate, |side| side.n)]);
    let unanswered: fn(&Histogram) -> u64 = |side| side.unanswered;
    rows.push(vec!["unanswered".into(), count(&row.base, unanswered), count(&row.candidate, unanswered)]);
    if with_base {
        return table::values(caption, &["up to 12 % above", "base", "candidate"], &rows);
    }
    rows.iter_mut().for_each(|row| drop(row.remove(1)));
    table::values(caption, &["up to 12 % above", "run"], &rows)
}

/// Signals over time, one figure each, with what happened.
pub(super) fn timelines(figures: &Figures, began: Option<&Began>) -> Result<Vec<Markup>, RenderError> {
    let mut names: Vec<&str> = Vec::new();
    for row in &figures.timelines {
        if !names.contains(&row.signal.as_str()) {
            names.push(&row.signal);
        }
    }
    let mut marks = figures.marks.clone();
    marks.extend(began.map(|began| Mark {
        side: Role::Candidate,
        run: began.run.clone(),
        at_s: began.at_s,
        what: "it got worse from here on".into(),
    }));
    let mut all = Vec::new();
    for name in names {
        let rows: Vec<&TimelineRow> = figures.timelines.iter().filter(|row| row.signal == name).collect();
        let drawing = plot::timeline(&rows, &marks.iter().collect::<Vec<_>>())?;
        let caption = format!("{} over time", name.replace('_', " "));
        all.push(figure(&caption, drawing, samples(&caption, &rows, figures)));
    }
    if !marks.is_empty() {
        let rows: Vec<_> = marks
            .iter()
            .map(|mark| vec![mark.what.clone(), words::side(figures, mark.side).into(), number::value(mark.at_s, "s")])
            .collect();
        all.push(table::values("what happened", &["event", "side", "on the run's clock"], &rows));
    }
    Ok(all)
}

/// Rows that a table of samples has at most.
const MOST_SAMPLES: usize = 30;

fn samples(caption: &str, rows: &[&TimelineRow], figures: &Figures) -> Markup {
    let mut cells = Vec::new();
    for row in rows {
        let start = row.points.first().map_or(0.0, |(at, _)| *at);
        let step = row.points.len().div_ceil(MOST_SAMPLES).max(1);
        cells.extend(row.points.iter().step_by(step).map(|(at, value)| {
            vec![
                number::value(at - start, "s"),
                words::side(figures, row.side).into(),
                number::value(*value, &row.unit),
            ]
        }));
    }
    table::values(caption, &["since the start", "side", "value"], &cells)
}

/// A split of time as a waterfall, with its table.
pub(super) fn split(split: Split<'_>) -> Result<Markup, RenderError> {
    let title = stages::title(split);
    let drawing = plot::waterfall(&title, split)?;
    let values = super::laid(&title, &stages::table(split, None));
    Ok(figure(&title, drawing, html! { details open { summary { "Values" } (values) } }))
}

/// The control that shows and hides sides; it needs no script.
pub(super) fn sides() -> Markup {
    html! {
        fieldset class="sides" {
            legend { "Sides shown" }
            label for="show-base" { input type="checkbox" id="show-base" checked; span class="key base" {} "base" }
            label for="show-candidate" {
                input type="checkbox" id="show-candidate" checked; span class="key candidate" {} "candidate"
            }
        }
    }
}

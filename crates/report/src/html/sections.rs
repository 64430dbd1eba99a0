//! The sections of the page, the conclusion's evidence first.

use super::{Section, class, figures, findings, laid, summary, table};
use crate::{
    RenderError, deployments, evidence, isolation, layout::Table, metrics, number, sides, signatures, stages, sweep,
    tone, words,
};
use firstcheck_model::report::{Claim, MetricRow, Report};
use maud::{Markup, html};

/// All sections that have something to say.
pub(super) fn of(report: &Report, all: bool) -> Result<Vec<Section>, RenderError> {
    let mut sections = Vec::new();
    let mut add = |anchor, name, inner: Option<Markup>| {
        sections.extend(inner.map(|inner| Section::new(anchor, name, inner)));
    };
    add("summary", "In short", summary::summary(report));
    add("verdict", "What the gate judged", figures::intervals(report)?);
    add("findings", "What the checks found", (!report.findings.is_empty()).then(|| findings::findings(report)));
    add("quotes", "Lines that they rest on", (!report.quotes.is_empty()).then(|| findings::quotes(&report.quotes)));
    add("metrics", "Metrics", metric_table(report, all));
    add("stages", "Where the time went", splits(report)?);
    add("distributions", "Distributions", distributions(report)?);
    add("timeline", "Over time", timelines(report)?);
    add("slices", "Slices", heat(report));
    add("experiment", "Cells, factors, rates", experiments(report, all));
    add("signatures", "Signatures", signature_list(report));
    add("differences", "What differs", differences(report));
    add("comparability", "Whether it may be compared", comparability(report, all));
    add("measured", "What was measured", measured(report, all));
    add("read", "What was read", read(report));
    add("missing", "What is missing", settles(report));
    add("notes", "Notes", (!report.notes.is_empty()).then(|| list(&report.notes)));
    add("again", "Again", report.command.as_ref().map(|call| html! { pre tabindex="0" { code { (call) } } }));
    add("parameters", "Thresholds in force", parameters(report));
    Ok(sections)
}

fn list(items: &[String]) -> Markup {
    html! { ul { @for item in items { li { (item) } } } }
}

fn metric_table(report: &Report, all: bool) -> Option<Markup> {
    if report.metrics.is_empty() {
        return None;
    }
    let laid = metrics::metrics(report, all);
    let two_sides = report.sides.base.is_some();
    let tone = |claim: &Claim| if two_sides { class(tone::of_claim(*claim)) } else { "" };
    let classes: Vec<&str> = laid.claims.iter().map(tone).collect();
    let mut footnotes = laid.footnotes;
    if report.metrics.iter().any(|row| row.mde.is_some()) {
        footnotes.push(format!("finds: {}", metrics::MDE_MEANS));
    }
    Some(html! {
        (table::of("Metrics", &laid.table.shown(), &classes))
        @for note in &footnotes { p class="muted" { (note) } }
    })
}

fn splits(report: &Report) -> Result<Option<Markup>, RenderError> {
    let chosen = stages::chosen(&report.stages);
    let drawn = chosen.splits.iter().map(|split| figures::split(split)).collect::<Result<Vec<_>, _>>()?;
    let unseen: Vec<String> = chosen.unseen.iter().map(|total| stages::unseen(total)).collect();
    Ok((!drawn.is_empty() || !unseen.is_empty()).then(|| {
        html! {
            @for figure in &drawn { (figure) }
            @for total in &unseen { p { (total) } }
            @if chosen.others > 0 { p class="muted" { (chosen.others) " more splits: --format json" } }
        }
    }))
}

fn distributions(report: &Report) -> Result<Option<Markup>, RenderError> {
    let drawn = figures::distributions(&report.figures)?;
    Ok((!drawn.is_empty())
        .then(|| html! { @if words::has_base(&report.figures) { (figures::sides()) } div class="pair" { @for figure in &drawn { (figure) } } }))
}

fn timelines(report: &Report) -> Result<Option<Markup>, RenderError> {
    let drawn = figures::timelines(&report.figures, report.began.as_ref())?;
    Ok((!drawn.is_empty()).then(|| {
        html! {
            p class="muted" { "Of one run a side, each from its own start on." }
            @for figure in &drawn { (figure) }
        }
    }))
}

/// Slices by metric, coloured by what each claims.
fn heat(report: &Report) -> Option<Markup> {
    let rows: Vec<&MetricRow> = report.metrics.iter().filter(|row| row.slice.is_some()).collect();
    let name = |row: &MetricRow| match (&row.slice, &row.cell) {
        (Some(slice), Some(cell)) => format!("{slice}, {cell}"),
        (slice, _) => slice.clone().unwrap_or_default(),
    };
    let metric =
        |row: &MetricRow| format!("{} {}", row.metric.label(), if row.stat == "total" { "" } else { &row.stat });
    let unique = |of: &dyn Fn(&MetricRow) -> String| {
        let mut seen: Vec<String> = Vec::new();
        for one in rows.iter().map(|row| of(row)) {
            if !seen.contains(&one) {
                seen.push(one);
            }
        }
        seen
    };
    let (slices, metrics) = (unique(&name), unique(&metric));
    let cell = |slice: &String, wanted: &String| {
        rows.iter().find(|row| &name(row) == slice && &metric(row) == wanted).map(|row| {
            let claim = crate::words::claim(row.claim);
            (class(tone::of_claim(row.claim)), format!("{} {claim}", number::change_of(row.ratio)))
        })
    };
    (!rows.is_empty()).then(|| {
        html! {
            div class="scroll" role="region" aria-label="Table: slices by metric" tabindex="0" { table {
                thead { tr { th scope="col" { "slice" } @for metric in &metrics { th scope="col" { (metric) } } } }
                tbody { @for slice in &slices { tr {
                    th scope="row" { (slice) }
                    @for metric in &metrics {
                        @if let Some((class, text)) = cell(slice, metric) { td class=(class) { (text) } }
                        @else { td {} }
                    }
                } } }
            } }
        }
    })
}

fn experiments(report: &Report, all: bool) -> Option<Markup> {
    let mut tables: Vec<(String, Table)> = Vec::new();
    if !report.cells.is_empty() {
        tables.push(("Cells".into(), signatures::cells(&report.cells)));
    }
    let isolated = report.isolation.iter().flat_map(|found| isolation::tables(found, all));
    tables.extend(isolated.map(|(title, table)| (title.to_owned(), table)));
    if let Some(found) = &report.sweep {
        tables.push(("Sweep".into(), sweep::summary(found)));
        tables.extend(sweep::levels(found));
    }
    (!tables.is_empty()).then(|| html! { @for (title, table) in &tables { h3 { (title) } (laid(title, table)) } })
}

fn signature_list(report: &Report) -> Option<Markup> {
    signatures::present(report).next()?;
    Some(html! {
        @for row in signatures::present(report) {
            h3 { (signatures::title(row)) }
            (list(&row.facts))
            p { "Look at: " (signatures::leads(row)) }
        }
    })
}

fn differences(report: &Report) -> Option<Markup> {
    if report.differences.is_empty() && report.one_sided.is_empty() {
        return None;
    }
    let (table, listed) = deployments::differences(&report.differences);
    let effects: Vec<(&str, &str)> =
        listed.iter().filter_map(|one| Some((one.field.as_str(), one.effect.as_deref()?))).collect();
    Some(html! {
        @if !listed.is_empty() { (laid("Fields that differ", &table)) }
        @if !effects.is_empty() {
            ul { @for (field, effect) in &effects { li { strong { (field) } ": " (effect) } } }
        }
        @if let Some(more) = deployments::more_differences(&report.differences) { p { (more) } }
        @for sentence in deployments::one_sided(&report.one_sided) { p { (sentence) } }
    })
}

fn comparability(report: &Report, every: bool) -> Option<Markup> {
    (!report.comparability.is_empty()).then(|| {
        html! {
            ul { @for (one, more) in deployments::rulings(&report.comparability, every) {
                li { strong { (one.level.name()) ": " } (deployments::ruling(one)) (deployments::more_rulings(more)) " " span class="muted" { "mend: " (one.mend) } }
            } }
        }
    })
}

fn measured(report: &Report, all: bool) -> Option<Markup> {
    let warnings = sides::warnings(&report.sides, all);
    if let Some((table, more)) = deployments::fingerprint(&report.sides) {
        return Some(html! { (laid("The deployment", &table)) @if let Some(more) = more { p { (more) } } });
    }
    let compared = sides::sides(&report.sides)?;
    Some(html! {
        (laid("Both sides", &compared.table))
        @for (name, text) in &compared.shared { p { (name) " of both: " (text) } }
        @if !warnings.is_empty() { h3 { "Warnings" } (list(&warnings)) }
    })
}

fn read(report: &Report) -> Option<Markup> {
    if report.read.is_empty() && report.unread.is_empty() && report.not_understood.is_empty() {
        return None;
    }
    let place = |line: Option<u64>| line.map_or(String::new(), |line| format!(":{line}"));
    Some(html! {
        @if !report.read.is_empty() {
            (laid("Files read", &evidence::read(&report.read)))
            (list(&evidence::notes(&report.read)))
        }
        @if !report.unread.is_empty() {
            h3 { "Not read" }
            ul { @for one in &report.unread { li { code { (one.path) (place(one.line)) } ": " (one.reason) } } }
        }
        @if !report.not_understood.is_empty() {
            h3 { "Read and not understood" }
            (laid("Read and not understood", &evidence::not_understood(&report.not_understood)))
            @if let Some(more) = evidence::not_listed(&report.not_understood) { p { (more) } }
        }
    })
}

fn settles(report: &Report) -> Option<Markup> {
    (!report.settles.is_empty()).then(|| {
        html! {
            ul { @for one in &report.settles {
                li {
                    (one.what) "; obtain: " (one.obtain)
                    @let of: Vec<&str> = one.causes.iter().chain(&one.checks).map(String::as_str).collect();
                    @if !of.is_empty() { " (settles " (of.join(", ")) ")" }
                }
            } }
        }
    })
}

fn parameters(report: &Report) -> Option<Markup> {
    let rows: Vec<Vec<String>> = report
        .parameters
        .iter()
        .map(|(name, one)| vec![name.clone(), number::value(one.value, &one.unit), one.meaning.clone()])
        .collect();
    (!rows.is_empty()).then(|| table::values("thresholds", &["name", "value", "what it does"], &rows))
}

//! Figures as SVG, drawn by a library. Colours are placeholders that become the page's own variables, so that a figure is
//! light or dark as the page is; what is under the pointer says its values by a title, without a script.

mod curves;
mod intervals;
mod series;
mod waterfall;

pub(super) use curves::{cumulative, gaps};
pub(super) use intervals::intervals;
pub(super) use series::timeline;
pub(super) use waterfall::waterfall;

use crate::RenderError;
use maud::{Markup, PreEscaped, Render as _};
use plotters::{
    coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter},
    prelude::*,
};

/// Size of a text in a figure.
pub(super) const TEXT: u32 = 15;

/// Colours by what they stand for, as placeholders.
pub(super) mod ink {
    use plotters::style::RGBColor;

    pub(in super::super) const TEXT: RGBColor = RGBColor(1, 1, 1);
    pub(in super::super) const GRID: RGBColor = RGBColor(1, 1, 2);
    pub(in super::super) const BASE: RGBColor = RGBColor(1, 1, 3);
    pub(in super::super) const CANDIDATE: RGBColor = RGBColor(1, 1, 4);
    pub(in super::super) const BAD: RGBColor = RGBColor(1, 1, 5);
    pub(in super::super) const GOOD: RGBColor = RGBColor(1, 1, 6);
    pub(in super::super) const MUTED: RGBColor = RGBColor(1, 1, 7);

    /// Each placeholder as the library writes it, and the variable it becomes.
    pub(super) const VARIABLES: [(&str, &str); 7] = [
        ("\"#010101\"", "\"var(--text)\""),
        ("\"#010102\"", "\"var(--grid)\""),
        ("\"#010103\"", "\"var(--base)\""),
        ("\"#010104\"", "\"var(--candidate)\""),
        ("\"#010105\"", "\"var(--bad)\""),
        ("\"#010106\"", "\"var(--good)\""),
        ("\"#010107\"", "\"var(--muted)\""),
    ];
}

/// A part of a figure that says something under the pointer.
pub(super) struct Hit {
    /// Left, top, right, bottom.
    pub place: [i32; 4],
    /// What it says.
    pub says: String,
}

/// A chart on its canvas.
pub(super) type Chart<'c, 'b, X, Y> = ChartContext<'c, SVGBackend<'b>, Cartesian2d<X, Y>>;

/// The library's failure in words: it owns a type of its own.
pub(super) fn failed(error: impl std::fmt::Display) -> RenderError {
    RenderError::Figure(error.to_string())
}

/// Draws on a canvas of that size; `name` is what a reader that cannot see it hears.
pub(super) fn draw(
    name: &str,
    size: (u32, u32),
    with: impl FnOnce(&DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Result<Vec<Hit>, RenderError>,
) -> Result<Markup, RenderError> {
    let mut drawn = String::new();
    let hits = {
        let area = SVGBackend::with_string(&mut drawn, size).into_drawing_area();
        let hits = with(&area)?;
        area.present().map_err(failed)?;
        hits
    };
    let inner = drawn.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.trim_end().strip_suffix("</svg>").unwrap_or(inner);
    let inner = ink::VARIABLES.iter().fold(inner.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut out = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(name));
    out += &format!("viewBox=\"0 0 {} {}\" class=\"plot\">\n{inner}", size.0, size.1);
    for Hit { place: [left, top, right, bottom], says } in hits {
        let (width, height) = ((right - left).max(1), (bottom - top).max(1));
        let place = format!("x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"");
        out += &format!("<rect class=\"hit\" {place}><title>{}</title></rect>\n", escaped(&says));
    }
    Ok(PreEscaped(out + "</svg>"))
}

fn escaped(text: &str) -> String {
    text.render().into_string().replace('"', "&quot;")
}

/// What is said along an axis, and how its ticks read.
pub(super) struct Axis<'a, T> {
    pub name: &'a str,
    pub ticks: usize,
    pub says: &'a dyn Fn(&T) -> String,
}

/// A chart with both axes drawn.
pub(super) fn chart<'c, 'b, X: AsRangedCoord, Y: AsRangedCoord>(
    area: &'c DrawingArea<SVGBackend<'b>, plotters::coord::Shift>,
    left: u32,
    spans: (X, Y),
    axes: (&Axis<'_, X::Value>, &Axis<'_, Y::Value>),
) -> Result<Chart<'c, 'b, X::CoordDescType, Y::CoordDescType>, RenderError>
where
    X::CoordDescType: ValueFormatter<X::Value>,
    Y::CoordDescType: ValueFormatter<Y::Value>,
{
    let mut builder = ChartBuilder::on(area);
    builder.margin(10).margin_right(26).x_label_area_size(52).y_label_area_size(left);
    let mut chart = builder.build_cartesian_2d(spans.0, spans.1).map_err(failed)?;
    let style = ("sans-serif", TEXT).into_font().color(&ink::TEXT);
    chart
        .configure_mesh()
        .axis_style(ink::GRID)
        .bold_line_style(ink::GRID)
        .light_line_style(TRANSPARENT)
        .label_style(style.clone())
        .axis_desc_style(style)
        .x_labels(axes.0.ticks)
        .y_labels(axes.1.ticks)
        .x_desc(axes.0.name)
        .y_desc(axes.1.name)
        .x_label_formatter(axes.0.says)
        .y_label_formatter(axes.1.says)
        .draw()
        .map_err(failed)?;
    Ok(chart)
}

/// A line through points.
pub(super) fn line<X: Ranged, Y: Ranged>(
    chart: &mut Chart<'_, '_, X, Y>,
    points: Vec<(X::ValueType, Y::ValueType)>,
    style: impl Into<ShapeStyle>,
) -> Result<(), RenderError>
where
    X::ValueType: Clone + 'static,
    Y::ValueType: Clone + 'static,
{
    chart.draw_series(std::iter::once(PathElement::new(points, style))).map(drop).map_err(failed)
}

/// A pixel, kept where a viewer can show it.
pub(super) fn pixel<X: Ranged, Y: Ranged>(chart: &Chart<'_, '_, X, Y>, x: X::ValueType, y: Y::ValueType) -> (i32, i32) {
    let (x, y) = chart.backend_coord(&(x, y));
    (x.clamp(-10_000, 10_000), y.clamp(-10_000, 10_000))
}

/// A text cut to that many characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => format!("{}…", text.chars().take(most - 1).collect::<String>()),
        false => text.to_owned(),
    }
}

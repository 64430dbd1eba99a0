//! How stages lead from base's time to the candidate's.

use super::{Axis, Hit, TEXT, chart, cut, draw, failed, ink, line, pixel};
use crate::{RenderError, number, stages::Split};
use maud::Markup;
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

const WIDTH: u32 = 960;
/// Height of a bar with its space.
const ROW: u32 = 40;
/// Characters of a stage's name.
const NAME: usize = 30;

/// One bar: from where to where, and what it is.
struct Bar {
    name: String,
    from: f64,
    to: f64,
    colour: RGBColor,
    says: String,
}

fn bars(split: Split<'_>) -> Option<Vec<Bar>> {
    let unit = &split.first()?.unit;
    let sum =
        |part: fn(&firstcheck_model::report::StageRow) -> Option<f64>| split.iter().map(part).sum::<Option<f64>>();
    // Where base is not known part by part, the changes alone are drawn.
    let (base, candidate) = (sum(|row| row.base), sum(|row| row.candidate));
    let total = |name: &str, value: f64, colour| Bar {
        name: name.into(),
        from: 0.0,
        to: value,
        colour,
        says: format!("{name}: {}", number::value(value, unit)),
    };
    let mut bars: Vec<Bar> = base.map(|base| total("base", base, ink::BASE)).into_iter().collect();
    let mut at = base.unwrap_or(0.0);
    for row in split {
        let share = row.share.map_or(String::new(), |share| format!(" ({} of the change)", number::share(share)));
        let says = format!("{}: {}{share}", row.stage, number::signed(row.delta, &row.unit));
        let colour = if row.delta > 0.0 { ink::BAD } else { ink::GOOD };
        bars.push(Bar { name: row.stage.clone(), from: at, to: at + row.delta, colour, says });
        at += row.delta;
    }
    bars.extend(candidate.or(base.map(|_| at)).map(|value| total("candidate", value, ink::CANDIDATE)));
    bars.iter().all(|bar| bar.from.is_finite() && bar.to.is_finite()).then_some(bars)
}

/// A bar a stage.
pub(in super::super) fn waterfall(title: &str, split: Split<'_>) -> Result<Option<Markup>, RenderError> {
    let Some(bars) = bars(split) else { return Ok(None) };
    let ends = || bars.iter().flat_map(|bar| [bar.from, bar.to]);
    let (low, high) = ends().fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    if high - low <= 0.0 {
        return Ok(None);
    }
    let unit = split.first().map_or("", |row| row.unit.as_str());
    let (n, pad) = (bars.len(), (high - low) * 0.04);
    let span = (if low < 0.0 { low - pad } else { 0.0 })..high + pad;
    draw(title, (WIDTH, n as u32 * ROW + 72), |area| {
        let x = Axis { name: "time", ticks: 8, says: &|value: &f64| number::value(*value, unit) };
        let y = Axis { name: "", ticks: 0, says: &|_: &f64| String::new() };
        let mut chart = chart(area, 240, (span.clone(), 0.0..n as f64), (&x, &y))?;
        let mut hits = Vec::new();
        for (at, bar) in bars.iter().enumerate() {
            let middle = n as f64 - at as f64 - 0.5;
            let corners = [(bar.from.min(bar.to), middle - 0.34), (bar.from.max(bar.to), middle + 0.34)];
            chart.draw_series([Rectangle::new(corners, bar.colour.filled())]).map_err(failed)?;
            if at + 1 < n {
                line(&mut chart, vec![(bar.to, middle - 0.34), (bar.to, middle - 0.66)], ink::TEXT.stroke_width(1))?;
            }
            let ((left, top), (right, bottom)) =
                (pixel(&chart, span.start, middle + 0.5), pixel(&chart, span.end, middle - 0.5));
            let style = ("sans-serif", TEXT).into_font().color(&ink::TEXT).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw_text(&cut(&bar.name, NAME), &style, (left - 10, (top + bottom) / 2)).map_err(failed)?;
            hits.push(Hit { place: [left, top, right, bottom], says: bar.says.clone() });
        }
        Ok(hits)
    })
    .map(Some)
}

//! What the gate judged: effects with their intervals and margins.

use super::{Axis, Hit, TEXT, chart, cut, draw, failed, ink, line, pixel};
use crate::{RenderError, gated, number, words};
use firstcheck_model::{
    metric::Worse,
    report::{Claim, MetricRow, Quantity},
};
use maud::Markup;
use plotters::{
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

const WIDTH: u32 = 960;
/// Height of a row.
const ROW: u32 = 40;
/// Characters of a metric's name.
const NAME: usize = 26;
/// Largest change that the axis shows; what lies beyond is cut at its end.
const MOST: f64 = 4.0;

fn change(ratio: Quantity) -> f64 {
    ratio.finite().map_or(MOST, |ratio| ratio - 1.0).clamp(-1.0, MOST)
}

/// The end of a margin, on the side where it is worse; a margin in points has no place among ratios.
fn margin(row: &MetricRow) -> Option<f64> {
    let margin = row.margin.filter(|_| row.unit != "1")?;
    Some(if row.metric.worse() == Worse::Higher { margin } else { -margin })
}

fn colour(claim: Claim) -> RGBColor {
    match claim {
        Claim::Regressed => ink::BAD,
        Claim::Improved | Claim::NonInferior => ink::GOOD,
        _ => ink::MUTED,
    }
}

/// One line a row: its effect as a point, its interval as a line, its margin as a tick.
pub(in super::super) fn intervals(rows: &[&MetricRow]) -> Result<Option<Markup>, RenderError> {
    let ends = |row: &&MetricRow| {
        let interval = row.interval.map(|ends| ends.map(change));
        interval.into_iter().flatten().chain(row.ratio.map(change)).chain(margin(row)).collect::<Vec<_>>()
    };
    let all: Vec<f64> = rows.iter().flat_map(ends).chain([0.0]).collect();
    let (low, high) = all.iter().fold((0.0f64, 0.0f64), |(low, high), end| (low.min(*end), high.max(*end)));
    let pad = ((high - low) * 0.08).max(0.01);
    let n = rows.len();
    if n == 0 || all.len() == 1 {
        return Ok(None);
    }
    let height = n as u32 * ROW + 72;
    draw("Change of each gated metric with its interval and margin", (WIDTH, height), |area| {
        let x = Axis { name: "change from base", ticks: 8, says: &|value: &f64| number::change(1.0 + value) };
        let y = Axis { name: "", ticks: 0, says: &|_: &f64| String::new() };
        let mut chart = chart(area, 210, (low - pad..high + pad, 0.0..n as f64), (&x, &y))?;
        line(&mut chart, vec![(0.0, 0.0), (0.0, n as f64)], ink::TEXT.stroke_width(1))?;
        let mut hits = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let middle = n as f64 - at as f64 - 0.5;
            let ink = colour(row.claim);
            if let Some(margin) = margin(row) {
                line(&mut chart, vec![(margin, middle - 0.38), (margin, middle + 0.38)], ink::MUTED.stroke_width(3))?;
            }
            if let Some(ends) = row.interval {
                let [from, to] = ends.map(change);
                line(&mut chart, vec![(from, middle), (to, middle)], ink.stroke_width(4))?;
            }
            let point = row.ratio.map(|ratio| Circle::new((change(ratio), middle), 7, ink.filled()));
            chart.draw_series(point).map_err(failed)?;
            let ((left, top), (right, bottom)) =
                (pixel(&chart, low - pad, middle + 0.5), pixel(&chart, high + pad, middle - 0.5));
            let style = ("sans-serif", TEXT).into_font().color(&ink::TEXT).pos(Pos::new(HPos::Right, VPos::Center));
            area.draw_text(&cut(&words::row(row), NAME), &style, (left - 10, (top + bottom) / 2)).map_err(failed)?;
            hits.push(Hit {
                place: [left, top, right, bottom],
                says: format!("{}: {}", words::row(row), gated::judged(row)),
            });
        }
        Ok(hits)
    })
    .map(Some)
}

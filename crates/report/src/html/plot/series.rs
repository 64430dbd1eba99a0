//! A signal over time on both sides, with what happened.

use super::{Axis, Hit, chart, draw, ink, line, pixel};
use crate::{RenderError, number};
use firstcheck_model::{
    figure::{Mark, TimelineRow},
    run::Role,
};
use maud::Markup;
use plotters::prelude::*;

const SIZE: (u32, u32) = (960, 240);

/// The colour of a side.
fn colour(side: Role) -> RGBColor {
    match side {
        Role::Base => ink::BASE,
        Role::Candidate => ink::CANDIDATE,
    }
}

/// The signal of each side from its own start on; marks stand where they are on their side's line.
pub(in super::super) fn timeline(rows: &[&TimelineRow], marks: &[&Mark]) -> Result<Option<Markup>, RenderError> {
    let Some(first) = rows.first() else { return Ok(None) };
    let start = |row: &TimelineRow| row.points.first().map_or(0.0, |(at, _)| *at);
    let sane = |(at, value): &(f64, f64)| at.is_finite() && value.is_finite();
    let shifted = |row: &TimelineRow| -> Vec<(f64, f64)> {
        row.points.iter().filter(|point| sane(point)).map(|(at, value)| (at - start(row), *value)).collect()
    };
    let all: Vec<(f64, f64)> = rows.iter().flat_map(|row| shifted(row)).collect();
    let (long, high) = all.iter().fold((0.0f64, 0.0f64), |(long, high), (at, value)| (long.max(*at), high.max(*value)));
    let low = all.iter().fold(0.0f64, |low, (_, value)| low.min(*value));
    if all.is_empty() || long <= 0.0 {
        return Ok(None);
    }
    let high = if high > low { high * 1.05 } else { low + 1.0 };
    let name = format!("{} over time", first.signal.replace('_', " "));
    draw(&name, SIZE, |area| {
        let x = Axis { name: "since the start", ticks: 8, says: &|at: &f64| number::value(*at, "s") };
        let y = Axis { name: "", ticks: 5, says: &|value: &f64| number::value(*value, &first.unit) };
        let mut chart = chart(area, 120, (0.0..long * 1.01, low..high), (&x, &y))?;
        let mut hits = Vec::new();
        for row in rows {
            line(&mut chart, shifted(row), colour(row.side).stroke_width(2))?;
            for mark in marks.iter().filter(|mark| mark.side == row.side) {
                let at = mark.at_s - start(row);
                if (0.0..=long).contains(&at) {
                    line(&mut chart, vec![(at, low), (at, high)], ink::BAD.stroke_width(2))?;
                    let ((left, top), (_, bottom)) = (pixel(&chart, at, high), pixel(&chart, at, low));
                    let says = format!("{} at {}: {}", row.side.name(), number::value(at, "s"), mark.what);
                    hits.push(Hit { place: [left - 4, top, left + 4, bottom], says });
                }
            }
        }
        let step = long / 60.0;
        for part in 0..60 {
            let (from, to) = (f64::from(part) * step, f64::from(part + 1) * step);
            let of = |row: &&&TimelineRow| {
                let (_, value) = shifted(row).into_iter().find(|(at, _)| (from..=to).contains(at))?;
                Some(format!("{} {}", row.side.name(), number::value(value, &row.unit)))
            };
            let said: Vec<String> = rows.iter().filter_map(|row| of(&row)).collect();
            let ((left, top), (right, bottom)) = (pixel(&chart, from, high), pixel(&chart, to, low));
            if !said.is_empty() {
                let says = format!("{}: {}", number::value(from, "s"), said.join(", "));
                hits.insert(0, Hit { place: [left, top, right, bottom], says });
            }
        }
        Ok(hits)
    })
    .map(Some)
}

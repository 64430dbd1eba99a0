//! Distributions of both sides.

use super::{Axis, Hit, chart, draw, failed, ink, line, pixel};
use crate::{RenderError, number};
use firstcheck_model::{
    figure::{BUCKETS_A_DECADE, DistributionRow, Histogram},
    run::Role,
};
use maud::Markup;
use plotters::prelude::*;

const SIZE: (u32, u32) = (540, 320);
/// Share of samples below which a bucket is not drawn.
const LEAST_SHARE: f64 = 1e-7;

/// Both sides that are known, each with its colour.
fn sides(row: &DistributionRow) -> impl Iterator<Item = (Role, &Histogram, RGBColor)> {
    let both = [(Role::Base, &row.base, ink::BASE), (Role::Candidate, &row.candidate, ink::CANDIDATE)];
    both.into_iter().filter_map(|(role, side, colour)| Some((role, side.as_ref()?, colour)))
}

/// Where the bucket below that bound begins.
fn lower(bound: f64) -> f64 {
    bound / 10f64.powf(1.0 / BUCKETS_A_DECADE)
}

/// The span that the buckets of both sides cover; `None` where there is none.
fn span(row: &DistributionRow) -> Option<std::ops::Range<f64>> {
    let bounds = || sides(row).flat_map(|(_, side, _)| side.buckets.iter().map(|(bound, _)| *bound));
    let sane = |bound: &f64| bound.is_finite() && *bound > 0.0;
    let low = bounds().filter(sane).reduce(f64::min)?;
    let high = bounds().filter(sane).reduce(f64::max)?;
    Some(lower(low)..high * 1.1)
}

/// Every bound of either side, ascending.
pub(in super::super) fn bounds(row: &DistributionRow) -> Vec<f64> {
    let mut all: Vec<f64> = sides(row).flat_map(|(_, side, _)| side.buckets.iter().map(|(bound, _)| *bound)).collect();
    all.retain(|bound| bound.is_finite() && *bound > 0.0);
    all.sort_by(f64::total_cmp);
    all.dedup_by(|a, b| *a < *b * (1.0 + 1e-6));
    all
}

/// A share as it is read; one that is too small for percent, out of a million.
fn rarity(share: f64) -> String {
    let millionth = share * 1e6;
    match share > 0.0 && millionth < 100.0 {
        true => format!("{} in a million", number::grouped(millionth, usize::from(millionth < 1.0))),
        false => number::share(share),
    }
}

/// What is said of the bucket below a bound.
fn says(row: &DistributionRow, bound: f64, of: fn(&Histogram, f64) -> f64, how: &str) -> String {
    let parts: Vec<String> =
        sides(row).map(|(role, side, _)| format!("{} {}", role.name(), rarity(of(side, bound)))).collect();
    format!("{how} {}: {}", number::value(bound, &row.unit), parts.join(", "))
}

/// How many of each side were at most so long.
pub(in super::super) fn cumulative(row: &DistributionRow) -> Result<Option<Markup>, RenderError> {
    let Some(span) = span(row) else { return Ok(None) };
    let name = format!("Cumulative distribution of {}", row.metric.label());
    draw(&name, SIZE, |area| {
        let x = Axis { name: row.metric.label(), ticks: 8, says: &|value: &f64| number::value(*value, &row.unit) };
        let y = Axis { name: "requests up to it", ticks: 6, says: &|share: &f64| number::share(*share) };
        let mut chart = chart(area, 76, (span.clone().log_scale(), 0.0..1.0), (&x, &y))?;
        for (_, side, colour) in sides(row) {
            let mut points = vec![(span.start, 0.0)];
            if let Some((first, _)) = side.buckets.first() {
                points.push((lower(*first), 0.0));
            }
            points.extend(side.buckets.iter().map(|(bound, _)| (*bound, side.share_up_to(*bound))));
            // What was never answered keeps the curve below one to the end.
            points.extend(points.last().map(|(_, share)| (span.end, *share)));
            line(&mut chart, points, colour.stroke_width(3))?;
        }
        let hit = |bound: f64| {
            let ((left, top), (right, bottom)) = (pixel(&chart, lower(bound), 1.0), pixel(&chart, bound, 0.0));
            Hit { place: [left, top, right, bottom], says: says(row, bound, Histogram::share_up_to, "up to") }
        };
        Ok(bounds(row).into_iter().map(hit).collect())
    })
    .map(Some)
}

/// How often each side's gaps were so long, on logarithmic axes: a stall that one in a million suffers is to be seen.
pub(in super::super) fn gaps(row: &DistributionRow) -> Result<Option<Markup>, RenderError> {
    let Some(span) = span(row) else { return Ok(None) };
    let shares = sides(row).flat_map(|(_, side, _)| bounds(row).into_iter().map(move |bound| side.share_in(bound)));
    let least = shares.filter(|share| *share > LEAST_SHARE).reduce(f64::min).unwrap_or(LEAST_SHARE) / 2.0;
    let name = format!("Histogram of {}", row.metric.label());
    draw(&name, SIZE, |area| {
        let x = Axis { name: row.metric.label(), ticks: 8, says: &|value: &f64| number::value(*value, &row.unit) };
        let y = Axis { name: "share of gaps", ticks: 6, says: &|share: &f64| rarity(*share) };
        let spans = (span.clone().log_scale(), (least..1.0).log_scale());
        let mut chart = chart(area, 124, spans, (&x, &y))?;
        for (_, side, colour) in sides(row) {
            let bar = |bound: f64, share: f64| {
                Rectangle::new([(lower(bound), least), (bound, share)], colour.mix(0.25).filled())
            };
            let held = bounds(row).into_iter().map(|bound| (bound, side.share_in(bound)));
            let held: Vec<(f64, f64)> = held.filter(|(_, share)| *share > least).collect();
            chart.draw_series(held.iter().map(|(bound, share)| bar(*bound, *share))).map_err(failed)?;
            let outline = |(bound, share): (f64, f64)| {
                [(lower(bound), least), (lower(bound), share), (bound, share), (bound, least)]
            };
            line(&mut chart, held.into_iter().flat_map(outline).collect(), colour.stroke_width(2))?;
        }
        let hit = |bound: f64| {
            let ((left, top), (right, bottom)) = (pixel(&chart, lower(bound), 1.0), pixel(&chart, bound, least));
            Hit { place: [left, top, right, bottom], says: says(row, bound, Histogram::share_in, "up to") }
        };
        Ok(bounds(row).into_iter().map(hit).collect())
    })
    .map(Some)
}

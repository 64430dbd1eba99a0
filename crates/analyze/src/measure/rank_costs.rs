//! What the ranks of a server cost each other: the part of a step that goes to the work of one of them.

use super::rank_steps::{Cell, RankSteps};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source, Why},
    unit::Ratio,
};
use firstcheck_stats::linear;

/// Shares of the time between two tokens that go to the work of single ranks.
///
/// From a regression of the gaps of each rank, between each two readings, on its own work and on that of the others:
/// `gap = α + γ·own prompts + γ'·others' prompts + β·own context + β'·(most context − own)`. Ranks that step by themselves
/// have γ' = β' = 0, so that nothing is taken for a wait that is not one. Ranks that step together have β = β', which is
/// then taken from `β·most context` alone: it is told even where one rank has all requests. So is γ = γ' beside it: a rank
/// that gets the requests of all computes their prompts as well, and only the sum of all prompts stays what it was.
#[derive(Debug, Clone, PartialEq)]
pub struct RankCosts {
    /// The wait for prompts that others compute.
    pub prompts: Share,
    /// What the fullest rank reads of context beyond the mean: evenly spread, it would be saved.
    pub contexts: Share,
}

/// A share of the time, and how sure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The share; 0 where there is nothing of the kind.
    pub of_time: Measurement<Ratio>,
    /// Standard errors that its coefficient lies above zero.
    pub errors: f64,
}

/// Spans of one rank below which nothing is fitted.
const FEWEST: usize = 5;

/// Standard errors within which a coefficient lies.
const WITHIN: f64 = 2.0;

/// A regressor of gaps.
type Column = fn(&Cell) -> f64;

const OTHERS: Column = |cell| cell.other_prompts;
const OWN: Column = |cell| cell.prompts;
const ALL: Column = |cell| cell.prompts + cell.other_prompts;
const CONTEXT: Column = |cell| cell.context;
const EXCESS: Column = |cell| cell.excess;
const MOST: Column = |cell| cell.context + cell.excess;

impl RankCosts {
    /// What the ranks of a side cost each other, with coefficients from its spans and from those of another side.
    ///
    /// # Errors
    /// Spans that are too few, or too much alike to tell one rank's work from another's.
    pub fn of(side: &RankSteps, beside: Option<Beside<'_>>) -> Result<Self, Missing> {
        let ranks = side.totals.len().max(1);
        let cells = Cells { own: &side.cells, beside: beside.map_or(&[], |beside| &beside.steps.cells) };
        let n = cells.count() / ranks;
        let few = || Missing {
            what: format!("{FEWEST} readings between which the ranks' work differs"),
            why: Why::TooFew { have: n as u64, need: FEWEST as u64 },
            obtain: "firstcheck run --url URL --duration 120s --scrape-interval 2s".into(),
        };
        if n < FEWEST {
            return Err(few());
        }
        let intercepts = beside.map_or(Intercepts::One, |beside| cells.intercepts(ranks, &beside));
        let [others, _, own, excess] =
            fit(cells, [OTHERS, OWN, CONTEXT, EXCESS], ranks, intercepts).ok_or_else(alike)?;
        // Of ranks that step by themselves the fullest slows nobody but its own requests.
        let apart = own.is_told() && excess.slope + WITHIN * excess.error < own.slope / 2.0 && excess.error > 0.0;
        let most = match fit(cells, [ALL, MOST], ranks, intercepts) {
            Some([_, most]) if !apart => most,
            _ => Coefficient::default(),
        };
        let time: f64 = side.cells.iter().map(|cell| cell.gap * cell.gaps).sum();
        let share = |coefficient: Coefficient, work: Column| {
            let per_slope = side.cells.iter().map(|cell| work(cell) * cell.gaps).sum::<f64>() / time;
            let of = |slope: f64| Ratio((slope * per_slope).max(0.0));
            let Coefficient { slope, error } = coefficient;
            let interval = Some((of(slope - WITHIN * error), of(slope + WITHIN * error)));
            let source = Source::Derived {
                by: "regression of each rank's gaps on its own and the other ranks' work".into(),
                from: vec![side.source.clone()],
            };
            let errors = if error > 0.0 { slope / error } else { 0.0 };
            Share { of_time: Measurement { value: of(slope), interval, n: n as u64, source }, errors }
        };
        Ok(Self { prompts: share(others, OTHERS), contexts: share(most, |cell| cell.uneven) })
    }
}

/// Another side, whose spans are read with those of the side in question.
#[derive(Debug, Clone, Copy)]
pub struct Beside<'s> {
    /// Its spans.
    pub steps: &'s RankSteps,
    /// Whether a step without work of other ranks takes as long as on the side in question, where something else than the
    /// regression tells.
    pub same_step: Option<bool>,
    /// Standard errors beyond which what readings within the sides tell contradicts the jump between them.
    pub contradicts: f64,
}

/// The work of the ranks does not vary between readings by itself.
fn alike() -> Missing {
    Missing::not_given(
        "readings between which the ranks' work differs: in these it always goes together",
        "firstcheck run --url URL --duration 120s --scrape-interval 2s, under traffic whose lengths vary",
    )
}

/// Spans of a side, and of another one beside it.
#[derive(Clone, Copy)]
struct Cells<'c> {
    own: &'c [Cell],
    beside: &'c [Cell],
}

impl<'c> Cells<'c> {
    fn count(self) -> usize {
        self.own.len() + self.beside.len()
    }

    /// Whether what differs between the sides is their ranks' work. Where readings within the sides tell what others' prompts
    /// cost, and it is not what the jump between the sides says, a step's own time has changed as well. They are poor
    /// witnesses where prompts come evenly: a prompt counts in the reading in which it ends and costs in those before, so
    /// that what differs between readings is mostly the count. Something that tells the steps themselves comes first.
    fn intercepts(self, ranks: usize, beside: &Beside<'_>) -> Intercepts {
        if beside.same_step == Some(true) {
            return Intercepts::One;
        }
        let columns = [OTHERS, OWN, MOST];
        let (Some([one, ..]), Some([each, ..])) =
            (fit(self, columns, ranks, Intercepts::One), fit(self, columns, ranks, Intercepts::Each))
        else {
            return Intercepts::One;
        };
        let contradicts = each.error > 0.0 && (one.slope - each.slope).abs() > beside.contradicts * each.error;
        if contradicts { Intercepts::Each } else { Intercepts::One }
    }

    /// All of them, and whether each is of the other side.
    fn all(self) -> impl Iterator<Item = (&'c Cell, bool)> + Clone {
        self.own.iter().map(|cell| (cell, false)).chain(self.beside.iter().map(|cell| (cell, true)))
    }
}

/// A coefficient with its standard error; both zero for a regressor that does not vary.
#[derive(Debug, Clone, Copy, Default)]
struct Coefficient {
    slope: f64,
    error: f64,
}

impl Coefficient {
    fn is_told(self) -> bool {
        self.slope > WITHIN * self.error
    }
}

/// The time of a step without any work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Intercepts {
    /// That of both sides is one.
    One,
    /// Each side has its own.
    Each,
}

/// Fits gaps to `columns` and intercepts, each cell by the gaps behind it; `None` where the columns cannot be told apart.
fn fit<const N: usize>(
    cells: Cells<'_>,
    columns: [Column; N],
    ranks: usize,
    intercepts: Intercepts,
) -> Option<[Coefficient; N]> {
    let varies = |of: &Column| {
        let values = || cells.all().map(|(cell, _)| of(cell));
        let (least, most) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        most - least > 1e-9 * most
    };
    let kept: Vec<usize> = (0..N).filter(|at| varies(&columns[*at])).collect();
    let weight = |cell: &Cell| cell.gaps.sqrt();
    let two_sides = intercepts == Intercepts::Each && !cells.own.is_empty() && !cells.beside.is_empty();
    let row = |(cell, beside): (&Cell, bool)| -> Vec<f64> {
        let values = kept.iter().map(|at| columns[*at](cell));
        let side = two_sides.then(|| f64::from(u8::from(beside)));
        std::iter::once(1.0).chain(values).chain(side).map(|value| value * weight(cell)).collect()
    };
    let rows: Vec<Vec<f64>> = cells.all().map(row).collect();
    let gaps: Vec<f64> = cells.all().map(|(cell, _)| cell.gap * weight(cell)).collect();
    let found = linear::fit(&rows, &gaps).ok()??;
    // Gaps of the same span are the same steps on all ranks: as many values as spans, not as cells.
    let spread = (ranks as f64).sqrt();
    let mut all = [Coefficient::default(); N];
    for (place, at) in kept.iter().enumerate() {
        all[*at] = Coefficient { slope: found.coefficients[place + 1], error: found.errors[place + 1] * spread };
    }
    Some(all)
}

//! What is named, and in which words.

use super::{
    grid::{Grid, Layout},
    taken::Key,
};
use firstcheck_model::isolation::{Culprit, EffectClaim, EffectKind, EffectRow, Method};

/// What the effects name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Factors, or steps of a path, that make it worse.
    pub culprits: Vec<Culprit>,
    /// What a reader is told, the most important first.
    pub why: Vec<String>,
}

/// What the effects name: each factor that makes a metric worse and interacts with no other on it; else, where factors
/// interact, what each does at either level of the other and which combination differs.
pub fn named(grid: &Grid, layout: &Layout, keys: &[Key], rows: &[EffectRow], means: &[Vec<Option<f64>>]) -> Named {
    let mut culprits: Vec<Culprit> = Vec::new();
    let mut interactions: Vec<String> = Vec::new();
    let contrasts = layout.contrasts.len().max(1);
    for (at, (key, rows)) in keys.iter().zip(rows.chunks(contrasts)).enumerate() {
        let of_key = OfKey { grid, layout, key, rows, means: &means.iter().map(|arm| arm[at]).collect::<Vec<_>>() };
        let entangled = of_key.interactions(&mut interactions);
        for (contrast, row) in layout.contrasts.iter().zip(rows).filter(|(_, row)| row.claim == EffectClaim::Worse) {
            if contrast.factors.iter().any(|factor| entangled.contains(factor)) {
                continue;
            }
            let why = format!("{} {}", key.label(), change(row));
            match culprits.iter_mut().find(|known| known.name == row.effect) {
                Some(known) => known.why.push(why),
                None => culprits.push(Culprit { name: row.effect.clone(), why: vec![why] }),
            }
        }
    }
    let mut why: Vec<String> =
        culprits.iter().map(|culprit| format!("{} makes it worse: {}", culprit.name, culprit.why.join(", "))).collect();
    why.extend(interactions);
    if why.is_empty() {
        why.push(match layout.method {
            Method::Whole => "no supported combination lies between base and candidate: what changed can only be \
                              compared as a whole; name a level between them"
                .into(),
            _ => "no factor is shown to make it worse".into(),
        });
    }
    why.extend(forbidden(grid, layout));
    Named { culprits, why }
}

/// The effects on one metric.
struct OfKey<'k> {
    grid: &'k Grid,
    layout: &'k Layout,
    key: &'k Key,
    rows: &'k [EffectRow],
    /// Mean of each arm over the blocks, worse positive.
    means: &'k [Option<f64>],
}

impl OfKey<'_> {
    /// Says which factors interact, and gives those of which therefore no single one is named.
    fn interactions(&self, said: &mut Vec<String>) -> Vec<usize> {
        let mut entangled = Vec::new();
        for (contrast, row) in self.layout.contrasts.iter().zip(self.rows) {
            let text = match row.claim {
                EffectClaim::Interacts => "interact",
                EffectClaim::MayInteract => "may interact",
                _ => continue,
            };
            entangled.extend(&contrast.factors);
            let names: Vec<&str> = contrast.factors.iter().map(|f| self.grid.factors()[*f].name.as_str()).collect();
            let alone: Vec<String> =
                self.alone(&contrast.factors).map(|row| format!("{} {}", row.effect, change(row))).collect();
            let odd = self.odd().map_or(String::new(), |odd| format!("; {odd}"));
            said.push(format!(
                "{} {text} on {}, so that no single one is named: together they multiply it by {}{odd} ({})",
                names.join(" and "),
                self.key.label(),
                factor(row),
                alone.join(", ")
            ));
        }
        entangled
    }

    /// What each of two factors does at either level of the other.
    fn alone(&self, factors: &[usize]) -> impl Iterator<Item = &EffectRow> {
        let ours = move |of: &[usize]| of.iter().all(|factor| factors.contains(factor));
        let both = self.layout.contrasts.iter().zip(self.rows);
        both.filter(move |(contrast, row)| row.kind == EffectKind::Alone && ours(&contrast.factors)).map(|(_, row)| row)
    }

    /// Of four combinations the one that differs from the other three, which are nearest to each other without it.
    fn odd(&self) -> Option<String> {
        let means: Vec<f64> = self.means.iter().copied().collect::<Option<_>>()?;
        if means.len() != 4 {
            return None;
        }
        let rest = |odd: usize| -> Vec<f64> { (0..4).filter(|at| *at != odd).map(|at| means[at]).collect() };
        let centre = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let spread = |odd: usize| {
            let (rest, centre) = (rest(odd), centre(&rest(odd)));
            rest.iter().map(|value| (value - centre).powi(2)).sum::<f64>()
        };
        let odd = (0..4).min_by(|a, b| spread(*a).total_cmp(&spread(*b)))?;
        let (rest, away) = (rest(odd), means[odd] - centre(&rest(odd)));
        let apart = rest.iter().map(|value| (value - centre(&rest)).abs()).fold(0.0, f64::max);
        // Others that differ as much from each other are no background to stand out from.
        if apart > away.abs() / 2.0 {
            return Some("no single combination stands out".into());
        }
        let ratio = (self.key.worse() * away).exp();
        Some(format!("{} differs from the other three, × {ratio:.2}", self.grid.describe(&self.layout.arms[odd])))
    }
}

/// What may not be run, and what that leaves open.
fn forbidden(grid: &Grid, layout: &Layout) -> Vec<String> {
    let corners = grid.corners();
    let hit: Vec<String> = corners
        .iter()
        .filter_map(|corner| {
            let why = grid.forbids(corner)?.map_or(String::new(), |why| format!(" ({why})"));
            Some(format!("{}{why}", grid.describe(corner)))
        })
        .collect();
    if hit.is_empty() {
        return Vec::new();
    }
    let path: Vec<String> = layout.arms.iter().map(|arm| grid.short(arm)).collect();
    let instead = match layout.method {
        Method::Path => format!("the supported path {} was taken instead", path.join(" → ")),
        _ => "and no supported path goes round it".into(),
    };
    vec![format!("{} may not be run: {instead}; whether the factors interact cannot be told", hit.join(" and "))]
}

/// `+48 % (+45 … +51 %)`, of shares `odds × 0.5 (0.4 … 0.6)`.
fn change(row: &EffectRow) -> String {
    let Some(ratio) = row.ratio else { return "not known".into() };
    let interval = row.interval.map_or(String::new(), |[low, high]| match row.scale.as_str() {
        "odds" => format!(" ({low:.2} … {high:.2})"),
        _ => format!(" ({} … {})", percent(low), percent(high)),
    });
    match row.scale.as_str() {
        "odds" => format!("odds × {ratio:.2}{interval}"),
        _ => format!("{}{interval}", percent(ratio)),
    }
}

fn factor(row: &EffectRow) -> String {
    let interval = row.interval.map_or(String::new(), |[low, high]| format!(" ({low:.2} … {high:.2})"));
    format!("{:.2}{interval} beyond what each does", row.ratio.unwrap_or(1.0))
}

fn percent(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let digits = usize::from(percent.abs() < 10.0);
    let text = format!("{:.digits$}", percent.abs());
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{text} %")
}

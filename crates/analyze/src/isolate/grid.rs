//! Factors, what may be combined, and which combinations are run.

use firstcheck_model::isolation::{EffectKind, Method};
use std::collections::{BTreeMap, VecDeque};

/// Most factors: three of them already take eight runs a block.
pub const MOST_FACTORS: usize = 3;

/// Something that can be changed by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels: base's first, the candidate's last, and between them those that only a path may take.
    pub levels: Vec<String>,
}

/// The level of each factor, by number.
pub type Combination = Vec<usize>;

/// Combinations that may not be run: all that have these levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// Levels by factor; a factor that is not named may have any.
    pub levels: BTreeMap<String, String>,
    /// Why, where it is said.
    pub why: Option<String>,
}

/// Factors with what may be combined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grid {
    factors: Vec<Factor>,
    forbidden: Vec<(Vec<Option<usize>>, Option<String>)>,
}

/// A grid that makes no experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// Too few or too many factors.
    #[error("{0} factors: name two or three; firstcheck ab tells what one does")]
    Factors(usize),
    /// A factor that cannot change.
    #[error("the factor {0} has fewer than two levels: name base's first and the candidate's last")]
    Levels(String),
    /// A name that stands for two things.
    #[error("{0} is named twice")]
    Twice(String),
    /// A rule on something that is not there.
    #[error("the rule forbids {name}, and there is no such {what}")]
    Unknown {
        /// As written.
        name: String,
        /// `factor` or `level`.
        what: &'static str,
    },
    /// An end of the comparison that may not be run.
    #[error("{0} may not be run, and it is an end of the comparison: choose supported ends")]
    End(String),
}

/// A sum over arms of what is compared: a main effect, an interaction, a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Contrast {
    /// In words.
    pub effect: String,
    /// What kind.
    pub kind: EffectKind,
    /// Factors it speaks of, by number.
    pub factors: Vec<usize>,
    /// Weight of each arm; they add up to zero.
    pub weights: Vec<f64>,
}

/// What is run, and what is compared with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// How.
    pub method: Method,
    /// What is run in each block, base first, the candidate last.
    pub arms: Vec<Combination>,
    /// What is compared.
    pub contrasts: Vec<Contrast>,
}

impl Grid {
    /// Factors, and rules of what may not be combined.
    ///
    /// # Errors
    /// The first thing of which no experiment can be made.
    pub fn new(factors: Vec<Factor>, rules: &[Forbidden]) -> Result<Self, GridError> {
        if !(2..=MOST_FACTORS).contains(&factors.len()) {
            return Err(GridError::Factors(factors.len()));
        }
        for (at, factor) in factors.iter().enumerate() {
            if factor.levels.len() < 2 {
                return Err(GridError::Levels(factor.name.clone()));
            }
            if factors[..at].iter().any(|other| other.name == factor.name) {
                return Err(GridError::Twice(format!("the factor {}", factor.name)));
            }
            if let Some(level) = (1..factor.levels.len()).find(|at| factor.levels[..*at].contains(&factor.levels[*at]))
            {
                return Err(GridError::Twice(format!("the level {} of {}", factor.levels[level], factor.name)));
            }
        }
        let forbidden = rules.iter().map(|rule| Ok((rule_of(&factors, rule)?, rule.why.clone())));
        let grid = Self { forbidden: forbidden.collect::<Result<_, GridError>>()?, factors };
        for end in [grid.base(), grid.candidate()] {
            if grid.forbids(&end).is_some() {
                return Err(GridError::End(grid.describe(&end)));
            }
        }
        Ok(grid)
    }

    /// The factors.
    pub fn factors(&self) -> &[Factor] {
        &self.factors
    }

    /// Every factor at its first level.
    pub fn base(&self) -> Combination {
        vec![0; self.factors.len()]
    }

    /// Every factor at its last level.
    pub fn candidate(&self) -> Combination {
        self.factors.iter().map(|factor| factor.levels.len() - 1).collect()
    }

    /// Whether a combination may not be run, and why where that is said.
    pub fn forbids(&self, combination: &[usize]) -> Option<Option<&str>> {
        let hit =
            |rule: &[Option<usize>]| rule.iter().zip(combination).all(|(rule, level)| rule.is_none_or(|r| r == *level));
        self.forbidden.iter().find(|(rule, _)| hit(rule)).map(|(_, why)| why.as_deref())
    }

    /// Short name of a combination: `0.11 + 550`.
    pub fn short(&self, combination: &[usize]) -> String {
        let levels = self.factors.iter().zip(combination).map(|(factor, level)| factor.levels[*level].as_str());
        levels.collect::<Vec<_>>().join(" + ")
    }

    /// The combination in words: `runtime 0.11 with driver 550`.
    pub fn describe(&self, combination: &[usize]) -> String {
        let levels = self.factors.iter().zip(combination).map(|(f, level)| format!("{} {}", f.name, f.levels[*level]));
        levels.collect::<Vec<_>>().join(" with ")
    }

    /// The combinations of first and last levels, base first and the candidate last.
    pub fn corners(&self) -> Vec<Combination> {
        let last = self.candidate();
        let corner = |bits: usize| -> Combination {
            last.iter().enumerate().map(|(at, last)| if bits >> at & 1 == 1 { *last } else { 0 }).collect()
        };
        (0..1 << self.factors.len()).map(corner).collect()
    }

    /// What is run. All corners where they may be; else a shortest path of supported combinations that changes one factor
    /// at a time; else base and candidate alone.
    pub fn layout(&self) -> Layout {
        let corners = self.corners();
        if corners.iter().all(|corner| self.forbids(corner).is_none()) {
            return Layout { method: Method::Factorial, contrasts: self.factorial(&corners), arms: corners };
        }
        match self.path() {
            Some(arms) => Layout { method: Method::Path, contrasts: self.steps(&arms), arms },
            None => {
                let whole = whole(2);
                Layout { method: Method::Whole, arms: vec![self.base(), self.candidate()], contrasts: vec![whole] }
            }
        }
    }

    /// Whether a factor has changed in a corner: −1 or 1.
    fn sign(corner: &[usize], factor: usize) -> f64 {
        if corner[factor] == 0 { -1.0 } else { 1.0 }
    }

    fn factorial(&self, corners: &[Combination]) -> Vec<Contrast> {
        let all = self.factors.len();
        let name = |factor: usize| self.factors[factor].name.clone();
        let mut contrasts: Vec<Contrast> = Vec::new();
        for factor in 0..all {
            let share = (1 << (all - 1)) as f64;
            let weights = corners.iter().map(|corner| Self::sign(corner, factor) / share).collect();
            contrasts.push(Contrast { effect: name(factor), kind: EffectKind::Main, factors: vec![factor], weights });
        }
        for one in 0..all {
            for other in one + 1..all {
                let share = (1 << (all - 2)) as f64;
                let weight = |corner: &Combination| Self::sign(corner, one) * Self::sign(corner, other) / share;
                contrasts.push(Contrast {
                    effect: format!("{} × {}", name(one), name(other)),
                    kind: EffectKind::Interaction,
                    factors: vec![one, other],
                    weights: corners.iter().map(weight).collect(),
                });
                contrasts.extend(self.alone(corners, one, other));
                contrasts.extend(self.alone(corners, other, one));
            }
        }
        contrasts.push(whole(corners.len()));
        contrasts
    }

    /// The effect of a factor at either level of another, averaged over any third.
    fn alone(&self, corners: &[Combination], factor: usize, at: usize) -> Vec<Contrast> {
        let levels = [0, self.factors[at].levels.len() - 1];
        let contrast = |level: usize| {
            let there = corners.iter().filter(|corner| corner[at] == level).count() as f64 / 2.0;
            let weight =
                |corner: &Combination| if corner[at] == level { Self::sign(corner, factor) / there } else { 0.0 };
            Contrast {
                effect: format!(
                    "{} at {} {}",
                    self.factors[factor].name, self.factors[at].name, self.factors[at].levels[level]
                ),
                kind: EffectKind::Alone,
                factors: vec![factor, at],
                weights: corners.iter().map(weight).collect(),
            }
        };
        levels.into_iter().map(contrast).collect()
    }

    /// A shortest path of supported combinations from base to candidate, one factor changing at each step.
    fn path(&self) -> Option<Vec<Combination>> {
        let (base, candidate) = (self.base(), self.candidate());
        let mut before: BTreeMap<Combination, Option<Combination>> = BTreeMap::from([(base.clone(), None)]);
        let mut open = VecDeque::from([base]);
        while let Some(here) = open.pop_front() {
            if here == candidate {
                let mut path = vec![here];
                while let Some(Some(earlier)) = path.last().and_then(|last| before.get(last)).cloned() {
                    path.push(earlier);
                }
                path.reverse();
                return Some(path);
            }
            for factor in 0..self.factors.len() {
                for level in 0..self.factors[factor].levels.len() {
                    let mut there = here.clone();
                    there[factor] = level;
                    if self.forbids(&there).is_none() && !before.contains_key(&there) {
                        before.insert(there.clone(), Some(here.clone()));
                        open.push_back(there);
                    }
                }
            }
        }
        None
    }

    fn steps(&self, path: &[Combination]) -> Vec<Contrast> {
        let step = |at: usize| {
            let (from, to) = (&path[at], &path[at + 1]);
            let factor = (0..from.len()).find(|f| from[*f] != to[*f]).unwrap_or(0);
            let changed = &self.factors[factor];
            let others = self.factors.iter().zip(to).enumerate().filter(|(at, _)| *at != factor);
            let others: Vec<String> =
                others.map(|(_, (f, level))| format!("{} {}", f.name, f.levels[*level])).collect();
            let mut weights = vec![0.0; path.len()];
            (weights[at], weights[at + 1]) = (-1.0, 1.0);
            Contrast {
                effect: format!(
                    "{} {} → {} at {}",
                    changed.name,
                    changed.levels[from[factor]],
                    changed.levels[to[factor]],
                    others.join(", ")
                ),
                kind: EffectKind::Step,
                factors: vec![factor],
                weights,
            }
        };
        (0..path.len() - 1).map(step).chain([whole(path.len())]).collect()
    }
}

/// From base to candidate.
fn whole(arms: usize) -> Contrast {
    let mut weights = vec![0.0; arms];
    (weights[0], weights[arms - 1]) = (-1.0, 1.0);
    Contrast { effect: "all together".into(), kind: EffectKind::Whole, factors: Vec::new(), weights }
}

fn rule_of(factors: &[Factor], rule: &Forbidden) -> Result<Vec<Option<usize>>, GridError> {
    let mut levels = vec![None; factors.len()];
    for (name, level) in &rule.levels {
        let unknown = |name: &str, what| GridError::Unknown { name: name.to_owned(), what };
        let at = factors.iter().position(|factor| factor.name == *name).ok_or_else(|| unknown(name, "factor"))?;
        let found = factors[at].levels.iter().position(|known| known == level);
        levels[at] = Some(found.ok_or_else(|| unknown(&format!("{name} {level}"), "level"))?);
    }
    Ok(levels)
}

//! Which covariates vary over the pairs, and the space they leave.
//!
//! The model is `d_k = Δ + a·order_k + b·device_k + e_k` with codes ±1. Only
//! the span of the covariates matters for Δ, so they are kept as an
//! orthonormal basis: a covariate that never varies, or repeats another (order
//! and device swapped together), costs no degree of freedom.

use crate::Error;
use crate::error::finite;

/// The level of a two-valued covariate in one pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// −1, for example candidate first.
    Minus,
    /// +1, for example base first.
    Plus,
}

impl Code {
    fn value(self) -> f64 {
        match self {
            Code::Minus => -1.0,
            Code::Plus => 1.0,
        }
    }
}

/// What is left of a vector that the covariates explain by less than this
/// share of its length counts as nothing.
const DEPENDENT: f64 = 1e-9;

/// Differences that spread by less than this (times the largest of them, if
/// that exceeds 1) differ by rounding only.
const ROUNDING: f64 = 1e-12;

/// The pairs and the covariates that are fitted over them.
#[derive(Debug, Clone)]
pub struct Design {
    pairs: usize,
    fitted: Vec<usize>,
    basis: Vec<Vec<f64>>,
    /// The part of the vector of ones that the covariates do not explain.
    direction: Vec<f64>,
    /// Squared length of `direction`; `pairs` when the covariates are balanced.
    weight: f64,
}

/// A vector of differences split along the effect.
pub(crate) struct Split {
    pub delta: f64,
    /// Root of the residual sum of squares over the degrees of freedom, with
    /// rounding taken off.
    pub s: f64,
}

impl Design {
    /// A design over `pairs` pairs. Each covariate has one code a pair; those
    /// that vary and add something are fitted.
    ///
    /// # Errors
    /// [`Error::Length`] for a covariate of another length,
    /// [`Error::TooFewPairs`] when no degree of freedom is left,
    /// [`Error::Confounded`] when the covariates together equal a constant.
    pub fn new(pairs: usize, covariates: &[&[Code]]) -> Result<Self, Error> {
        let columns: Vec<Vec<f64>> = covariates.iter().map(|codes| codes.iter().map(|c| c.value()).collect()).collect();
        Self::with_columns(pairs, &columns)
    }

    /// The same with covariates of any values. The effect is that where all of them are 0.
    ///
    /// # Errors
    /// As [`Design::new`], and [`Error::NotFinite`] for a value that is none.
    pub fn with_columns(pairs: usize, columns: &[Vec<f64>]) -> Result<Self, Error> {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut fitted = Vec::new();
        for (index, values) in columns.iter().enumerate() {
            if values.len() != pairs {
                return Err(Error::Length { what: "a covariate", expected: pairs, found: values.len() });
            }
            finite("a covariate", values)?;
            if values.windows(2).all(|w| w[0] == w[1]) {
                continue;
            }
            let mut column = values.clone();
            let before = norm(&column);
            project_out(&basis, &mut column);
            let left = norm(&column);
            if left > DEPENDENT * before {
                column.iter_mut().for_each(|v| *v /= left);
                basis.push(column);
                fitted.push(index);
            }
        }
        let needed = basis.len() + 2;
        if pairs < needed {
            return Err(Error::TooFewPairs { pairs, covariates: basis.len(), needed });
        }
        let mut direction = vec![1.0; pairs];
        project_out(&basis, &mut direction);
        let weight = dot(&direction, &direction);
        if weight <= DEPENDENT * pairs as f64 {
            return Err(Error::Confounded);
        }
        Ok(Self { pairs, fitted, basis, direction, weight })
    }

    /// A design without covariates.
    ///
    /// # Errors
    /// [`Error::TooFewPairs`] for fewer than two pairs.
    pub fn plain(pairs: usize) -> Result<Self, Error> {
        Self::new(pairs, &[])
    }

    /// K, the number of pairs.
    #[must_use]
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// c, the number of covariates that are fitted.
    #[must_use]
    pub fn covariates(&self) -> usize {
        self.basis.len()
    }

    /// The positions, in the order given, of the covariates that are fitted.
    #[must_use]
    pub fn fitted(&self) -> &[usize] {
        &self.fitted
    }

    /// ν = K − 1 − c, at least 1.
    #[must_use]
    pub fn nu(&self) -> usize {
        self.pairs - 1 - self.basis.len()
    }

    /// K as the effect sees it: K when the covariates are balanced, less when
    /// they are not. The standard error is s divided by its root.
    #[must_use]
    pub fn effective_pairs(&self) -> f64 {
        self.weight
    }

    /// Takes the covariates out of `values` (the map d ↦ QQᵀd).
    pub(crate) fn project_out(&self, values: &mut [f64]) {
        project_out(&self.basis, values);
    }

    /// The unit vector z of the effect within the space the covariates leave.
    pub(crate) fn unit_direction(&self) -> Vec<f64> {
        let length = self.weight.sqrt();
        self.direction.iter().map(|v| v / length).collect()
    }

    /// The least-squares intercept and the residual standard deviation.
    pub(crate) fn split(&self, differences: &[f64]) -> Result<Split, Error> {
        if differences.len() != self.pairs {
            return Err(Error::Length {
                what: "a metric's differences",
                expected: self.pairs,
                found: differences.len(),
            });
        }
        finite("a metric's differences", differences)?;
        let delta = dot(&self.direction, differences) / self.weight;
        let mut rest: Vec<f64> = differences.iter().map(|d| d - delta).collect();
        self.project_out(&mut rest);
        let s = norm(&rest) / (self.nu() as f64).sqrt();
        if !s.is_finite() {
            return Err(Error::Overflow { what: "a metric's differences" });
        }
        let scale = differences.iter().fold(1.0_f64, |m, d| m.max(d.abs()));
        let s = if s <= ROUNDING * scale { 0.0 } else { s };
        Ok(Split { delta, s })
    }
}

/// Subtracts from `values` its part in the span of an orthonormal basis.
fn project_out(basis: &[Vec<f64>], values: &mut [f64]) {
    for column in basis {
        let along = dot(column, values);
        for (v, c) in values.iter_mut().zip(column) {
            *v -= along * c;
        }
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

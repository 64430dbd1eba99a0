//! Distributions of whole numbers: tokens, turns, milliseconds.

use crate::{
    error::ParseError,
    notation::{Arguments, as_text, number, whole},
};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution as _, StandardNormal};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// Largest number that a distribution may give; lognormal tails end here if no `max` is given.
pub const LARGEST: u32 = 16_777_216;

/// Draws behind a mean that no formula tells.
pub const MEAN_DRAWS: u32 = 100_000;

const FORMS: &str = "`512`, `fixed:512`, `uniform:100-500`, `lognormal:512,0.8` (median, sigma), \
     `lognormal:mean=512,sigma=0.8,min=16,max=4096`, or a mixture `0.9*lognormal:256,0.8 + 0.1*uniform:4096-12288`";

/// A distribution of whole numbers, or a weighted mixture of several.
///
/// In configuration and on the command line it is text:
///
/// | text | meaning |
/// |---|---|
/// | `512`, `fixed:512` | always 512 |
/// | `uniform:100-500` | each whole number from 100 to 500 is as likely |
/// | `lognormal:512,0.8` | median 512, standard deviation 0.8 of the logarithm |
/// | `lognormal:mean=512,sigma=0.8` | the same by its mean: median = mean · exp(−σ²/2) |
/// | `…,min=16,max=4096` | values outside are set to the bound (so the mean of what is drawn is not `mean`); `min` is 1 if not given |
/// | `0.9*A + 0.1*B` | a mixture; weights are relative |
///
/// # Example: text and back
/// ```
/// use firstcheck_workload::distribution::Distribution;
/// let lengths: Distribution = "lognormal:512,0.8,max=4096".parse()?;
/// assert_eq!(lengths.to_string(), "lognormal:median=512,sigma=0.8,min=1,max=4096");
/// assert_eq!(lengths.bounds(), (1, 4096));
/// # Ok::<(), firstcheck_workload::error::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Distribution {
    /// Relative weight and shape; never empty, weights positive.
    parts: Vec<(f64, Shape)>,
}

as_text!(Distribution);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Fixed(u32),
    Uniform { low: u32, high: u32 },
    LogNormal { centre: Centre, sigma: f64, min: u32, max: Option<u32> },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Centre {
    Median(f64),
    Mean(f64),
}

impl Distribution {
    /// Always `value`.
    pub fn fixed(value: u32) -> Self {
        Self { parts: vec![(1.0, Shape::Fixed(value.min(LARGEST)))] }
    }

    /// Each whole number between the two, both included, is as likely; in either order.
    pub fn uniform(one: u32, other: u32) -> Self {
        let (low, high) = (one.min(other).min(LARGEST), one.max(other).min(LARGEST));
        Self { parts: vec![(1.0, Shape::Uniform { low, high })] }
    }

    /// Lognormal with this median and standard deviation of the logarithm; values outside the bounds are set to the
    /// bound. The median is taken as 1 at least, sigma as 0 to 5, an upper bound below the lower one as the lower one.
    pub fn lognormal(median: f64, sigma: f64, min: u32, max: u32) -> Self {
        // `max` before `clamp` turns what is no number into the bound.
        let centre = Centre::Median(median.max(1.0).clamp(1.0, f64::from(LARGEST)));
        let sigma = sigma.max(0.0).clamp(0.0, 5.0);
        let min = min.min(LARGEST);
        let max = Some(max.clamp(min, LARGEST));
        Self { parts: vec![(1.0, Shape::LogNormal { centre, sigma, min, max })] }
    }

    /// Numbers of that mean whose standard deviation is this part of it (lognormal; 0: always the mean).
    ///
    /// # Example: spread without another mean
    /// ```
    /// use firstcheck_workload::distribution::Distribution;
    /// assert_eq!(Distribution::spread(512.0, 0.0), Distribution::fixed(512));
    /// let wide = Distribution::spread(512.0, 1.0);
    /// assert!((wide.mean() / 512.0 - 1.0).abs() < 0.02, "{}", wide.mean());
    /// ```
    pub fn spread(mean: f64, cv: f64) -> Self {
        let mean = mean.max(1.0).clamp(1.0, f64::from(LARGEST));
        let cv = cv.max(0.0);
        if cv == 0.0 {
            return Self::fixed(mean.round() as u32);
        }
        let sigma = (1.0 + cv * cv).ln().sqrt().min(5.0);
        Self { parts: vec![(1.0, Shape::LogNormal { centre: Centre::Mean(mean), sigma, min: 1, max: None })] }
    }

    /// Mean of what it gives, bounds included: of [`MEAN_DRAWS`] draws under a fixed seed, where no formula tells it.
    pub fn mean(&self) -> f64 {
        let total: f64 = self.parts.iter().map(|(weight, _)| weight).sum();
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let mut of = |shape: &Shape| match *shape {
            Shape::Fixed(value) => f64::from(value),
            Shape::Uniform { low, high } => f64::midpoint(f64::from(low), f64::from(high)),
            Shape::LogNormal { .. } => {
                let draws = (0..MEAN_DRAWS).map(|_| f64::from(shape.sample(&mut random)));
                draws.sum::<f64>() / f64::from(MEAN_DRAWS)
            }
        };
        self.parts.iter().map(|(weight, shape)| weight / total * of(shape)).sum()
    }

    /// `self` with weight `1 - share`, `other` with weight `share` (taken into 0 to 1).
    pub fn mixed_with(&self, share: f64, other: &Self) -> Self {
        let share = share.clamp(0.0, 1.0);
        let scaled = |one: &Self, weight: f64| {
            let total: f64 = one.parts.iter().map(|(part, _)| part).sum();
            one.parts.iter().map(|(part, shape)| (part / total * weight, *shape)).collect::<Vec<_>>()
        };
        let mut parts = scaled(self, 1.0 - share);
        parts.extend(scaled(other, share));
        parts.retain(|(weight, _)| *weight > 0.0);
        Self { parts }
    }

    /// Draws one number.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        let [(_, only)] = self.parts.as_slice() else {
            let total: f64 = self.parts.iter().map(|(weight, _)| weight).sum();
            let mut left = rng.random::<f64>() * total;
            let chosen = self.parts.iter().find(|(weight, _)| {
                left -= weight;
                left < 0.0
            });
            // Rounding may leave nothing chosen at the very end of the line: the last part it is.
            return chosen.or(self.parts.last()).map_or(0, |(_, shape)| shape.sample(rng));
        };
        only.sample(rng)
    }

    /// Smallest and largest number that it can give.
    pub fn bounds(&self) -> (u32, u32) {
        let all = self.parts.iter().map(|(_, shape)| shape.bounds());
        all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0))
    }
}

impl Shape {
    fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> u32 {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform { low, high } => rng.random_range(low..=high),
            Self::LogNormal { centre, sigma, .. } => {
                let median = match centre {
                    Centre::Median(median) => median,
                    Centre::Mean(mean) => mean * (-sigma * sigma / 2.0).exp(),
                };
                let normal: f64 = StandardNormal.sample(rng);
                let (min, max) = self.bounds();
                (median * (sigma * normal).exp()).round().clamp(f64::from(min), f64::from(max)) as u32
            }
        }
    }

    fn bounds(&self) -> (u32, u32) {
        match *self {
            Self::Fixed(value) => (value, value),
            Self::Uniform { low, high } => (low, high),
            Self::LogNormal { min, max, .. } => (min, max.unwrap_or(LARGEST)),
        }
    }

    /// Reads one part; `text` is the whole, for errors.
    fn parse(text: &str, part: &str) -> Result<Self, ParseError> {
        match part.split_once(':').map(|(name, rest)| (name.trim(), rest.trim())) {
            None => Ok(Self::Fixed(whole(text, Some(part), "number or distribution", 0, LARGEST)?)),
            Some(("fixed", rest)) => Ok(Self::Fixed(whole(text, Some(rest), "number", 0, LARGEST)?)),
            Some(("uniform", rest)) => {
                let (low, high) = rest
                    .split_once('-')
                    .ok_or_else(|| ParseError::new(text, format!("`{rest}` is no range: expected `100-500`")))?;
                let high = whole(text, Some(high.trim()), "upper bound", 0, LARGEST)?;
                let low = whole(text, Some(low.trim()), "lower bound", 0, LARGEST)?;
                if low > high {
                    return Err(ParseError::new(
                        text,
                        format!("the lower bound {low} is above the upper bound {high}"),
                    ));
                }
                Ok(Self::Uniform { low, high })
            }
            Some(("lognormal", rest)) => Self::lognormal(text, rest),
            Some((name, _)) => {
                Err(ParseError::new(text, format!("`{name}` is no distribution: expected one of {FORMS}")))
            }
        }
    }

    fn lognormal(text: &str, rest: &str) -> Result<Self, ParseError> {
        let mut arguments = Arguments::parse(text, rest);
        let positive = |value: f64| value > 0.0 && value <= f64::from(LARGEST);
        let centre = match arguments.named("mean") {
            Some(mean) => Centre::Mean(number(text, Some(mean), "mean above 0", positive)?),
            None => Centre::Median(number(text, arguments.named_or_next("median"), "median above 0", positive)?),
        };
        let sigma = number(text, arguments.named_or_next("sigma"), "sigma from 0 to 5", |s| (0.0..=5.0).contains(&s))?;
        let min = match arguments.named("min") {
            Some(min) => whole(text, Some(min), "min", 0, LARGEST)?,
            None => 1,
        };
        let max = match arguments.named("max") {
            Some(max) => Some(whole(text, Some(max), "max", min, LARGEST)?),
            None => None,
        };
        arguments.finish("`median` or `mean`, `sigma`, `min` and `max`")?;
        Ok(Self::LogNormal { centre, sigma, min, max })
    }
}

impl FromStr for Distribution {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.trim().is_empty() {
            return Err(ParseError::new(text, format!("expected one of {FORMS}")));
        }
        let parts = text.split('+').map(|part| match part.split_once('*') {
            None => Ok((1.0, Shape::parse(text, part.trim())?)),
            Some((weight, shape)) => {
                let weight = number(text, Some(weight.trim()), "weight above 0", |w| (1e-9..=1e9).contains(&w))?;
                Ok((weight, Shape::parse(text, shape.trim())?))
            }
        });
        let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
        if let [(weight, _)] = parts.as_mut_slice() {
            *weight = 1.0;
        }
        Ok(Self { parts })
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (weight, shape)) in self.parts.iter().enumerate() {
            if at > 0 {
                f.write_str(" + ")?;
            }
            if self.parts.len() > 1 {
                write!(f, "{weight}*")?;
            }
            write!(f, "{shape}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fixed(value) => write!(f, "fixed:{value}"),
            Self::Uniform { low, high } => write!(f, "uniform:{low}-{high}"),
            Self::LogNormal { centre, sigma, min, max } => {
                match centre {
                    Centre::Median(median) => write!(f, "lognormal:median={median}")?,
                    Centre::Mean(mean) => write!(f, "lognormal:mean={mean}")?,
                }
                write!(f, ",sigma={sigma},min={min}")?;
                max.map_or(Ok(()), |max| write!(f, ",max={max}"))
            }
        }
    }
}

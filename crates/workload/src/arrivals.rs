//! When requests arrive: absolute offsets from the run's start, repeatable from a seed.

use crate::{
    error::ParseError,
    notation::{Arguments, as_text, number, whole},
    rng::{self, Purpose},
};
use firstcheck_model::moment::Moment;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Gamma};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

const FORMS: &str =
    "`poisson:8`, `constant:8`, `gamma:8,burstiness=0.25`, `gamma:8,cv=2`, `trace`, `trace:0.5` or `closed:16`";
/// Bounds of a rate: from one request in about 11 days to a million a second.
const RATES: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// How requests arrive.
///
/// In configuration and on the command line it is text:
///
/// | text | meaning |
/// |---|---|
/// | `poisson:8` | open loop, 8 requests a second, exponential gaps |
/// | `constant:8` | open loop, one each 125 ms, the first at 0 |
/// | `gamma:8,burstiness=0.25` | open loop, gamma gaps with that shape: 1 is Poisson, below 1 bursty, above 1 more even; the convention of `vllm bench serve --burstiness` |
/// | `gamma:8,cv=2` | the same by the gaps' coefficient of variation: CV = 1 / √burstiness |
/// | `trace`, `trace:0.5` | the source's own timestamps, multiplied by the scale: 0.5 offers twice the rate |
/// | `closed:16` | closed loop: 16 streams, each sends its next request when its last has ended |
///
/// Gaps are not rescaled to hit the rate exactly over the requests drawn, so the number of arrivals in a period has the
/// spread that the process says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ArrivalProcess {
    /// Exponential gaps.
    Poisson {
        /// Arrivals a second.
        rate: f64,
    },
    /// Equal gaps.
    Constant {
        /// Arrivals a second.
        rate: f64,
    },
    /// Gamma gaps.
    Gamma {
        /// Arrivals a second.
        rate: f64,
        /// Shape of the gamma distribution; the coefficient of variation is one over its square root.
        burstiness: f64,
    },
    /// The source's own timestamps.
    Trace {
        /// Factor on the times: below 1 is faster.
        time_scale: f64,
    },
    /// A closed loop.
    Closed {
        /// Streams.
        concurrency: u32,
    },
}

as_text!(ArrivalProcess);

impl ArrivalProcess {
    /// Arrivals a second, where the process itself fixes them.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            Self::Poisson { rate } | Self::Constant { rate } | Self::Gamma { rate, .. } => Some(rate),
            Self::Trace { .. } | Self::Closed { .. } => None,
        }
    }

    /// Coefficient of variation of the gaps, where the process itself fixes it.
    pub fn cv(&self) -> Option<f64> {
        match *self {
            Self::Poisson { .. } => Some(1.0),
            Self::Constant { .. } => Some(0.0),
            Self::Gamma { burstiness, .. } => Some(burstiness.sqrt().recip()),
            Self::Trace { .. } | Self::Closed { .. } => None,
        }
    }

    /// The same process at another rate (a level of a sweep); `None` for a trace or a closed loop, which have none.
    pub fn with_rate(self, rate: f64) -> Option<Self> {
        match self {
            Self::Poisson { .. } => Some(Self::Poisson { rate }),
            Self::Constant { .. } => Some(Self::Constant { rate }),
            Self::Gamma { burstiness, .. } => Some(Self::Gamma { rate, burstiness }),
            Self::Trace { .. } | Self::Closed { .. } => None,
        }
    }

    /// Arrival moments, ascending and without end; `None` for a trace or a closed loop, or if a value is out of its
    /// range.
    ///
    /// # Example: constant arrivals do not drift
    /// ```
    /// use firstcheck_workload::arrivals::ArrivalProcess;
    /// let offsets = ArrivalProcess::Constant { rate: 3.0 }.offsets(1);
    /// let last = offsets.and_then(|mut all| all.nth(3_000_000));
    /// assert_eq!(last.and_then(|moment| moment.get()), Some(1_000_000_000_000_000));
    /// ```
    pub fn offsets(&self, seed: u64) -> Option<Offsets> {
        if !self.rate().is_some_and(|rate| RATES.contains(&rate)) {
            return None;
        }
        let gaps = match *self {
            Self::Constant { rate } => Gaps::Constant { rate, sent: 0 },
            Self::Poisson { rate } => Gaps::Poisson { rate, at: 0.0 },
            Self::Gamma { rate, burstiness } => {
                Gaps::Gamma { gaps: Gamma::new(burstiness, (rate * burstiness).recip()).ok()?, at: 0.0 }
            }
            Self::Trace { .. } | Self::Closed { .. } => return None,
        };
        Some(Offsets { rng: rng::stream(seed, Purpose::Arrivals), gaps })
    }
}

/// Iterator of [`ArrivalProcess::offsets`].
#[derive(Debug, Clone)]
pub struct Offsets {
    rng: ChaCha8Rng,
    gaps: Gaps,
}

#[derive(Debug, Clone)]
enum Gaps {
    /// Computed from the number sent: no error accumulates.
    Constant {
        rate: f64,
        sent: u64,
    },
    Poisson {
        rate: f64,
        at: f64,
    },
    Gamma {
        gaps: Gamma<f64>,
        at: f64,
    },
}

impl Iterator for Offsets {
    type Item = Moment;

    fn next(&mut self) -> Option<Moment> {
        let seconds = match &mut self.gaps {
            Gaps::Constant { rate, sent } => {
                let seconds = *sent as f64 / *rate;
                *sent += 1;
                seconds
            }
            Gaps::Poisson { rate, at } => {
                let gap: f64 = Exp1.sample(&mut self.rng);
                *at += gap / *rate;
                *at
            }
            Gaps::Gamma { gaps, at } => {
                *at += gaps.sample(&mut self.rng);
                *at
            }
        };
        Some(Moment::from_seconds(seconds))
    }
}

impl FromStr for ArrivalProcess {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (name, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let mut arguments = Arguments::parse(text, rest);
        let mut rate = || {
            number(text, arguments.named_or_next("rate"), "rate: requests a second, 1e-6 to 1e6", |r| {
                RATES.contains(&r)
            })
        };
        let process = match name.trim() {
            "poisson" => Self::Poisson { rate: rate()? },
            "constant" => Self::Constant { rate: rate()? },
            "gamma" => {
                let rate = rate()?;
                Self::Gamma { rate, burstiness: burstiness(text, &mut arguments)? }
            }
            "trace" => {
                let scale = arguments.named_or_next("scale").unwrap_or("1");
                let fits = |s| (1e-6..=1e6).contains(&s);
                Self::Trace { time_scale: number(text, Some(scale), "time scale from 1e-6 to 1e6", fits)? }
            }
            "closed" => {
                let streams = arguments.named_or_next("concurrency");
                Self::Closed { concurrency: whole(text, streams, "number of streams", 1, 1_000_000)? }
            }
            _ => return Err(ParseError::new(text, format!("no arrival process: expected one of {FORMS}"))),
        };
        arguments.finish(FORMS)?;
        Ok(process)
    }
}

/// The shape of gamma gaps, given as `burstiness` or as `cv`.
fn burstiness(text: &str, arguments: &mut Arguments<'_>) -> Result<f64, ParseError> {
    let fits = |value| (1e-3..=1e6).contains(&value);
    match arguments.named("cv") {
        Some(cv) => {
            let cv = number(text, Some(cv), "cv from 0.01 to 30", |cv| (1e-2..=30.0).contains(&cv))?;
            Ok((cv * cv).recip())
        }
        None => number(text, arguments.named_or_next("burstiness"), "burstiness from 0.001 to 1e6 (or cv)", fits),
    }
}

impl fmt::Display for ArrivalProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson { rate } => write!(f, "poisson:{rate}"),
            Self::Constant { rate } => write!(f, "constant:{rate}"),
            Self::Gamma { rate, burstiness } => write!(f, "gamma:{rate},burstiness={burstiness}"),
            Self::Trace { time_scale } => write!(f, "trace:{time_scale}"),
            Self::Closed { concurrency } => write!(f, "closed:{concurrency}"),
        }
    }
}

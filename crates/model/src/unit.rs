//! Units as types: a value knows what it is; only [`Unit::NAME`] reaches a report.

use serde::{Deserialize, Serialize};

/// A number with a unit of its own type.
pub trait Unit: Copy + Into<f64> {
    /// The unit as a report prints it.
    const NAME: &'static str;
}

macro_rules! units {
    ($($(#[$meta:meta])* $name:ident = $unit:literal;)+) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub f64);

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.0
            }
        }

        impl Unit for $name {
            const NAME: &'static str = $unit;
        }
    )+ };
}

units! {
    /// A duration in seconds. `+∞` stands for an answer that never came.
    Seconds = "s";
    /// A size in bytes.
    Bytes = "B";
    /// A number of tokens.
    Tokens = "tokens";
    /// Tokens a second.
    TokensPerSecond = "tokens/s";
    /// Requests a second.
    RequestsPerSecond = "requests/s";
    /// Floating-point operations.
    Flops = "FLOP";
    /// A dimensionless share or ratio.
    Ratio = "1";
    /// A plain count.
    Count = "count";
}

impl Bytes {
    /// Bytes of a MiB.
    pub const MIB: f64 = 1_048_576.0;
    /// Bytes of a GiB.
    pub const GIB: f64 = 1_073_741_824.0;
}

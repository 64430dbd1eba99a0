//! JSON as benchmark clients write it: large, sometimes with Python's `NaN`, sometimes several values in a row.

mod lenient;
mod outline;
mod scalars;
mod start;

pub(crate) use lenient::lenient;
pub(crate) use outline::Outline;
pub(crate) use scalars::Scalar;

/// At most `most` characters, for a message.
pub(crate) fn clip(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

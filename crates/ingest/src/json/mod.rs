//! JSON as benchmark clients write it: large, sometimes with Python's `NaN`, sometimes several values in a row.

mod lenient;
mod outline;
mod scalars;

pub(crate) use lenient::lenient;
pub(crate) use outline::Outline;
pub(crate) use scalars::Scalar;

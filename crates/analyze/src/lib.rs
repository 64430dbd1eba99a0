//! Evidence to findings: measurements, comparison and checks.

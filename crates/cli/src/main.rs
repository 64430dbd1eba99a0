//! The binary `firstcheck`.
fn main() {}

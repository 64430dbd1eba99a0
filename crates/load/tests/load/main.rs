//! Tests of the load client through its public interfaces.

mod protocol;
mod wire;

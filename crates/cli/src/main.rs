//! The binary `firstcheck`: parse, call, print, exit.

mod app;
mod args;
mod commands;
mod config;
mod output;
mod progress;
mod told;

use std::process::ExitCode;

fn main() -> ExitCode {
    app::main(std::env::args_os())
}

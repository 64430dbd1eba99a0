//! From arguments to an exit code.

use crate::{
    args::{self, Verb},
    commands,
    config::Config,
    output::{self, Terminal},
    progress::Progress,
};
use firstcheck_model::exit_code::{FAILED, FINE};
use std::{ffi::OsString, process::ExitCode};

/// What every command is handed.
pub struct Context {
    /// Where results go.
    pub terminal: Terminal,
    /// Where progress goes.
    pub progress: Progress,
    /// What `firstcheck.toml` says.
    pub config: Config,
}

/// Parses, calls, and says what went wrong.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match args::parse(arguments) {
        Ok(cli) => cli,
        // clap's errors include `--help` and `--version`, which are none.
        Err(said) => {
            let failed = said.use_stderr();
            // Nothing is left to tell it to where even this cannot be printed.
            let _ = said.print();
            return ExitCode::from(if failed { FAILED } else { FINE });
        }
    };
    match dispatch(cli) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::print_error(&error);
            ExitCode::from(FAILED)
        }
    }
}

fn dispatch(cli: args::Cli) -> anyhow::Result<u8> {
    let context = Context {
        terminal: Terminal::new(cli.global.color),
        progress: Progress::new(cli.global.quiet),
        config: Config::find(cli.global.config.as_deref())?,
    };
    match cli.verb {
        Verb::Demo(args) => commands::demo::run(args, &context),
        Verb::Run(args) => commands::run::run(*args, &context),
        Verb::Ab(args) => commands::ab::run(*args, &context),
        Verb::Sweep(args) => commands::sweep::run(*args, &context),
        Verb::Fingerprint(args) => commands::fingerprint::run(args, &context),
        Verb::Sim(args) => commands::sim::run(args, &context),
        Verb::Compare(args) => commands::compare::run(args, &context),
        Verb::Isolate(args) => commands::isolate::run(*args, &context),
        Verb::Import(args) => commands::import::run(args, &context),
        Verb::Report(args) => commands::report::run(args, &context),
        Verb::Diagnose(args) => commands::diagnose::run(*args, &context),
        Verb::Capture(args) => commands::capture::run(*args, &context),
        Verb::Completions(args) => commands::install::completions(&args),
        Verb::Man(args) => commands::install::man(&args),
        Verb::Explain(args) => commands::explain::run(&args, &context),
    }
}

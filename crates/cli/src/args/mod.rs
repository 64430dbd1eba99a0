//! What the command line says: parsing only. Each verb turns its arguments into validated settings.

mod ab;
mod capture;
mod compare;
mod demo;
mod diagnose;
mod explain;
mod fingerprint;
mod help;
mod import;
mod install;
mod isolate;
mod report;
mod run;
mod sim;
mod sweep;
mod value;
mod verbs;

pub use ab::{AbArgs, AbPeriodArgs, AbRecordArgs, PlanArgs, SidesArgs};
pub use capture::CaptureArgs;
pub use compare::CompareArgs;
pub use demo::DemoArgs;
pub use diagnose::{DiagnoseArgs, LiveArgs, ProbeArgs};
pub use explain::{ExplainArgs, ExplainFormat};
pub use fingerprint::FingerprintArgs;
pub use import::ImportArgs;
pub use install::{CompletionsArgs, ManArgs};
pub use isolate::{FactorArg, ForbidArg, IsolateArgs, WhatArgs};
pub use report::ReportArgs;
pub use run::{ApiArg, ArrivalArgs, AskArgs, CacheArg, RecordArgs, RunArgs, WindowArgs, WorkloadArgs};
pub use sim::{
    DeploymentArgs, EngineArg, FaultArgs, FaultFormat, FaultsArgs, ServeArgs, SimArgs, SimArrivalArgs, SimRecordArgs,
    SimRunArgs, SimTargetArgs, SimVerb,
};
pub use sweep::SweepArgs;
pub use value::{ArrivalsArg, BaseArg, BytesPerToken, SaltArg, When};

use clap::{
    Args, FromArgMatches, Parser, Subcommand, ValueEnum,
    error::{ContextKind, ContextValue},
};
use firstcheck_model::finding::Severity;
use std::{ffi::OsString, path::PathBuf};

/// Finds out what made an LLM-serving deployment slower, less stable or wrong, and proves it
#[derive(Debug, Parser)]
#[command(name = "firstcheck", version, max_term_width = 100, arg_required_else_help = true)]
#[command(disable_help_subcommand = true, subcommand_required = true)]
pub struct Cli {
    /// What holds for every verb.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// Options of every verb.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Configuration file; without it ./firstcheck.toml, if there is one
    #[arg(long, global = true, value_name = "FILE", visible_alias = "policy")]
    pub config: Option<PathBuf>,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// No progress
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    // Where standard output is a terminal.
    Auto,
    // Always.
    Always,
    // Never.
    Never,
}

/// Options of verbs that report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub struct OutputArgs {
    /// How the report is laid out [default: by the ending of --output (.html, .json, .md, .xml), else terminal]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<FormatArg>,
    /// Write the report to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show every row, also of what decides nothing
    #[arg(long)]
    pub all: bool,
}

/// How a report is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    // For a person
    Terminal,
    // For programs: docs/schema
    Json,
    // For a browser: one file
    Html,
    // For a pull request
    Markdown,
    // For what lists results of tests
    Junit,
    // For a workflow of GitHub Actions
    Github,
}

impl OutputArgs {
    /// The format that is asked for, else the one that the destination's ending names.
    pub fn format(&self) -> FormatArg {
        let named = |path: &PathBuf| match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "json" => Some(FormatArg::Json),
            "html" | "htm" => Some(FormatArg::Html),
            "md" | "markdown" => Some(FormatArg::Markdown),
            "xml" => Some(FormatArg::Junit),
            _ => None,
        };
        self.format.or_else(|| self.output.as_ref().and_then(named)).unwrap_or(FormatArg::Terminal)
    }
}

impl From<FormatArg> for firstcheck_report::Format {
    fn from(format: FormatArg) -> Self {
        match format {
            FormatArg::Terminal => Self::Terminal,
            FormatArg::Json => Self::Json,
            FormatArg::Markdown => Self::Markdown,
            FormatArg::Html => Self::Html,
            FormatArg::Junit => Self::Junit,
            FormatArg::Github => Self::Github,
        }
    }
}

/// The severity from which a finding decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityArg {
    // Worth knowing
    Info,
    // Costs something
    Minor,
    // Users notice
    Major,
    // Users are not served
    Critical,
}

impl From<SeverityArg> for Severity {
    fn from(severity: SeverityArg) -> Self {
        match severity {
            SeverityArg::Info => Self::Info,
            SeverityArg::Minor => Self::Minor,
            SeverityArg::Major => Self::Major,
            SeverityArg::Critical => Self::Critical,
        }
    }
}

/// The verbs. Their order here is the order in `--help`, within the jobs of [`help`].
#[derive(Debug, Subcommand)]
pub enum Verb {
    Demo(DemoArgs),
    Diagnose(Box<DiagnoseArgs>),
    Explain(ExplainArgs),
    Capture(Box<CaptureArgs>),
    Run(Box<RunArgs>),
    Ab(Box<AbArgs>),
    Sweep(Box<SweepArgs>),
    Fingerprint(FingerprintArgs),
    Compare(CompareArgs),
    Isolate(Box<IsolateArgs>),
    Sim(SimArgs),
    Import(ImportArgs),
    Report(ReportArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The whole command, as `--help` shows it.
pub fn command() -> clap::Command {
    help::command()
}

/// Parses arguments.
///
/// # Errors
/// clap's, which include `--help` and `--version`.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let matches =
        help::command().try_get_matches_from(arguments).map_err(without_secrets).map_err(verbs::with_the_verb_meant)?;
    Cli::from_arg_matches(&matches)
}

/// Arguments whose values may hold a password or a key: clap repeats a value that it refuses.
const MAY_HOLD_SECRETS: [&str; 8] =
    ["--url", "--prometheus", "--header", "--extra-body", "--scrape", "--base", "--candidate", "--target"];

fn without_secrets(mut error: clap::Error) -> clap::Error {
    let secret = matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(name))
        if MAY_HOLD_SECRETS.iter().any(|secret| name.split_whitespace().next() == Some(secret)));
    if secret && error.get(ContextKind::InvalidValue).is_some() {
        error.insert(ContextKind::InvalidValue, ContextValue::String("…".into()));
    }
    error
}

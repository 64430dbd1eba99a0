//! `firstcheck isolate`.

use super::{AbPeriodArgs, AbRecordArgs, AskArgs, OutputArgs, SeverityArg, SimArrivalArgs, WorkloadArgs, value::*};
use clap::Args;
use firstcheck_experiment::{
    calibration::FILE,
    isolate::{FactorSection, ForbidSection, LevelSection},
};
use firstcheck_model::metric::{Metric, Stat};
use std::{collections::BTreeMap, path::PathBuf, str::FromStr, time::Duration};

/// Find which factor, or which version, makes a deployment worse
///
/// Factors (a runtime and a driver, two flags): all supported combinations run in blocks on one trace, and the report says
/// what each factor does, whether they interact, and which one makes it worse; where they interact it names none.
/// Versions (releases, commits, settings in an order): the last is held against the first and the list is bisected, each
/// step repeated in pairs until it is decided. {NAME} stands for the level of a factor in the address and the commands,
/// {version} for a version; commands also find them in their environment. The section `isolate` of firstcheck.toml holds
/// where no option says otherwise.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  firstcheck isolate --factor runtime=0.10,0.11 --factor driver=550,570 --forbid runtime=0.11,driver=550 \\
      --target http://{runtime}-{driver}:8000 --rate 4
  firstcheck isolate --factor kernels=old:=,new:=slow-replica:host_ms=8 --factor blocks=8000,2000 \\
      --target 'sim:{kernels} --blocks {blocks}' --rate 4 --plan
  firstcheck isolate --versions v0.9.0,v0.9.1,v0.9.2,v0.10.0 --target http://127.0.0.1:8000 \\
      --start 'docker run --rm -p 8000:8000 engine:{version}' --rate 4 --slo ttft=1s

Exit codes: 0 nothing is worse · 1 something is · 2 failure · 3 cannot tell, not comparable, interrupted")]
pub struct IsolateArgs {
    /// What is taken apart.
    #[command(flatten)]
    pub what: WhatArgs,
    /// How it is asked.
    #[command(flatten)]
    pub asked: AskArgs,
    /// What is offered.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// How requests arrive.
    #[command(flatten)]
    pub arrivals: SimArrivalArgs,
    /// How long.
    #[command(flatten)]
    pub period: AbPeriodArgs,
    /// What is recorded.
    #[command(flatten)]
    pub record: AbRecordArgs,
    /// Exit 1 when a finding is at least this severe
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    /// Where the report goes.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What is taken apart.
#[derive(Debug, Args)]
#[command(next_help_heading = "What")]
pub struct WhatArgs {
    /// A factor and its levels, base's first and the candidate's last; those between serve a path round what is forbidden.
    /// LEVEL:=VALUE where the value differs from the level's name
    #[arg(long, value_name = "NAME=LEVEL,LEVEL", conflicts_with = "versions")]
    pub factor: Vec<FactorArg>,
    /// Combinations that may not be run
    #[arg(long, value_name = "NAME=LEVEL,…", conflicts_with = "versions")]
    pub forbid: Vec<ForbidArg>,
    /// Versions in order, the first known to be good
    #[arg(long, value_name = "V,V,…", value_delimiter = ',')]
    pub versions: Vec<String>,
    /// A file of versions, one a line (as of git rev-list --reverse GOOD~..BAD)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["versions", "factor", "forbid"])]
    pub versions_from: Option<PathBuf>,
    /// The deployment: an address, or sim: with faults and options of sim run behind it
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// Command that starts it for each run, in the foreground; words are split at blanks, there is no shell (stop and ready
    /// commands, and words with blanks: firstcheck.toml)
    #[arg(long, value_name = "COMMAND")]
    pub start: Option<String>,
    /// How long a started server may take to be ready [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub ready_timeout: Option<Duration>,
    /// Look at this metric alone, as ttft:p95 or good_share [default: factors: all that is gated; versions: what the last
    /// version makes worse most surely]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<KeyArg>,
    /// Blocks of factors, a multiple of the combinations that run [default: 8, or the next multiple]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=64))]
    pub blocks: Option<u32>,
    /// Pairs after which a step of a search looks, at most five
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub looks: Vec<u32>,
    /// Say what it will take, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// File in which ab --aa has kept how much a deployment differs from itself
    #[arg(long, value_name = "FILE", default_value = FILE)]
    pub calibration: PathBuf,
}

/// A factor as it is written: `runtime=0.10,0.11`.
#[derive(Debug, Clone)]
pub struct FactorArg(pub FactorSection);

impl FromStr for FactorArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "expected NAME=LEVEL,LEVEL, as runtime=0.10,0.11".to_owned();
        let (name, levels) = text.split_once('=').ok_or_else(wrong)?;
        let level = |text: &str| {
            let (name, value) = text.split_once(":=").map_or((text, None), |(name, value)| (name, Some(value)));
            LevelSection { name: name.trim().into(), value: value.map(Into::into), ..LevelSection::default() }
        };
        let levels: Vec<LevelSection> = levels.split(',').map(level).collect();
        if !is_name(name) || levels.iter().any(|level| level.name.is_empty()) {
            return Err(wrong());
        }
        Ok(Self(FactorSection { name: name.into(), levels }))
    }
}

/// What may stand in braces.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// A rule as it is written: `runtime=0.11,driver=550`.
#[derive(Debug, Clone)]
pub struct ForbidArg(pub ForbidSection);

impl FromStr for ForbidArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let level = |text: &str| text.split_once('=').map(|(name, level)| (name.to_owned(), level.to_owned()));
        let levels: Option<BTreeMap<String, String>> = text.split(',').map(level).collect();
        let levels = levels.ok_or("expected NAME=LEVEL,NAME=LEVEL, as runtime=0.11,driver=550")?;
        Ok(Self(ForbidSection { levels, why: None }))
    }
}

/// A metric with its statistic as it is written: `ttft:p95`.
#[derive(Debug, Clone, Copy)]
pub struct KeyArg {
    /// The metric.
    pub metric: Metric,
    /// Its statistic.
    pub stat: Stat,
}

impl FromStr for KeyArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, stat) = text.split_once([':', ' ']).map_or((text, None), |(name, stat)| (name, Some(stat)));
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name);
        let metric = metric.ok_or_else(|| {
            let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
            format!("no metric is called {name}; there are {}", names.join(", "))
        })?;
        let percent = |text: &str| text.strip_prefix('p')?.parse::<f64>().ok().filter(|p| *p > 0.0 && *p < 100.0);
        let stat = match stat {
            None => Stat::Total,
            Some("mean") => Stat::Mean,
            Some(text) => {
                Stat::Quantile(percent(text).ok_or("expected a quantile behind it, as ttft:p95, or mean")? / 100.0)
            }
        };
        Ok(Self { metric, stat })
    }
}

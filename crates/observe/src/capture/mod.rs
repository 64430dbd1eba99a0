//! The black box before a rollback: what a deployment and its host say of themselves, within a minute.
//!
//! Everything is tried at once, each item within its deadline; what could not be got is listed with its reason, and
//! nothing that fails keeps the rest from being taken. Requests are not sent to the model. What leaves here is bounded, and
//! free of prompts and secrets: the modules `secrets` and `log` say how.
//!
//! # Example: into an archive
//! ```no_run
//! use firstcheck_observe::capture::{Plan, capture, write_archive};
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = Plan { base: Some("http://127.0.0.1:8000".parse()?), pids: vec![77], ..Plan::default() };
//! let captured = capture(&plan, "firstcheck").await;
//! for (item, why) in captured.manifest.gaps() {
//!     println!("not got: {item}: {why}");
//! }
//! write_archive(&captured, std::fs::File::create("capture.tar.zst")?)?;
//! # Ok(())
//! # }
//! ```

mod archive;
mod deployment;
mod family;
mod host;
mod log;
mod process;
mod program;
mod secrets;
mod series;

pub use archive::write_archive;
pub use log::quotable;
pub use series::Series;

use crate::{address::Address, headers::Headers, identity::RawPage, scrape::all};
use firstcheck_ingest::fingerprint::redact_text;
use firstcheck_model::capture::{Item, Manifest, SCHEMA};
use secrets::Secrets;
use std::{
    future::Future,
    path::PathBuf,
    pin::Pin,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
use tokio::time::timeout;

/// Items that are taken of every host, whatever was asked for.
const OF_EVERY_HOST: [&str; 2] = ["gpus", "host"];

/// What to capture.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The deployment; `None`: nothing is asked of one.
    pub base: Option<Address>,
    /// Headers for it; they are sent and stand nowhere in what is captured.
    pub headers: Headers,
    /// PEM file of authorities to trust besides the system's.
    pub extra_ca: Option<PathBuf>,
    /// Series of a Prometheus; `None`: none is asked.
    pub series: Option<Series>,
    /// Logs whose ends are taken.
    pub logs: Vec<PathBuf>,
    /// Processes of the engine on this host; those that they started are taken as well.
    pub pids: Vec<u32>,
    /// How long and how much.
    pub limits: Limits,
}

/// How long a capture may take, and how much it may hold.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Between the two readings of what grows: metrics and memory.
    pub gap: Duration,
    /// Longest wait for one answer of the deployment; in an incident servers are slow.
    pub answer: Duration,
    /// Longest wait for one file of a process.
    pub file: Duration,
    /// Longest time of a program that is run.
    pub program: Duration,
    /// Longest time of an item as a whole.
    pub item: Duration,
    /// Most bytes of a log's end.
    pub log_bytes: u64,
    /// Most bytes of an answer, a file or a program's output.
    pub bytes: usize,
    /// Most bytes of all answers with a Prometheus' series.
    pub series_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            gap: Duration::from_secs(5),
            answer: Duration::from_secs(15),
            file: Duration::from_secs(3),
            program: Duration::from_secs(20),
            item: Duration::from_secs(50),
            log_bytes: 4 << 20,
            bytes: 16 << 20,
            series_bytes: 64 << 20,
        }
    }
}

/// What was captured.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    /// What it holds and lacks.
    pub manifest: Manifest,
    /// The files, the manifest aside.
    pub files: Vec<RawPage>,
}

impl Captured {
    /// What the plan named itself, a deployment, series, logs or processes; the host's own items are taken in any case.
    pub fn asked(&self) -> impl Iterator<Item = &Item> {
        self.manifest.items.iter().filter(|item| !OF_EVERY_HOST.contains(&item.name.as_str()))
    }
}

/// What an item gave.
#[derive(Debug, Default)]
struct Taken {
    files: Vec<RawPage>,
    missing: Vec<String>,
    /// Texts that were seen to be secrets; they are taken out of everything.
    secrets: Vec<String>,
}

impl Taken {
    fn missing(why: impl Into<String>) -> Self {
        Self { missing: vec![why.into()], ..Self::default() }
    }

    fn file(&mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.push(RawPage { name: name.into(), bytes: bytes.into() });
    }

    fn lacks(&mut self, why: impl Into<String>) {
        self.missing.push(why.into());
    }
}

type Work<'p> = Pin<Box<dyn Future<Output = (String, Duration, Taken)> + Send + 'p>>;

/// Tries everything that `plan` names, at once. `tool` names the program and its version in the manifest.
pub async fn capture(plan: &Plan, tool: &str) -> Captured {
    let from_unix_s = unix_s();
    let mut secrets = Secrets::of(&plan.headers);
    if let Some(series) = &plan.series {
        secrets.add(&series.headers);
    }
    let taken = all(items(plan)).await;
    for (_, _, taken) in &taken {
        secrets.learn(&taken.secrets);
    }
    let (mut items, mut files) = (Vec::new(), Vec::new());
    for (name, took, taken) in taken {
        let own: Vec<RawPage> =
            taken.files.into_iter().map(|file| RawPage { bytes: secrets.conceal(file.bytes), ..file }).collect();
        items.push(Item {
            name: secrets.conceal_text(&name),
            files: own.iter().map(|file| file.name.clone()).collect(),
            bytes: own.iter().map(|file| file.bytes.len() as u64).sum(),
            took_s: took.as_secs_f64(),
            missing: taken.missing.iter().map(|why| secrets.conceal_text(&redact_text(why))).collect(),
        });
        files.extend(own);
    }
    let manifest = Manifest { schema: SCHEMA.into(), tool: tool.into(), from_unix_s, to_unix_s: unix_s(), items };
    Captured { manifest, files }
}

fn items(plan: &Plan) -> Vec<Work<'_>> {
    let limits = &plan.limits;
    let mut items: Vec<Work<'_>> = Vec::new();
    if let Some(base) = &plan.base {
        items.push(item("metrics".into(), limits, deployment::metrics(plan, base)));
        items.push(item("server".into(), limits, deployment::identity(plan, base)));
    }
    if let Some(series) = &plan.series {
        items.push(item("series".into(), limits, series::answers(plan, series)));
    }
    for (number, path) in plan.logs.iter().enumerate() {
        let name = format!("log {}", path.file_name().unwrap_or_default().to_string_lossy());
        items.push(item(name, limits, log::tail(path, number, limits)));
    }
    let family = family::of(&plan.pids);
    for (pid, from) in family.members {
        let started = from.map(|from| format!(" (started by {from})")).unwrap_or_default();
        items.push(item(format!("process {pid}{started}"), limits, process::facts(pid, limits)));
        items.push(item(format!("stacks of {pid}{started}"), limits, process::stacks(pid, limits)));
    }
    if family.left_out > 0 {
        let why = format!("{} more that the given ones started: give the engine's own", family.left_out);
        items.push(item("processes".into(), limits, std::future::ready(Taken::missing(why))));
    }
    let [gpus, host] = OF_EVERY_HOST;
    items.push(item(gpus.into(), limits, host::gpus(limits)));
    items.push(item(host.into(), limits, host::facts(limits)));
    items
}

/// One item within its deadline.
fn item<'p>(name: String, limits: &'p Limits, work: impl Future<Output = Taken> + Send + 'p) -> Work<'p> {
    Box::pin(async move {
        let began = Instant::now();
        let late = format!("it was not done within {} s", limits.item.as_secs_f64());
        let taken = timeout(limits.item, work).await.unwrap_or_else(|_| Taken::missing(late));
        (name, began.elapsed(), taken)
    })
}

/// Unix time, seconds.
fn unix_s() -> f64 {
    // A clock before 1970 cannot be told from 1970.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

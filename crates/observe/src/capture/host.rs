//! The host: its GPUs, load, memory and pressure.

use super::{Limits, Taken, program::output};
use firstcheck_ingest::fingerprint::redact_text as text;
use serde_json::{Map, Value, json};
use std::{
    fs::File,
    io::{self, Read},
};

/// Version of the facts of a host.
const SCHEMA: &str = "firstcheck.capture.host/1";
/// Files that are kept as they are, by the name of the fact. None names the host or its users.
const FILES: [(&str, &str); 11] = [
    ("kernel", "/proc/version"),
    ("uptime", "/proc/uptime"),
    ("load", "/proc/loadavg"),
    ("memory", "/proc/meminfo"),
    ("virtual_memory", "/proc/vmstat"),
    ("pressure_cpu", "/proc/pressure/cpu"),
    ("pressure_memory", "/proc/pressure/memory"),
    ("pressure_io", "/proc/pressure/io"),
    ("cgroup_cpu", "/sys/fs/cgroup/cpu.stat"),
    ("cgroup_cpu_limit", "/sys/fs/cgroup/cpu.max"),
    ("cgroup_memory", "/sys/fs/cgroup/memory.events"),
];

/// State of the GPUs and how they are connected.
pub(super) async fn gpus(limits: &Limits) -> Taken {
    let mut taken = Taken::default();
    let calls: [(&str, &[&str]); 2] = [("nvidia-smi.xml", &["-q", "-x"]), ("nvidia-smi-topo.txt", &["topo", "-m"])];
    for (name, arguments) in calls {
        match output("nvidia-smi", arguments, limits.program, limits.bytes).await {
            // Processes of others are named with their command.
            Ok(bytes) => taken.file(name, lines(&String::from_utf8_lossy(&bytes))),
            Err(why) => {
                taken.lacks(format!("nvidia-smi {}: {why}", arguments.join(" ")));
                break;
            }
        }
    }
    taken
}

fn read(path: &str, most: usize) -> io::Result<String> {
    let mut content = String::new();
    File::open(path)?.take(most as u64).read_to_string(&mut content)?;
    Ok(content)
}

fn lines(page: &str) -> String {
    page.lines().map(|line| text(line) + "\n").collect()
}

/// Facts of the host, each as its file has it.
pub(super) async fn facts(limits: &Limits) -> Taken {
    let mut taken = Taken::default();
    let mut facts = Map::new();
    for (name, path) in FILES {
        match read(path, limits.bytes) {
            Ok(content) => {
                let lines: Vec<Value> = content.lines().map(Value::from).collect();
                let fact = if let [only] = &lines[..] { only.clone() } else { lines.into() };
                drop(facts.insert(name.into(), fact));
            }
            Err(error) => taken.lacks(format!("{path}: {error}")),
        }
    }
    let cpus = std::thread::available_parallelism().map(|count| count.get()).ok();
    if facts.is_empty() && cpus.is_none() {
        return taken;
    }
    let facts = json!({ "schema": SCHEMA, "cpus": cpus, "facts": facts });
    taken.file("host.json", format!("{facts:#}"));
    taken
}

//! Processes of the engine on this host: memory, command line, environment, stacks.

use super::{Limits, Taken, program::output, unix_s};
use firstcheck_ingest::fingerprint::{REDACTED, is_secret, redact, redact_text as text};
use serde_json::{Map, Value, json};
use std::{fmt::Write, fs, io::Read};
use tokio::time::timeout;

/// Version of the facts of a process.
const SCHEMA: &str = "firstcheck.capture.process/1";
/// Beginnings of variables whose values say how an engine was set up. Of all others only the name is kept: what nobody
/// knows may be personal or a secret under a harmless name.
const OF_ENGINES: [&str; 40] = [
    "VLLM_",
    "SGLANG_",
    "SGL_",
    "TRTLLM_",
    "TLLM_",
    "DYN_",
    "LMCACHE_",
    "MOONCAKE_",
    "NIXL_",
    "FLASHINFER_",
    "TORCH",
    "PYTORCH_",
    "TRITON_",
    "CUDA_",
    "CUBLAS_",
    "NVIDIA_",
    "NCCL_",
    "NVSHMEM_",
    "UCX_",
    "GLOO_",
    "RCCL_",
    "HIP_",
    "HSA_",
    "ROCR_",
    "ROCM_",
    "OMP_",
    "MKL_",
    "KMP_",
    "OPENBLAS_",
    "MALLOC_",
    "LD_PRELOAD",
    "PYTHON",
    "RAY_",
    "HF_HUB_",
    "TRANSFORMERS_",
    "TOKENIZERS_",
    "OTEL_",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
];
/// Options whose values are texts for the model.
const OF_TEXTS: [&str; 3] = ["prompt", "chat-template", "system-message"];

/// Memory twice, command line, environment.
pub(super) async fn facts(pid: u32, limits: &Limits) -> Taken {
    let mut taken = Taken::default();
    if !cfg!(target_os = "linux") {
        return Taken::missing("processes are looked at on Linux alone");
    }
    if !fs::exists(format!("/proc/{pid}")).unwrap_or(false) {
        return Taken::missing("there is no such process");
    }
    described(pid, limits, &mut taken).await;
    memory(pid, limits, &mut taken).await;
    taken
}

async fn memory(pid: u32, limits: &Limits, taken: &mut Taken) {
    let mut snapshots = String::new();
    for reading in ["first", "second"] {
        if reading == "second" {
            tokio::time::sleep(limits.gap).await;
        }
        match read(pid, "smaps_rollup", limits).await {
            Ok(bytes) if !bytes.is_empty() => {
                let snapshot = String::from_utf8_lossy(&bytes);
                // Writing to a string cannot fail.
                let _ = writeln!(snapshots, "# {:.6} pid={pid}\n{snapshot}", unix_s());
            }
            Ok(_) => taken.lacks(format!("the {reading} reading of its memory: the process has ended")),
            Err(why) => taken.lacks(format!("the {reading} reading of its memory: {why}")),
        }
    }
    if !snapshots.is_empty() {
        taken.file(format!("smaps_rollup-{pid}.txt"), snapshots);
    }
}

async fn described(pid: u32, limits: &Limits, taken: &mut Taken) {
    let mut facts = json!({ "schema": SCHEMA, "pid": pid });
    match read(pid, "cmdline", limits).await {
        Ok(bytes) => facts["arguments"] = arguments(&strings(&bytes), &mut taken.secrets),
        Err(why) => taken.lacks(format!("its command line: {why}")),
    }
    match read(pid, "environ", limits).await {
        Ok(bytes) => {
            let (known, others) = environment(&strings(&bytes), &mut taken.secrets);
            facts["environment"] = known.into();
            facts["other_variables"] = others.into();
        }
        Err(why) => taken.lacks(format!("its environment: {why}")),
    }
    match read(pid, "status", limits).await {
        Ok(bytes) => facts["status"] = status(&String::from_utf8_lossy(&bytes)).into(),
        Err(why) => taken.lacks(format!("its state: {why}")),
    }
    taken.file(format!("process-{pid}.json"), format!("{facts:#}"));
}

/// A file of the process, read on another thread: what a process that hangs in the kernel says of its memory may never
/// come.
async fn read(pid: u32, name: &str, limits: &Limits) -> Result<Vec<u8>, String> {
    let (path, most) = (format!("/proc/{pid}/{name}"), limits.bytes as u64);
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        fs::File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map(|_| bytes)
    });
    match timeout(limits.file, reading).await {
        Ok(Ok(read)) => read.map_err(|error| error.to_string()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("the kernel did not answer within {} s; does it hang?", limits.file.as_secs_f64())),
    }
}

/// Texts that end with a zero byte each.
fn strings(bytes: &[u8]) -> Vec<String> {
    let parts = bytes.split(|byte| *byte == 0).filter(|part| !part.is_empty());
    parts.map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

/// A command line without secrets and texts for the model; what was a secret is learned.
fn arguments(given: &[String], secrets: &mut Vec<String>) -> Value {
    let mut list = Value::from(given.to_vec());
    redact(&mut list);
    let mut for_the_model = false;
    for (item, given) in list.as_array_mut().into_iter().flatten().zip(given) {
        let option = given.starts_with('-');
        let name = given.split('=').next().unwrap_or_default();
        let of_text = option && OF_TEXTS.iter().any(|word| name.contains(word));
        if item.as_str() != Some(given) {
            secrets.extend(hidden(given));
        }
        if for_the_model && !option {
            *item = "(left out)".into();
        } else if of_text && let Some((name, _)) = given.split_once('=') {
            *item = format!("{name}=(left out)").into();
        }
        for_the_model = if option { of_text } else { for_the_model };
    }
    list
}

/// What was hidden of a text: all of it, or what stands behind `=`.
fn hidden(given: &str) -> Option<String> {
    let value = given.split_once('=').map_or(given, |(_, value)| value);
    (!value.starts_with('{')).then(|| value.to_owned())
}

/// Variables of engines with their values, and the names of all others.
fn environment(given: &[String], secrets: &mut Vec<String>) -> (Map<String, Value>, Vec<String>) {
    let (mut known, mut others) = (Map::new(), Vec::new());
    for (name, value) in given.iter().filter_map(|variable| variable.split_once('=')) {
        let of_engine = OF_ENGINES.iter().any(|start| name.starts_with(start));
        let secret = is_secret(name, value);
        if secret {
            secrets.push(value.to_owned());
        }
        match of_engine {
            true if secret => drop(known.insert(name.into(), REDACTED.into())),
            true => drop(known.insert(name.into(), text(value).into())),
            false => others.push(name.to_owned()),
        }
    }
    (known, others)
}

/// What says how the process is: state, threads, memory, switches. Who runs it stays out.
fn status(text: &str) -> Map<String, Value> {
    const WANTED: [&str; 9] = [
        "Name",
        "State",
        "Threads",
        "VmPeak",
        "VmHWM",
        "VmRSS",
        "VmSwap",
        "voluntary_ctxt_switches",
        "nonvoluntary_ctxt_switches",
    ];
    let fields = text.lines().filter_map(|line| line.split_once(':'));
    let wanted = fields.filter(|(name, _)| WANTED.contains(name));
    wanted.map(|(name, value)| (name.to_owned(), value.trim().into())).collect()
}

/// Stacks of all threads, as py-spy tells them: without locals, which hold prompts.
pub(super) async fn stacks(pid: u32, limits: &Limits) -> Taken {
    let number = pid.to_string();
    match output("py-spy", &["dump", "--pid", &number], limits.program, limits.bytes).await {
        Ok(bytes) => {
            let mut taken = Taken::default();
            // Its second line may be the command line, with keys in it.
            let lines = String::from_utf8_lossy(&bytes).lines().map(text).collect::<Vec<_>>();
            taken.file(format!("py-spy-{pid}.txt"), lines.join("\n") + "\n");
            taken
        }
        Err(why) => Taken::missing(why),
    }
}

//! From the software around an engine: lists of packages and of environment variables.

use super::redact::{Place, state};
use firstcheck_model::fingerprint::{Fingerprint, Group, field};

/// Packages of one list that are kept at most.
const MOST_PACKAGES: usize = 5_000;

/// Environment variables of one list that are kept at most.
const MOST_VARIABLES: usize = 2_000;

/// Packages that have a field of their own, by the beginning of their name.
const OWN: [(&str, &str); 8] = [
    ("nvidia-nccl-cu", "nccl_version"),
    ("nvidia-cublas", "cublas_version"),
    ("nvidia-cudnn", "cudnn_version"),
    ("nvidia-cuda-runtime", "cuda_runtime_version"),
    ("triton", "triton_version"),
    ("flashinfer", "flashinfer_version"),
    ("flash-attn", "flash_attn_version"),
    ("torch", "torch_version"),
];

/// Beginnings and parts of the names of variables that set an engine up, or what it runs on.
const TELLING: [&str; 16] = [
    "VLLM_",
    "SGLANG_",
    "SGL_",
    "TRTLLM_",
    "TRITON_",
    "NCCL_",
    "CUDA_",
    "TORCH",
    "PYTORCH_",
    "OMP_",
    "MKL_",
    "HF_",
    "UCX_",
    "LMCACHE_",
    "NIXL_",
    "LD_PRELOAD",
];

/// A package with its version, as a list writes it: `torch==2.6.0`, `torch 2.6.0` in columns, `torch @ file:///…`.
pub(crate) fn package(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, version) = match line.split_once("==").or_else(|| line.split_once(" @ ")) {
        Some(pair) => pair,
        None => line.split_once(char::is_whitespace)?,
    };
    let (name, version) = (name.trim(), version.trim().trim_start_matches('='));
    let version = version.split([' ', ';', '\t']).next().unwrap_or_default();
    let named =
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '[' | ']'));
    (named && !version.is_empty()).then_some((name, version))
}

/// What a list of Python packages states, a package a line; how many there are.
pub fn from_packages(lines: &str, from: &str, into: &mut Fingerprint) -> usize {
    from_packages_at(lines, from, 1, into)
}

/// As [`from_packages`], of a list that begins at line `first` of its source.
pub(crate) fn from_packages_at(lines: &str, from: &str, first: u64, into: &mut Fingerprint) -> usize {
    let packages = (first..).zip(lines.lines()).filter_map(|(line, text)| Some((line, package(text)?)));
    let mut count = 0;
    for (line, (name, version)) in packages.take(MOST_PACKAGES) {
        count += 1;
        let place = Place { from, line: Some(line) };
        let own = OWN.iter().find(|(start, _)| match *start {
            "torch" | "triton" => name == *start,
            start => name.starts_with(start),
        });
        let name = own.map_or_else(|| format!("package.{}", name.to_ascii_lowercase()), |(_, own)| (*own).to_owned());
        state(into, Group::Software, &name, version, place);
    }
    engine(into, from);
    count
}

/// The engine's own package names it and its version, where nothing else did.
fn engine(into: &mut Fingerprint, from: &str) {
    if into.field(field::ENGINE_VERSION).is_some() {
        return;
    }
    let version = |name: &str| into.get(&format!("package.{name}")).map(str::to_owned);
    if let (Some(version), None, engine) | (None, Some(version), engine) =
        (version("vllm"), version("sglang"), if version("vllm").is_some() { "vllm" } else { "sglang" })
    {
        state(into, Group::Engine, field::ENGINE, engine, Place { from, line: None });
        state(into, Group::Engine, field::ENGINE_VERSION, &version, Place { from, line: None });
    }
}

/// What a list of environment variables states (`NAME=value` a line): those that set an engine up, or what it runs on.
/// Values of secrets are left out; how many variables were taken.
pub fn from_environment(lines: &str, from: &str, into: &mut Fingerprint) -> usize {
    let variables = lines.lines().filter_map(|line| line.trim().split_once('='));
    let telling = variables.filter(|(name, _)| TELLING.iter().any(|start| name.starts_with(start)));
    let mut count = 0;
    for (name, value) in telling.take(MOST_VARIABLES) {
        let name = format!("{}{}{name}", field::GIVEN, field::ENV);
        state(into, Group::Given, &name, value, Place { from, line: None });
        count += 1;
    }
    count
}

/// What the output of PyTorch's or vLLM's `collect_env` states; how many of its lines said something.
pub fn from_collect_env(text: &str, from: &str, into: &mut Fingerprint) -> usize {
    const LABELS: [(&str, Group, &str); 13] = [
        ("PyTorch version", Group::Software, "torch_version"),
        ("CUDA used to build PyTorch", Group::Software, "cuda_version"),
        ("CUDA runtime version", Group::Software, "cuda_runtime_version"),
        ("Nvidia driver version", Group::Software, "driver_version"),
        ("cuDNN version", Group::Software, "cudnn_version"),
        ("ROCM used to build PyTorch", Group::Software, "rocm_version"),
        ("Python version", Group::Software, "python_version"),
        ("OS", Group::Software, "os"),
        ("Libc version", Group::Software, "libc_version"),
        ("vLLM Version", Group::Engine, field::ENGINE_VERSION),
        ("vLLM Build Flags", Group::Software, "vllm_build_flags"),
        ("Model name", Group::Hardware, "cpu_model"),
        ("CPU(s)", Group::Hardware, "cpu_count"),
    ];
    let (mut count, mut gpus) = (0, std::collections::BTreeMap::<&str, usize>::new());
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        let place = Place { from, line: Some(line) };
        if let Some(pip) = text.strip_prefix("[pip3] ").or_else(|| text.strip_prefix("[pip] ")) {
            count += from_packages_at(pip, from, line, into);
        } else if let Some((label, value)) = text.split_once(':') {
            let (label, value) = (label.trim(), value.trim());
            if label.strip_prefix("GPU ").is_some_and(|at| at.bytes().all(|b| b.is_ascii_digit())) {
                *gpus.entry(value).or_default() += 1;
                count += 1;
            }
            let known = LABELS.iter().find(|(known, ..)| *known == label);
            if let Some((_, group, name)) = known.filter(|_| !matches!(value, "" | "N/A" | "Could not collect")) {
                state(into, *group, name, value, place);
                count += 1;
            }
        } else {
            count += from_environment(text, from, into);
        }
    }
    if !gpus.is_empty() {
        let place = Place { from, line: None };
        let models: Vec<&str> = gpus.keys().copied().collect();
        state(into, Group::Hardware, field::GPU_MODEL, &models.join(", "), place);
        state(into, Group::Hardware, field::GPU_COUNT, &gpus.values().sum::<usize>().to_string(), place);
    }
    count
}

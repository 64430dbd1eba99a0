//! Words that other tools use for a job, and the verb that does it here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A word, and the verb for its job with what it does.
const MEANT: &[(&[&str], &str)] = &[
    (&["diff", "cmp", "regress", "gate", "judge", "check-regression"], "compare, which judges two sides"),
    (
        &["check", "doctor", "debug", "analyze", "analyse", "investigate", "triage", "inspect"],
        "diagnose, which asks every check",
    ),
    (
        &["bench", "benchmark", "load", "loadtest", "measure", "perf", "test", "serve-bench"],
        "run, which offers a workload and records it",
    ),
    (&["pairs", "abtest", "ab-test", "canary"], "ab, which measures two deployments in pairs"),
    (&["bisect", "blame", "ablate"], "isolate, which finds what of a change matters"),
    (&["ramp", "capacity", "search", "saturate"], "sweep, which finds the highest rate"),
    (&["snapshot", "record", "dump", "collect", "blackbox"], "capture, which takes the black box before a rollback"),
    (&["simulate", "simulator", "mock", "serve", "server", "faults"], "sim (sim serve, sim run, sim faults)"),
    (&["show", "view", "render", "html", "export"], "report, which lays a bundle or a report out again"),
    (&["convert", "ingest", "load-file"], "import, which keeps a result file as a bundle"),
    (&["list", "ls", "checks", "docs", "symptoms", "info"], "explain, which lists the checks"),
    (&["config", "settings", "identify", "version-diff"], "fingerprint, which says what a deployment is"),
    (&["help"], "--help"),
];

/// Adds the verb whose job an unknown word names. clap suggests by spelling alone.
pub(super) fn with_the_verb_meant(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let word = word.to_lowercase();
    let Some((_, verb)) = MEANT.iter().find(|(words, _)| words.contains(&word.as_str())) else { return error };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("you may want {verb}").into()]));
    error
}

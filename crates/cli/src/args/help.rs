//! `firstcheck --help`: the verbs grouped by job, the common ones first.

use super::Cli;
use clap::{Command, CommandFactory};

/// Jobs with their verbs.
const JOBS: &[(&str, &[&str])] = &[
    ("See it work", &["demo"]),
    ("Diagnose", &["diagnose", "explain", "capture"]),
    ("Measure", &["run", "ab", "sweep", "fingerprint"]),
    ("Judge", &["compare", "isolate"]),
    ("Rehearse", &["sim"]),
    ("Files", &["import", "report"]),
    ("Install", &["completions", "man"]),
];

const EXIT_CODES: &str = "\
Exit codes: 0 fine · 1 a failed gate or an asked finding · 2 usage error or failure · 3 cannot tell
`firstcheck VERB --help` says more of each, with examples.";

/// The command with its grouped help.
pub(super) fn command() -> Command {
    let command = Cli::command();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}\n\n{EXIT_CODES}\n",
        verbs(&command)
    );
    command.help_template(template)
}

fn verbs(command: &Command) -> String {
    let about = |verb: &str| {
        let about = command.find_subcommand(verb).and_then(Command::get_about);
        about.map(ToString::to_string)
    };
    let mut text = String::new();
    for (job, verbs) in JOBS {
        // A verb of a later version has no line yet.
        let lines: String = verbs.iter().filter_map(|verb| Some(format!("  {verb:<12} {}\n", about(verb)?))).collect();
        if !lines.is_empty() {
            text += &format!("{job}:\n{lines}\n");
        }
    }
    text
}

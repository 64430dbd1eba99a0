//! Every command that a check proposes has a verb and options that exist.

use crate::{harness::Bench, workspace::root};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The verb and the long options of each `firstcheck VERB …` in a text; a command ends with its string or its sentence.
fn proposed(text: &str) -> Vec<(String, Vec<String>)> {
    let words = |command: &str| {
        let end = command.find(['"', ';', '\n', '`', '(']).unwrap_or(command.len());
        let words = command[..end].split_whitespace();
        words.map(|word| word.trim_end_matches([',', '.', ')', ':']).to_owned()).collect::<Vec<_>>()
    };
    text.split("firstcheck ")
        .skip(1)
        .map(words)
        .filter_map(|words| {
            let (verb, rest) = words.split_first()?;
            // An engine's own command may follow in quotes.
            let own = rest.iter().take_while(|word| !word.starts_with("'vllm"));
            let options =
                own.filter(|word| word.starts_with("--")).map(|word| word.split('=').next().unwrap().to_owned());
            Some((verb.clone(), options.collect()))
        })
        .collect()
}

#[test]
fn what_a_check_proposes_can_be_typed() {
    let bench = Bench::new();
    let verbs = ["ab", "capture", "compare", "diagnose", "fingerprint", "import", "isolate", "report", "run", "sweep"];
    let known: BTreeMap<&str, BTreeSet<String>> = verbs
        .into_iter()
        .map(|verb| {
            let help = bench.expect(0, &[verb, "--help"]).out;
            let options = help.split_whitespace().filter(|word| word.starts_with("--"));
            (verb, options.map(|word| word.trim_end_matches([',', '.', ';', ']', ')']).to_owned()).collect())
        })
        .collect();
    let mut seen = 0;
    for path in sources(&root().join("crates/analyze/src")) {
        for (verb, options) in proposed(&fs::read_to_string(&path).unwrap()) {
            let Some(known) = known.get(verb.as_str()) else {
                assert!(options.is_empty(), "{}: there is no verb {verb} that takes options", path.display());
                continue;
            };
            seen += 1;
            for option in options {
                assert!(known.contains(&option), "{}: firstcheck {verb} has no {option}", path.display());
            }
        }
    }
    assert!(seen > 50, "the checks propose commands: {seen}");
}

//! `--help` of the binary and of each verb.

use crate::harness::Bench;

const VERBS: &[&[&str]] = &[
    &["demo"],
    &["diagnose"],
    &["explain"],
    &["run"],
    &["ab"],
    &["sweep"],
    &["capture"],
    &["fingerprint"],
    &["compare"],
    &["isolate"],
    &["sim", "run"],
    &["sim", "serve"],
    &["sim", "faults"],
    &["import"],
    &["report"],
];

#[test]
fn a_verb_of_another_tool_leads_to_the_one_for_its_job() {
    let bench = crate::harness::Bench::new();
    for (word, verb) in
        [("diff", "compare"), ("check", "diagnose"), ("bench", "run"), ("ls", "explain"), ("Doctor", "diagnose")]
    {
        let said = bench.expect(2, &[word]).err;
        assert!(said.contains(&format!("unrecognized subcommand '{word}'")), "{said}");
        assert!(said.contains(&format!("you may want {verb}")), "{word}: {said}");
    }
    let said = bench.expect(2, &["compair"]).err;
    assert!(said.contains("'compare'"), "what is near by its letters is still said: {said}");
}

#[test]
fn help_is_grouped_by_job() {
    let bench = Bench::new();
    insta::assert_snapshot!("help", bench.expect(0, &["--help"]).out);
    assert_eq!(bench.expect(2, &[]).err, bench.expect(0, &["-h"]).out, "without a verb: the help, as an error");
}

#[test]
fn every_verb_has_help_with_an_example() {
    let bench = Bench::new();
    for verb in VERBS {
        let mut args = verb.to_vec();
        args.push("--help");
        let help = bench.expect(0, &args).out;
        assert!(help.contains(&format!("  firstcheck {}", verb.join(" "))), "no example:\n{help}");
        insta::assert_snapshot!(format!("help_{}", verb.join("_")), help);
    }
}

#[test]
fn the_grouped_help_names_every_verb() {
    let bench = Bench::new();
    let help = bench.expect(0, &["--help"]).out;
    for verb in VERBS {
        assert!(help.contains(&format!("\n  {}", verb[0])), "{verb:?} is missing from\n{help}");
    }
}

#[test]
fn version_names_the_tool() {
    assert_eq!(Bench::new().expect(0, &["--version"]).out, concat!("firstcheck ", env!("CARGO_PKG_VERSION"), "\n"));
}

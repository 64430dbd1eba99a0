//! What is installed beside the binary.

use crate::harness::Bench;

const VERBS: [&str; 3] = ["diagnose", "compare", "capture"];

#[test]
fn completions_of_every_shell_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Bench::new().expect(0, &["completions", shell]).out;
        assert!(VERBS.iter().all(|verb| script.contains(verb)), "{shell}: {script}");
    }
    let said = Bench::new().expect(2, &["completions", "cmd"]).err;
    assert!(said.contains("possible values") || said.contains("bash"), "{said}");
}

#[test]
fn every_verb_has_a_manual_page() {
    let bench = Bench::new();
    bench.expect(0, &["man", "--out", "share/man1"]);
    let page = |name: &str| std::fs::read_to_string(bench.path("share/man1").join(name)).unwrap();
    assert!(VERBS.iter().all(|verb| page("firstcheck.1").contains(verb)));
    for verb in VERBS {
        assert!(page(&format!("firstcheck-{verb}.1")).contains("Exit codes"), "{verb}");
    }
    let file = bench.write("file", "");
    let said = bench.expect(2, &["man", "--out", file.to_str().unwrap()]).err;
    assert!(said.contains("cannot make"), "{said}");
}

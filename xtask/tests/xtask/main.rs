//! Tests of the scaffolding.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use firstcheck_xtask::new_check::{NewCheck, scaffold};
use std::{fs, path::Path};

const REGISTRY: &str = "//! All checks.\n\npub static CHECKS: &[&Check] = &[\n    \
    &checks::first_token::late::LATE, // S01\n    &checks::memory::preemption::PREEMPTION, // S15\n];\n";

fn workspace() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("crates/analyze/src");
    fs::create_dir_all(source.join("checks/memory")).unwrap();
    fs::write(source.join("registry.rs"), REGISTRY).unwrap();
    fs::write(source.join("checks/mod.rs"), "//! Checks.\n\npub mod first_token;\npub mod memory;\n").unwrap();
    fs::write(source.join("checks/memory/mod.rs"), "//! Memory.\n\npub mod preemption;\n").unwrap();
    dir
}

fn text(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join("crates/analyze").join(path)).unwrap()
}

#[test]
fn a_check_gets_its_files_and_its_lines_in_order() {
    let dir = workspace();
    scaffold(dir.path(), &NewCheck::new("S07", "stream-stutter", "stream").unwrap()).unwrap();
    scaffold(dir.path(), &NewCheck::new("S14", "no-start", "memory").unwrap()).unwrap();
    scaffold(dir.path(), &NewCheck::new("S19", "hang", "memory").unwrap()).unwrap();
    let codes: Vec<String> = text(dir.path(), "src/registry.rs")
        .lines()
        .filter_map(|line| Some(line.split_once("// ")?.1.to_owned()))
        .collect();
    assert_eq!(codes, ["S01", "S07", "S14", "S15", "S19"]);
    assert!(text(dir.path(), "src/registry.rs").contains("&checks::stream::stream_stutter::STREAM_STUTTER, // S07"));
    assert!(
        text(dir.path(), "src/checks/mod.rs").ends_with("pub mod first_token;\npub mod memory;\npub mod stream;\n")
    );
    assert!(
        text(dir.path(), "src/checks/memory/mod.rs")
            .ends_with("pub mod hang;\npub mod no_start;\npub mod preemption;\n")
    );
    let source = text(dir.path(), "src/checks/stream/stream_stutter.rs");
    assert!(source.contains("pub static STREAM_STUTTER = {") && source.contains("family: Stream"), "{source}");
    for kind in ["present", "absent", "undecided", "look-alike"] {
        assert!(text(dir.path(), &format!("cases/stream-stutter/{kind}.md")).contains("```findings"));
    }
}

#[test]
fn a_name_that_is_none_and_a_check_that_is_there_are_refused() {
    for (code, slug, family) in
        [("7", "a", "memory"), ("S7", "a", "memory"), ("S07", "A b", "memory"), ("S07", "a", "x")]
    {
        assert!(NewCheck::new(code, slug, family).is_err(), "{code} {slug} {family}");
    }
    let dir = workspace();
    let refused = |code: &str, slug: &str| {
        scaffold(dir.path(), &NewCheck::new(code, slug, "memory").unwrap()).unwrap_err().to_string()
    };
    assert_eq!(refused("S15", "other"), "there is a check S15 already");
    scaffold(dir.path(), &NewCheck::new("S14", "no-start", "memory").unwrap()).unwrap();
    assert_eq!(refused("S16", "no-start"), "there is a check no-start already");
}

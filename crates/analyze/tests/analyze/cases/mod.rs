//! Runs every case in `cases/<slug>/*.md`: prose, blocks of evidence, and a block of what the checks must find.
//!
//! Blocks (SIDE is `base` or `candidate`): see [`blocks`]. The block `findings` holds what the case's own check finds, and
//! every finding of another check that is present: a false alarm elsewhere shows. With `UPDATE=1` the findings are
//! written instead of compared; review the difference line by line.

mod blocks;
mod render;

use blocks::{Block, evidence};
use firstcheck_analyze::{case::Case, diagnose::diagnose, registry::CHECKS, settings::Settings, side::Side};
use render::render;
use std::path::{Path, PathBuf};

#[test]
fn every_case_finds_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let update = updating();
    let mut wrong = Vec::new();
    for folder in sorted(&root) {
        for case in sorted(&folder) {
            wrong.extend(run(&case, update));
        }
    }
    assert!(wrong.is_empty(), "UPDATE=1 writes what was found:\n{}", wrong.join("\n"));
}

#[test]
fn every_check_has_each_kind_of_case() {
    for check in CHECKS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(check.slug);
        let names: Vec<String> =
            sorted(&folder).iter().filter_map(|p| Some(p.file_name()?.to_str()?.to_owned())).collect();
        for kind in ["present", "absent", "undecided", "look-alike"] {
            assert!(names.iter().any(|n| n.starts_with(kind)), "{} has no {kind} case", check.slug);
        }
    }
}

/// A cause that no case supports was never seen to be found.
#[test]
fn every_cause_is_supported_by_a_case() {
    if updating() {
        return;
    }
    for check in CHECKS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(check.slug);
        let texts: String = sorted(&folder).iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        for cause in check.causes {
            assert!(texts.contains(&format!("\n  {} supported", cause.id)), "{}: no case for {}", check.slug, cause.id);
        }
    }
}

/// Whether findings are written instead of compared.
fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// What is wrong with a case, if anything.
fn run(path: &Path, update: bool) -> Option<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = Block::all(&text);
    let [base, candidate] = ["base", "candidate"].map(|side| evidence(side, &blocks, path));
    let candidate = candidate.unwrap_or_else(|| panic!("{} has no candidate", path.display()));
    let candidate = Side::new(&candidate);
    let base = base.as_ref().map(Side::new);
    let findings = diagnose(&Case { side: &candidate, base: base.as_ref(), settings: &Settings::default() });
    let slug = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let found = render(&findings, slug);
    let expected = &blocks.iter().find(|b| b.head == "findings").expect("a findings block").body;
    if update {
        let updated = text.replace(&format!("```findings\n{expected}```"), &format!("```findings\n{found}```"));
        std::fs::write(path, updated).unwrap();
        return None;
    }
    (&found != expected).then(|| format!("{}\n--- expected\n{expected}--- found\n{found}", path.display()))
}

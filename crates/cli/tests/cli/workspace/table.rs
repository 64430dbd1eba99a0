//! The table of crates in the design, held against what the crates depend on.

use super::{MEMBERS, short, text};
use std::collections::{BTreeMap, BTreeSet};

type Names = BTreeSet<String>;

/// What a row lets a crate use.
#[derive(Debug, Clone, PartialEq)]
enum Uses {
    /// These and no others.
    Exactly(Names),
    /// No others than these.
    AtMost(Names),
}

/// A row of the table: what the crate uses, and what its tests use on top.
#[derive(Debug)]
struct Row {
    uses: Uses,
    tests: Names,
}

fn names(list: &str) -> Names {
    list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty() && name != "–").collect()
}

/// Rows of `| crate | its one reason | uses |`, in order.
fn rows() -> Vec<(String, Row)> {
    let design = text("docs/design/README.md");
    let section = design.split("\n## ").find(|section| section.starts_with("Crates\n")).expect("a section `Crates`");
    let mut rows: Vec<(String, Row)> = Vec::new();
    for line in section.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, _, uses] = cells.as_slice() else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        let (uses, tests) = match uses.split_once("(tests:") {
            Some((uses, tests)) => (uses.trim(), names(tests.trim_end_matches(')'))),
            None => (*uses, Names::new()),
        };
        let above = || rows.iter().map(|(name, _)| name.clone()).collect();
        let uses = match uses {
            "all above" => Uses::AtMost(above()),
            list => Uses::Exactly(names(list)),
        };
        rows.push((name.to_owned(), Row { uses, tests }));
    }
    rows
}

#[test]
fn each_crate_has_a_row_and_each_row_a_crate() {
    let rows: Names = rows().into_iter().map(|(name, _)| name).collect();
    let crates: Names = MEMBERS.keys().cloned().collect();
    assert_eq!(rows, crates, "docs/design/README.md against the workspace");
}

#[test]
fn each_crate_uses_the_crates_of_its_row() {
    for (name, row) in rows() {
        let used = |kind: &str| -> Names {
            let all = MEMBERS[&name].dependencies.iter().filter(|(_, of)| of == kind);
            all.filter_map(|(package, _)| short(package).map(str::to_owned)).collect()
        };
        let normal = used("normal");
        match &row.uses {
            Uses::Exactly(named) => assert_eq!(&normal, named, "{name} against its row"),
            Uses::AtMost(named) => assert!(normal.is_subset(named), "{name}: {normal:?}, its row {named:?}"),
        }
        assert!(used("build").is_empty(), "{name} is built by another crate");
        // A test may use what its crate uses; anything more is in the row.
        let more: Names = used("dev").difference(&normal).cloned().collect();
        assert_eq!(more, row.tests, "the tests of {name} against its row");
    }
}

#[test]
fn only_the_bundle_knows_arrow() {
    let mut knows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for member in MEMBERS.values() {
        for (package, _) in &member.dependencies {
            if package == "parquet" || package.starts_with("arrow") {
                knows.entry(&member.name).or_default().push(package);
            }
        }
    }
    assert_eq!(knows.keys().copied().collect::<Vec<_>>(), ["bundle"], "{knows:?}");
}

#[test]
fn each_crate_tests_itself_in_one_binary() {
    for member in MEMBERS.values() {
        let [main] = member.tests.as_slice() else { panic!("{}: {:?}", member.name, member.tests) };
        let expected = format!("tests/{}/main.rs", member.name);
        assert!(main.ends_with(&expected), "{}: {}", member.name, main.display());
    }
}

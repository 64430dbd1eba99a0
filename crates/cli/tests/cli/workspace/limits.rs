//! Limits that keep files readable, and words that have no place in them.

use super::root;
use std::path::{Path, PathBuf};

/// Lines of a source file.
const LONGEST_FILE: usize = 600;
/// Lines of a function, its signature included.
const LONGEST_FUNCTION: usize = 80;
/// The same of a test, which may be a table of cases.
const LONGEST_TEST: usize = 100;
/// Endings of files that people write.
const WRITTEN: &[&str] = &["rs", "md", "toml", "json", "snap", "yml", "sh"];
/// Crates that compute: no files, sockets, clock, environment or async in them.
const PURE: &[&str] = &["model", "stats", "workload", "analyze", "report"];

/// Every written file of the workspace with its text, by its path from the root.
fn files(wanted: impl Fn(&Path) -> bool) -> Vec<(PathBuf, String)> {
    let (root, mut found, mut folders) = (root(), Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                // What is built, what git keeps, and what a demonstration or a run left behind.
                if name != "target" && name != ".git" && !name.starts_with("firstcheck-") {
                    folders.push(path);
                }
                continue;
            }
            let relative = path.strip_prefix(&root).unwrap().to_owned();
            if wanted(&relative) {
                found.push((relative, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(!found.is_empty(), "nothing was looked at");
    found
}

fn is_rust(path: &Path) -> bool {
    path.starts_with("crates") && path.extension().is_some_and(|ending| ending == "rs")
}

fn is_written(path: &Path) -> bool {
    let tooling = path.starts_with("scripts") || path.starts_with(".ci");
    tooling || path.extension().is_some_and(|ending| WRITTEN.iter().any(|known| ending == *known))
}

#[test]
fn no_file_is_too_long() {
    for (path, text) in files(is_rust) {
        let lines = text.lines().count();
        assert!(lines <= LONGEST_FILE, "{}: {lines} lines", path.display());
    }
}

/// Functions of a formatted source: line of the signature, and how many lines to the closing brace.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| {
        let mut words = line.split_whitespace();
        let qualifiers = ["pub", "pub(crate)", "pub(super)", "const", "async", "unsafe"];
        words.find(|word| !qualifiers.contains(word)) == Some("fn")
    });
    let length = |(at, line): (usize, &&str)| {
        let indent = &line[..line.len() - line.trim_start().len()];
        // On one line, or declared without a body.
        if line.ends_with('}') || line.ends_with(';') {
            return Some((at + 1, 1));
        }
        let close = format!("{indent}}}");
        let ends = |line: &&str| **line == close || (line.starts_with(&format!("{indent})")) && line.ends_with(';'));
        lines[at..].iter().position(ends).map(|to| (at + 1, to + 1))
    };
    starts.filter_map(length).collect()
}

#[test]
fn functions_are_found_with_their_length() {
    let text = "fn a() {}\n\nimpl T {\n    pub fn b(\n        x: u8,\n    ) {\n        if x {\n        }\n    }\n\n    fn c();\n}\n";
    assert_eq!(functions(text), [(1, 1), (4, 6), (11, 1)]);
}

#[test]
fn no_function_is_too_long() {
    let mut seen = 0;
    for (path, text) in files(is_rust) {
        let is_source = path.iter().nth(2).is_some_and(|part| part == "src");
        let longest = if is_source { LONGEST_FUNCTION } else { LONGEST_TEST };
        for (line, lines) in functions(&text) {
            assert!(lines <= longest, "{}:{line}: {lines} lines", path.display());
            seen += 1;
        }
    }
    assert!(seen > 1000, "only {seen} functions were found");
}

#[test]
fn crates_that_compute_have_no_files_sockets_clock_or_async() {
    let barred = ["fs::", "net::", "Instant", "SystemTime", "std::env", "async ", "tokio"];
    let is_pure = |path: &Path| PURE.iter().any(|name| path.starts_with(format!("crates/{name}/src")));
    for (path, text) in files(|path| is_rust(path) && is_pure(path)) {
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let found = barred.iter().find(|word| line.contains(**word));
            assert_eq!(found, None, "{}:{}: {line}", path.display(), at + 1);
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    let is_library = |path: &Path| {
        is_rust(path) && path.iter().nth(2).is_some_and(|part| part == "src") && !path.starts_with("crates/cli")
    };
    for (path, text) in files(is_library) {
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let prints = ["println!(", "print!("].iter().any(|call| line.contains(call));
            assert!(!prints, "{}:{}: {line}", path.display(), at + 1);
        }
    }
}

#[test]
fn no_file_speaks_of_one_machine_or_of_what_is_not_here() {
    // In two parts, so that this file holds none of them.
    let foreign = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/ho", "me/"],
        ["seed docu", "ment"],
        ["DESIGN", ".md"],
        ["Co-auth", "ored-by"],
    ];
    for (path, text) in files(is_written) {
        for (at, line) in text.lines().enumerate() {
            let found = foreign.iter().find(|parts| line.contains(&parts.concat()));
            assert_eq!(found, None, "{}:{}: {line}", path.display(), at + 1);
        }
    }
}

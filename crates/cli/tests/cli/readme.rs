//! The README and the guides, run as they stand: every command, every figure of the excerpt, every link.

use crate::{
    harness::{Bench, Said},
    results::Like,
    workspace::{root, text},
};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

/// How a line of the README may begin and still be the binary.
const BINARY: [&str; 2] = ["cargo run --release -- ", "firstcheck "];

/// Lines that are not run here, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo test --workspace", "this test is a part of it"),
    ("cargo install --path crates/cli", "builds it again"),
    (
        "firstcheck diagnose http://prometheus:9090 --select 'job=\"vllm\"' --since 40m --base 24h-ago",
        "needs a Prometheus, with which another test runs it",
    ),
];

/// What stands in for the pages' words, so that it takes seconds. Each must occur.
const SHORTER: &[(&str, &str)] = &[
    // In virtual time: the live pair takes most of a minute.
    ("demo", "demo --fast --pairs 2"),
    ("--rate 4 --duration 60s", "--rate 20 --warm-up 1s --duration 2s"),
    // Two short pairs instead of eight, without the run that shows how long to warm up.
    ("--duration 60s --out pairs", "--duration 5s --pairs 2 --warm-up 0s --out pairs"),
    ("--duration 60s --out first-pairs", "--duration 5s --pairs 2 --warm-up 0s --out first-pairs"),
    ("--duration 60s --out versions-in-pairs", "--duration 5s --pairs 2 --warm-up 0s --out versions-in-pairs"),
    ("--duration 60s --out gated-pairs", "--duration 5s --pairs 2 --warm-up 0s --out gated-pairs"),
    ("--duration 60s --out alike", "--duration 5s --pairs 2 --warm-up 0s --out alike"),
    // A free port; then the address that the simulated engine says.
    ("--addr 127.0.0.1:8000", "--addr 127.0.0.1:0"),
    ("http://127.0.0.1:8000", URL),
    ("--for 2m", "--for 1s"),
];

/// Place of the address that the simulated engine says.
const URL: &str = "{url}";

/// Exit codes that a call may have here, by the words that it begins with. The longest beginning decides.
const CODES: &[(&str, &[i32])] = &[
    ("demo", &[0]),
    // On a busy machine the client may find itself invalid, and says so with 3.
    ("run", &[0, 3]),
    ("report", &[0, 3]),
    // Of a comparison that fails for certain, or that one run a side cannot decide.
    ("report report.json", &[1, 3]),
    ("compare --base well --candidate sick", &[1, 3]),
    ("compare --base shown-base --candidate shown", &[1, 3]),
    ("compare --base calm", &[1, 3]),
    // Both runs are of one simulated engine: nothing can pass, and on a busy machine something may regress.
    ("compare --base before", &[1, 3]),
    ("ab ", &[0]),
    ("ab --aa", &[0, 3]),
    // Two short pairs of a healthy and a sick deployment: too few to pass.
    ("ab --base sim: --candidate sim:host-pauses --rate 6 --duration 5s", &[1, 3]),
    // Whole they fail, which a test of its own holds; with --plan they do nothing.
    (PROMISED_SHORT, &[1, 3]),
    ("compare --base monday", &[1, 3]),
    // As `fixtures` makes the files: a twentyfold TTFT.
    ("compare --base old.json", &[1]),
    ("import", &[0]),
    ("explain", &[0]),
    ("fingerprint", &[0]),
    ("diagnose", &[0]),
    // A run shortened to seconds is too short to tell.
    ("diagnose after --symptom", &[0, 3]),
    ("capture", &[0]),
    // Two pairs decide nothing but what is gross.
    ("ab --config", &[1, 3]),
    ("compare --base old --candidate new", &[1, 3]),
    ("isolate", &[1]),
    ("isolate --plan", &[0]),
    ("sweep", &[0]),
    ("sim faults", &[0]),
    ("sim run", &[0]),
];

/// The comparison that three guides promise a verdict of, and its beginning when it is shortened.
const PROMISED: &str = "ab --base 'sim:--blocks 1500 --max-model-len 2048' --candidate \
                        'sim:kv-pool-shrank --blocks 1500 --max-model-len 2048' --rate 6 --duration 60s";
const PROMISED_SHORT: &str = "ab --base 'sim:--blocks 1500 --max-model-len 2048' --candidate \
                              'sim:kv-pool-shrank --blocks 1500 --max-model-len 2048' --rate 6 --duration 5s";

/// The files that pages assume: results of `vllm bench serve`.
fn fixtures(bench: &Bench) {
    bench.write("old.json", &Like::GOOD.file());
    bench.write("new.json", &Like { ttft: 4.0, ..Like::GOOD }.file());
}

/// Lines of all fenced blocks of this language.
fn fenced(markdown: &str, language: &str) -> Vec<Vec<String>> {
    let (mut blocks, mut open) = (Vec::new(), None::<(bool, Vec<String>)>);
    for line in markdown.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(named)) => open = Some((named == language, Vec::new())),
            (Some(_), Some(_)) => blocks.extend(open.take().filter(|(wanted, _)| *wanted).map(|(_, lines)| lines)),
            (Some((_, lines)), None) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    blocks
}

/// Guides that are run as the README is, each in a folder of its own.
const GUIDES: [&str; 6] = [
    "docs/get-started.md",
    "docs/how-to/compare-two-versions.md",
    "docs/how-to/find-why-ttft-rose.md",
    "docs/how-to/gate-a-release.md",
    "docs/how-to/capture-before-a-rollback.md",
    "docs/how-to/no-gpu-at-hand.md",
];

/// Other pages whose commands are run, all of them on simulated deployments. (Those of `docs/install.md` build the binary:
/// `scripts/packages` runs them.)
const PAGES: [&str; 4] = ["docs/isolate.md", "docs/report.md", "docs/sweep.md", "docs/workloads.md"];

/// Commands of a page without their comments, in order.
fn commands(page: &str) -> Vec<String> {
    let lines = fenced(&text(page), "sh").into_iter().flatten();
    let commands = lines.map(|line| line.split('#').next().unwrap_or_default().trim().to_owned());
    commands.filter(|line| !line.is_empty()).collect()
}

/// The simulated engine, ended with its holder.
struct Engine {
    child: Child,
    url: String,
}

impl Engine {
    fn start(bench: &Bench, args: &[&str]) -> Self {
        let mut child = bench.command(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{args:?}: {line:?}")).to_owned();
        Self { child, url }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command shortened, as a test can wait for it.
fn shortened(command: &str) -> String {
    let whole = format!(" {command} ");
    let short = |command: String, (words, instead): &(&str, &str)| {
        command.replace(&format!(" {words} "), &format!(" {instead} "))
    };
    SHORTER.iter().fold(whole, short).trim().to_owned()
}

fn codes(command: &str) -> &'static [i32] {
    let known = CODES.iter().filter(|(beginning, _)| command.starts_with(beginning));
    match known.max_by_key(|(beginning, _)| beginning.len()) {
        Some((_, codes)) => codes,
        None => panic!("`{command}` is not covered: name its exit codes in CODES"),
    }
}

/// Words of a command; what stands between single quotes is one.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (at, part) in command.split('\'').enumerate() {
        let quoted = at % 2 == 1;
        for (nth, word) in part.split(|c: char| !quoted && c == ' ').enumerate() {
            if nth > 0 {
                words.push(String::new());
            }
            words.last_mut().unwrap().push_str(word);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn call(bench: &Bench, command: &str, url: &str) -> Said {
    let command = command.replace(URL, url);
    let words = words(&command);
    let said = bench.call(&words.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(codes(&command).contains(&said.code), "{command}\nexit code {}\n{}\n{}", said.code, said.out, said.err);
    let to_file = words.iter().any(|word| word == "-o" || word == "--output");
    assert_eq!(said.out.is_empty(), to_file, "{command} says {:?}", said.out);
    said
}

/// Calls every command of a page, in order.
fn run(page: &str) {
    let bench = Bench::new();
    fixtures(&bench);
    let mut calls = Vec::new();
    for line in commands(page).iter().filter(|line| !NOT_RUN.iter().any(|(known, _)| known == line)) {
        match BINARY.iter().find_map(|beginning| line.strip_prefix(beginning)) {
            Some(call) => calls.push(shortened(call)),
            None => panic!("`{line}` of {page} is not covered: it is no call of the binary and not in NOT_RUN"),
        }
    }
    // The server comes first: the page's runs measure it.
    let (servers, calls): (Vec<String>, Vec<String>) =
        calls.into_iter().partition(|call| call.starts_with("sim serve"));
    assert!(servers.len() <= 1, "{page} asks for several engines: {servers:?}");
    let engine = servers.first().map(|server| Engine::start(&bench, &server.split_whitespace().collect::<Vec<_>>()));
    let url = engine.as_ref().map_or("", |engine| &engine.url);
    assert!(calls.len() >= 2, "{page}: {calls:?}");
    calls.iter().for_each(|command| drop(call(&bench, command, url)));
}

#[test]
fn every_command_works_as_it_stands() {
    run("README.md");
}

#[test]
fn every_guide_works_as_it_stands() {
    GUIDES.iter().for_each(|page| run(page));
    let mut found = Vec::new();
    pages(&root().join("docs/how-to"), &mut found);
    assert_eq!(found.len() + 1, GUIDES.len(), "a guide is not in GUIDES: {found:?}");
}

/// As it stands in the guides, not shortened: a reader gets the verdict and the cause that the pages name.
#[test]
fn the_verdict_that_the_guides_promise_is_what_a_reader_gets() {
    for page in ["docs/get-started.md", "docs/how-to/compare-two-versions.md", "docs/how-to/gate-a-release.md"] {
        let promised = format!("firstcheck {PROMISED} --out ");
        assert!(commands(page).iter().any(|line| line.starts_with(&promised)), "{page} shows another");
        assert!(text(page).to_lowercase().contains("fail"), "{page} names no verdict");
    }
    let bench = Bench::new();
    let words = words(PROMISED);
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.extend(["--out", "pairs"]);
    let said = bench.expect(1, &args).out;
    assert!(said.starts_with("FAIL  TTFT p95"), "{said}");
    assert!(said.contains("cause: the KV pool is smaller than the base's (finding S15"), "{said}");
}

/// Who follows two guides in one folder finds none of the second's folders taken by the first.
#[test]
fn no_two_pages_write_to_one_place() {
    let mut taken: Vec<(String, &str)> = Vec::new();
    for page in ["README.md", "docs/simulator.md"].iter().chain(&GUIDES).chain(&PAGES) {
        let commands = commands(page);
        let all: Vec<&str> = commands.iter().flat_map(|line| line.split_whitespace()).collect();
        for pair in all.windows(2).filter(|pair| pair[0] == "--out") {
            let other = taken.iter().find(|(name, other)| name == pair[1] && other != page);
            assert!(other.is_none(), "{page} and {other:?} write to {}", pair[1]);
            taken.push((pair[1].to_owned(), page));
        }
    }
    assert!(taken.len() > 15, "{taken:?}");
}

#[test]
fn every_page_on_simulated_deployments_works_as_it_stands() {
    PAGES.iter().for_each(|page| run(page));
}

#[test]
fn nothing_is_shortened_that_no_page_says() {
    let said = ["README.md"].iter().chain(&GUIDES).flat_map(|page| commands(page));
    let said: Vec<String> = said.collect();
    let said = said.join(" ");
    let unused: Vec<_> = SHORTER.iter().filter(|(words, _)| !said.contains(words)).collect();
    assert!(unused.is_empty(), "no page says {unused:?}");
}

#[test]
fn every_line_of_the_excerpt_is_in_the_report_in_this_order() {
    let bench = Bench::new();
    let report = bench.expect(0, &["demo", "--fast"]).out;
    let [excerpt] = &fenced(&text("README.md"), "text")[..] else { panic!("one excerpt of the demonstration") };
    assert!(excerpt.len() > 10, "{excerpt:?}");
    let mut lines = report.lines();
    for line in excerpt.iter().filter(|line| !line.is_empty()) {
        assert!(lines.any(|said| said == line), "the demonstration does not say, or not here:\n{line}\n\n{report}");
    }
}

/// Targets of the links in a page that are files.
fn links(markdown: &str) -> Vec<&str> {
    let targets = markdown.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#')).collect()
}

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    let mut found = vec![root().join("README.md")];
    pages(&root().join("docs"), &mut found);
    let mut seen = 0;
    for page in found {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let target = page.parent().unwrap().join(link.split('#').next().unwrap_or(link));
            assert!(target.exists(), "{}: {link} is not there", page.display());
            seen += 1;
        }
    }
    assert!(seen > 5, "only {seen} links were found");
}

#[test]
fn the_contents_of_the_guide_list_every_page_once() {
    let (docs, mut found) = (root().join("docs"), Vec::new());
    pages(&docs, &mut found);
    let there = found.iter().map(|page| page.strip_prefix(&docs).unwrap().to_str().unwrap());
    let mut there: Vec<&str> = there.filter(|page| *page != "SUMMARY.md").collect();
    let contents = text("docs/SUMMARY.md");
    let mut listed = links(&contents);
    there.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, there);
}

#[test]
fn its_table_names_the_verbs_that_there_are() {
    let help = Bench::new().expect(0, &["--help"]).out;
    let table = text("README.md");
    let of_table = table.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 3);
    let of_table: BTreeSet<&str> = of_table.flat_map(|line| line.split('`').skip(1).step_by(2)).collect();
    // Verbs stand under their job, two spaces in; options begin with a dash.
    let of_help = help.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let of_help: BTreeSet<&str> = of_help.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    let verbs: BTreeSet<&str> = of_table.iter().map(|verb| verb.split(' ').next().unwrap_or(verb)).collect();
    assert_eq!(verbs, of_help, "README.md against --help");
}

//! Runs every case in `cases/<slug>/*.md`: prose, blocks of evidence, and a block of what all checks must find.
//!
//! Blocks: `metrics SIDE at=SECONDS` (a page scraped then), `requests SIDE` (lines `count prompt output ttft_ms e2e_ms`),
//! `findings`. With `UPDATE=1` the findings are written instead of compared; review the difference line by line.

use firstcheck_analyze::{case::Case, diagnose::diagnose, settings::Settings, side::Side};
use firstcheck_ingest::{fingerprint, prometheus};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    finding::{Cause, Finding, Outcome},
    moment::{Moment, Window},
    request::{Fate, Request, Requests},
    run::{Arrivals, CacheState, Clock, ClockKind, Detail, Origin, RunId, RunInfo, WorkloadInfo},
};
use std::{fmt::Write, path::Path};

struct Block {
    head: String,
    body: String,
}

#[test]
fn every_case_finds_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let mut seen = 0;
    for folder in sorted(&root) {
        for case in sorted(&folder) {
            run(&case);
            seen += 1;
        }
    }
    assert!(seen >= 4, "only {seen} cases found under {}", root.display());
}

#[test]
fn every_check_has_each_kind_of_case() {
    for check in firstcheck_analyze::registry::CHECKS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(check.slug);
        let names: Vec<String> =
            sorted(&folder).iter().filter_map(|p| Some(p.file_name()?.to_str()?.to_owned())).collect();
        for kind in ["present", "absent", "undecided", "look-alike"] {
            assert!(names.iter().any(|n| n.starts_with(kind)), "{} has no {kind} case", check.slug);
        }
    }
}

fn sorted(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn run(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = blocks(&text);
    let sides = ["base", "candidate"].map(|side| evidence(side, &blocks, path));
    let [base, candidate] = sides;
    let candidate = candidate.unwrap_or_else(|| panic!("{} has no candidate", path.display()));
    let candidate = Side::new(&candidate);
    let base = base.as_ref().map(Side::new);
    let findings = diagnose(&Case { side: &candidate, base: base.as_ref(), settings: &Settings::default() });
    let found = render(&findings);
    let expected = &blocks.iter().find(|b| b.head == "findings").expect("a findings block").body;
    if std::env::var_os("UPDATE").is_some() {
        let updated = text.replace(&format!("```findings\n{expected}```"), &format!("```findings\n{found}```"));
        std::fs::write(path, updated).unwrap();
    } else {
        assert_eq!(&found, expected, "{} (UPDATE=1 writes what was found)", path.display());
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in text.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(head)) => open = Some(Block { head: head.trim().to_owned(), body: String::new() }),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => {
                block.body.push_str(line);
                block.body.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

fn evidence(side: &str, blocks: &[Block], path: &Path) -> Option<Evidence> {
    let mine = |kind: &str| {
        let prefix = format!("{kind} {side}");
        blocks.iter().filter(move |b| b.head.starts_with(&prefix)).collect::<Vec<_>>()
    };
    let (pages, requests) = (mine("metrics"), mine("requests"));
    if pages.is_empty() && requests.is_empty() {
        return None;
    }
    let mut info = run_info(side);
    let mut set = prometheus::SeriesSet::default();
    let mut end = 0.0;
    for block in pages {
        let at: f64 = block.head.rsplit_once("at=").expect("at=SECONDS").1.parse().unwrap();
        let page = prometheus::parse(block.body.as_bytes());
        assert_eq!(page.unread_total, 0, "{}: {:?}", path.display(), page.unread);
        set.add(&page, "main", Moment::from_seconds(at));
        fingerprint::from_page(&page, "/metrics", &mut info.fingerprint);
        end = at;
    }
    // The last page counts as inside: a gauge read at the very end of the window belongs to it.
    info.window = (end > 0.0).then(|| Window { start: Moment::at(0), end: Moment::from_seconds(end).plus_ns(1) });
    let requests = requests.iter().flat_map(|block| block.body.lines()).flat_map(rows).collect();
    let run = RunEvidence {
        label: side.into(),
        info,
        requests: Requests(requests),
        streams: None,
        signals: set.finish(),
        spans: Vec::new(),
    };
    Some(Evidence::of(vec![run]))
}

fn run_info(side: &str) -> RunInfo {
    let workload = WorkloadInfo {
        description: "a case".into(),
        arrivals: Arrivals::Unknown,
        trace_hash: None,
        salt: None,
        streaming: Some(true),
        warm_up: None,
        cache: CacheState::Unknown,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    let mut info = RunInfo::new(RunId(side.into()), "case", Origin::Measured, clock, workload);
    info.detail = Detail::Requests;
    info
}

fn rows(line: &str) -> Vec<Request> {
    let numbers: Vec<f64> = line.split_whitespace().map(|n| n.parse().unwrap()).collect();
    let &[count, prompt, output, ttft_ms, e2e_ms] = numbers.as_slice() else {
        panic!("count prompt output ttft_ms e2e_ms: {line}")
    };
    let request = Request {
        sent: Moment::at(0),
        first_token: Moment::from_seconds(ttft_ms / 1e3),
        last_token: Moment::from_seconds(e2e_ms / 1e3),
        fate: Fate::Completed,
        prompt_tokens: Some(prompt as u32),
        output_tokens: Some(output as u32),
        ..Request::offered(Moment::at(0))
    };
    vec![request; count as usize]
}

fn render(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let (word, detail) = match &finding.outcome {
            Outcome::Present { .. } => ("present", String::new()),
            Outcome::Absent { .. } => ("absent", String::new()),
            Outcome::Undecided { missing } => {
                ("undecided", format!(": {}", missing.iter().map(|m| m.what.as_str()).collect::<Vec<_>>().join("; ")))
            }
            Outcome::NotApplicable { why } => ("not applicable", format!(": {why}")),
        };
        writeln!(text, "{} {} {word}{detail}", finding.code, finding.slug).unwrap();
        let Outcome::Present { facts, causes, explains } = &finding.outcome else { continue };
        facts.iter().for_each(|fact| writeln!(text, "  | {}", fact.text).unwrap());
        for cause in causes {
            let (status, lines): (&str, Vec<&str>) = match cause {
                Cause::Supported { facts, .. } => ("supported", facts.iter().map(|f| f.text.as_str()).collect()),
                Cause::Excluded { facts, .. } => ("excluded", facts.iter().map(|f| f.text.as_str()).collect()),
                Cause::Open { missing, .. } => ("open", missing.iter().map(|m| m.what.as_str()).collect()),
            };
            writeln!(text, "  {} {status}", cause.id()).unwrap();
            lines.iter().for_each(|line| writeln!(text, "    | {line}").unwrap());
        }
        if let Some(e) = explains {
            writeln!(text, "  explains {:.3} of {:.3} {} {}", e.explained, e.delta, e.unit, e.metric).unwrap();
        }
    }
    text
}

//! Blocks of a case, and the evidence of a side that they come to.
//!
//! - `metrics SIDE at=SECONDS`: a page scraped then; the window reaches from 0 to the last page.
//! - `samples SIDE every=SECONDS`: pages that many seconds apart, a line a series: `counter NAME{labels} 0 60 120 …`,
//!   of a histogram `histogram NAME_sum 0 1.5 …`.
//! - `requests SIDE`: lines `COUNT PROMPT OUTPUT TTFT_MS E2E_MS [key=value …]`; keys: `at` (send of the first, s), `every`
//!   (between sends, s), `spread` (TTFTs of the line vary by ± this share), `cached` (prompt tokens found in the cache),
//!   `lag` (the client's hold before it sends, ms; part of the TTFT), `fate` (`failed`, …: E2E_MS is then the end of the
//!   attempt), `finish` (`stop`, `length`), `session`, `hash` (of the prompt), `replica` (names that served the line's rows in turn:
//!   `a,b`), `schema` (a number of its own), `blank` (share of white space of its text).
//! - `events SIDE`: a line a group of requests, in the order of the rows: `ROWS FIRST_MS PATTERN…`, where ROWS is `3` or
//!   `0..9`, and a pattern is `20x30` (twenty events, 30 ms apart) or `1500` (one, after 1.5 s); the end `k=2` says that
//!   events carry two tokens each.
//! - `spans SIDE`: lines `ROWS STAGE START_MS LENGTH_MS [REPLICA]`: a stage of each of these rows, from its send on.
//! - `fingerprint SIDE`: lines `field = value`.
//! - `client SIDE`: what the client found out about itself, as in `run.json`.
//! - `file SIDE NAME`: a file as a user would give it (a log, prompts, the state of GPUs), told by its content.

use firstcheck_ingest::{Input, Limits, collect, fingerprint, prometheus};
use firstcheck_model::{
    event::{Event, fold},
    evidence::{Evidence, RunEvidence},
    moment::{Moment, Window},
    request::{Fate, Finish, Request, Requests},
    run::{Arrivals, CacheState, Clock, ClockKind, Detail, Origin, RunId, RunInfo, WorkloadInfo},
    span::{Stage, StageSpan},
};
use std::path::Path;

/// A fenced block with the words behind its opening fence.
pub struct Block {
    pub head: String,
    pub body: String,
}

impl Block {
    /// All blocks of a text.
    pub fn all(text: &str) -> Vec<Self> {
        let mut blocks = Vec::new();
        let mut open: Option<Self> = None;
        for line in text.lines() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(head)) => open = Some(Self { head: head.trim().to_owned(), body: String::new() }),
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
}

/// What the blocks of a side come to; `None` without one.
pub fn evidence(side: &str, blocks: &[Block], path: &Path) -> Option<Evidence> {
    let mine = |kind: &str| -> Vec<&Block> {
        let prefix = format!("{kind} {side}");
        blocks.iter().filter(|b| b.head == prefix || b.head.starts_with(&format!("{prefix} "))).collect()
    };
    let spans = mine("spans");
    let sampled: Vec<Block> = mine("samples").into_iter().flat_map(|block| pages_of(side, block)).collect();
    let pages: Vec<&Block> = mine("metrics").into_iter().chain(&sampled).collect();
    let (requests, files, stated) = (mine("requests"), mine("file"), mine("fingerprint"));
    if [&pages, &requests, &files, &stated].iter().all(|blocks| blocks.is_empty()) {
        return None;
    }
    let mut evidence = files.into_iter().fold(Evidence::default(), |evidence, block| with_file(evidence, block, path));
    for line in stated.iter().flat_map(|block| block.body.lines()) {
        let (name, value) = line.split_once('=').expect("field = value");
        evidence.stated.set(name.trim(), value.trim(), "a case");
    }
    if !pages.is_empty() || !requests.is_empty() {
        evidence.runs.push(run(side, &pages, &requests, &mine("events"), path));
        evidence.runs[0].info.fingerprint.merge(&evidence.stated);
        let run = &mut evidence.runs[0];
        let more: Vec<StageSpan> =
            spans.iter().flat_map(|block| block.body.lines()).flat_map(|line| spans_of(line, &run.requests)).collect();
        run.spans.extend(more);
        evidence.runs[0].info.client =
            mine("client").first().map(|block| serde_json::from_str(&block.body).expect("a client's health"));
    }
    Some(evidence)
}

/// The pages that a block of samples comes to.
fn pages_of(side: &str, block: &Block) -> Vec<Block> {
    let every: f64 = block.head.rsplit_once("every=").expect("every=SECONDS").1.parse().unwrap();
    let rows: Vec<Vec<&str>> = block.body.lines().map(|line| line.split_whitespace().collect()).collect();
    let count = rows.iter().map(Vec::len).max().expect("a series") - 2;
    let page = |at: usize| {
        let line = |row: &Vec<&str>| {
            let name = row[1].split('{').next().unwrap();
            let suffix =
                ["_sum", "_count", "_bucket"].into_iter().find(|end| row[0] == "histogram" && name.ends_with(end));
            let family = name.strip_suffix(suffix.unwrap_or_default()).unwrap();
            Some(format!("# TYPE {family} {}\n{} {}\n", row[0], row[1], row.get(at + 2)?))
        };
        Block { head: format!("metrics {side} at={}", at as f64 * every), body: rows.iter().filter_map(line).collect() }
    };
    (0..count).map(page).collect()
}

/// The evidence with a file of the user's on top.
fn with_file(mut evidence: Evidence, block: &Block, path: &Path) -> Evidence {
    let name = block.head.split_whitespace().nth(2).expect("file SIDE NAME");
    let mut bytes = block.body.as_bytes();
    let collected = collect(vec![Input::Stream(name, &mut bytes)], &Limits::default());
    assert!(collected.unread.is_empty(), "{}: {:?}", path.display(), collected.unread);
    let Evidence { runs, stated, logs, stacks, flights, nccl, gpus, topologies, memory, prompts, traces } =
        collected.evidence;
    evidence.runs.extend(runs);
    evidence.stated.merge(&stated);
    evidence.logs.extend(logs);
    evidence.stacks.extend(stacks);
    evidence.flights.extend(flights);
    evidence.nccl.extend(nccl);
    evidence.gpus.extend(gpus);
    evidence.topologies.extend(topologies);
    evidence.memory.extend(memory);
    evidence.prompts.extend(prompts);
    evidence.traces.extend(traces);
    evidence
}

fn run(side: &str, pages: &[&Block], requests: &[&Block], events: &[&Block], path: &Path) -> RunEvidence {
    let mut info = run_info(side);
    let mut set = prometheus::SeriesSet::default();
    let mut end = 0.0_f64;
    for block in pages {
        let at: f64 = block.head.rsplit_once("at=").expect("at=SECONDS").1.parse().unwrap();
        let page = prometheus::parse(block.body.as_bytes());
        assert_eq!(page.unread_total, 0, "{}: {:?}", path.display(), page.unread);
        set.add(&page, "main", Moment::from_seconds(at));
        fingerprint::from_page(&page, "/metrics", &mut info.fingerprint);
        end = end.max(at);
    }
    // The last page counts as inside: a gauge read at the very end of the window belongs to it.
    info.window = (end > 0.0).then(|| Window { start: Moment::at(0), end: Moment::from_seconds(end).plus_ns(1) });
    let spans = served_by(requests);
    let requests = Requests(requests.iter().flat_map(|block| block.body.lines()).flat_map(rows).collect());
    let events: Vec<Event> = events.iter().flat_map(|block| block.body.lines()).flat_map(events_of).collect();
    let streams = (!events.is_empty()).then(|| fold(&events, &requests, info.window));
    RunEvidence { label: side.into(), info, requests, streams, signals: set.finish(), spans }
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
    let (keys, numbers): (Vec<&str>, Vec<&str>) = line.split_whitespace().partition(|word| word.contains('='));
    let numbers: Vec<f64> = numbers.into_iter().map(|n| n.parse().unwrap()).collect();
    let &[count, prompt, output, ttft_ms, e2e_ms] = numbers.as_slice() else {
        panic!("count prompt output ttft_ms e2e_ms: {line}")
    };
    let key = |name: &str| keys.iter().find_map(|key| key.strip_prefix(name)?.strip_prefix('='));
    let number = |name: &str| key(name).map(|value| value.parse::<f64>().unwrap());
    let row = |at: usize| {
        let sent = number("at").unwrap_or(0.0) + number("every").unwrap_or(0.0) * at as f64;
        // Spread evenly over ± the share, in no order.
        let share = if count > 1.0 { ((at * 37) % count as usize) as f64 / (count - 1.0) * 2.0 - 1.0 } else { 0.0 };
        let ttft_ms = ttft_ms * (1.0 + share * number("spread").unwrap_or(0.0));
        let fate = key("fate").map_or(Fate::Completed, |name| Fate::from_name(name).unwrap());
        let (sent, completed) = (Moment::from_seconds(sent), fate == Fate::Completed);
        let after = |ms: f64| if completed { sent.plus_ns((ms * 1e6) as i64) } else { Moment::NEVER };
        let intended = sent;
        let sent = intended.plus_ns((number("lag").unwrap_or(0.0) * 1e6) as i64);
        Request {
            sent,
            first_token: after(ttft_ms),
            last_token: after(e2e_ms.max(ttft_ms)),
            done: if completed || e2e_ms > 0.0 {
                intended.plus_ns((e2e_ms.max(ttft_ms) * 1e6) as i64)
            } else {
                Moment::NEVER
            },
            fate,
            finish: key("finish").map(Finish::from_name),
            prompt_tokens: Some(prompt as u32),
            cached_tokens: number("cached").map(|tokens| tokens as u32),
            output_tokens: completed.then_some(output as u32),
            session: number("session").map(|session| session as u32),
            prompt_hash: number("hash").map(|hash| hash as u64),
            schema: number("schema").map(|schema| schema as u64),
            blank_share: number("blank").map(|share| share as f32),
            ..Request::offered(intended)
        }
    };
    (0..count as usize).map(row).collect()
}

/// Prefill spans of the rows whose line names replicas.
fn served_by(requests: &[&Block]) -> Vec<StageSpan> {
    let mut spans = Vec::new();
    let mut row = 0_u32;
    for line in requests.iter().flat_map(|block| block.body.lines()) {
        let names: Vec<&str> = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("replica="))
            .map_or(Vec::new(), |names| names.split(',').collect());
        for (place, request) in rows(line).iter().enumerate() {
            spans.extend(names.get(place % names.len().max(1)).map(|name| StageSpan {
                request: row,
                stage: Stage::Prefill,
                start: request.sent,
                end: request.first_token,
                replica: Some((*name).to_owned()),
            }));
            row += 1;
        }
    }
    spans
}

/// `3` or `0..9`.
fn range_of(rows: &str) -> std::ops::Range<u32> {
    match rows.split_once("..") {
        Some((from, to)) => from.parse().unwrap()..to.parse().unwrap(),
        None => rows.parse().unwrap()..rows.parse::<u32>().unwrap() + 1,
    }
}

fn spans_of(line: &str, requests: &Requests) -> Vec<StageSpan> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let &[rows, stage, start, length, ..] = words.as_slice() else { panic!("ROWS STAGE START_MS LENGTH_MS: {line}") };
    let ns = |ms: &str| (ms.parse::<f64>().unwrap() * 1e6) as i64;
    let of = |request: u32| {
        let start = requests[request as usize].sent.plus_ns(ns(start));
        let (stage, end) = (Stage::from_name(stage).unwrap(), start.plus_ns(ns(length)));
        StageSpan { request, stage, start, end, replica: words.get(4).map(|name| (*name).to_owned()) }
    };
    range_of(rows).map(of).collect()
}

fn events_of(line: &str) -> Vec<Event> {
    let mut words = line.split_whitespace();
    let rows = range_of(words.next().unwrap());
    let words: Vec<&str> = words.collect();
    let tokens = words.iter().find_map(|word| word.strip_prefix("k=")).map_or(1, |k| k.parse().unwrap());
    let mut at = 0.0;
    let mut times = Vec::new();
    for (place, word) in words.iter().filter(|word| !word.starts_with("k=")).enumerate() {
        let (count, gap): (usize, f64) = match word.split_once('x') {
            Some((count, gap)) => (count.parse().unwrap(), gap.parse().unwrap()),
            None => (1, word.parse().unwrap()),
        };
        assert!(place > 0 || count == 1, "the first word is the time of the first event: {line}");
        for _ in 0..count {
            at += gap;
            times.push((at * 1e6) as i64);
        }
    }
    let event =
        |request: u32, since_sent_ns: i64| Event { request, since_sent_ns, tokens: Some(tokens), kernel_ns: None };
    rows.flat_map(|row| times.iter().map(move |at| event(row, *at))).collect()
}

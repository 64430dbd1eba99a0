//! The Prometheus API as servers of all kinds answer it, and as they refuse.

use crate::server::answering;
use firstcheck_ingest::{Collected, Input, Limits, collect};
use firstcheck_model::{
    evidence::RunEvidence,
    signal::{Part, Signal},
};
use firstcheck_observe::{
    Address, Error, Headers, HttpClient, Settings,
    prometheus::{Answers, Ask, Bounds, PrometheusApi, Span, Way},
};
use percent_encoding::percent_decode_str;
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const NOW_MS: i64 = 1_700_000_000_000;
const NAMES: [&str; 4] = ["vllm:num_preemptions_total", "vllm:num_requests_running", "up", "go_threads"];

/// How a server behaves.
#[derive(Clone, Copy)]
struct Nature {
    /// Whether it gives raw samples.
    raw: bool,
    /// Samples of one answer beyond which it refuses.
    samples: i64,
    series: u32,
    /// What stands beside each result.
    beside: &'static str,
}

const PLAIN: Nature = Nature { raw: true, samples: i64::MAX, series: 1, beside: "" };

type Seen = Arc<Mutex<Vec<String>>>;

/// A server with a counter that grows by one a second, scraped every five seconds.
async fn server(nature: Nature) -> (Address, Seen) {
    let seen = Seen::default();
    let log = Arc::clone(&seen);
    let base = answering(move |uri| {
        let uri = percent_decode_str(uri).decode_utf8().unwrap().into_owned();
        log.lock().unwrap().push(uri.clone());
        answer(&uri, nature)
    })
    .await;
    (base, seen)
}

fn answer(uri: &str, nature: Nature) -> (u16, String) {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let found =
        |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned);
    let ms = |name: &str| (found(name).unwrap().parse::<f64>().unwrap() * 1e3) as i64;
    let asked = found("query").unwrap_or_default();
    let ok = |data: &str| (200, format!("{{\"status\":\"success\"{},\"data\":{data}}}", nature.beside));
    let refuse =
        |text: &str| (422, format!("{{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"{text}\"}}"));
    let list = |names: &[&str]| ok(&format!("[\"{}\"]", names.join("\",\"")));
    match path {
        "/api/v1/query" if asked == "time()" => {
            ok("{\"resultType\":\"scalar\",\"result\":[1700000000,\"1700000000\"]}")
        }
        "/api/v1/query" if asked.starts_with("count(") => ok(&format!(
            "{{\"resultType\":\"vector\",\"result\":[{{\"metric\":{{}},\"value\":[1,\"{}\"]}}]}}",
            nature.series
        )),
        "/api/v1/label/__name__/values" if query.contains("job=\"vllm\"") => list(&NAMES),
        "/api/v1/label/__name__/values" if query.contains("job=\"go\"") => list(&["go_threads", "go_info"]),
        "/api/v1/label/__name__/values" => ok("[]"),
        "/api/v1/label/job/values" if query.contains("match[]") => list(&["vllm"]),
        "/api/v1/label/job/values" => list(&["go", "vllm"]),
        "/api/v1/query" if !nature.raw => refuse("no range vectors here"),
        "/api/v1/query" => {
            let length = asked.split(['[', ']']).nth(1).unwrap().strip_suffix("ms").unwrap().parse::<i64>().unwrap();
            samples(ms("time") - length, ms("time"), 5000, nature)
                .map_or_else(|| refuse("too many samples"), |data| ok(&data))
        }
        "/api/v1/query_range" => samples(ms("start"), ms("end"), ms("step"), nature)
            .map_or_else(|| refuse("too many points"), |data| ok(&data)),
        _ => (404, "404 page not found".into()),
    }
}

fn samples(from: i64, to: i64, step: i64, nature: Nature) -> Option<String> {
    let first = (from + step - 1).div_euclid(step);
    let times: Vec<i64> = (first..=to.div_euclid(step)).map(|n| n * step).collect();
    if times.len() as i64 > nature.samples {
        return None;
    }
    if times.is_empty() {
        return Some("{\"resultType\":\"matrix\",\"result\":[]}".into());
    }
    let values: Vec<String> =
        times.iter().map(|ms| format!("[{:.3},\"{}\"]", *ms as f64 / 1e3, ms / 1000 - 1_690_000_000)).collect();
    let metric = "\"__name__\":\"vllm:num_preemptions_total\",\"job\":\"vllm\",\"instance\":\"a:8000\"";
    Some(format!(
        "{{\"resultType\":\"matrix\",\"result\":[{{\"metric\":{{{metric}}},\"values\":[{}]}}]}}",
        values.join(",")
    ))
}

async fn api(base: &Address) -> PrometheusApi {
    PrometheusApi::at(HttpClient::new(&Settings::default()).unwrap(), base, Headers::default()).await.unwrap()
}

fn ask(select: &str) -> Ask {
    let span = Span { from_ms: NOW_MS - 2_400_000, to_ms: NOW_MS };
    Ask { select: vec![select.parse().unwrap()], span, step: None, bounds: Bounds::default() }
}

fn read(answers: &Answers) -> Collected {
    collect(vec![Input::Fetched(answers.fetched.clone())], &Limits::default())
}

fn growth(run: &RunEvidence) -> (f64, usize) {
    let series: Vec<_> = run.series(Signal::Preemptions, Part::Value).collect();
    assert_eq!(series.len(), 1);
    (series[0].delta(run.info.window).unwrap().value, series[0].at.len())
}

#[tokio::test]
async fn raw_samples_are_asked_for_first() {
    let (base, seen) = server(PLAIN).await;
    let api = api(&base).await;
    assert_eq!(api.now_ms(), NOW_MS);
    let answers = api.fetch(&ask("job=\"vllm\"")).await.unwrap();
    assert_eq!(answers.way, Way::Raw);
    assert_eq!(answers.fetched.passed_over, ["go_threads"]);
    let collected = read(&answers);
    assert_eq!(growth(&collected.evidence.runs[0]), (2400.0, 481));
    let row = &collected.read[0];
    assert!(
        row.path.starts_with("http://127.0.0.1:") && row.path.ends_with("{job=\"vllm\"} from 2023-11-14T21:33:20Z"),
        "{}",
        row.path
    );
    assert!(row.notes.iter().any(|note| note.starts_with("raw samples")), "{:?}", row.notes);
    let asked = seen.lock().unwrap().iter().find(|uri| uri.contains("2400000ms]")).unwrap().clone();
    let expected = "{job=\"vllm\",__name__=~\"vllm:num_preemptions_total|vllm:num_requests_running|up\"}[2400000ms]";
    assert!(asked.contains(expected), "{asked}");
}

#[tokio::test]
async fn steps_are_taken_where_they_are_asked_for_or_nothing_else_is_given() {
    let cases = [(PLAIN, Some(Duration::from_secs(60)), 60, 41), (Nature { raw: false, ..PLAIN }, None, 15, 161)];
    for (nature, step, every, samples) in cases {
        let (base, _) = server(nature).await;
        let answers = api(&base).await.fetch(&Ask { step, ..ask("job=\"vllm\"") }).await.unwrap();
        assert_eq!(answers.way, Way::Steps(Duration::from_secs(every)));
        assert!(answers.fetched.notes[0].starts_with(&format!("one sample every {every} s by query_range")));
        let (grown, held) = growth(&read(&answers).evidence.runs[0]);
        assert!((2340.0..=2400.0).contains(&grown) && held.abs_diff(samples) <= 1, "{grown} {held}");
    }
}

#[tokio::test]
async fn what_is_too_much_for_one_answer_is_asked_for_in_halves() {
    for raw in [true, false] {
        let (base, seen) = server(Nature { raw, samples: 40, ..PLAIN }).await;
        let step = (!raw).then(|| Duration::from_secs(5));
        let answers = api(&base).await.fetch(&Ask { step, ..ask("job=\"vllm\"") }).await.unwrap();
        let collected = read(&answers);
        assert_eq!(growth(&collected.evidence.runs[0]), (2400.0, 481), "the sample at a border counts once");
        let requests = seen.lock().unwrap().iter().filter(|uri| uri.contains("ms]") || uri.contains("step=")).count();
        assert!((16..=24).contains(&requests), "{requests}");
    }
    let (base, _) = server(Nature { samples: 1, ..PLAIN }).await;
    let error = api(&base).await.fetch(&ask("job=\"vllm\"")).await.unwrap_err();
    assert!(error.to_string().ends_with("answered 422: execution: too many samples"), "{error}");
}

#[tokio::test]
async fn bounds_hold_against_any_server() {
    let (base, _) = server(Nature { series: 100, ..PLAIN }).await;
    let api = api(&base).await;
    let many = Bounds { series: 50, ..Bounds::default() };
    let large = Bounds { bytes: 1000, ..Bounds::default() };
    for (bounds, said) in [(many, "100 series, more than 50"), (large, "more than 0 MiB of answers")] {
        let error = api.fetch(&Ask { bounds, ..ask("job=\"vllm\"") }).await.unwrap_err();
        assert!(matches!(&error, Error::TooMuch { what, .. } if what == said), "{error}");
    }
}

#[tokio::test]
async fn an_empty_selector_says_which_jobs_there_are() {
    let (base, _) = server(PLAIN).await;
    let api = api(&base).await;
    let error = api.fetch(&ask("job=\"nope\"")).await.unwrap_err().to_string();
    for part in [
        "has no series for {job=\"nope\"} between 2023-11-14T21:33:20Z and 2023-11-14T22:13:20Z",
        "its jobs with an engine's series: vllm; others: go",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let later = Span { from_ms: NOW_MS + 1, to_ms: NOW_MS + 2 };
    let error =
        api.fetch(&Ask { span: later, step: Some(Duration::from_secs(60)), ..ask("job=\"vllm\"") }).await.unwrap_err();
    assert!(matches!(error, Error::NoSeries { .. }), "names and no samples: {error}");
    let error = api.fetch(&ask("job=\"go\"")).await.unwrap_err().to_string();
    assert!(
        error.contains("none of the 2 names of series for {job=\"go\"}") && error.contains("go_threads"),
        "{error}"
    );
}

#[tokio::test]
async fn warnings_and_partial_answers_come_through() {
    let beside = ",\"isPartial\":true,\"warnings\":[\"store b is down\"]";
    let (base, _) = server(Nature { beside, ..PLAIN }).await;
    let collected = read(&api(&base).await.fetch(&ask("job=\"vllm\"")).await.unwrap());
    let notes = collected.read[0].notes.join("\n");
    assert!(notes.contains("the answer is partial") && notes.contains("store b is down"), "{notes}");
}

#[tokio::test]
async fn what_is_no_api_is_told_apart() {
    let client = HttpClient::new(&Settings::default()).unwrap();
    let html = answering(|_| (200, "<html>".into())).await;
    let error = PrometheusApi::at(client.clone(), &html, Headers::default()).await.unwrap_err();
    assert!(matches!(error, Error::NotAnApi { .. }), "{error}");
    let denied = answering(|_| (401, "no org id".into())).await;
    let error = PrometheusApi::at(client, &denied, Headers::default()).await.unwrap_err();
    assert!(error.is_denied() && error.to_string().ends_with("answered 401: no org id"), "{error}");
}

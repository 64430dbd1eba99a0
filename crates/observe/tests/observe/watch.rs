//! A page watched over a window reads like a history.

use crate::server::answering;
use firstcheck_ingest::{Input, Limits, collect};
use firstcheck_model::signal::{Part, Signal};
use firstcheck_observe::{Error, Headers, HttpClient, Settings, Watch, watch};
use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

fn over(window_ms: u64) -> Watch {
    Watch { interval: Duration::from_millis(20), ..Watch::over(Duration::from_millis(window_ms)) }
}

#[tokio::test]
async fn both_ends_of_the_window_are_scraped_and_failures_are_counted() {
    let scrapes = AtomicU32::new(0);
    let base = answering(move |_| match scrapes.fetch_add(1, Ordering::SeqCst) {
        1 => (503, "starting".into()),
        n => (200, format!("# TYPE vllm:num_preemptions_total counter\nvllm:num_preemptions_total {n}\n# EOF")),
    })
    .await;
    let client = HttpClient::new(&Settings::default()).unwrap();
    let page = base.join("/metrics");
    let fetched = watch(&client, &page, &Headers::default(), over(100)).await.unwrap();
    assert_eq!(
        (fetched.name.as_str(), fetched.source.to_str()),
        (page.to_string().as_str(), Some(base.to_string().as_str()))
    );
    assert!(fetched.notes[1].starts_with("1 of "), "{:?}", fetched.notes);
    let collected = collect(vec![Input::Fetched(fetched)], &Limits::default());
    assert_eq!(collected.unread, []);
    let run = &collected.evidence.runs[0];
    let length = run.info.window.unwrap().length().unwrap().0;
    assert!(length > 0.0, "{length}");
    let series = run.series(Signal::Preemptions, Part::Value).next().unwrap();
    let last = *series.value.last().unwrap();
    assert_eq!((series.delta(run.info.window).unwrap().value, series.at.len() as f64), (last, last), "one failed");
}

#[tokio::test]
async fn a_page_that_never_answers_well_is_an_error_and_a_long_one_ends_early() {
    let client = HttpClient::new(&Settings::default()).unwrap();
    let base = answering(|_| (404, String::new())).await;
    let error = watch(&client, &base, &Headers::default(), over(30)).await.unwrap_err();
    assert!(matches!(error, Error::NoScrape { .. }), "{error}");
    let base = answering(|_| (200, "a 1\n".repeat(1000))).await;
    let how = Watch { bytes: 5000, ..over(60_000) };
    let fetched = watch(&client, &base, &Headers::default(), how).await.unwrap();
    assert!(fetched.bytes.len() < 10_000 && fetched.notes.last().unwrap().contains("before the window's end"));
}

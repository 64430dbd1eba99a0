//! Scrapes and the series that they add up to.

use crate::server::Server;
use firstcheck_model::{
    moment::Moment,
    signal::{Labels, Part, Series, Signal},
};
use firstcheck_observe::{Address, Headers, HttpClient, Scraper, Settings, Target, accumulate, identify};
use std::time::Instant;

const PAGE: &str = "# TYPE vllm:num_requests_running gauge\n\
    vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n\
    # TYPE vllm:time_to_first_token_seconds histogram\n\
    vllm:time_to_first_token_seconds_bucket{le=\"0.1\"} 4.0\n\
    vllm:time_to_first_token_seconds_bucket{le=\"+Inf\"} 5.0\n\
    this line is broken\n";

fn target(page: &str, address: Address, headers: Headers) -> Target {
    Target { page: page.into(), address, headers }
}

fn find<'a>(series: &'a [Series], page: &str, name: &str) -> Vec<&'a Series> {
    series.iter().filter(|s| s.page == page && s.name == name).collect()
}

#[tokio::test]
async fn pages_are_scraped_at_once_and_a_failure_is_a_sample_too() {
    let engine = Server::start(&[("/metrics", 200, PAGE)]).await;
    let dcgm = Server::start(&[("/gpu", 503, "starting")]).await;
    let key = Headers::default().bearer("hunter2").unwrap();
    let targets = vec![
        Target::metrics_of(&engine.base.join("/v1"), key),
        target("dcgm", dcgm.base.join("/gpu"), Headers::default()),
    ];
    let client = HttpClient::new(&Settings::default()).unwrap();
    let scraper = Scraper::new(client, targets);
    let start = Instant::now();
    let moment = |t: Instant| Moment::at(t.duration_since(start).as_nanos() as i64);
    let first = scraper.scrape(moment).await;
    let second = scraper.scrape(moment).await;
    let end = moment(Instant::now());

    let pages: Vec<_> = first.iter().map(|scrape| scrape.page.as_str()).collect();
    assert_eq!(pages, ["main", "dcgm"]);
    for (one, two) in first.iter().zip(&second) {
        assert!(Moment::at(0) <= one.at && one.at < two.at && two.at <= end);
        assert!(one.taken.0 > 0.0 && one.taken.0 <= end.seconds().unwrap());
    }
    let scraped = first[0].outcome.as_ref().unwrap();
    assert_eq!((&scraped.bytes[..], scraped.metrics.unread_total), (PAGE.as_bytes(), 1));
    assert!(first[1].outcome.as_ref().unwrap_err().to_string().contains("answered 503: starting"));

    let series = accumulate(first.iter().chain(&second));
    let running = find(&series, "main", "vllm:num_requests_running");
    assert_eq!(running.len(), 1);
    assert_eq!((running[0].signal, running[0].value.as_slice()), (Some(Signal::Running), &[3.0, 3.0][..]));
    assert_eq!(running[0].at, [first[0].at, second[0].at]);
    let bounds: Vec<_> =
        find(&series, "main", "vllm:time_to_first_token_seconds_bucket").iter().map(|s| s.part).collect();
    assert_eq!(bounds, [Part::Bucket(0.1), Part::Bucket(f64::INFINITY)]);
    for (page, up) in [("main", 1.0), ("dcgm", 0.0)] {
        let found = find(&series, page, "up");
        assert_eq!((found.len(), found[0].value.as_slice(), &found[0].labels), (1, &[up, up][..], &Labels::default()));
        let taken = find(&series, page, "scrape_duration_seconds")[0];
        assert_eq!(taken.value.len(), 2);
    }
    assert!(find(&series, "dcgm", "vllm:num_requests_running").is_empty());
    assert_eq!(first[0].series().len(), 3 + 2);
    assert_eq!(first[1].series().len(), 2);

    assert_eq!(engine.seen()[0].1.get("authorization").unwrap(), "Bearer hunter2");
    assert!(dcgm.seen()[0].1.get("authorization").is_none(), "a key goes to its own address alone");
}

#[tokio::test]
async fn a_page_that_carries_a_series_named_up_keeps_it_apart() {
    let server = Server::start(&[("/metrics", 200, "up 7\n")]).await;
    let client = HttpClient::new(&Settings::default()).unwrap();
    let scrapes = Scraper::new(client, vec![Target::metrics_of(&server.base, Headers::default())]);
    let scrapes = scrapes.scrape(|_| Moment::at(5)).await;
    let values: Vec<_> = accumulate(&scrapes).iter().filter(|s| s.name == "up").map(|s| s.value.clone()).collect();
    assert_eq!(values, [vec![7.0], vec![1.0]]);
}

/// Whoever has a runtime of several threads can spawn these.
#[tokio::test]
async fn futures_can_move_between_threads() {
    let server = Server::start(&[("/metrics", 200, "up 7\n")]).await;
    let client = HttpClient::new(&Settings::default()).unwrap();
    let scraper = Scraper::new(client.clone(), vec![Target::metrics_of(&server.base, Headers::default())]);
    let scrapes = tokio::spawn(async move { scraper.scrape(|_| Moment::at(0)).await });
    let base = server.base.clone();
    let identity = tokio::spawn(async move { identify(&client, &base, &Headers::default()).await });
    assert_eq!(scrapes.await.unwrap().len(), 1);
    assert_eq!(identity.await.unwrap().unwrap().pages.len(), 1);
}

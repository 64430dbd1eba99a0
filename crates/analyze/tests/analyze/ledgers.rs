//! Ledgers of time from the engine's histograms.

use crate::synthetic::{Spec, counter};
use firstcheck_analyze::{
    measure::{
        kv_transfers::KvTransfers, prefix_hits::PrefixHits, prompt_work::PromptWork, step_wait::StepWait,
        ttft_ledger::TtftLedger,
    },
    side::Side,
};
use firstcheck_model::{
    evidence::{Evidence, RunEvidence},
    signal::{Part, Series, Signal},
    span::Stage,
};

fn run(means: &[(Signal, f64)], buckets: &[(f64, f64)]) -> RunEvidence {
    let mut run = Spec::default().run();
    for (signal, mean) in means {
        run.signals.push(counter(*signal, Part::Sum, mean * 250.0));
        run.signals.push(counter(*signal, Part::Count, 250.0));
    }
    run.signals.extend(buckets.iter().map(|(bound, growth)| counter(Signal::Itl, Part::Bucket(*bound), *growth)));
    run
}

#[test]
fn the_terms_of_a_first_token_add_up_to_what_the_client_saw() {
    let means = [(Signal::Ttft, 0.040), (Signal::QueueTime, 0.010), (Signal::PrefillTime, 0.020)];
    let mut run = run(&means, &[]);
    run.requests.0.iter_mut().for_each(|request| request.sent = request.intended.plus_ns(1_000_000));
    let evidence = Evidence::of(vec![run]);
    let ledger = Side::new(&evidence).measure::<TtftLedger>().unwrap();
    let client = ledger.client.as_ref().unwrap();
    let front_end = ledger.server.term(Stage::FrontEnd).unwrap();
    assert!((front_end.value.0 - 0.010).abs() < 1e-12 && (client.wait.value.0 - 0.001).abs() < 1e-12);
    let server: f64 = ledger.server.terms.iter().map(|(_, term)| term.value.0).sum();
    assert!((server - 0.040).abs() < 1e-12, "{server}");
    assert!((client.wait.value.0 + client.outside.value.0 + server - client.ttft.value.0).abs() < 1e-12);
    assert_eq!(ledger.server.foreign_share(client.ttft.n), Some(0.0));
    assert_eq!(ledger.server.foreign_share(200), Some(0.25));
}

#[test]
fn a_histogram_that_is_not_there_is_named_and_no_client_leaves_the_servers_terms() {
    let evidence = Evidence::of(vec![run(&[(Signal::Ttft, 0.04), (Signal::QueueTime, 0.01)], &[])]);
    let ledger = Side::new(&evidence).measure::<TtftLedger>().unwrap();
    assert!(ledger.server.missing[0].what.contains("prefill_time"), "{ledger:?}");
    let stages: Vec<Stage> = ledger.server.terms.iter().map(|(stage, _)| *stage).collect();
    assert_eq!(stages, [Stage::Queue], "what is left holds the prefill");
    let means = [(Signal::Ttft, 0.040), (Signal::QueueTime, 0.010), (Signal::PrefillTime, 0.020)];
    let mut alone = run(&means, &[]);
    alone.requests.0.clear();
    let ledger = TtftLedger::of(&[alone]).unwrap();
    assert!(ledger.client.is_err() && ledger.server.foreign_share(0).is_none());
}

/// A run whose page was read at both ends of its window.
fn scraped(counters: &[(Signal, Part, f64)]) -> RunEvidence {
    let mut run = run(&[], &[]);
    let window = run.info.window.unwrap();
    for (signal, part, growth) in counters {
        run.signals.push(Series { at: vec![window.start, window.end], ..counter(*signal, *part, *growth) });
    }
    run
}

#[test]
fn hits_of_a_warm_up_are_not_those_of_the_window() {
    let of = |finished| {
        let counters = [(Signal::Finished, finished), (Signal::PrefixHits, 600.0), (Signal::PrefixQueries, 1_000.0)];
        Evidence::of(vec![scraped(&counters.map(|(signal, growth)| (signal, Part::Value, growth)))])
    };
    let rate = Side::new(&of(250.0)).measure::<PrefixHits>().unwrap();
    assert!((rate.rate.value.0 - 0.6).abs() < 1e-12, "{rate:?}");
    assert!(Side::new(&of(300.0)).measure::<PrefixHits>().is_err(), "50 requests are not the client's");
    assert_eq!(PrefixHits::of(&of(300.0).runs).unwrap().rate.value, rate.rate.value, "the window as it is");
}

#[test]
fn prompts_of_requests_that_have_not_finished_are_no_mean() {
    let mut run = scraped(&[
        (Signal::Finished, Part::Value, 0.0),
        (Signal::PromptTokens, Part::Value, 25_000.0),
        (Signal::PrefixHits, Part::Value, 1_000.0),
    ]);
    run.requests.0.clear();
    let work = Side::new(&Evidence::of(vec![run])).measure::<PromptWork>();
    assert!(work.is_err(), "{work:?}");
}

#[test]
fn long_steps_are_met_more_often_than_short_ones() {
    // 900 steps of 10 ms and 100 of 210 ms: an arrival meets a long one with probability 0.7.
    let buckets = [(0.005, 0.0), (0.015, 900.0), (0.2, 900.0), (0.22, 1000.0), (f64::INFINITY, 1000.0)];
    let evidence = Evidence::of(vec![run(&[], &buckets)]);
    let wait = Side::new(&evidence).measure::<StepWait>().unwrap();
    assert!((wait.mean.value.0 - (0.3 * 0.005 + 0.7 * 0.105)).abs() < 1e-9, "{wait:?}");
    assert_eq!(wait.mean.n, 1000);
    let still = Evidence::of(vec![run(&[], &buckets.map(|(bound, _)| (bound, 0.0)))]);
    assert!(Side::new(&still).measure::<StepWait>().is_err());
    assert!(Side::new(&Evidence::of(vec![run(&[], &[])])).measure::<StepWait>().is_err());
}

/// SGLang counts milliseconds and mebibytes, as the names of its series say.
#[test]
fn transfers_are_in_seconds_and_bytes_whatever_the_engine_counts_in() {
    let named = |name: &str, signal, part, growth| Series { name: name.into(), ..counter(signal, part, growth) };
    let mut run = Spec::default().run();
    run.signals = vec![
        named("sglang:kv_transfer_latency_ms_sum", Signal::KvTransferTime, Part::Sum, 5000.0),
        named("sglang:kv_transfer_latency_ms_count", Signal::KvTransferTime, Part::Count, 100.0),
        named("sglang:kv_transfer_total_mb_sum", Signal::KvTransferBytes, Part::Sum, 400.0),
        named("sglang:kv_transfer_total_mb_count", Signal::KvTransferBytes, Part::Count, 100.0),
    ];
    let evidence = Evidence::of(vec![run]);
    let transfers = Side::new(&evidence).measure::<KvTransfers>().unwrap();
    assert!((transfers.length.value.0 - 0.050).abs() < 1e-12, "{transfers:?}");
    assert_eq!(transfers.bytes.as_ref().unwrap().value.0, 4.0 * 1_048_576.0);
    let window = evidence.runs[0].info.window.unwrap().length().unwrap().0;
    assert!((transfers.busy.unwrap() - 5.0 / window).abs() < 1e-9);
}

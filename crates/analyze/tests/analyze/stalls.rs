//! Gaps as the server made them.

use crate::synthetic::info;
use firstcheck_analyze::{
    measure::{event_pacing::EventPacing, gap_histogram::GapHistogram, prompt_cost::PromptCost, stalls::Stalls},
    side::Side,
};
use firstcheck_model::{
    event::Event,
    evidence::{Evidence, RunEvidence},
    moment::Moment,
    recording::Recording,
    request::{Fate, Request, Requests},
};

/// Streams of those gaps in milliseconds, one a second, the first event 50 ms after the send.
pub fn run(streams: &[Vec<f64>]) -> RunEvidence {
    let (mut requests, mut events) = (Vec::new(), Vec::new());
    for (row, gaps) in streams.iter().enumerate() {
        let sent = Moment::from_seconds(row as f64);
        let mut at_ns = 50_000_000;
        let mut event = |since_sent_ns| {
            events.push(Event { request: row as u32, since_sent_ns, tokens: Some(1), kernel_ns: None });
        };
        event(at_ns);
        for gap in gaps {
            at_ns += (gap * 1e6) as i64;
            event(at_ns);
        }
        let (first_token, last_token) = (sent.plus_ns(50_000_000), sent.plus_ns(at_ns));
        let output_tokens = Some(gaps.len() as u32 + 1);
        let fate = Fate::Completed;
        requests.push(Request { sent, first_token, last_token, output_tokens, fate, ..Request::offered(sent) });
    }
    let requests = Requests(requests);
    Recording { info: info("r"), requests, events, signals: Vec::new(), spans: Vec::new() }.into_evidence("r")
}

fn times(count: usize, gap: f64) -> Vec<f64> {
    vec![gap; count]
}

#[test]
fn a_gap_with_a_burst_behind_it_was_the_clients() {
    let steady = || times(60, 10.0);
    // 300 ms in which nobody read: thirty events were paced all the same, twenty-nine of them come at once.
    let late = [times(15, 10.0), vec![300.0], times(29, 0.002), times(15, 10.0)].concat();
    let frozen = [times(30, 10.0), vec![300.0], times(29, 10.0)].concat();
    let evidence = Evidence::of(vec![run(&[steady(), late, steady(), frozen, steady()])]);
    let side = Side::new(&evidence);
    let stalls = side.measure::<Stalls>().unwrap();
    assert!((stalls.pace.0 - 0.010).abs() < 1e-4, "{:?}", stalls.pace);
    let longest: Vec<f64> = stalls.longest.iter().map(|s| (s * 1e3).round()).collect();
    assert_eq!(longest, [10.0, 10.0, 10.0, 300.0, 10.0]);
    let freeze = stalls.stalls.iter().find(|stall| stall.length.0 > 0.1).unwrap();
    assert_eq!((freeze.row, freeze.after_events), (3, 31));
    assert_eq!(freeze.start, Moment::from_seconds(3.0).plus_ns(350_000_000));
    assert_eq!(freeze.end, freeze.start.plus_ns(300_000_000));
    let pacing = side.measure::<EventPacing>().unwrap();
    assert!(pacing.coalesced());
    assert!((pacing.zero_share.value.0 - 29.0 / 300.0).abs() < 1e-12);
    assert_eq!(pacing.tokens_per_event.as_ref().unwrap().value.0, 1.0);
    let gaps = side.measure::<GapHistogram>().unwrap();
    let modes = gaps.modes.as_ref().unwrap();
    assert_eq!((modes.slow.n, (modes.slow.value.0 * 1e3).round()), (1, 300.0));
}

/// Where the list holds the longest gaps alone, bursts are told by how soon the next long gap comes.
#[test]
fn bursts_are_undone_where_zero_gaps_are_not_listed() {
    let proxied = [vec![50.0], times(4, 0.001)].concat();
    let mut bursts = run(&[proxied.repeat(20), [proxied.repeat(10), vec![550.0], proxied.repeat(9)].concat()]);
    let mut paced = run(&[[times(40, 8.0), times(40, 12.0), vec![60.0]].concat()]);
    for run in [&mut bursts, &mut paced] {
        let long = &mut run.streams.as_mut().unwrap().long_gaps;
        long.gaps.retain(|gap| gap.length_ns > 9_000_000);
        long.shortest_ns = 9_000_000;
    }
    let evidence = Evidence::of(vec![bursts]);
    let side = Side::new(&evidence);
    let longest = side.measure::<Stalls>().unwrap().longest.clone();
    assert!(longest[0] < 0.02 && (longest[1] - 0.55).abs() < 0.02, "{longest:?}");
    assert!(side.measure::<GapHistogram>().is_err(), "nothing tells the server's gaps below the shortest one");
    // A stream that is fast for a while was not delivered late.
    let evidence = Evidence::of(vec![paced]);
    let longest = Side::new(&evidence).measure::<Stalls>().unwrap().longest.clone();
    assert!((longest[0] - 0.06).abs() < 1e-9, "{longest:?}");
}

/// SGLang names the token budget of a step otherwise than vLLM.
#[test]
fn a_prompt_is_cut_into_chunks_of_either_engines_budget() {
    for name in ["max_num_batched_tokens", "chunked_prefill_size", "given.chunked_prefill_size"] {
        let mut run = run(&[times(60, 10.0), times(60, 10.0)]);
        run.requests.0.iter_mut().for_each(|request| request.prompt_tokens = Some(1000));
        run.info.fingerprint.set(name, "2048", "server.log");
        let evidence = Evidence::of(vec![run]);
        let cost = Side::new(&evidence).measure::<PromptCost>().unwrap();
        assert_eq!(cost.steps(5000.0), 3.0, "{name}");
        assert!((cost.step_takes(5000.0) - 0.050 * 2.048).abs() < 1e-9, "{name}: {cost:?}");
    }
}

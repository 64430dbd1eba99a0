//! Whatever runs hold, a comparison ends in a report that can be written and read.

use crate::synthetic::info;
use firstcheck_analyze::compare::{Policy, compare, describe};
use firstcheck_model::{
    event::Event,
    evidence::RunEvidence,
    moment::{Moment, Window},
    recording::Recording,
    report::Report,
    request::{Fate, Request, Requests},
    run::{Detail, PairPlace, Role},
    signal::{Labels, Part, Series, SeriesKind, Signal},
    span::{Stage, StageSpan},
};
use proptest::prelude::*;

fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![
        1 => Just(Moment::NEVER),
        4 => (-1_000_000_000_i64..20_000_000_000).prop_map(Moment::at),
        1 => any::<i64>().prop_map(Moment::at),
    ]
}

fn request() -> impl Strategy<Value = Request> {
    let times = prop::array::uniform6(moment());
    let counts = prop::array::uniform3(prop::option::of(prop_oneof![0_u32..40, any::<u32>()]));
    (times, counts, 0..Fate::ALL.len()).prop_map(|(t, n, fate)| Request {
        sent: t[1],
        first_byte: t[2],
        first_token: t[3],
        last_token: t[4],
        done: t[5],
        fate: Fate::ALL[fate],
        prompt_tokens: n[0],
        output_tokens: n[1],
        requested_tokens: n[2],
        ..Request::offered(t[0])
    })
}

fn span() -> impl Strategy<Value = StageSpan> {
    (0_u32..60, 0..Stage::ALL.len(), moment(), moment()).prop_map(|(request, stage, start, end)| StageSpan {
        request,
        stage: Stage::ALL[stage],
        start,
        end,
        replica: None,
    })
}

fn series() -> impl Strategy<Value = Series> {
    let value = prop_oneof![-10.0..1e6, Just(f64::NAN), Just(f64::INFINITY), Just(0.0)];
    let part = prop_oneof![Just(Part::Value), Just(Part::Sum), Just(Part::Count)];
    (0..Signal::ALL.len(), part, prop::collection::vec(value, 0..4)).prop_map(|(signal, part, value)| Series {
        name: "x".into(),
        labels: Labels::default(),
        page: "main".into(),
        kind: SeriesKind::Counter,
        part,
        signal: Some(Signal::ALL[signal]),
        at: (0..value.len() as i64).map(|i| Moment::at(i * 1_000_000_000)).collect(),
        value,
    })
}

fn run() -> impl Strategy<Value = RunEvidence> {
    let event = (0_u32..60, -5_i64..5_000_000_000, prop::option::of(0_u16..5));
    (
        prop::collection::vec(request(), 0..60),
        prop::collection::vec(event, 0..80),
        prop::collection::vec(span(), 0..80),
        prop::collection::vec(series(), 0..12),
        prop::option::of((moment(), moment())),
        any::<(bool, bool)>(),
    )
        .prop_map(|(requests, events, spans, signals, window, (with_events, with_slo))| {
            let mut info = info("any");
            info.window = window.map(|(start, end)| Window { start, end });
            info.detail = if with_events { Detail::Events } else { Detail::Requests };
            info.slo = with_slo.then(|| "ttft=1s,itl=50ms,gap=1s".parse().unwrap());
            let event = |(request, since_sent_ns, tokens)| Event { request, since_sent_ns, tokens, kernel_ns: None };
            let events = events.into_iter().map(event).collect();
            Recording { info, requests: Requests(requests), events, signals, spans }.into_evidence("any")
        })
}

fn side(role: Role, placed: bool, runs: &mut [RunEvidence]) {
    for (pair, run) in runs.iter_mut().enumerate().filter(|_| placed) {
        let place = PairPlace {
            experiment: "x".into(),
            pair: pair as u32,
            role,
            order: (pair % 2) as u8,
            device: None,
            cell: None,
            looks: Vec::new(),
        };
        run.info.place = Some(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_comparison_ends_in_a_report_that_reads_back(
        mut base in prop::collection::vec(run(), 0..5),
        mut candidate in prop::collection::vec(run(), 0..5),
        placed in any::<bool>(),
    ) {
        side(Role::Base, placed, &mut base);
        side(Role::Candidate, placed, &mut candidate);
        let report = compare(&base, &candidate, &Policy::default());
        let text = serde_json::to_string(&report).unwrap();
        let back: Report = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(serde_json::to_string(&back).unwrap(), text);
        for run in &base {
            serde_json::to_string(&describe(run, &Policy::default())).unwrap();
        }
    }
}

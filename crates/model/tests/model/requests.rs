use firstcheck_model::{
    moment::{Moment, Window},
    request::{Fate, Request, Requests},
    slo::Slo,
    unit::Seconds,
};

fn answered() -> Request {
    Request {
        sent: Moment::at(200_000_000),
        first_token: Moment::at(1_000_000_000),
        last_token: Moment::at(1_900_000_000),
        fate: Fate::Completed,
        output_tokens: Some(10),
        ..Request::offered(Moment::at(0))
    }
}

#[test]
fn a_late_client_cannot_hide_a_queue() {
    let request = answered();
    assert_eq!(request.ttft().unwrap().0, 1.0);
    assert_eq!(request.ttft_from_sent().unwrap().0, 0.8);
    assert_eq!(request.send_lag().unwrap().0, 0.2);
    assert!((request.tpot().unwrap().0 - 0.1).abs() < 1e-12);
}

#[test]
fn nothing_offered_is_dropped() {
    for fate in Fate::ALL.into_iter().filter(|f| *f != Fate::Completed) {
        let request = Request { fate, ..answered() };
        assert_eq!(request.ttft(), Some(Seconds(f64::INFINITY)), "{fate:?}");
        assert_eq!(request.meets(&Slo::default(), None), Some(false), "{fate:?}");
    }
}

#[test]
fn bounds_are_joint_and_unknown_is_not_met() {
    let slo = |text: &str| text.parse::<Slo>().unwrap();
    let request = answered();
    assert_eq!(request.meets(&slo("ttft=1s,itl=100ms"), None), Some(true));
    assert_eq!(request.meets(&slo("ttft=1s,itl=99ms"), None), Some(false));
    assert_eq!(request.meets(&slo("ttft=1s,gap=1s"), None), None, "no gap is known");
    assert_eq!(request.meets(&slo("ttft=0.9s,gap=1s"), None), Some(false), "one missed bound suffices");
    let single = Request { output_tokens: Some(1), last_token: Moment::at(1_000_000_000), ..answered() };
    assert_eq!(single.meets(&slo("ttft=1s,itl=1ms"), None), Some(true), "a single token has no ITL to miss");
}

#[test]
fn the_window_takes_requests_by_their_intended_send() {
    let at = |ns| Request::offered(Moment::at(ns));
    let requests = Requests(vec![at(0), at(10), at(19), at(20), Request::offered(Moment::NEVER)]);
    let window = Window { start: Moment::at(10), end: Moment::at(20) };
    let rows: Vec<usize> = requests.in_window(Some(window)).map(|(row, _)| row).collect();
    assert_eq!(rows, [1, 2, 4], "a request without a known send is never left out");
}

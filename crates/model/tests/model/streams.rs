use firstcheck_model::{
    event::{Event, LONG_GAPS, StreamFold, fold},
    moment::{Moment, Window},
    request::{Fate, Request, Requests},
};

const MS: i64 = 1_000_000;

fn event(request: u32, ms: i64, tokens: Option<u16>) -> Event {
    Event { request, since_sent_ns: ms * MS, tokens, kernel_ns: None }
}

fn request(output_tokens: Option<u32>) -> Request {
    Request { sent: Moment::at(0), fate: Fate::Completed, output_tokens, ..Request::offered(Moment::at(0)) }
}

#[test]
fn four_tokens_in_one_event_are_one_gap_and_three_zeros() {
    let requests = Requests(vec![request(Some(8))]);
    let streams = fold(&[event(0, 50, Some(4)), event(0, 90, Some(4))], &requests, None);
    assert_eq!(streams.event_gaps.count(), 1);
    assert_eq!(streams.event_gaps.mean().unwrap().0, 0.040);
    // Seven tokens after the first: one gap of 40 ms, six of zero.
    assert_eq!(streams.itl.count(), 7);
    assert!((streams.itl.mean().unwrap().0 - 0.040 / 7.0).abs() < 1e-12);
}

#[test]
fn tokens_that_only_the_total_states_give_the_same_itl() {
    let requests = Requests(vec![request(Some(8))]);
    let streams = fold(&[event(0, 50, None), event(0, 90, None)], &requests, None);
    assert_eq!((streams.itl.count(), streams.event_gaps.count()), (7, 1));
}

#[test]
fn a_stream_without_any_count_is_counted_as_such() {
    let requests = Requests(vec![request(None)]);
    let streams = fold(&[event(0, 50, None), event(0, 60, None)], &requests, None);
    assert_eq!((streams.itl.count(), streams.uncounted_streams), (1, 1));
}

#[test]
fn role_and_usage_chunks_make_no_gap() {
    let requests = Requests(vec![request(Some(2))]);
    let events = [event(0, 1, Some(0)), event(0, 50, Some(1)), event(0, 60, Some(1)), event(0, 61, Some(0))];
    let streams = fold(&events, &requests, None);
    assert_eq!(streams.longest_gap[0].unwrap().0, 0.010);
    assert_eq!((streams.events[0], streams.total_events), (2, 4));
}

#[test]
fn streams_of_the_warm_up_stay_out_of_the_distributions() {
    let mut late = request(Some(2));
    late.intended = Moment::at(100 * MS);
    let requests = Requests(vec![request(Some(2)), late]);
    let window = Window { start: Moment::at(50 * MS), end: Moment::at(200 * MS) };
    let events = [event(0, 1, Some(1)), event(1, 1, Some(1)), event(0, 9, Some(1)), event(1, 3, Some(1))];
    let streams = fold(&events, &requests, Some(window));
    assert_eq!(streams.itl.count(), 1);
    assert_eq!(streams.longest_gap[0].unwrap().0, 0.008, "the row itself is kept");
}

#[test]
fn an_event_of_a_row_that_does_not_exist_is_no_panic() {
    assert_eq!(fold(&[event(7, 1, None)], &Requests(vec![request(None)]), None).total_events, 0);
}

/// A file may hold any number: times at the ends of their range do not wrap around.
#[test]
fn events_at_the_ends_of_time_do_not_overflow() {
    let requests = Requests(vec![request(Some(8))]);
    let at = |since_sent_ns, kernel_ns| Event { request: 0, since_sent_ns, tokens: Some(1), kernel_ns };
    let events = [at(i64::MIN, Some(i64::MAX)), at(i64::MAX, Some(i64::MIN)), at(i64::MIN, None)];
    let streams = fold(&events, &requests, None);
    assert_eq!(streams.longest_gap[0].unwrap().0, i64::MAX as f64 * 1e-9);
    assert_eq!(streams.event_gaps.count(), 2);
}

/// A gap that is not listed was not longer than what the list says it is complete above.
#[test]
fn the_longest_gaps_are_listed_with_their_places() {
    let count = 3 * LONG_GAPS as i64;
    let requests = Requests(vec![Request::offered(Moment::at(0)); 2]);
    let mut fold = StreamFold::new(2);
    let (mut at, mut lengths) = (0, Vec::new());
    for number in 0..count {
        // Every length twice, in no order.
        let length = 1 + (number * 7919 % count) / 2;
        at += length;
        lengths.push(length);
        fold.add(&Event { request: 1, since_sent_ns: at, tokens: Some(1), kernel_ns: None }, true);
    }
    let long = fold.finish(&requests, None).long_gaps;
    let expected: Vec<i64> = lengths.into_iter().skip(1).filter(|length| *length > long.shortest_ns).collect();
    assert_eq!(long.gaps.iter().map(|gap| gap.length_ns).collect::<Vec<_>>(), expected);
    assert!(long.gaps.len() > LONG_GAPS - 2 && long.gaps.len() <= LONG_GAPS, "{}", long.gaps.len());
    assert!(long.gaps.iter().all(|gap| gap.request == 1 && gap.after_events > 0));
}

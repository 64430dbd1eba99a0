//! API servers that do one thing at a time.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, Frontend};

fn serving(change: impl FnOnce(&mut Frontend)) -> Play {
    let mut frontend = Frontend::default();
    change(&mut frontend);
    Play::new(EngineConfig { frontend, ..small() })
}

fn input_ms(play: &Play, tag: u64) -> i64 {
    let life = play.ended(tag).life;
    (life.queued_ns - life.arrival_ns) / 1_000_000
}

#[test]
fn a_tokeniser_serves_one_prompt_after_another_and_more_processes_serve_more() {
    let waits = |processes| {
        let mut play = serving(|frontend| {
            frontend.processes = processes;
            frontend.prompt_token_seconds = 0.01;
        });
        for tag in 1..=4 {
            play.submit(tag, prompt(tag as u32, 10), 1);
        }
        play.drain();
        (1..=4).map(|tag| input_ms(&play, tag)).collect::<Vec<_>>()
    };
    assert_eq!(waits(1), [100, 200, 300, 400]);
    assert_eq!(waits(4), [100, 100, 100, 100]);
}

#[test]
fn a_detokeniser_slower_than_the_engine_lags_further_and_further_behind() {
    let mut play = serving(|frontend| frontend.token_seconds = 0.004);
    for tag in 1..=4 {
        play.submit(tag, prompt(tag as u32, 1), 50);
    }
    play.drain();
    // A step of 4 tokens takes the engine 14 ms and the detokeniser 16.
    let last = play.outputs.iter().filter(|output| output.tag == 1);
    let at: Vec<i64> = last.map(|output| output.at_ns).collect();
    let gap = (at[49] - at[10]) / 39;
    assert!((gap - 16_000_000).abs() < 100_000, "{gap}");
    let engine = play.ended(1).life;
    assert!(at[49] - engine.last_token_ns.unwrap() > 80_000_000, "the engine had been done for long");
    assert!(play.engine.stats().e2e.sum() > 4.0 * engine.last_token_ns.unwrap() as f64 * 1e-9, "end to end it shows");
    assert_eq!(play.engine.stats().itl.sum(), 4.0 * 49.0 * 0.014, "between the engine's own tokens it does not");
}

#[test]
fn events_of_several_tokens_begin_with_one_and_end_with_what_is_left() {
    let mut play = serving(|frontend| frontend.stream_interval = 4);
    play.submit(1, prompt(1, 8), 11);
    play.drain();
    let mut events = vec![0];
    for output in &play.outputs {
        *events.last_mut().unwrap() += 1;
        if output.ends_event {
            events.push(0);
        }
    }
    assert_eq!(events, [1, 4, 4, 2, 0]);
    assert_eq!(play.outputs.iter().map(|output| output.position).collect::<Vec<_>>(), (0..11).collect::<Vec<_>>());
    let at: Vec<i64> = play.outputs.iter().map(|output| output.at_ns).collect();
    assert!(at.windows(2).all(|pair| pair[0] <= pair[1]) && at[1] == at[4], "an event leaves at once: {at:?}");
}

#[test]
fn a_parser_holds_the_beginning_back() {
    let mut play = serving(|frontend| frontend.held_tokens = 6);
    play.submit(1, prompt(1, 8), 8);
    play.submit(2, prompt(2, 8), 3);
    play.drain();
    let first = |tag| {
        let mut own = play.outputs.iter().filter(|output| output.tag == tag);
        own.position(|output| output.ends_event).unwrap() + 1
    };
    assert_eq!((first(1), first(2)), (6, 3), "all six at once, or what there is at the end");
}

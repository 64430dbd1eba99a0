//! Structured output.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{EngineConfig, Features, FinishReason, NewRequest, Structured};

fn compiling(structured: Structured) -> EngineConfig {
    EngineConfig { structured, ..small() }
}

fn submit(play: &mut Play, tag: u64, schema: Option<u64>, output: u32) {
    let features = Features { schema, ..Features::default() };
    let request = NewRequest { features, ..NewRequest::forced(tag, prompt(tag as u32, 10), output) };
    play.engine.submit(play.now, request).unwrap();
}

const COLD: Structured = Structured {
    compile_seconds: 0.5,
    cached: true,
    compiles_on_engine: false,
    mask_seconds: 0.0,
    runaway_share: 0.0,
    forbids_overlap: false,
    forbids_speculation: false,
};

#[test]
fn a_cold_schema_waits_for_its_compilation_and_a_warm_one_does_not() {
    let mut play = Play::new(compiling(COLD));
    submit(&mut play, 1, Some(7), 1);
    play.drain();
    submit(&mut play, 2, Some(7), 1);
    play.drain();
    submit(&mut play, 3, Some(8), 1);
    play.drain();
    assert_eq!((play.first_token_ms(1), play.first_token_ms(2), play.first_token_ms(3)), (520, 20, 520));
}

#[test]
fn beside_the_engine_it_lets_others_pass_and_on_its_thread_it_holds_them_up() {
    let bystander = |compiles_on_engine| {
        let mut play = Play::new(compiling(Structured { compiles_on_engine, ..COLD }));
        submit(&mut play, 1, None, 30);
        play.step();
        submit(&mut play, 2, Some(7), 1);
        submit(&mut play, 3, None, 1);
        play.step();
        assert_eq!(play.engine.stats().gauges.deferred, usize::from(!compiles_on_engine));
        play.drain();
        let gaps = play.outputs.iter().filter(|output| output.tag == 1).map(|output| output.at_ns).collect::<Vec<_>>();
        let longest = gaps.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap() / 1_000_000;
        (play.first_token_ms(3) < 100, longest > 500)
    };
    assert_eq!(bystander(false), (true, false));
    assert_eq!(bystander(true), (false, true));
}

#[test]
fn a_mask_costs_each_structured_row_in_each_step() {
    let length = |schemas: [Option<u64>; 2]| {
        let mut play = Play::new(compiling(Structured { compile_seconds: 0.0, mask_seconds: 0.002, ..COLD }));
        for (tag, schema) in (1..).zip(schemas) {
            submit(&mut play, tag, schema, 5);
        }
        play.drain();
        let life = play.ended(1).life;
        (life.last_token_ns.unwrap() - life.first_token_ns.unwrap()) / 4_000_000
    };
    assert_eq!((length([None, None]), length([Some(1), None]), length([Some(1), Some(1)])), (12, 14, 16));
}

#[test]
fn a_runaway_answer_repeats_itself_to_its_limit() {
    let ended = |runaway_share, schema| {
        let config = EngineConfig { mean_output_tokens: 5.0, ..compiling(Structured { runaway_share, ..COLD }) };
        let mut play = Play::new(config);
        let features = Features { schema, ..Features::default() };
        let request = NewRequest { ignore_eos: false, features, ..NewRequest::forced(1, prompt(1, 10), 60) };
        play.engine.submit(0, request).unwrap();
        play.drain();
        let last: Vec<u32> = play.outputs.iter().rev().take(40).map(|output| output.token).collect();
        (play.ended(1).reason, last.len() == 40 && last.iter().all(|token| *token == last[0]))
    };
    assert_eq!(ended(1.0, Some(1)), (FinishReason::Length, true));
    assert_eq!(ended(1.0, None), (FinishReason::Stop, false), "only structured answers do");
    assert_eq!(ended(0.0, Some(1)), (FinishReason::Stop, false));
}

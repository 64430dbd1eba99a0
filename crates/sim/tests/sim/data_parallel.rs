//! Attention ranks with requests of their own.

use crate::play::{Play, prompt, small};
use firstcheck_sim::{DataParallel, EngineConfig, Parallel};

fn ranked(ranks: u32, skew: f64, padded: bool) -> EngineConfig {
    let parallel = Parallel { data: DataParallel { ranks, skew, padded }, ..Parallel::default() };
    EngineConfig { parallel, ..small() }
}

#[test]
fn each_rank_has_a_budget_of_its_own() {
    let mut play = Play::new(ranked(2, 0.0, false));
    for tag in 1..=3 {
        play.submit(tag, prompt(tag as u32, 60), 1);
    }
    play.step();
    let batch: Vec<u32> = play.engine.batch().map(|(_, tokens)| tokens).collect();
    assert_eq!(batch, [60, 60, 4], "64 tokens a rank; the third shares the first's");
}

#[test]
fn a_long_prompt_on_one_rank_makes_the_decodes_of_all_wait() {
    let mut play = Play::new(ranked(4, 0.0, false));
    for tag in 1..=4 {
        play.submit(tag, prompt(tag as u32, 4), 10);
    }
    play.step();
    play.submit(5, prompt(5, 60), 1);
    play.step();
    let ranks = &play.engine.last_step().ranks;
    assert_eq!(ranks.iter().map(|rank| rank.tokens).collect::<Vec<_>>(), [61, 1, 1, 1]);
    assert!(ranks[0].prompt && !ranks[1].prompt);
    // 10 ms and 1 ms a token.
    assert!(ranks[1..].iter().all(|rank| (rank.wait_seconds - 0.060).abs() < 1e-9), "{ranks:?}");
}

#[test]
fn with_padding_every_rank_computes_as_much_as_the_fullest() {
    let mut play = Play::new(ranked(2, 0.0, true));
    play.submit(1, prompt(1, 60), 1);
    play.submit(2, prompt(2, 4), 1);
    play.step();
    let record = play.engine.last_step();
    assert_eq!(record.padded_tokens, 60);
    assert!(record.ranks.iter().all(|rank| rank.wait_seconds == 0.0), "{record:?}");
}

#[test]
fn skew_sends_the_most_to_the_first_rank() {
    let share = |skew| {
        let mut play = Play::new(EngineConfig { max_num_seqs: 64, num_gpu_blocks: 400, ..ranked(4, skew, false) });
        for tag in 0..64 {
            play.submit(tag, prompt(tag as u32, 1), 1);
        }
        play.step();
        let ranks = &play.engine.last_step().ranks;
        f64::from(ranks[0].tokens) / f64::from(ranks.iter().map(|rank| rank.tokens).sum::<u32>())
    };
    assert_eq!(share(0.0), 0.25);
    assert!(share(0.6) > 0.5);
}

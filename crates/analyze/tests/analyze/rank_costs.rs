//! What ranks cost each other, of counters whose course is known.

use firstcheck_analyze::measure::{
    rank_costs::{Beside, RankCosts},
    rank_steps::{Cell, RankSteps, RankTotal},
};
use firstcheck_model::measurement::Source;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RANKS: usize = 4;
/// Seconds a prompt token, and a token of context.
const PROMPT: f64 = 30e-6;
const CONTEXT: f64 = 40e-9;

/// `spans` readings of four ranks, each of whose requests wait for the slowest, or for nobody but their own; `most` is what the
/// first rank's context is multiplied by. Gaps spread by 2 %.
fn steps(seed: u64, spans: usize, together: bool, most: f64) -> RankSteps {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut cells = Vec::new();
    for _ in 0..spans {
        let prompts: Vec<f64> = (0..RANKS).map(|_| 40.0 * random.random::<f64>()).collect();
        let mut read: Vec<f64> = (0..RANKS).map(|_| 20_000.0 + 20_000.0 * random.random::<f64>()).collect();
        read[0] *= most;
        let (all, fullest) = (prompts.iter().sum::<f64>(), read.iter().copied().fold(0.0, f64::max));
        let noise = 0.98 + 0.04 * random.random::<f64>();
        for (own, context) in prompts.iter().zip(&read) {
            let (tokens, tokens_read) = if together { (all, fullest) } else { (*own, *context) };
            cells.push(Cell {
                gap: noise * (0.008 + PROMPT * tokens + CONTEXT * tokens_read),
                gaps: 5000.0,
                prompts: *own,
                other_prompts: all - own,
                context: *context,
                excess: fullest - context,
                uneven: fullest - read.iter().sum::<f64>() / RANKS as f64,
            });
        }
    }
    let total = |rank: usize| RankTotal { rank: rank.to_string(), finished: 1.0, prompt_tokens: 1.0, generated: 1.0 };
    let source = Source::Derived { by: "a test".into(), from: Vec::new() };
    RankSteps { cells, totals: (0..RANKS).map(total).collect(), source }
}

/// The share that prompts of others take of the time, and that of the fullest rank's context beyond the mean.
fn truth(steps: &RankSteps) -> (f64, f64) {
    let time: f64 = steps.cells.iter().map(|cell| cell.gap).sum();
    let sum = |of: fn(&Cell) -> f64| steps.cells.iter().map(of).sum::<f64>() / time;
    (PROMPT * sum(|cell| cell.other_prompts), CONTEXT * sum(|cell| cell.uneven))
}

#[test]
fn intervals_hold_what_ranks_cost_each_other() {
    let (mut missed, mut told) = (0, 0);
    for seed in 0..100 {
        let steps = steps(seed, 20, true, 3.0);
        let costs = RankCosts::of(&steps, None).unwrap();
        let (prompts, contexts) = truth(&steps);
        for (share, truth) in [(&costs.prompts, prompts), (&costs.contexts, contexts)] {
            let (low, high) = share.of_time.interval.unwrap();
            missed += u32::from(!(low.0..=high.0).contains(&truth));
            told += u32::from(share.errors > 3.0);
        }
    }
    assert!(missed <= 20, "{missed} of 200");
    assert!(told >= 190, "{told} of 200");
}

#[test]
fn engines_that_step_by_themselves_cost_each_other_nothing() {
    let said = |seed| {
        let costs = RankCosts::of(&steps(seed, 20, false, 3.0), None).unwrap();
        costs.prompts.errors > 3.0 || costs.contexts.errors > 3.0
    };
    let wrong = (0..100).filter(|seed| said(*seed)).count();
    assert!(wrong <= 2, "{wrong} of 100");
}

#[test]
fn readings_that_are_alike_or_too_few_tell_nothing() {
    assert!(RankCosts::of(&steps(1, 3, true, 1.0), None).is_err());
    let mut alike = steps(1, 1, true, 1.0);
    alike.cells = alike.cells.iter().flat_map(|cell| [*cell; 10]).collect();
    let costs = RankCosts::of(&alike, None);
    assert!(costs.is_err() || costs.is_ok_and(|costs| costs.contexts.errors <= 3.0));
}

/// A candidate whose steps are slower for a reason of their own and that computes more prompts as well: the slowdown is not
/// put down to the prompts of other ranks.
#[test]
fn what_differs_between_two_sides_is_no_work_of_their_ranks() {
    let said = |seed| {
        let base = steps(seed, 20, false, 1.0);
        let mut side = steps(seed + 1_000, 20, false, 1.0);
        for cell in &mut side.cells {
            (cell.gap, cell.prompts, cell.other_prompts) =
                (1.25 * cell.gap, 3.0 * cell.prompts, 3.0 * cell.other_prompts);
        }
        RankCosts::of(&side, Some(beside(&base, None))).unwrap().prompts.errors > 3.0
    };
    let wrong = (0..100).filter(|seed| said(*seed)).count();
    assert!(wrong <= 2, "{wrong} of 100");
}

fn beside(steps: &RankSteps, same_step: Option<bool>) -> Beside<'_> {
    Beside { steps, same_step, contradicts: 3.0 }
}

/// Prompts that come evenly, of others, each counted in one reading and computed in part before it: what differs between
/// readings is the count alone, and only the jump between the sides tells the cost.
#[test]
fn even_prompts_are_told_by_the_jump_between_sides_whose_quick_steps_are_as_long() {
    let share = |seed: u64, same_step| {
        let base = steps(seed, 20, true, 1.0);
        let mut side = steps(seed + 1_000, 20, true, 1.0);
        for (place, cell) in side.cells.iter_mut().enumerate() {
            cell.gap += 300.0 * PROMPT;
            // The count swings from reading to reading, the work does not.
            cell.other_prompts += if (place / RANKS).is_multiple_of(2) { 150.0 } else { 450.0 };
        }
        let costs = RankCosts::of(&side, Some(beside(&base, same_step))).unwrap();
        (costs.prompts.errors > 3.0, costs.prompts.of_time.value.0)
    };
    for seed in 0..20 {
        let ((told, known), (_, unknown)) = (share(seed, Some(true)), share(seed, None));
        assert!(told && known > 2.0 * unknown, "seed {seed}: {known} and {unknown}");
    }
}

/// One rank gets all requests: their prompts with them, so that its own prompts and its context rise together. What all
/// ranks compute stays the same, and the context alone explains the gaps.
#[test]
fn a_rank_that_gets_all_requests_computes_all_prompts_and_costs_its_context() {
    for seed in 0..20 {
        let base = steps(seed, 20, true, 1.0);
        let mut side = base.clone();
        side.cells = side
            .cells
            .chunks(RANKS)
            .map(|ranks| {
                let context: f64 = ranks.iter().map(|cell| cell.context).sum();
                let most = ranks[0].context + ranks[0].excess;
                Cell {
                    gap: ranks[0].gap + CONTEXT * (context - most),
                    prompts: ranks[0].prompts + ranks[0].other_prompts,
                    other_prompts: 0.0,
                    context,
                    excess: 0.0,
                    uneven: context * (1.0 - 1.0 / RANKS as f64),
                    ..ranks[0]
                }
            })
            .collect();
        let costs = RankCosts::of(&side, Some(beside(&base, Some(true)))).unwrap();
        let (value, truth) = (costs.contexts.of_time.value.0, truth(&side).1);
        assert!((value / truth - 1.0).abs() < 0.25, "seed {seed}: {value} of {truth}");
    }
}

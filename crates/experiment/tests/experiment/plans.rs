use firstcheck_experiment::{
    ledger::{Entry, Ledger},
    plan::pairs::{PairPlan, Step},
};
use firstcheck_model::run::Role;
use std::collections::BTreeSet;

#[test]
fn the_order_is_balanced_repeatable_and_depends_on_the_seed() {
    let first_sides = |seed| {
        let cells = PairPlan { pairs: 8, seed }.cells();
        cells.iter().filter(|c| c.order == 0).map(|c| c.role).collect::<Vec<_>>()
    };
    let orders: BTreeSet<String> = (0..20).map(|seed| format!("{:?}", first_sides(seed))).collect();
    assert!(orders.len() > 10, "20 seeds give {} orders", orders.len());
    for seed in 0..20 {
        let sides = first_sides(seed);
        assert_eq!(sides, first_sides(seed));
        assert_eq!(sides.iter().filter(|role| **role == Role::Base).count(), 4, "seed {seed}: {sides:?}");
    }
}

#[test]
fn every_run_has_a_seed_of_its_own() {
    let cells = PairPlan { pairs: 16, seed: 3 }.cells();
    let seeds: BTreeSet<u64> = cells.iter().map(|c| c.seed).collect();
    assert_eq!((cells.len(), seeds.len()), (32, 32));
}

#[test]
fn the_next_step_is_the_first_that_the_ledger_lacks() {
    let plan = PairPlan { pairs: 3, seed: 1 };
    let cells = plan.cells();
    let mut ledger = Ledger::default();
    ledger.push(Entry::Begun { plan });
    for (i, cell) in cells.iter().enumerate() {
        assert_eq!(plan.next(&ledger), Step::Run(*cell), "step {i}");
        ledger.push(Entry::RunDone { cell: *cell, bundle: format!("run-{i}") });
    }
    assert_eq!(plan.next(&ledger), Step::Done);
    assert_eq!(ledger.bundle(&cells[4]), Some("run-4"));
}

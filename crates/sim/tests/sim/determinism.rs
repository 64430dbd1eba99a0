//! Equal seeds give equal runs.

use crate::simulate::{config, trace};
use firstcheck_sim::{SimulateOptions, simulate};

#[test]
fn equal_seeds_give_equal_recordings_and_others_do_not() {
    let trace = trace(120, 20.0);
    let run = |seed| simulate(&config(), &trace, &SimulateOptions::new(seed, "run")).unwrap();
    assert_eq!(run(5), run(5));
    let (five, six) = (run(5), run(6));
    assert_ne!(five.events, six.events);
    assert_eq!(five.info.workload, six.info.workload, "the offer is the same");
}

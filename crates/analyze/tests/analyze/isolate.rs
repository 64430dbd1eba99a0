//! Isolating a factor or a version, with known truths: what is named, what is not, and how often chance is.

use firstcheck_analyze::isolate::{
    Answer, Block, Combination, Factor, FactorPolicy, Forbidden, Grid, GridError, Key, Named, Next, Question, Taken,
    effects, named, next,
};
use firstcheck_model::{
    isolation::{EffectKind, EffectRow, Method, Stand},
    metric::{Metric, Stat},
    report::Quantity,
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

const KEYS: [Key; 2] =
    [Key { metric: Metric::Ttft, stat: Stat::Quantile(0.95) }, Key { metric: Metric::Tpot, stat: Stat::Quantile(0.5) }];

/// Numbers that look like a normal distribution's: sums of twelve of a small generator.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as f64 / (1_u64 << 31) as f64
    }

    fn normal(&mut self, sd: f64) -> f64 {
        ((0..12).map(|_| self.uniform()).sum::<f64>() - 6.0) * sd
    }
}

fn factor(name: &str, levels: &[&str]) -> Factor {
    Factor { name: name.into(), levels: levels.iter().map(|level| (*level).to_owned()).collect() }
}

fn rule(levels: &[(&str, &str)]) -> Forbidden {
    let levels = levels.iter().map(|(factor, level)| ((*factor).to_owned(), (*level).to_owned()));
    Forbidden { levels: levels.collect(), why: Some("no build".into()) }
}

fn grid(rules: &[Forbidden]) -> Grid {
    Grid::new(vec![factor("runtime", &["0.10", "0.11"]), factor("driver", &["550", "570"])], rules).unwrap()
}

fn taken(logs: [f64; 2]) -> Taken {
    Taken {
        values: logs.iter().map(|log| Quantity::of(log.exp())).collect(),
        scaled: logs.iter().map(|log| Some(*log)).collect(),
        doubts: vec![None; logs.len()],
        invalid: Vec::new(),
    }
}

/// Blocks of a grid's layout in which a combination adds `truth` to both metrics, with noise, drift within a block and
/// jumps between blocks.
fn blocks(grid: &Grid, truth: &dyn Fn(&Combination) -> f64, sd: f64, count: u32, seed: u64) -> Vec<Block> {
    let arms = grid.layout().arms;
    let mut noise = Noise(seed.wrapping_mul(7_919).wrapping_add(17));
    let block = |at: u32| {
        let shift = noise.normal(0.1);
        // Each arm is at each place equally often, as a plan has it.
        let order: Vec<f64> = (0..arms.len()).map(|arm| ((arm + at as usize) % arms.len()) as f64).collect();
        let run = |(arm, place): (&Combination, &f64)| {
            let drift = 0.03 * place;
            let value = |noise: &mut Noise| truth(arm) + shift + drift + noise.normal(sd);
            Some(taken([value(&mut noise), value(&mut noise)]))
        };
        Block { arms: arms.iter().zip(&order).map(run).collect(), order }
    };
    (0..count).map(block).collect()
}

fn judged(grid: &Grid, blocks: &[Block]) -> (Vec<EffectRow>, Named) {
    let layout = grid.layout();
    let rows = effects(&layout, blocks, &KEYS, &FactorPolicy::default()).unwrap();
    let mean = |arm: usize, key: usize| {
        let values: Vec<f64> = blocks.iter().filter_map(|b| b.arms[arm].as_ref()?.scaled[key]).collect();
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    let means: Vec<Vec<Option<f64>>> =
        (0..layout.arms.len()).map(|arm| (0..KEYS.len()).map(|key| mean(arm, key)).collect()).collect();
    let said = named(grid, &layout, &KEYS, &rows, &means);
    (rows, said)
}

fn names(said: &Named) -> Vec<&str> {
    said.culprits.iter().map(|culprit| culprit.name.as_str()).collect()
}

#[test]
fn the_factor_that_makes_it_worse_is_named_and_no_other() {
    let grid = grid(&[]);
    let mut found = 0;
    for seed in 0..100 {
        let (_, said) = judged(&grid, &blocks(&grid, &|arm| 0.2 * arm[0] as f64, 0.03, 8, seed));
        let names = names(&said);
        assert!(!names.contains(&"driver") || names.contains(&"runtime"), "seed {seed}: {said:?}");
        found += usize::from(names == ["runtime"]);
    }
    assert!(found >= 90, "{found} of 100");
}

#[test]
fn chance_alone_names_nothing_more_often_than_its_error() {
    let grid = grid(&[]);
    let (mut named, mut entangled) = (0, 0);
    for seed in 0..1_000 {
        let (rows, said) = judged(&grid, &blocks(&grid, &|_| 0.0, 0.05, 8, seed));
        named += usize::from(!said.culprits.is_empty());
        entangled +=
            usize::from(rows.iter().any(|row| row.claim == firstcheck_model::isolation::EffectClaim::Interacts));
    }
    // 5 % of a thousand, and three standard errors.
    assert!(named <= 70 && entangled <= 70, "{named} named, {entangled} interactions of 1,000");
}

#[test]
fn factors_that_interact_are_not_named_and_the_combination_that_differs_is() {
    let grid = grid(&[]);
    let only = |odd: [usize; 2]| move |arm: &Combination| if arm[..] == odd { 0.3 } else { 0.0 };
    for (odd, told) in [
        ([1, 1], "runtime 0.11 with driver 570 differs from the other three"),
        ([1, 0], "runtime 0.11 with driver 550 differs from the other three"),
        ([0, 1], "runtime 0.10 with driver 570 differs from the other three"),
    ] {
        let (rows, said) = judged(&grid, &blocks(&grid, &only(odd), 0.02, 8, 3));
        assert_eq!(names(&said), Vec::<&str>::new(), "{odd:?}");
        assert!(said.why[0].contains("interact on TTFT p95") && said.why[0].contains(told), "{:?}", said.why);
        let interaction = rows.iter().find(|row| row.kind == EffectKind::Interaction).unwrap();
        let [low, high] = interaction.interval.unwrap();
        let truth = if odd == [1, 1] { 0.3_f64 } else { -0.3 };
        assert!(low < truth.exp() && truth.exp() < high, "{interaction:?}");
    }
}

#[test]
fn a_drift_within_blocks_is_no_effect_and_its_interval_covers_the_truth() {
    let grid = grid(&[]);
    let mut covered = 0;
    for seed in 0..400 {
        let (rows, _) = judged(&grid, &blocks(&grid, &|arm| 0.1 * arm[1] as f64, 0.04, 8, seed));
        let driver = rows.iter().find(|row| row.effect == "driver").unwrap();
        let [low, high] = driver.interval.unwrap();
        covered += usize::from((low..=high).contains(&0.1_f64.exp()));
    }
    assert!((372..=394).contains(&covered), "{covered} of 400 at 95 %");
}

#[test]
fn a_forbidden_combination_is_gone_round_and_its_path_is_judged_step_by_step() {
    let grid = grid(&[rule(&[("runtime", "0.11"), ("driver", "550")])]);
    let layout = grid.layout();
    assert_eq!((layout.method, layout.arms.clone()), (Method::Path, vec![vec![0, 0], vec![0, 1], vec![1, 1]]));
    let (rows, said) = judged(&grid, &blocks(&grid, &|arm| 0.25 * arm[0] as f64, 0.03, 9, 1));
    assert_eq!(names(&said), ["runtime 0.10 → 0.11 at driver 570"]);
    let last = said.why.last().unwrap();
    for part in [
        "runtime 0.11 with driver 550 (no build) may not be run",
        "0.10 + 550 → 0.10 + 570 → 0.11 + 570",
        "cannot be told",
    ] {
        assert!(last.contains(part), "{last}");
    }
    assert!(rows.iter().all(|row| row.kind != EffectKind::Interaction), "it is not identifiable");
}

#[test]
fn an_intermediate_level_serves_where_both_mixed_combinations_are_forbidden() {
    let factors = |middle: &[&str]| {
        let levels: Vec<&str> = ["0.10"].iter().chain(middle).chain(&["0.11"]).copied().collect();
        vec![factor("runtime", &levels), factor("driver", &["550", "570"])]
    };
    let rules = [rule(&[("runtime", "0.11"), ("driver", "550")]), rule(&[("runtime", "0.10"), ("driver", "570")])];
    let none = Grid::new(factors(&[]), &rules).unwrap().layout();
    assert_eq!((none.method, none.arms.len()), (Method::Whole, 2));
    let path = Grid::new(factors(&["0.10.5"]), &rules).unwrap().layout();
    assert_eq!(path.method, Method::Path);
    assert_eq!(path.arms, [[0, 0], [1, 0], [1, 1], [2, 1]]);
}

#[test]
fn a_grid_of_which_nothing_can_be_made_says_why() {
    let two = || vec![factor("a", &["x", "y"]), factor("b", &["x", "y"])];
    let cases: Vec<(Result<Grid, GridError>, &str)> = vec![
        (Grid::new(vec![factor("a", &["x", "y"])], &[]), "1 factors"),
        (Grid::new(vec![factor("a", &["x"]), factor("b", &["x", "y"])], &[]), "fewer than two levels"),
        (Grid::new(vec![factor("a", &["x", "y"]), factor("a", &["x", "y"])], &[]), "the factor a is named twice"),
        (Grid::new(vec![factor("a", &["x", "x"]), factor("b", &["x", "y"])], &[]), "the level x of a is named twice"),
        (Grid::new(two(), &[rule(&[("c", "x")])]), "no such factor"),
        (Grid::new(two(), &[rule(&[("a", "z")])]), "no such level"),
        (Grid::new(two(), &[rule(&[("a", "y")])]), "an end of the comparison"),
    ];
    for (made, expected) in cases {
        let said = made.unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_run_that_may_not_be_believed_costs_its_block_where_it_is_needed() {
    let grid = grid(&[]);
    let mut blocks = blocks(&grid, &|arm| 0.2 * arm[0] as f64, 0.03, 8, 5);
    blocks[2].arms[3].as_mut().unwrap().invalid.push("the client was saturated".into());
    blocks[4].arms[1].as_mut().unwrap().scaled[0] = None;
    let (rows, said) = judged(&grid, &blocks);
    let of =
        |metric, effect: &str| rows.iter().find(|row| row.metric == metric && row.effect == effect).unwrap().blocks;
    assert_eq!((of(Metric::Ttft, "runtime"), of(Metric::Tpot, "runtime")), (6, 7));
    assert_eq!(of(Metric::Ttft, "runtime at driver 550"), 7, "the candidate is no part of it");
    assert_eq!(names(&said), ["runtime"]);
}

/// Two or three factors with two to three levels, and rules.
fn grids() -> impl Strategy<Value = Grid> {
    let levels = proptest::collection::vec(2..=3_usize, 2..=3);
    levels
        .prop_flat_map(|levels| {
            let rule = levels.iter().map(|count| proptest::option::of(0..*count)).collect::<Vec<_>>();
            (Just(levels), proptest::collection::vec(rule, 0..5))
        })
        .prop_filter_map("ends may be run", |(levels, rules)| {
            let name = |at: usize| format!("f{at}");
            let factors = levels.iter().enumerate().map(|(at, count)| Factor {
                name: name(at),
                levels: (0..*count).map(|level| format!("l{level}")).collect(),
            });
            let rules = rules.into_iter().map(|rule| Forbidden {
                levels: rule
                    .into_iter()
                    .enumerate()
                    .filter_map(|(at, level)| Some((name(at), format!("l{}", level?))))
                    .collect(),
                why: None,
            });
            Grid::new(factors.collect(), &rules.collect::<Vec<_>>()).ok()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_forbidden_is_ever_run_and_every_contrast_is_one(grid in grids()) {
        let layout = grid.layout();
        prop_assert_eq!(layout.arms.first(), Some(&grid.base()));
        prop_assert_eq!(layout.arms.last(), Some(&grid.candidate()));
        prop_assert_eq!(layout.arms.iter().collect::<BTreeSet<_>>().len(), layout.arms.len());
        for arm in &layout.arms {
            prop_assert!(grid.forbids(arm).is_none());
        }
        for contrast in &layout.contrasts {
            prop_assert_eq!(contrast.weights.len(), layout.arms.len());
            prop_assert!(contrast.weights.iter().sum::<f64>().abs() < 1e-9, "{:?}", contrast);
        }
        if layout.method == Method::Path {
            for two in layout.arms.windows(2) {
                prop_assert_eq!(two[0].iter().zip(&two[1]).filter(|(a, b)| a != b).count(), 1);
            }
        }
    }

    #[test]
    fn a_search_ends_with_the_first_bad_one_among_its_suspects(
        versions in 2..60_usize, first_bad in 1..60_usize, untold in proptest::collection::btree_set(1..60_usize, 0..12),
    ) {
        let first_bad = 1 + (first_bad - 1) % (versions - 1);
        let mut known = BTreeMap::from([(versions - 1, Stand::Bad)]);
        let mut asked = 0;
        let among = loop {
            match next(versions, &known) {
                Next::Among(among) => break among,
                Next::Judge(at) => {
                    asked += 1;
                    let stand = match at {
                        at if untold.contains(&at) => Stand::Unknown,
                        at if at >= first_bad => Stand::Bad,
                        _ => Stand::Good,
                    };
                    prop_assert!(known.insert(at, stand).is_none(), "{at} was judged twice");
                }
            }
        };
        prop_assert!(among.contains(&first_bad));
        // All others that are suspected cannot be told.
        let last = *among.last().unwrap();
        prop_assert!(among.iter().all(|at| *at == last || untold.contains(at)));
        if untold.is_empty() {
            prop_assert!(among.len() == 1 && 1 << asked <= 2 * versions, "{asked} of {versions}");
        }
    }
}

static QUESTION: LazyLock<Question> = LazyLock::new(|| Question::new(KEYS[0], 0.1, 0.02, &[6, 8, 12, 16], 64).unwrap());

fn question() -> &'static Question {
    &QUESTION
}

/// Goes on to the look that decides.
fn answer(truth: f64, sd: f64, seed: u64) -> Answer {
    let mut noise = Noise(seed.wrapping_mul(104_729).wrapping_add(5));
    let pairs: Vec<_> = (0..16)
        .map(|at| {
            let (base, order) = (noise.normal(0.1), if at % 2 == 0 { 0.01 } else { -0.01 });
            let version = base + truth + order + noise.normal(sd);
            (taken([base, 0.0]), taken([version, 0.0]), at % 2 == 0)
        })
        .collect();
    let looks = &question().looks;
    let answers = looks.iter().map(|look| question().answer(&pairs[..*look as usize]).unwrap());
    answers
        .fold(None, |before: Option<Answer>, now| Some(before.filter(|a| a.stand != Stand::Unknown).unwrap_or(now)))
        .unwrap()
}

#[test]
fn a_version_is_told_by_half_of_the_whole_change_and_seldom_wrongly() {
    let count = |truth, stand| (0..500).filter(|seed| answer(truth, 0.06, *seed).stand == stand).count();
    assert_eq!(count(0.0, Stand::Bad) + count(0.2, Stand::Good), 0, "the whole width away from a mistake");
    let (good, bad) = (count(0.0, Stand::Good), count(0.2, Stand::Bad));
    assert!(good > 480 && bad > 480, "{good} good, {bad} bad of 500 each");
    // On the border either answer is wrong, each with its own error.
    let wrong = count(0.1, Stand::Good).max(count(0.1, Stand::Bad));
    assert!(wrong <= 20, "{wrong} of 500 at 2 %");
}

#[test]
fn a_version_that_cannot_be_told_says_what_would_tell_it() {
    let near = (0..50).map(|seed| answer(0.08, 0.06, seed)).find(|answer| answer.stand == Stand::Unknown).unwrap();
    assert!(near.why.contains("cannot be told"), "{near:?}");
    assert_eq!(near.pairs, 16);
    let wide = (0..50).map(|seed| answer(0.0, 0.25, seed)).find(|answer| answer.stand == Stand::Unknown).unwrap();
    assert!(wide.why.contains("more pairs would"), "{wide:?}");
}

#[test]
fn a_version_that_leaves_requests_unanswered_is_bad_and_nothing_is_left_out() {
    let lost = |count: usize| {
        let pairs: Vec<_> = (0..6)
            .map(|at| {
                let mut version = taken([0.0, 0.0]);
                if at < count {
                    (version.values[0], version.scaled[0]) = (Some(Quantity::Unbounded), None);
                }
                (taken([0.0, 0.0]), version, at % 2 == 0)
            })
            .collect();
        question().answer(&pairs).unwrap()
    };
    assert_eq!((lost(6).stand, lost(4).stand, lost(1).stand), (Stand::Bad, Stand::Bad, Stand::Unknown));
    assert!(lost(4).why.contains("in 4 of 6 pairs"), "{:?}", lost(4));
}

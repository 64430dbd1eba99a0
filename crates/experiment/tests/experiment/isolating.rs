//! Factors and versions on the simulated engine: the culprit that was put in is found, and nothing else.

use firstcheck_analyze::{
    compare::Policy,
    isolate::{Factor, FactorPolicy, Forbidden, Grid, Key},
};
use firstcheck_experiment::{
    isolate::{FactorsOptions, Isolated, VersionsOptions, factors, versions},
    ledger::Begun,
    plan::{Plan, WarmUp},
    rig::Offer,
    target::{SimulatedTarget, Target},
};
use firstcheck_load::Stop;
use firstcheck_model::{
    isolation::{CombinationState, Stand},
    metric::{Metric, Stat},
    report::Verdict,
    run::CacheState,
    unit::Seconds,
};
use firstcheck_sim::{Deployment, EngineConfig};
use firstcheck_workload::demo::mixed;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    sync::LazyLock,
    time::Duration,
};

const TPOT: Key = Key { metric: Metric::Tpot, stat: Stat::Quantile(0.5) };

/// An engine whose steps take so much longer, and whose pool has so many blocks.
fn engine(slower: f64, blocks: u32) -> Target {
    let mut engine = EngineConfig { num_gpu_blocks: blocks, max_model_len: 8192, ..EngineConfig::default() };
    engine.gpu_slowness *= 1.0 + slower;
    engine.host.slowness *= 1.0 + slower;
    let deployment = Deployment::single(engine);
    Target::Simulated(Box::new(SimulatedTarget { text: format!("{slower} {blocks}"), deployment, faults: Vec::new() }))
}

fn offer() -> Offer {
    Offer {
        trace: Rc::new(|warm_up: Seconds| Ok(mixed(((warm_up.0 + 15.0) * 3.0) as u32, 3.0, 1)?)),
        window: Some(Duration::from_secs(15)),
        slo: None,
        load: Some(0.5),
        cache: CacheState::Cold,
        drain: Duration::from_secs(60),
        scrape_interval: Duration::from_secs(5),
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Without the folder, which is another in each test.
fn report(isolated: &Isolated, out: &Path) -> String {
    serde_json::to_string(&isolated.report).unwrap().replace(&out.display().to_string(), "OUT")
}

/// Kernels by pool; `slower` says how much slower a combination is.
fn factors_in(out: &Path, rules: &[Forbidden], slower: &dyn Fn(&[usize]) -> f64) -> Isolated {
    let factor = |name: &str| Factor { name: name.into(), levels: vec!["old".into(), "new".into()] };
    let grid = Grid::new(vec![factor("kernels"), factor("pool")], rules).unwrap();
    let layout = grid.layout();
    let targets = layout.arms.iter().map(|arm| engine(slower(arm), 2_600)).collect();
    let arms: Vec<String> = layout.arms.iter().map(|arm| grid.short(arm)).collect();
    let blocks = 4_u32.next_multiple_of(arms.len() as u32);
    let plan = Plan { arms, warm_up: WarmUp::Fixed(Seconds(5.0)), ..Plan::of_pairs(blocks, 5) };
    let options = FactorsOptions {
        begun: Begun::by(plan),
        grid,
        layout,
        targets,
        offer: offer(),
        policy: Policy::default(),
        keys: vec![TPOT],
        factors: FactorPolicy::default(),
        settings: Default::default(),
        out: out.to_owned(),
        stop: Stop::default(),
    };
    factors(options, &mut |_| {}).unwrap()
}

fn culprits(isolated: &Isolated) -> Vec<&str> {
    isolated.report.isolation.iter().flat_map(|found| &found.culprits).map(|culprit| culprit.name.as_str()).collect()
}

struct Whole {
    _folder: tempfile::TempDir,
    out: PathBuf,
    report: String,
}

/// Slower kernels alone.
static KERNELS: LazyLock<Whole> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("isolate");
    let isolated = factors_in(&out, &[], &|arm| 0.3 * arm[0] as f64);
    assert_eq!(culprits(&isolated), ["kernels"], "{:?}", isolated.report.why);
    assert_eq!(isolated.report.verdict, Verdict::Fail);
    assert_eq!(isolated.bundles.len(), 16);
    let report = report(&isolated, &out);
    Whole { _folder: folder, out, report }
});

#[test]
fn the_factor_that_was_made_slower_is_named() {
    LazyLock::force(&KERNELS);
}

#[test]
fn nothing_is_named_where_nothing_differs() {
    let folder = tempfile::tempdir().unwrap();
    let isolated = factors_in(&folder.path().join("isolate"), &[], &|_| 0.0);
    assert_eq!(culprits(&isolated), Vec::<&str>::new(), "{:?}", isolated.report.why);
    assert_ne!(isolated.report.verdict, Verdict::Fail, "{:?}", isolated.report.why);
}

#[test]
fn where_only_both_together_are_slow_none_is_named_and_that_combination_is() {
    let folder = tempfile::tempdir().unwrap();
    let both = |arm: &[usize]| if arm == [1, 1] { 0.3 } else { 0.0 };
    let isolated = factors_in(&folder.path().join("isolate"), &[], &both);
    assert_eq!(culprits(&isolated), Vec::<&str>::new());
    let why = &isolated.report.why[0];
    assert!(why.contains("kernels and pool interact") && why.contains("kernels new with pool new differs"), "{why}");
}

#[test]
fn a_forbidden_combination_is_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("isolate");
    let levels = BTreeMap::from([("kernels".to_owned(), "new".to_owned()), ("pool".to_owned(), "old".to_owned())]);
    let rule = Forbidden { levels, why: Some("no build".into()) };
    let isolated = factors_in(&out, &[rule], &|arm| {
        assert_ne!(arm, [1, 0], "it is not even set up");
        0.3 * arm[0] as f64
    });
    let folders: Vec<String> =
        fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert!(folders.iter().all(|name| !name.contains("new+old")), "{folders:?}");
    assert_eq!(culprits(&isolated), ["kernels old → new at pool new"]);
    let found = isolated.report.isolation.unwrap();
    let states: Vec<_> = found.combinations.iter().map(|row| (row.name.as_str(), row.state, row.runs)).collect();
    assert!(states.contains(&("new + old", CombinationState::Forbidden, 0)), "{states:?}");
}

#[test]
fn blocks_that_were_cut_go_on_and_end_the_same() {
    let whole = fs::read(KERNELS.out.join("ledger.jsonl")).unwrap();
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    for cut in [1, ends.len() / 3, ends.len() - 3] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("isolate");
        copy(&KERNELS.out, &out);
        fs::write(out.join("ledger.jsonl"), &whole[..ends[cut] - 4]).unwrap();
        let isolated = factors_in(&out, &[], &|arm| 0.3 * arm[0] as f64);
        assert_eq!(report(&isolated, &out), KERNELS.report, "cut in line {cut}");
    }
}

/// Versions of which those from `first_bad` on are slower.
fn versions_in(out: &Path, count: usize, first_bad: usize, slower: f64, stop: Stop) -> Isolated {
    let names: Vec<String> = (0..count).map(|at| format!("v{at}")).collect();
    let targets = (0..count).map(|at| engine(if at >= first_bad { slower } else { 0.0 }, 2_600)).collect();
    let plan = Plan { looks: vec![6, 8], warm_up: WarmUp::Fixed(Seconds(5.0)), ..Plan::of_pairs(8, 5) };
    let options = VersionsOptions {
        begun: Begun::by(plan),
        versions: names,
        targets,
        offer: offer(),
        policy: Policy::default(),
        key: None,
        settings: Default::default(),
        out: out.to_owned(),
        stop,
    };
    versions(options, &mut |_| {}).unwrap()
}

#[test]
fn the_first_bad_version_is_found_and_an_interrupted_search_ends_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("search");
    let isolated = versions_in(&out, 6, 4, 0.3, Stop::default());
    assert_eq!(culprits(&isolated), ["v4"], "{:?}", isolated.report.why);
    assert!(isolated.report.why[0].starts_with("v4 is the first bad version, v3 the last good one"));
    let steps = isolated.report.isolation.as_ref().unwrap().steps.clone();
    assert!(steps.iter().all(|step| step.stand != Stand::Unknown), "{steps:?}");
    assert_eq!(isolated.report.verdict, Verdict::Fail);
    let expected = report(&isolated, &out);
    // As if the machine had stopped within the second step.
    let second = out.join("version-003-v2/ledger.jsonl");
    let ledger = fs::read(&second).unwrap();
    fs::write(&second, &ledger[..ledger.len() / 2]).unwrap();
    fs::remove_dir_all(out.join("version-005-v4")).unwrap();
    let again = versions_in(&out, 6, 4, 0.3, Stop::default());
    assert_eq!(report(&again, &out), expected);
}

#[test]
fn nothing_is_searched_for_where_the_last_version_is_not_worse() {
    let folder = tempfile::tempdir().unwrap();
    let isolated = versions_in(&folder.path().join("search"), 5, 9, 0.3, Stop::default());
    assert_eq!(culprits(&isolated), Vec::<&str>::new());
    assert_eq!(isolated.report.isolation.unwrap().steps.len(), 1, "the ends alone were compared");
    assert_ne!(isolated.report.verdict, Verdict::Fail);
}

#[test]
fn a_search_that_is_stopped_decides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Stop::default();
    stop.interrupt("ctrl-c");
    let isolated = versions_in(&folder.path().join("search"), 4, 2, 0.3, stop);
    assert_eq!(isolated.report.verdict, Verdict::Inconclusive);
    assert!(isolated.report.why[0].starts_with("interrupted: ctrl-c"), "{:?}", isolated.report.why);
}

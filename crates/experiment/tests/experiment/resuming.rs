//! An experiment that was cut at any point goes on, and ends as one that was not.

use firstcheck_experiment::{
    ab::{AbOptions, AbOutcome, ab},
    ledger::{Begun, Entry, LedgerFile},
    plan::{Plan, WarmUp},
    rig::Offer,
    target::{SimulatedTarget, Target},
};
use firstcheck_load::Stop;
use firstcheck_model::{report::Report, run::CacheState, slo::Slo, unit::Seconds};
use firstcheck_sim::{Deployment, EngineConfig};
use firstcheck_workload::demo::mixed;
use proptest::prelude::*;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    rc::Rc,
    sync::LazyLock,
    time::Duration,
};

fn engine(blocks: u32) -> Target {
    let engine = EngineConfig { num_gpu_blocks: blocks, max_model_len: 8192, ..EngineConfig::default() };
    let deployment = Deployment::single(engine);
    let text = format!("--blocks {blocks}");
    Target::Simulated(Box::new(SimulatedTarget { text, deployment, faults: Vec::new() }))
}

fn begun() -> Begun {
    Begun::by(Plan { warm_up: WarmUp::Learnt, ..Plan::of_pairs(2, 5) })
}

fn options(out: &Path) -> AbOptions {
    let offer = Offer {
        trace: Rc::new(|warm_up: Seconds| Ok(mixed(((warm_up.0 + 20.0) * 3.0) as u32, 3.0, 1)?)),
        window: Some(Duration::from_secs(20)),
        slo: Some(Slo { ttft: Some(Seconds(1.0)), ..Slo::default() }),
        load: None,
        cache: CacheState::Cold,
        drain: Duration::from_secs(60),
        scrape_interval: Duration::from_secs(5),
    };
    AbOptions {
        begun: begun(),
        base: engine(2_600),
        candidate: engine(600),
        offer,
        policy: Default::default(),
        settings: Default::default(),
        out: out.to_owned(),
        stop: Stop::default(),
    }
}

fn run(out: &Path) -> AbOutcome {
    ab(options(out), &mut |_| {}).unwrap()
}

/// Without the folder, which is another in each test.
fn report(outcome: AbOutcome, out: &Path) -> String {
    let text = serde_json::to_string(&outcome.report).unwrap();
    text.replace(&out.display().to_string(), "OUT")
}

/// An experiment that nothing interrupted.
struct Whole {
    _folder: tempfile::TempDir,
    out: PathBuf,
    report: String,
    ledger: Vec<u8>,
}

static WHOLE: LazyLock<Whole> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ab");
    let report = report(run(&out), &out);
    let ledger = fs::read(out.join("ledger.jsonl")).unwrap();
    Whole { _folder: folder, out, report, ledger }
});

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

/// Files below a folder, in a fixed order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The folder as it would be if the machine had stopped when the ledger was so long: of bundles that it does not have yet,
/// the next is there in part.
fn cut(to: &Path, ledger_bytes: usize, bundle_files: usize, file_share: f64) {
    copy(&WHOLE.out, to);
    fs::write(to.join("ledger.jsonl"), &WHOLE.ledger[..ledger_bytes]).unwrap();
    let written = String::from_utf8_lossy(&WHOLE.ledger[..ledger_bytes]).into_owned();
    let lines: Vec<&str> = written.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    let done: Vec<String> = lines
        .iter()
        .filter_map(|line| match serde_json::from_str(line).unwrap() {
            Entry::RunDone { bundle, .. } | Entry::WarmedUp { bundle, .. } => Some(bundle),
            _ => None,
        })
        .collect();
    let mut order = vec!["warm-up".to_owned()];
    let plan = begun().plan;
    order.extend(plan.cells().iter().map(|cell| plan.folder(cell)));
    let mut open = order.into_iter().filter(|name| !done.contains(name));
    if let Some(next) = open.next() {
        let files = files(&to.join(next));
        for (at, file) in files.iter().enumerate().skip(bundle_files.min(files.len())) {
            match at == bundle_files {
                true => {
                    let whole = fs::metadata(file).unwrap().len();
                    let file = File::options().write(true).open(file).unwrap();
                    file.set_len((whole as f64 * file_share) as u64).unwrap();
                }
                false => fs::remove_file(file).unwrap(),
            }
        }
    }
    open.for_each(|name| fs::remove_dir_all(to.join(name)).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_experiment_that_was_cut_anywhere_ends_as_one_that_was_not(
        ledger_share in 0.0..=1.0_f64, bundle_files in 0..8_usize, file_share in 0.0..1.0_f64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("ab");
        let bytes = (WHOLE.ledger.len() as f64 * ledger_share) as usize;
        cut(&out, bytes, bundle_files, file_share);
        prop_assert_eq!(&report(run(&out), &out), &WHOLE.report, "cut after {} bytes", bytes);
    }
}

#[test]
fn a_cut_at_the_end_of_each_line_costs_nothing_else() {
    let ends = WHOLE.ledger.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    for bytes in ends.step_by(5) {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("ab");
        cut(&out, bytes, 2, 0.5);
        assert_eq!(report(run(&out), &out), WHOLE.report, "cut after {bytes} bytes");
    }
}

#[test]
fn a_bundle_that_was_damaged_since_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ab");
    copy(&WHOLE.out, &out);
    fs::remove_dir_all(out.join("pair-02-base")).unwrap();
    let requests = out.join("pair-01-candidate/requests.parquet");
    File::options().write(true).open(&requests).unwrap().set_len(100).unwrap();
    assert_eq!(report(run(&out), &out), WHOLE.report);
    let ledger = LedgerFile::open(&out.join("ledger.jsonl"), begun()).unwrap();
    let lost = ledger.ledger().entries().iter().filter(|entry| matches!(entry, Entry::Lost { .. })).count();
    assert_eq!(lost, 2, "and the ledger says so");
}

#[test]
fn an_interrupted_experiment_decides_nothing_and_says_how_to_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ab");
    let options = options(&out);
    let stop = options.stop.clone();
    let mut seen = 0;
    let outcome = ab(options, &mut |_| {
        seen += 1;
        if seen == 2 {
            stop.interrupt("ctrl-c");
        }
    });
    let outcome = outcome.unwrap();
    assert_eq!(outcome.end, Err("ctrl-c".into()));
    let report: &Report = &outcome.report;
    assert!(report.why[0].starts_with("interrupted after 1 of 2 pairs: ctrl-c"), "{:?}", report.why);
    assert_eq!(self::report(run(&out), &out), WHOLE.report);
}

//! Real result files, found through `FIRSTCHECK_ARTEFACTS`.

use firstcheck_analyze::{
    compare::{Policy, compare},
    measure::{preemptions::Preemptions, prefix_hits::PrefixHits, ttft_ledger::TtftLedger},
    side::Side,
};
use firstcheck_model::{
    comparability::{Level, Reach},
    evidence::{Evidence, RunEvidence},
    exit_code::exit_code,
    metric::Metric,
    report::{Claim, Report, Verdict},
    span::Stage,
};
use std::path::PathBuf;

fn artefact(name: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: set FIRSTCHECK_ARTEFACTS to compare {name}");
        return None;
    };
    Some(PathBuf::from(root).join("engine").join(name))
}

fn compared(base: &str, candidate: &str) -> Option<Report> {
    let read = |name: &str| -> Option<Vec<RunEvidence>> {
        Some(firstcheck_ingest::read_runs(&artefact(name)?).unwrap_or_else(|e| panic!("{name}: {e}")))
    };
    Some(compare(&read(base)?, &read(candidate)?, &Policy::default()))
}

#[test]
fn repeats_of_one_deployment_are_shown_and_nothing_is_claimed() {
    let Some(report) = compared("a_baseline_e1", "a_baseline_e2") else { return };
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::Inconclusive, 3), "{:?}", report.why);
    for row in &report.metrics {
        assert!(
            matches!(row.claim, Claim::Shown | Claim::NotClaimable),
            "{} {}: {:?}",
            row.metric,
            row.stat,
            row.claim
        );
    }
    for (metric, stat) in [(Metric::Ttft, "p50"), (Metric::Tpot, "p50"), (Metric::Itl, "mean"), (Metric::E2e, "mean")] {
        assert_eq!(report.metric(metric, stat).unwrap().claim, Claim::Shown);
    }
}

#[test]
fn a_small_pool_with_preemptions_fails_by_the_rule_for_single_runs() {
    let Some(report) = compared("c_kv_ample", "c_kv_small_preempt") else { return };
    let ratio = |metric, stat| report.metric(metric, stat).unwrap().ratio.unwrap().finite().unwrap();
    let ttft = report.metric(Metric::Ttft, "p50").unwrap();
    assert!((15.0..25.0).contains(&ratio(Metric::Ttft, "p50")), "{ttft:?}");
    assert_eq!((ttft.claim, ttft.exploratory), (Claim::Regressed, true));
    assert!(ratio(Metric::LongestGap, "mean") > 1.0);
    assert!(ratio(Metric::Itl, "mean") < 1.0);
    assert_eq!(report.metric(Metric::Itl, "mean").unwrap().claim, Claim::Shown);
    assert_eq!((report.verdict, exit_code(&report, None)), (Verdict::Fail, 1), "{:?}", report.why);
}

/// The client's three warm-up requests are between the pages: 83 finished, 80 are the result's.
#[test]
fn windows_with_warm_up_inside_are_called_so() {
    let Some(report) = compared("a_baseline_e1", "a_baseline_e2") else { return };
    let said: Vec<_> = report.comparability.iter().filter(|ruling| ruling.rule == "warm-up-inside-window").collect();
    assert_eq!(said.len(), 2, "{:?}", report.comparability);
    for ruling in said {
        assert_eq!((ruling.level, ruling.reach), (Level::Warns, Reach::EngineCounters));
        assert!(ruling.reason.contains("finished 83 requests, the client 80"), "{}", ruling.reason);
    }
}

/// Figures of the captures against counter deltas taken from their pages by hand.
#[test]
fn the_engines_own_means_are_the_deltas_of_its_counters() {
    // Capture; hits and queries; preemptions; sums of queue time and prefill time, observations of them; sum of TTFT.
    for (capture, hits, queries, preempted) in [
        ("a_baseline_e1", 128.0, 10_628.0, 0.0),
        ("b_apc_on_shared_prefix", 52_480.0, 59_085.0, 0.0),
        ("c_kv_small_preempt", 384.0, 16_133.0, 29.0),
    ] {
        let Some(path) = artefact(capture) else { return };
        let deltas = Deltas::of(&path);
        assert_eq!(deltas.of_name("vllm:prefix_cache_hits_total"), hits, "{capture}");
        assert_eq!(deltas.of_name("vllm:prefix_cache_queries_total"), queries, "{capture}");
        let evidence = Evidence::of(firstcheck_ingest::read_runs(&path).unwrap());
        let side = Side::new(&evidence);
        let rate = PrefixHits::of(&evidence.runs).unwrap();
        assert!((rate.rate.value.0 - hits / queries).abs() < 1e-12, "{capture}: {rate:?}");
        assert_eq!(side.measure::<Preemptions>().unwrap().count.value.0, preempted, "{capture}");
        let mean = |name: &str| deltas.of_name(&format!("{name}_sum")) / deltas.of_name(&format!("{name}_count"));
        let [queue, prefill, ttft] =
            ["request_queue_time_seconds", "request_prefill_time_seconds", "time_to_first_token_seconds"]
                .map(|name| mean(&format!("vllm:{name}")));
        // Means and hits of the window as it is; as measurements they are refused, since the warm-up is inside.
        assert!(side.measure::<PrefixHits>().is_err(), "{capture}");
        assert!(side.measure::<TtftLedger>().is_err(), "{capture}");
        let ledger = TtftLedger::of(&evidence.runs).unwrap().server;
        let close = |ours: f64, theirs: f64| assert!((ours - theirs).abs() < 1e-9, "{capture}: {ours} and {theirs}");
        let term = |stage| ledger.term(stage).unwrap().value.0;
        close(ledger.whole.as_ref().unwrap().value.0, ttft);
        close(term(Stage::Queue), queue);
        close(term(Stage::Prefill), prefill);
        close(term(Stage::FrontEnd), ttft - queue - prefill);
    }
}

/// Growth from the page before to the page after, read without firstcheck's own reader.
struct Deltas([String; 2]);

impl Deltas {
    fn of(folder: &std::path::Path) -> Self {
        Self(
            ["metrics.before.txt", "metrics.after.main.txt"]
                .map(|name| std::fs::read_to_string(folder.join(name)).unwrap()),
        )
    }

    fn of_name(&self, name: &str) -> f64 {
        let [before, after] = &self.0;
        let sum = |page: &str| -> f64 {
            let lines = page.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            lines.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        sum(after) - sum(before)
    }
}

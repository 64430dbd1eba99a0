//! The eight signatures, read off tables of changes.

use firstcheck_analyze::compare::{Policy, signatures};
use firstcheck_model::{
    fingerprint::Fingerprint,
    metric::{Metric, Stat},
    report::{MetricRow, Quantity, Report, SideReport, SignatureRow, SignatureState},
};

/// Base's and candidate's value; the interval is a tenth of a percent either way.
type Change = (Metric, f64, f64);

fn row((metric, base, candidate): Change) -> MetricRow {
    let stat = match metric {
        Metric::Ttft | Metric::QueueTime | Metric::Itl => Stat::Mean,
        Metric::Tpot => Stat::Quantile(0.5),
        _ => Stat::Total,
    };
    let mut row = MetricRow::shown(metric, stat, Quantity::of(base), Quantity::of(candidate), [Some(8), Some(8)]);
    if let Some(Quantity::Finite(ratio)) = row.ratio {
        row.interval = Some([Quantity::Finite(ratio * 0.999), Quantity::Finite(ratio * 1.001)]);
    }
    row.exploratory = false;
    row
}

fn report(changes: &[Change], fields: &[(&str, &str, &str)]) -> Report {
    let mut report = Report::new("compare", "test");
    let side = |of: fn(&(&str, &str, &str)) -> (String, String)| {
        let mut fingerprint = Fingerprint::default();
        fields.iter().map(of).for_each(|(name, value)| fingerprint.set(&name, value, "test"));
        Some(SideReport { fingerprint, runs: Vec::new() })
    };
    report.sides.base = side(|(name, base, _)| ((*name).into(), (*base).into()));
    report.sides.candidate = side(|(name, _, candidate)| ((*name).into(), (*candidate).into()));
    report.metrics = changes.iter().copied().map(row).collect();
    report
}

fn state(name: &str, changes: &[Change], fields: &[(&str, &str, &str)]) -> SignatureRow {
    let all = signatures(&report(changes, fields), &Policy::default());
    assert_eq!(all.len(), 8);
    all.into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no signature {name}"))
}

use Metric::{
    HitRate, KvCapacity, NonKvMemory, OutputThroughput, Preemptions, QueueTime, StartUpTime, Tpot, Ttft, WeightMemory,
};
use SignatureState::{Absent, Present, Unknown};

#[test]
fn each_signature_is_read_off_its_changes() {
    let (h100, h200) = ("NVIDIA H100 80GB HBM3", "NVIDIA H200");
    type Case<'c> = (&'c str, &'c [Change], &'c [(&'c str, &'c str, &'c str)], SignatureState);
    let cases: &[Case] = &[
        ("ttft-up-queue-up", &[(Ttft, 0.8, 1.2), (QueueTime, 0.1, 0.43)], &[], Present),
        ("ttft-up-queue-up", &[(Ttft, 0.8, 1.2), (QueueTime, 0.1, 0.12)], &[], Absent),
        ("ttft-up-queue-up", &[(Ttft, 0.8, 0.81), (QueueTime, 0.1, 0.43)], &[], Absent),
        ("ttft-up-queue-up", &[(Ttft, 0.8, 1.2)], &[], Unknown),
        ("ttft-up-queue-stable", &[(Ttft, 0.8, 1.2), (QueueTime, 0.1, 0.12)], &[], Present),
        // A wait of nothing that doubles is no wait.
        ("ttft-up-queue-stable", &[(Ttft, 0.8, 1.2), (QueueTime, 0.0001, 0.0002)], &[], Present),
        ("ttft-up-queue-stable", &[(Ttft, 0.8, 1.2), (QueueTime, 0.1, 0.43)], &[], Absent),
        ("ttft-up-queue-stable", &[], &[], Unknown),
        ("itl-up-ttft-stable", &[(Ttft, 0.8, 0.81), (Tpot, 0.035, 0.042)], &[], Present),
        ("itl-up-ttft-stable", &[(Ttft, 0.8, 0.85), (Tpot, 0.035, 0.042)], &[], Present),
        ("itl-up-ttft-stable", &[(Ttft, 0.8, 1.2), (Tpot, 0.035, 0.042)], &[], Absent),
        ("itl-up-ttft-stable", &[(Ttft, 0.8, 0.8), (Tpot, 0.035, 0.035)], &[], Absent),
        ("itl-up-ttft-stable", &[(Ttft, 0.8, 0.8)], &[], Unknown),
        ("memory-up-model-changed", &[(WeightMemory, 16e9, 32e9)], &[("model", "8b", "16b")], Present),
        ("memory-up-model-changed", &[(KvCapacity, 40e3, 28e3)], &[("kv_cache_dtype", "fp8", "auto")], Present),
        ("memory-up-model-changed", &[(NonKvMemory, 2e9, 4e9)], &[("max_model_len", "4096", "131072")], Present),
        ("memory-up-model-changed", &[(WeightMemory, 16e9, 32e9)], &[("model", "8b", "8b")], Absent),
        ("memory-up-model-changed", &[(WeightMemory, 16e9, 8e9)], &[("model", "8b", "4b")], Absent),
        ("memory-up-model-changed", &[(WeightMemory, 8e9, 16e9)], &[("quantization", "fp8", "none")], Present),
        // Two ways to write one value.
        ("memory-up-model-changed", &[(WeightMemory, 16e9, 32e9)], &[("dtype", "torch.bfloat16", "bfloat16")], Absent),
        ("memory-up-model-changed", &[], &[("model", "8b", "16b")], Unknown),
        ("hit-rate-down", &[(HitRate, 0.8, 0.2)], &[], Present),
        ("hit-rate-down", &[(HitRate, 0.8, 0.0)], &[], Present),
        ("hit-rate-down", &[(HitRate, 0.8, 0.85)], &[], Absent),
        ("hit-rate-down", &[], &[], Unknown),
        ("preemptions-up", &[(Preemptions, 0.0, 40.0)], &[], Present),
        ("preemptions-up", &[(Preemptions, 10.0, 80.0)], &[], Present),
        ("preemptions-up", &[(Preemptions, 0.0, 0.0)], &[], Absent),
        ("preemptions-up", &[(Preemptions, 0.1, 0.3)], &[], Absent),
        ("preemptions-up", &[], &[], Unknown),
        ("slower-on-newer-gpu", &[(Tpot, 0.030, 0.036)], &[("gpu_model", h100, h200)], Present),
        ("slower-on-newer-gpu", &[(OutputThroughput, 5e3, 4e3)], &[("gpu_model", h100, "NVIDIA B200")], Present),
        ("slower-on-newer-gpu", &[(Tpot, 0.030, 0.020)], &[("gpu_model", h100, h200)], Absent),
        ("slower-on-newer-gpu", &[(Tpot, 0.030, 0.036)], &[("gpu_model", h200, "NVIDIA A100-SXM4-80GB")], Absent),
        ("slower-on-newer-gpu", &[(Tpot, 0.030, 0.036)], &[("gpu_model", h100, h100)], Absent),
        ("slower-on-newer-gpu", &[(Tpot, 0.030, 0.036)], &[("gpu_model", h100, "Fancy X1")], Unknown),
        ("slower-on-newer-gpu", &[(Tpot, 0.030, 0.036)], &[], Unknown),
        ("start-up-slower", &[(StartUpTime, 60.0, 180.0), (Tpot, 0.03, 0.03), (Ttft, 0.5, 0.5)], &[], Present),
        ("start-up-slower", &[(StartUpTime, 60.0, 180.0), (Tpot, 0.03, 0.04), (Ttft, 0.5, 0.5)], &[], Absent),
        ("start-up-slower", &[(StartUpTime, 60.0, 61.0), (Tpot, 0.03, 0.03)], &[], Absent),
        ("start-up-slower", &[(StartUpTime, 60.0, 180.0)], &[], Unknown),
        ("start-up-slower", &[(Tpot, 0.03, 0.03)], &[], Unknown),
    ];
    for (name, changes, fields, expected) in cases {
        let found = state(name, changes, fields);
        assert_eq!(found.state, *expected, "{name} of {changes:?}: {found:?}");
        assert_eq!(found.facts.is_empty(), *expected == Unknown, "{found:?}");
        assert_eq!(found.missing.is_empty(), *expected != Unknown, "{found:?}");
    }
}

#[test]
fn every_signature_leads_to_checks_that_have_codes() {
    for row in signatures(&report(&[], &[]), &Policy::default()) {
        assert!(row.checks.len() >= 2, "{row:?}");
        for lead in &row.checks {
            let number: u32 = lead.code[1..].parse().unwrap();
            assert!(lead.code.starts_with('S') && (1..=44).contains(&number) && !lead.tells.is_empty(), "{lead:?}");
        }
    }
}

#[test]
fn without_an_interval_a_change_has_to_be_large() {
    let mut shown = report(&[(HitRate, 0.8, 0.7)], &[]);
    shown.metrics[0].interval = None;
    shown.metrics[0].exploratory = true;
    let find = |report: &Report| {
        signatures(report, &Policy::default()).into_iter().find(|row| row.name == "hit-rate-down").unwrap()
    };
    assert_eq!(find(&shown).state, Absent);
    shown.metrics[0].ratio = Some(Quantity::Finite(0.5));
    assert_eq!((find(&shown).state, find(&shown).exploratory), (Present, true));
    // An interval around no change shows nothing, however far its middle lies.
    let mut unclear = report(&[(HitRate, 0.8, 0.6)], &[]);
    unclear.metrics[0].interval = Some([Quantity::Finite(0.5), Quantity::Finite(1.1)]);
    assert_eq!(find(&unclear).state, Absent);
}

#[test]
fn a_report_of_one_side_has_none() {
    let mut one = report(&[], &[]);
    one.sides.base = None;
    assert!(signatures(&one, &Policy::default()).is_empty());
}

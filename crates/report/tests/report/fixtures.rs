//! Three reports written by hand: a regression that is explained, one that cannot tell, and one that may not compare.

use firstcheck_model::{
    comparability::{Level, Reach, Ruling},
    figure::{DistributionRow, Figures, Histogram, Mark, TimelineRow},
    finding::{Cause, Explained, Finding, FollowUp, Outcome, Severity},
    fingerprint::{Fingerprint, Group, Impact, field, impact},
    measurement::{Fact, Missing, Source, Why},
    metric::{Metric, Stat},
    moment::Moment,
    report::{
        Came, Claim, Difference, MetricRow, OneSided, Parameter, Quantity, Quote, Report, RunRow, SideReport, StageRow,
        Unread, Verdict,
    },
    run::{ClientHealth, Doubt, Origin, Role, RunId, RunState},
    unit::Seconds,
};
use std::collections::BTreeMap;

const TOOL: &str = "firstcheck 0.1.0";

fn fingerprint(version: &str, blocks: &str) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.set(field::ENGINE, "vllm", "/metrics");
    print.set(field::ENGINE_VERSION, version, "/version");
    print.set(field::MODEL, "llama-3.1-8b", "/v1/models");
    print.set(field::KV_BLOCKS, blocks, "/metrics");
    print
}

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

fn run(label: &str, requests: u64, fates: &[(&str, u64)]) -> RunRow {
    RunRow {
        id: RunId(label.replace('/', "-")),
        label: label.into(),
        origin: Origin::Measured,
        state: RunState::Complete,
        pair: None,
        workload: "lognormal lengths, Poisson at 12 requests/s".into(),
        window_s: Some(60.0),
        requests,
        fates: counts(fates),
        errors: BTreeMap::new(),
        client: None,
        warnings: Vec::new(),
    }
}

fn finite(value: f64) -> Option<Quantity> {
    Some(Quantity::Finite(value))
}

fn row(metric: Metric, stat: Stat, base: f64, candidate: f64, n: u64) -> MetricRow {
    MetricRow::shown(metric, stat, finite(base), finite(candidate), [Some(n), Some(n)])
}

fn judged(mut row: MetricRow, interval: [f64; 2], claim: Claim) -> MetricRow {
    row.interval = Some(interval.map(Quantity::Finite));
    row.confidence = Some(0.95);
    row.pairs = 8;
    row.mde = Some(0.053);
    row.margin = Some(0.1);
    row.exploratory = false;
    row.claim = claim;
    row
}

fn fact(text: &str, value: f64, unit: &str, source: Source) -> Fact {
    Fact { text: text.into(), value: Some(value), unit: Some(unit.into()), interval: None, n: Some(4800), source }
}

fn series(name: &str) -> Source {
    Source::Series {
        run: RunId("candidate-1".into()),
        name: name.into(),
        labels: "{model_name=\"llama-3.1-8b\"}".into(),
        from_ns: Moment::at(0),
        to_ns: Moment::at(60_000_000_000),
    }
}

fn follow_up(measure: &str, command: &str, requests: u32) -> FollowUp {
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: None }
}

fn preemption() -> Finding {
    let supported = Cause::Supported {
        id: "kv-pool-shrank".into(),
        means: "the candidate has fewer KV blocks than the base".into(),
        facts: vec![fact(
            "the KV pool holds 28,800 tokens, 40,000 on the base",
            28_800.0,
            "tokens",
            Source::Run { run: RunId("candidate-1".into()), field: "fingerprint.kv_blocks".into() },
        )],
        follow_up: FollowUp {
            mitigation: Some("lower max_num_seqs until preemptions stop".into()),
            ..follow_up(
                "the same pair with the base's KV blocks forced on the candidate: if TTFT returns, the pool is the cause",
                "firstcheck ab --base URL --candidate URL --pairs 8",
                7680,
            )
        },
    };
    let excluded = Cause::Excluded {
        id: "more-load".into(),
        means: "the candidate was offered more".into(),
        facts: vec![fact(
            "offered tokens differ by",
            0.0,
            "1",
            Source::Derived { by: "sum of prompt tokens".into(), from: vec![series("vllm:prompt_tokens_total")] },
        )],
    };
    let open = Cause::Open {
        id: "graph-memory".into(),
        means: "CUDA graphs took the memory".into(),
        missing: vec![Missing::not_given("the engine's start-up log", "firstcheck diagnose engine.log")],
        follow_up: follow_up("graph memory in the start-up log", "firstcheck diagnose engine.log", 0),
    };
    Finding {
        code: "S15".into(),
        slug: "constant-preemption".into(),
        symptom: "preemption is constant at peak while every prompt fits".into(),
        severity: Severity::Major,
        consequence_of: None,
        outcome: Outcome::Present {
            facts: vec![fact("preemptions in the window", 312.0, "count", series("vllm:num_preemptions_total"))],
            causes: vec![supported, excluded, open],
            explains: Some(Explained {
                metric: "TTFT p95".into(),
                delta: 0.4,
                explained: 0.33,
                unit: "s".into(),
                basis: "stage deltas".into(),
            }),
        },
    }
}

fn stage(name: &str, base: f64, candidate: f64) -> StageRow {
    StageRow {
        stage: name.into(),
        contains: vec![name.into()],
        of: "ttft mean".into(),
        base: Some(base),
        candidate: Some(candidate),
        delta: candidate - base,
        interval: Some([(candidate - base) * 0.8, (candidate - base) * 1.2]),
        unit: "s".into(),
        share: Some((candidate - base) / 0.4),
        basis: "histogram means".into(),
        note: None,
    }
}

/// A regression with its cause: the incident of an upgraded runtime that leaves fewer KV blocks.
pub fn regression() -> Report {
    let mut report = Report::new("compare", TOOL);
    report.verdict = Verdict::Fail;
    report.why = vec![
        "TTFT p95 is worse by more than its margin of 10 %: +50 % (+31 … +72 %)".into(),
        "goodput is worse by more than its margin of 1 point: −25 % (−31 … −18 %)".into(),
    ];
    report.sides.base = Some(SideReport {
        fingerprint: fingerprint("0.9.1", "2500"),
        runs: vec![
            run("pairs/base-1", 2400, &[("completed", 2400)]),
            run("pairs/base-2", 2400, &[("completed", 2400)]),
        ],
    });
    let mut shed = run("pairs/candidate-2", 2400, &[("completed", 2388), ("rejected", 8), ("timed_out", 4)]);
    shed.errors = counts(&[("http 429", 8), ("no answer in 60 s", 4)]);
    shed.warnings = vec!["host load 17".into()];
    shed.client = Some(ClientHealth {
        send_lag_p99: Some(Seconds(0.0021)),
        doubts: vec![Doubt { metric: Some(Metric::Itl), reason: "18 % of events were coalesced".into() }],
        ..ClientHealth::default()
    });
    report.sides.candidate = Some(SideReport {
        fingerprint: fingerprint("0.10.0", "1800"),
        runs: vec![run("pairs/candidate-1", 2400, &[("completed", 2400)]), shed],
    });
    let differ = |field: &str, base: &str, candidate: &str| Difference {
        field: field.into(),
        group: Group::of(field),
        base: base.into(),
        candidate: candidate.into(),
        base_from: "/metrics".into(),
        candidate_from: "/metrics".into(),
        came: if field == "kv_blocks" { Came::Computed } else { Came::Given },
        impact: Impact::High,
        effect: impact::of(field).map(|known| known.effect.into()),
        since: None,
    };
    report.differences = vec![differ("engine_version", "0.9.1", "0.10.0"), differ("kv_blocks", "2500", "1800")];
    report.metrics = regressed_metrics();
    report.stages = vec![stage("queue", 0.02, 0.35), stage("prefill", 0.6, 0.655), stage("other", 0.05, 0.065)];
    report.findings = vec![preemption(), no_oom()];
    report.notes = vec!["8 pairs were simulated in virtual time".into()];
    report.seed = Some(7);
    let margin = Parameter { value: 0.1, unit: "1".into(), meaning: "margin of TTFT p95".into() };
    report.parameters.insert("compare.margin.ttft_p95".into(), margin);
    report.figures = figures();
    report.command = Some("firstcheck compare --base pairs/*-base --candidate pairs/*-candidate".into());
    report.quotes = vec![Quote {
        path: "pairs/candidate-1/attached/server.log".into(),
        line: 41,
        quote: "WARNING 01-02 03:04:05 [scheduler.py:1] Sequence group 7 is preempted".into(),
    }];
    if let Outcome::Present { facts, .. } = &mut report.findings[0].outcome {
        facts.push(Fact::told("its log says so", Source::line("pairs/candidate-1/attached/server.log", 41)));
    }
    report
}

/// Rows of every kind: judged, not claimable, unbounded, shown.
fn regressed_metrics() -> Vec<MetricRow> {
    let mut itl = row(Metric::Itl, Stat::Quantile(0.99), 0.035, 0.042, 9600);
    itl.candidate = None;
    itl.ratio = None;
    itl.claim = Claim::NotClaimable;
    itl.n = [Some(412_000), None];
    itl.note = Some("the client coalesced events".into());
    let mut gap = row(Metric::LongestGap, Stat::Quantile(0.95), 0.061, f64::NAN, 4800);
    gap.candidate = Some(Quantity::Unbounded);
    gap.ratio = Some(Quantity::Unbounded);
    gap.interval = Some([Quantity::Finite(1.4), Quantity::Unbounded]);
    gap.confidence = Some(0.95);
    gap.claim = Claim::Regressed;
    let mut asymmetry = judged(row(Metric::Ttft, Stat::Mean, 1.0, 1.08, 4800), [0.99, 1.18], Claim::Shown);
    (asymmetry.stat, asymmetry.base, asymmetry.candidate) = ("tail_asymmetry".into(), None, None);
    vec![
        judged(row(Metric::Ttft, Stat::Quantile(0.95), 0.8, 1.2, 4800), [1.31, 1.72], Claim::Regressed),
        judged(row(Metric::Tpot, Stat::Quantile(0.5), 0.035, 0.0355, 4800), [1.002, 1.027], Claim::NonInferior),
        itl,
        gap,
        judged(row(Metric::Goodput, Stat::Total, 12.0, 9.0, 4800), [0.69, 0.82], Claim::Regressed),
        row(Metric::HitRate, Stat::Total, 0.412, 0.398, 4800),
        row(Metric::Preemptions, Stat::Total, 3.0, 312.0, 4800),
        row(Metric::KvCapacity, Stat::Total, 40_000.0, 28_800.0, 1),
        asymmetry,
    ]
}

/// Distributions and a series in which the candidate is worse.
fn figures() -> Figures {
    let histogram = |scale: f64, unanswered: u64| {
        let mut histogram = Histogram::default();
        (1..=200).for_each(|n| histogram.add(scale * f64::from(n) / 100.0, 12));
        histogram.add(f64::INFINITY, unanswered);
        Some(histogram)
    };
    let row = |metric: Metric, base: f64, candidate: f64| DistributionRow {
        metric,
        unit: metric.unit().into(),
        base: histogram(base, 0),
        candidate: histogram(candidate, 12),
    };
    let timeline = |side: Role, run: &str, step: f64| TimelineRow {
        signal: "kv_cache_usage".into(),
        unit: "1".into(),
        side,
        run: run.into(),
        points: (0..60).map(|n| (f64::from(n), (step * f64::from(n)).min(1.0))).collect(),
    };
    Figures {
        distributions: vec![
            row(Metric::Ttft, 0.4, 0.6),
            row(Metric::EventGap, 0.03, 0.032),
            row(Metric::LongestGap, 0.05, 0.3),
        ],
        timelines: vec![
            timeline(Role::Base, "pairs/base-1", 0.01),
            timeline(Role::Candidate, "pairs/candidate-1", 0.03),
        ],
        marks: vec![Mark {
            side: Role::Candidate,
            run: "pairs/candidate-1".into(),
            at_s: 33.0,
            what: "the engine restarted".into(),
        }],
    }
}

/// A check whose symptom is not there.
fn no_oom() -> Finding {
    Finding {
        code: "S14".into(),
        slug: "startup-oom".into(),
        symptom: "the engine refuses to start although the weights fit".into(),
        severity: Severity::Critical,
        consequence_of: None,
        outcome: Outcome::Absent {
            why: vec![Fact {
                text: "it answered requests".into(),
                value: None,
                unit: None,
                interval: None,
                n: None,
                source: Source::Requests { run: RunId("candidate-1".into()), count: 2400, rows: vec![0, 1] },
            }],
        },
    }
}

/// Nothing is wrong as far as one run a side can tell.
pub fn cannot_tell() -> Report {
    let mut report = Report::new("compare", TOOL);
    report.verdict = Verdict::Inconclusive;
    report.why = vec!["one run a side shows effects and cannot pass: measure pairs".into()];
    let imported = |label: &str| RunRow {
        origin: Origin::Imported { tool: "vllm bench serve".into() },
        window_s: None,
        workload: "unknown".into(),
        ..run(label, 200, &[("completed", 200)])
    };
    let side = |label: &str| Some(SideReport { fingerprint: Fingerprint::default(), runs: vec![imported(label)] });
    report.comparability = vec![
        Ruling {
            level: Level::Warns,
            reach: Reach::EngineCounters,
            rule: "warm-up-inside-window".into(),
            reason: "a.json: warm-up or others are inside the window: the engine finished 203 requests, the client 200"
                .into(),
            mend: "read the engine's counters between warm-up and window".into(),
        },
        Ruling {
            level: Level::Notes,
            reach: Reach::Everything,
            rule: "warm-or-cold".into(),
            reason: "the state of the prefix cache at the start is not known of every run".into(),
            mend: "restart both servers".into(),
        },
    ];
    report.one_sided = vec![OneSided {
        field: "gpu_model".into(),
        group: Group::Hardware,
        side: Role::Base,
        value: "NVIDIA H100".into(),
        from: "gpus.xml".into(),
    }];
    report.sides.base = side("a.json");
    report.sides.candidate = side("b.json");
    let mut p99 = row(Metric::Ttft, Stat::Quantile(0.99), 0.9, 1.1, 200);
    p99.claim = Claim::NotClaimable;
    p99.note = Some("p99 takes 1,000 requests".into());
    let mut p50 = row(Metric::Ttft, Stat::Quantile(0.5), 0.2412, 0.2398, 200);
    p50.interval = Some([Quantity::Finite(0.91), Quantity::Finite(1.08)]);
    p50.confidence = Some(0.95);
    report.metrics = vec![p50, p99];
    report.findings = vec![Finding {
        code: "S15".into(),
        slug: "constant-preemption".into(),
        symptom: "preemption is constant at peak while every prompt fits".into(),
        severity: Severity::Major,
        consequence_of: None,
        outcome: Outcome::Undecided {
            missing: vec![Missing {
                what: "the engine's /metrics over the window".into(),
                why: Why::TooFew { have: 1, need: 2 },
                obtain: "firstcheck run --url URL".into(),
            }],
        },
    }];
    report.unread = vec![Unread { path: "b.json".into(), line: Some(12), reason: "negative latency".into() }];
    report
}

/// A warm run against a cold one, and one of them cut short.
pub fn not_comparable() -> Report {
    let mut report = Report::new("compare", TOOL);
    report.verdict = Verdict::NotComparable;
    report.why = vec!["the base ran on a warm prefix cache, the candidate on a cold one".into()];
    report.invalid = vec!["the candidate was interrupted by Ctrl-C after 12 s".into()];
    let mut cut = run("candidate", 140, &[("completed", 120), ("cancelled", 20)]);
    cut.state = RunState::Interrupted { reason: "Ctrl-C".into() };
    cut.window_s = Some(12.0);
    report.sides.base = Some(SideReport {
        fingerprint: fingerprint("0.9.1", "2500"),
        runs: vec![run("base", 720, &[("completed", 720)])],
    });
    report.sides.candidate = Some(SideReport { fingerprint: fingerprint("0.9.1", "2500"), runs: vec![cut] });
    let mut ttft = row(Metric::Ttft, Stat::Quantile(0.5), 0.04, 0.8, 720);
    ttft.n = [Some(720), Some(140)];
    ttft.claim = Claim::NotComparable;
    report.metrics = vec![ttft];
    report.findings = vec![Finding {
        code: "S04".into(),
        slug: "lpm-never-recovers".into(),
        symptom: "an LPM replica never recovers from a burst".into(),
        severity: Severity::Minor,
        consequence_of: None,
        outcome: Outcome::NotApplicable { why: "the engine is not SGLang".into() },
    }];
    report
}

/// Eight pairs in which the candidate is no worse, and a check that looked and found nothing.
pub fn clean() -> Report {
    let mut report = Report::new("ab", TOOL);
    report.verdict = Verdict::Pass;
    report.why = vec!["every gated metric is shown to be no worse than its margin, over 8 pairs".into()];
    let side = |label: &str, version: &str| {
        let runs = vec![
            run(&format!("{label}-1"), 2400, &[("completed", 2400)]),
            run(&format!("{label}-2"), 2400, &[("completed", 2400)]),
        ];
        Some(SideReport { fingerprint: fingerprint(version, "2500"), runs })
    };
    report.sides.base = side("base", "0.9.1");
    report.sides.candidate = side("candidate", "0.9.2");
    report.metrics = vec![
        judged(row(Metric::Ttft, Stat::Quantile(0.95), 0.8, 0.792, 4800), [0.962, 1.017], Claim::NonInferior),
        judged(row(Metric::Tpot, Stat::Quantile(0.5), 0.035, 0.0336, 4800), [0.951, 0.969], Claim::Improved),
        judged(row(Metric::Goodput, Stat::Total, 12.0, 12.0, 4800), [0.998, 1.002], Claim::NonInferior),
    ];
    report.findings = vec![no_oom()];
    report.seed = Some(11);
    report
}

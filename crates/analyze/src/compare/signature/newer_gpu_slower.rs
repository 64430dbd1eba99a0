//! A move to a newer GPU did not make it faster.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::{fingerprint::field, metric::Metric, report::MetricRow};

pub(super) static RULE: Rule = Rule {
    name: "slower-on-newer-gpu",
    means: "the GPU is newer and the deployment slower: the system, not the device, sets the pace",
    leads: &[
        ("S26", "whether clocks, power, kernels or the build fit the new device"),
        ("S22", "whether another backend is chosen there"),
        ("S25", "whether the decode kernel reaches the bandwidth it should"),
        ("S27", "whether the links between devices are slower"),
    ],
    read,
};

/// Year in which a GPU came out, by a part of its name; the first that fits.
const YEARS: [(&str, u16); 22] = [
    ("GB300", 2025),
    ("B300", 2025),
    ("GB200", 2024),
    ("B200", 2024),
    ("RTX PRO", 2025),
    ("RTX 50", 2025),
    ("H200", 2023),
    ("GH200", 2023),
    ("H20", 2023),
    ("H100", 2022),
    ("H800", 2022),
    ("L40", 2022),
    ("L4", 2023),
    ("RTX 40", 2022),
    ("RTX 30", 2020),
    ("A100", 2020),
    ("A800", 2020),
    ("A40", 2020),
    ("A30", 2021),
    ("A10", 2021),
    ("T4", 2018),
    ("V100", 2017),
];

fn year(name: &str) -> Option<u16> {
    let name = name.to_uppercase().replace('-', " ");
    YEARS.iter().find(|(part, _)| name.contains(part)).map(|(_, year)| *year)
}

fn read(changes: &Changes<'_>) -> Reading {
    let names = changes.deployments().and_then(|(b, c)| b.get(field::GPU_MODEL).zip(c.get(field::GPU_MODEL)));
    let Some((base, candidate)) = names else {
        return Reading::Unknown(vec!["the GPU model of both sides (nvidia-smi -q -x)".into()]);
    };
    if base == candidate {
        return Reading::Absent(vec![format!("both run on {base}")]);
    }
    let Some((was, is)) = year(base).zip(year(candidate)) else {
        return Reading::Unknown(vec![format!("which of {base} and {candidate} is newer")]);
    };
    let moved = format!("from {base} ({was}) to {candidate} ({is})");
    if is <= was {
        return Reading::Absent(vec![moved]);
    }
    let worse = |row: &&MetricRow| changes.went(row) == Went::Up;
    let fewer = |row: &&MetricRow| changes.went(row) == Went::Down;
    let slow = [(Metric::Tpot, "p50"), (Metric::Ttft, "p50")].iter().filter_map(|wanted| changes.row(&[*wanted]));
    let little = changes.row(&[(Metric::OutputThroughput, "total")]).filter(fewer);
    let facts: Vec<String> = slow.filter(worse).chain(little).map(|row| said(row, changes.went(row))).collect();
    if facts.is_empty() { Reading::Absent(vec![moved]) } else { Reading::Present([vec![moved], facts].concat()) }
}

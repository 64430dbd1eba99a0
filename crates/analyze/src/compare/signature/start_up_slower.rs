//! The server takes longer to come up and serves as before.

use super::{
    Reading, Rule,
    changes::{Changes, Went, said},
};
use firstcheck_model::metric::Metric;

pub(super) static RULE: Rule = Rule {
    name: "start-up-slower",
    means: "start-up takes longer while the steady state is as before: compilation, graph capture or loading of weights",
    leads: &[
        ("S16", "whether more graphs are captured"),
        ("S22", "whether the optimisation or compilation mode changed"),
    ],
    read,
};

fn read(changes: &Changes<'_>) -> Reading {
    let Some(start) = changes.row(&[(Metric::StartUpTime, "total")]) else {
        return Reading::Unknown(vec!["the server's log from its start on, on both sides".into()]);
    };
    let went = changes.went(start);
    let mut facts = vec![said(start, went)];
    if went != Went::Up {
        return Reading::Absent(facts);
    }
    let steady: Vec<_> =
        [&[(Metric::Tpot, "p50"), (Metric::Itl, "mean")][..], &[(Metric::Ttft, "p50"), (Metric::Ttft, "mean")]]
            .iter()
            .filter_map(|wanted| changes.row(wanted))
            .collect();
    if steady.is_empty() {
        return Reading::Unknown(vec!["TTFT and ITL on both sides".into()]);
    }
    facts.extend(steady.iter().map(|row| said(row, changes.went(row))));
    let normal = steady.iter().all(|row| changes.went(row) != Went::Up);
    if normal { Reading::Present(facts) } else { Reading::Absent(facts) }
}

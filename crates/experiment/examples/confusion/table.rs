//! The tables.

use firstcheck_analyze::registry;
use firstcheck_experiment::confusion::{Calm, Floor, Judged, Row};
use firstcheck_sim::fault::FaultSpec;
use std::{collections::BTreeMap, fmt::Write};

/// What each fault must change to be visible.
pub fn floors(faults: &[&'static FaultSpec]) -> String {
    let mut text = String::from("| symptom | faults | its own metric | must change by |\n|---|---|---|---|\n");
    let mut done: Vec<*const Floor> = Vec::new();
    for spec in faults {
        let Some(floor) = Floor::of(spec) else {
            let _ = writeln!(text, "| {} | {} | none stated | – |", spec.symptom, spec.slug);
            continue;
        };
        if done.contains(&std::ptr::from_ref(floor)) {
            continue;
        }
        done.push(floor);
        let own = faults.iter().filter(|other| Floor::of(other).is_some_and(|of| std::ptr::eq(of, floor)));
        let own: Vec<&str> = own.map(|spec| spec.slug).collect();
        let _ = writeln!(text, "| {} | {} | {} | {} |", spec.symptom, own.join(", "), floor.metric, floor.least);
    }
    text
}

/// A row a fault.
pub fn faults(rows: &[Row]) -> String {
    let mut text = String::from(
        "| symptom | fault | cause | runs | above floor | found | right cause | undecided | found below | false, elsewhere | \
         there as well | consequences |\n|---|---|---|---:|---:|---:|---:|---:|---:|---|---|---|\n",
    );
    for row in rows {
        let below = row.runs - row.above;
        let _ = writeln!(
            text,
            "| {} | {} | {}{} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.fault.symptom,
            row.fault.slug,
            row.fault.cause,
            if knows_cause(row.fault) { "" } else { " (no cause of the check)" },
            row.runs,
            row.above,
            share(row.found, row.above),
            share(row.right, row.above),
            share(row.undecided, row.above),
            share(row.found_below, below),
            codes(&row.wrong),
            codes(&row.beside),
            codes(&row.consequences),
        );
    }
    text
}

/// A row a check: its own faults, and where it was false.
pub fn checks(rows: &[Row]) -> String {
    let mut text = String::from(
        "| check | above floor | found | right cause | undecided | found below | false on other faults |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut symptoms: Vec<&str> = rows.iter().map(|row| row.fault.symptom).collect();
    symptoms.dedup();
    let mut all = [0; 8];
    for symptom in symptoms.iter().filter(|code| registry::by_code_or_slug(code).is_some()) {
        let (own, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| row.fault.symptom == *symptom);
        let sum = |of: fn(&Row) -> u64| own.iter().map(|row| of(row)).sum::<u64>();
        let wrong: u64 = others.iter().filter_map(|row| row.wrong.get(*symptom)).sum();
        let counts = [
            sum(|row| row.found),
            sum(|row| row.above),
            sum(|row| row.right),
            sum(|row| row.undecided),
            sum(|row| row.found_below),
            sum(|row| row.runs - row.above),
            wrong,
            others.iter().map(|row| row.runs).sum(),
        ];
        all.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        text += &check(symptom, counts);
    }
    text += &check("**all**", all);
    text
}

fn check(name: &str, counts: [u64; 8]) -> String {
    let [found, above, right, undecided, found_below, below, wrong, others] = counts;
    format!(
        "| {name} | {above} | {} | {} | {} | {} | {} |\n",
        share(found, above),
        share(right, above),
        share(undecided, above),
        share(found_below, below),
        share(wrong, others),
    )
}

/// A row a scene.
pub fn healthy(calm: &BTreeMap<&'static str, Calm>) -> String {
    let mut text = String::from("| scene | healthy runs | found in them |\n|---|---:|---|\n");
    for (scene, calm) in calm {
        let _ = writeln!(text, "| {scene} | {} | {} |", calm.runs, codes(&calm.wrong));
    }
    text
}

/// One run that went wrong, on a line.
pub fn line(run: &Judged) -> String {
    let scene = if run.fault.is_none() { format!("healthy {}: ", run.scene) } else { String::new() };
    let mut text = format!("{scene}{} [{}, seed {}]", run.text, run.load, run.seed);
    if let Some((before, now)) = run.metric {
        let side = if run.above == Some(true) { "above" } else { "below" };
        let _ = write!(text, " {before:.4} → {now:.4}, {side} its floor");
    }
    if let (Some(fault), Some(own)) = (run.fault, run.own()) {
        let _ = write!(text, "; wanted {}, {own}", fault.cause);
    }
    for (said, there) in run.others() {
        let _ = write!(text, "; {} {said}", if *there { "there as well:" } else { "FALSE:" });
    }
    text
}

/// What the fault's own check and those that are false said, a fact a line.
pub fn facts(run: &Judged) -> String {
    let wrong = run.others().filter(|(_, there)| !there).map(|(said, _)| said);
    let lines = run.own().into_iter().chain(wrong);
    lines.flat_map(|said| said.facts.iter().map(|fact| format!("\n    {}: {fact}", said.code))).collect()
}

fn knows_cause(fault: &FaultSpec) -> bool {
    registry::by_code_or_slug(fault.symptom)
        .is_none_or(|check| check.causes.iter().any(|cause| cause.id == fault.cause))
}

/// `12 (100 %)`; a dash where there was none to count.
fn share(count: u64, of: u64) -> String {
    match of {
        0 => "–".into(),
        of => format!("{count} ({:.0} %)", 100.0 * count as f64 / of as f64),
    }
}

/// `S02 × 3, S07`.
fn codes(counts: &BTreeMap<String, u64>) -> String {
    let one = |(code, count): (&String, &u64)| if *count == 1 { code.clone() } else { format!("{code} × {count}") };
    counts.iter().map(one).collect::<Vec<_>>().join(", ")
}

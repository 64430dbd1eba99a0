//! With less evidence no check says something else: it says less, and names what it lacks.

use firstcheck_analyze::registry;
use firstcheck_experiment::confusion::{Against, Dose, Lack, Load, Played, Stage, contradictions};
use firstcheck_model::finding::{Cause, Finding, Outcome};
use firstcheck_sim::{
    EngineKind,
    fault::{FaultSpec, Severity, catalogue},
};

/// Symptoms that take pressure to show; the others have room.
const PRESSED: [&str; 5] = ["S03", "S09", "S15", "S16", "S18"];

/// Checks that are held to it. What the others say that they should not is printed: S02 and S03 read the servers' queues and
/// counters where requests are missing, which hold others' as well, and S08 without pages takes several replicas for one.
const HELD: [&str; 6] = ["S01", "S12", "S15", "S17", "S18", "S19"];

/// The faults of every symptom that has a check.
fn faults() -> Vec<&'static FaultSpec> {
    catalogue().filter(|spec| registry::by_code_or_slug(spec.symptom).is_some()).collect()
}

fn load(spec: &FaultSpec) -> Load {
    Load::ALL[usize::from(PRESSED.contains(&spec.symptom))]
}

/// What is said of a fault with each piece of evidence taken away that should not be.
fn said(stage: &Stage, spec: &'static FaultSpec) -> Vec<String> {
    let fault = Dose::Declared.fault(spec, Severity::Severe, 1);
    let play = |acting: bool, seed: u64| stage.play(&load(spec), &fault, acting, 1, seed).unwrap();
    let (healthy, run) = (play(false, 1), play(true, 2));
    let full = stage.findings(&run, &healthy);
    let mut all = Vec::new();
    // The first seconds are another window, in which a symptom may not be there yet.
    for lack in Lack::ALL.into_iter().filter(|lack| *lack != Lack::FiveSeconds) {
        let less = Played { simulated: run.simulated.clone(), evidence: lack.of(&run.evidence) };
        let findings = stage.findings(&less, &healthy);
        all.extend(
            contradictions(&full, &findings).into_iter().map(|what| format!("{fault} without {lack:?}: {what}")),
        );
        all.extend(unnamed(&findings).into_iter().map(|what| format!("{fault} without {lack:?}: {what}")));
    }
    all
}

/// What is undecided or open and does not say for want of what.
fn unnamed(findings: &[Finding]) -> Vec<String> {
    let mut all = Vec::new();
    for finding in findings {
        match &finding.outcome {
            Outcome::Undecided { missing } if missing.is_empty() => all.push(format!("{} lacks nothing", finding.code)),
            Outcome::Present { causes, .. } => {
                let silent = |cause: &&Cause| matches!(cause, Cause::Open { missing, .. } if missing.is_empty());
                all.extend(
                    causes.iter().filter(silent).map(|cause| format!("{} {} lacks nothing", finding.code, cause.id())),
                );
            }
            _ => {}
        }
    }
    all
}

#[test]
fn less_evidence_says_less_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage { engine: EngineKind::Vllm, against: Against::Healthy, folder: folder.path().into() };
    let faults = faults();
    let (odd, even): (Vec<_>, Vec<_>) = faults.iter().enumerate().partition(|(at, _)| at % 2 == 1);
    let work = |part: &[(usize, &&'static FaultSpec)]| -> Vec<String> {
        part.iter().flat_map(|(_, spec)| said(&stage, spec)).collect()
    };
    let mut all = std::thread::scope(|scope| {
        let other = scope.spawn(|| work(&odd));
        let mut all = work(&even);
        all.extend(other.join().unwrap());
        all
    });
    all.sort();
    let is_held = |what: &&String| HELD.iter().any(|code| what.contains(&format!(": {code} ")));
    let (held, others): (Vec<&String>, Vec<&String>) = all.iter().partition(is_held);
    others.iter().for_each(|what| eprintln!("TO MEND: {what}"));
    assert!(held.is_empty(), "{} contradictions: {held:#?}", held.len());
}

/// A page that says nothing is not a healthy one.
#[test]
fn what_cannot_be_believed_is_said_to_be_so() {
    let folder = tempfile::tempdir().unwrap();
    let stage = Stage { engine: EngineKind::Vllm, against: Against::Nothing, folder: folder.path().into() };
    let spec = firstcheck_sim::fault::find("kv-pool-shrank").unwrap();
    let fault = Dose::Declared.fault(spec, Severity::Severe, 1);
    let run = stage.play(&load(spec), &fault, true, 1, 2).unwrap();
    let cases = [
        (Lack::Metrics, "engine series on the metrics page"),
        (Lack::EmptyPage, "it was read, and shows none"),
        (Lack::ZeroCounters, "counters that move"),
        (Lack::FiveSeconds, "a window of 10 s"),
        (Lack::StaleScrape, "samples over the whole window"),
        (Lack::LoadBalancer, "counters of one process"),
    ];
    for (lack, expected) in cases {
        let less = Played { simulated: run.simulated.clone(), evidence: lack.of(&run.evidence) };
        let findings = stage.findings(&less, &less);
        let finding = findings.iter().find(|finding| finding.code == "S15").unwrap();
        let Outcome::Undecided { missing } = &finding.outcome else { panic!("{lack:?}: {:?}", finding.outcome) };
        assert!(missing.iter().any(|one| one.what.contains(expected)), "{lack:?}: {missing:?}");
    }
}

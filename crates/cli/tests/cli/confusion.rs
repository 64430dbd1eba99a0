//! Faults of the simulator against the checks: each fault's run is judged against the healthy run of its scene. A small
//! version of the matrix, with one seed, severe faults and a load that leaves room: what needs pressure shows nothing
//! here. The table is a snapshot to be read line by line; `INSTA_UPDATE=always` writes it.

use firstcheck_analyze::{case::Case, diagnose::diagnose, registry, settings::Settings, side::Side};
use firstcheck_experiment::simulated;
use firstcheck_ingest::{Input, Limits, collect};
use firstcheck_model::{
    evidence::Evidence,
    finding::{Cause, Finding, Outcome},
};
use firstcheck_sim::{
    Deployment, EngineConfig, Scenario, SimulateOptions,
    fault::{Fault, Severity, catalogue, healthy, scenario, scene::SCENES},
    simulate::Artefacts,
};
use firstcheck_workload::{spec::Spec, trace::Trace};
use std::fmt::Write;

fn trace(seed: u64) -> Trace {
    let spec = Spec {
        arrivals: Some("poisson:6".parse().unwrap()),
        duration_s: Some(40.0),
        input: Some("uniform:100-500".parse().unwrap()),
        output: Some("uniform:40-120".parse().unwrap()),
        prefix: Some("groups=3,tokens=640,share=0.9".parse().unwrap()),
        ..Spec::default()
    };
    spec.generate(seed, None).unwrap().trace
}

fn deployment() -> Deployment {
    let engine = EngineConfig { num_gpu_blocks: 4000, max_model_len: 8192, ..EngineConfig::default() };
    let mut deployment = Deployment::uniform(engine, 2);
    deployment.client.timeout_seconds = Some(60.0);
    deployment
}

/// What the bundle of a run says, with all that an engine and the machine under it leave beside it.
fn evidence(scenario: &Scenario, trace: &Trace, seed: u64) -> Evidence {
    let artefacts = Artefacts { steps: false, ..Artefacts::ALL };
    let options = SimulateOptions { artefacts, ..SimulateOptions::new(seed, "a") };
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("run");
    simulated::write(&bundle, &simulated::record(scenario, trace, &options).unwrap()).unwrap();
    collect(vec![Input::Path(bundle)], &Limits::default()).evidence
}

fn findings(base: &Evidence, side: &Evidence) -> Vec<Finding> {
    let settings = Settings::default();
    let (base, side) = (Side::with(base, &settings), Side::with(side, &settings));
    diagnose(&Case { side: &side, base: Some(&base), settings: &settings })
}

/// Whether a finding is there, with its supported causes.
fn said(finding: &Finding) -> String {
    match &finding.outcome {
        Outcome::Present { causes, .. } => {
            let supported: Vec<&str> = causes.iter().filter(|cause| cause.is_supported()).map(Cause::id).collect();
            format!(
                "{} present ({})",
                finding.code,
                if supported.is_empty() { "open".into() } else { supported.join(", ") }
            )
        }
        Outcome::Undecided { .. } => format!("{} undecided", finding.code),
        Outcome::Absent { .. } => format!("{} -", finding.code),
        Outcome::NotApplicable { .. } => format!("{} n/a", finding.code),
    }
}

#[test]
fn a_healthy_deployment_has_no_finding() {
    for scene in SCENES {
        let spec = catalogue().find(|spec| spec.scene == **scene);
        let Some(spec) = spec else { continue };
        let fault = [Fault::new(spec, Severity::Mild)];
        let run = |traffic: u64, seed: u64| {
            let trace = trace(traffic);
            evidence(&healthy(&deployment(), &trace, &fault).unwrap(), &trace, seed)
        };
        // The same traffic again, and other traffic of the same kind.
        let base = run(1, 1);
        for (traffic, seed) in [(1, 2), (2, 3)] {
            let found = findings(&base, &run(traffic, seed));
            let present = found.iter().filter(|finding| matches!(finding.outcome, Outcome::Present { .. }));
            let present: Vec<String> = present.map(said).collect();
            assert!(present.is_empty(), "scene {}, traffic {traffic}: {present:?}", scene.slug);
        }
    }
}

#[test]
fn faults_of_the_symptoms_that_have_a_check_are_told_apart() {
    let mut table = String::new();
    let trace = trace(1);
    let known = |code: &str| registry::by_code_or_slug(code).is_some();
    // Neighbours of the symptoms that have a check, which must not be taken for them.
    let neighbours = ["S02", "S03", "S07", "S09"];
    for spec in catalogue().filter(|spec| known(spec.symptom) || neighbours.contains(&spec.symptom)) {
        let fault = [Fault::new(spec, Severity::Severe)];
        let base = evidence(&healthy(&deployment(), &trace, &fault).unwrap(), &trace, 1);
        let mut found = findings(&base, &evidence(&scenario(&deployment(), &trace, &fault).unwrap(), &trace, 2));
        found.sort_by(|a, b| a.code.cmp(&b.code));
        // The fault's own check whatever it says, and every finding that is there.
        let shown =
            |finding: &&Finding| finding.code == spec.symptom || matches!(finding.outcome, Outcome::Present { .. });
        let said: Vec<String> = found.iter().filter(shown).map(said).collect();
        writeln!(table, "{} {} ({}): {}", spec.symptom, spec.slug, spec.cause, said.join("; ")).unwrap();
    }
    insta::assert_snapshot!(table);
}

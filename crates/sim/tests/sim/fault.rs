//! Faults: their text form, their times, and that each shows itself.

use crate::simulate::{config, trace};
use firstcheck_model::request::Fate;
use firstcheck_sim::{
    Deployment, EngineConfig, SimulateOptions, Simulated,
    fault::{Fault, FaultError, FaultSpec, Severity, catalogue, healthy, scenario, scene::SCENES},
    simulate::Artefacts,
    simulate_scenario,
};
use firstcheck_workload::trace::Offered;
use std::collections::HashSet;

fn fault(text: &str) -> Fault {
    Fault::parse(text, Severity::Moderate).unwrap()
}

fn play(deployment: &Deployment, faults: &[Fault], requests: u32, rate: f64) -> Simulated {
    let trace = trace(requests, rate);
    let scenario = scenario(deployment, &trace, faults).unwrap();
    simulate_scenario(&scenario, &trace, &SimulateOptions::new(1, "a")).unwrap()
}

#[test]
fn the_catalogue_is_well_formed() {
    let mut slugs = HashSet::new();
    for spec in catalogue() {
        assert!(slugs.insert(spec.slug), "{} is there twice", spec.slug);
        let kebab = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        assert!(kebab(spec.slug) && kebab(spec.cause), "{spec:?}");
        let number: Option<u32> = spec.symptom.strip_prefix('S').and_then(|number| number.parse().ok());
        assert!(spec.symptom.len() == 3 && number.is_some_and(|number| (1..=44).contains(&number)), "{spec:?}");
        assert!(!spec.acts_in.is_empty() && !spec.doc.ends_with('.'), "{spec:?}");
        for param in spec.params {
            let [least, most] = param.range;
            assert!(param.by_severity.iter().all(|value| (least..=most).contains(value)), "{spec:?} {param:?}");
            assert!(param.name != "severity" && !param.doc.is_empty() && !param.doc.ends_with('.'), "{param:?}");
        }
    }
}

/// The test of all faults plays each for some seconds only.
const REQUESTS: u32 = 60;
const RATE: f64 = 8.0;

#[test]
fn every_fault_shows_itself_at_every_severity() {
    let mut deployment = Deployment::uniform(config(), 2);
    deployment.client.timeout_seconds = Some(60.0);
    let trace = trace(REQUESTS, RATE);
    let options = SimulateOptions { artefacts: Artefacts::ALL, ..SimulateOptions::new(1, "a") };
    // Faults of outputs show themselves where outputs are kept, in a test of their own.
    let outputs = 30..=38;
    let elsewhere = |spec: &&FaultSpec| !outputs.contains(&spec.symptom[1..].parse::<u32>().unwrap());
    let mut quiet = Vec::new();
    for spec in catalogue().filter(elsewhere) {
        let well = simulate_scenario(
            &healthy(&deployment, &trace, &[Fault::new(spec, Severity::Mild)]).unwrap(),
            &trace,
            &options,
        )
        .unwrap();
        for severity in Severity::ALL {
            let faults = [Fault::new(spec, severity)];
            let sick = simulate_scenario(&scenario(&deployment, &trace, &faults).unwrap(), &trace, &options).unwrap();
            if well.recording == sick.recording && well.attachments == sick.attachments {
                quiet.push(format!("{spec:?} at {severity:?}"));
            }
        }
    }
    assert!(quiet.is_empty(), "these change nothing that is seen: {quiet:#?}");
}

#[test]
fn every_symptom_of_serving_has_two_causes() {
    let causes = |symptom: &str| -> HashSet<&str> {
        catalogue().filter(|spec| spec.symptom == symptom).map(|spec| spec.cause).collect()
    };
    let serving = (1..=19).chain([22, 23]).chain(27..=32).chain([34, 36, 37]).chain(39..=44);
    let poor: Vec<_> = serving.map(|number| format!("S{number:02}")).filter(|code| causes(code).len() < 2).collect();
    assert!(poor.is_empty(), "fewer than two causes: {poor:?}");
}

#[test]
fn a_fault_that_ends_by_itself_ends() {
    let fault = fault("cold-start:lasts_s=2@1s..");
    assert_eq!(fault.ends_ns(), Some(3_000_000_000));
    assert!(fault.acts_at(2_999_999_999) && !fault.acts_at(3_000_000_000));
}

#[test]
fn scenes_are_healthy() {
    let deployment = Deployment::uniform(config(), 2);
    let trace = trace(REQUESTS, RATE);
    for scene in SCENES {
        let Some(spec) = catalogue().find(|spec| spec.scene == **scene) else {
            panic!("no fault acts in {scene:?}");
        };
        let scenario = healthy(&deployment, &trace, &[Fault::new(spec, Severity::Severe)]).unwrap();
        let simulated = simulate_scenario(&scenario, &trace, &SimulateOptions::new(1, "a")).unwrap();
        let done = simulated.recording.requests.0.iter().filter(|request| request.fate == Fate::Completed).count();
        assert_eq!(done, REQUESTS as usize, "{scene:?}");
        assert_eq!(simulated.truth.preemptions, 0, "{scene:?}");
    }
}

#[test]
fn what_is_wrong_with_the_healthy_deployment_is_said_whatever_the_scene_makes_of_it() {
    let broken = Deployment::single(EngineConfig { block_size: 0, ..config() });
    for text in ["tier-slow", "slow-replica"] {
        for set_up in [healthy, scenario] {
            let error = set_up(&broken, &trace(REQUESTS, RATE), &[fault(text)]).unwrap_err();
            assert!(error.to_string().contains("block_size"), "{error}");
        }
    }
}

#[test]
fn no_two_requests_of_others_share_a_prompt() {
    let faults = [fault("cache-displaced:period_s=1"), fault("rank-long-prompts:period_s=2@3s..")];
    let scenario = scenario(&Deployment::single(config()), &trace(REQUESTS, RATE), &faults).unwrap();
    let begin = |offered: &Offered| offered.prompt.token_ids(None).into_iter().take(200).collect::<Vec<_>>();
    let prompts: HashSet<_> = scenario.others().iter().map(begin).collect();
    assert!(prompts.len() > 8, "{}", prompts.len());
    assert_eq!(prompts.len(), scenario.others().len());
}

#[test]
fn a_text_is_read_and_written() {
    let full = fault("slow-replica:replica=1,host_ms=7.5@30s..2m");
    assert_eq!((full.values.get("replica"), full.values.get("host_ms")), (1.0, 7.5));
    assert_eq!((full.start_ns, full.end_ns), (30_000_000_000, Some(120_000_000_000)));
    for text in [
        "slow-replica",
        "slow-replica:host_ms=3",
        "slow-replica@30..",
        "slow-replica@..500ms",
        "slow-replica@0m..2m",
        "slow-replica:severity=severe, host_ms = 3 @1.5..2.5s",
        "template-deploy:at=3,tokens=4@0s..1h",
    ] {
        let read = fault(text);
        let again = fault(&read.to_string());
        assert_eq!(
            (&again.values, again.start_ns, again.end_ns, again.spec.slug),
            (&read.values, read.start_ns, read.end_ns, read.spec.slug),
            "{text} becomes {read}"
        );
    }
    let value = |text: &str| fault(text).values.get("host_ms");
    assert!(value("slow-replica:severity=mild") < value("slow-replica"));
    assert!(value("slow-replica") < value("slow-replica:severity=severe"));
    assert_eq!(
        Fault::parse("slow-replica", Severity::Severe).unwrap().values,
        fault("slow-replica:severity=severe").values
    );
}

#[test]
fn a_text_that_is_no_fault_says_why() {
    for (text, parts) in [
        ("slow-replic", &["no fault `slow-replic`", "did you mean `slow-replica`?"][..]),
        ("nonsense", &["no fault `nonsense`"]),
        ("slow-replica:host_mss=3", &["no parameter `host_mss`", "did you mean `host_ms`?", "replica, host_ms"]),
        ("slow-replica:host_ms=many", &["`host_ms`", "`many`", "expected a number"]),
        ("slow-replica:host_ms=-1", &["`host_ms`", "is -1", "0 to 10000"]),
        ("slow-replica:host_ms=nan", &["is NaN"]),
        ("slow-replica:host_ms", &["`host_ms`", "no KEY=VALUE"]),
        ("slow-replica:severity=awful", &["no severity `awful`"]),
        ("slow-replica@30s", &["`..` is missing"]),
        ("slow-replica@30s..20s", &["ends before it starts"]),
        ("slow-replica@soon..", &["`soon` is no time"]),
        ("slow-replica@-1..", &["`-1` is no time"]),
    ] {
        let error = Fault::parse(text, Severity::Moderate).unwrap_err();
        let said = error.to_string();
        assert!(parts.iter().all(|part| said.contains(part)), "{text}: {said}");
        assert!(!said.ends_with('.'), "{said}");
    }
    let unknown = Fault::parse("nonsense", Severity::Moderate);
    assert!(matches!(unknown, Err(FaultError::Unknown { suggestion: None, .. })));
}

#[test]
fn volatile_text_in_front_ends_all_reuse_while_it_is_there() {
    let deployment = Deployment::single(config());
    let cached = |simulated: &Simulated, seconds: std::ops::Range<f64>| {
        let sent = |request: &&firstcheck_model::request::Request| {
            request.sent.seconds().is_some_and(|sent| seconds.contains(&sent))
        };
        simulated.recording.requests.0.iter().filter(sent).filter_map(|request| request.cached_tokens).sum::<u32>()
    };
    let healthy = play(&deployment, &[], 120, 10.0);
    let sick = play(&deployment, &[fault("template-deploy:at=0@4s..8s")], 120, 10.0);
    assert_eq!(cached(&sick, 0.0..4.0), cached(&healthy, 0.0..4.0));
    assert_eq!(cached(&sick, 4.0..8.0), 0);
    assert!(cached(&sick, 8.0..12.0) > 0, "reuse is back with the old template");
    let longer = sick.recording.requests[50].prompt_tokens.unwrap();
    assert_eq!(longer, healthy.recording.requests[50].prompt_tokens.unwrap() + 12);
    assert_eq!(sick.truth.faults.len(), 1);
    assert_eq!((sick.truth.faults[0].symptom.as_str(), sick.truth.faults[0].start_ns), ("S01", 4_000_000_000));
}

#[test]
fn another_capacity_needs_another_start() {
    let deployment = Deployment::uniform(config(), 2);
    let simulated = play(&deployment, &[fault("kv-pool-shrank:share=0.5@2s..")], 120, 30.0);
    let failed: Vec<_> = simulated.recording.requests.0.iter().filter(|r| r.fate == Fate::Failed).collect();
    assert!(!failed.is_empty() && failed.len() < 60, "{}", failed.len());
    assert!(failed.iter().all(|request| request.error.as_deref() == Some("connection reset by peer")));
    assert!(failed.iter().all(|request| request.done.seconds() == Some(2.0)));
    assert!(simulated.truth.replicas.iter().all(|replica| replica.restarts == 1));
    let starts: Vec<_> =
        simulated.recording.signals.iter().filter(|s| s.name == "process_start_time_seconds").collect();
    assert!(starts.iter().all(|series| series.value.last() == Some(&2.0)), "{starts:?}");
    let blocks = |blocks: &str| {
        let infos = simulated.recording.signals.iter().filter(|s| s.name == "vllm:cache_config_info");
        infos.filter(|series| series.labels.get("num_gpu_blocks") == Some(blocks)).count()
    };
    assert_eq!((blocks("1200"), blocks("600")), (2, 2));
}

#[test]
fn a_small_pool_preempts_and_an_ample_one_does_not() {
    let deployment = Deployment::single(config());
    let shrunk = play(&deployment, &[fault("kv-pool-shrank:share=0.3")], 200, 40.0);
    assert_eq!(play(&deployment, &[], 200, 15.0).truth.preemptions, 0);
    assert!(shrunk.truth.preemptions > 20, "{}", shrunk.truth.preemptions);
    assert!(shrunk.truth.replicas.iter().all(|replica| replica.restarts == 0), "it is so from the start");
}

#[test]
fn faults_act_together() {
    let deployment = Deployment::uniform(config(), 2);
    let both = [fault("slow-replica:replica=1,host_ms=30@2s.."), fault("template-deploy@0s..2s")];
    let simulated = play(&deployment, &both, 120, 30.0);
    let cached = |from: usize, to: usize| {
        simulated.recording.requests.0[from..to].iter().filter_map(|r| r.cached_tokens).sum::<u32>()
    };
    assert!(cached(61, 120) > cached(0, 59));
    let decode = |replica: u32| {
        let late = simulated.truth.requests[70..].iter().flatten().filter(|request| request.replica == replica);
        late.filter_map(|request| request.decode_ns()).sum::<i64>()
    };
    assert!(decode(1) > 2 * decode(0));
}

//! Replays of recorded runs: of the simulator's own, which must come back as they were, and of real engines.

use firstcheck_bundle::write_recording;
use firstcheck_experiment::fidelity::{
    FidelityError, Latencies, Metric, Parameter, Recorded, fit, median_error, replay, replay_ranks, setup::Setup,
};
use firstcheck_sim::{EngineConfig, Linear, Noise, SimulateOptions, Timing, simulate};
use firstcheck_workload::spec::Spec;
use std::{fs, path::Path};

const TRUE: Linear = Linear { base: 0.004, per_token: 5e-5, per_sequence: 2e-4, per_kv_token: 0.0 };

fn engine(step: Linear) -> EngineConfig {
    EngineConfig { timing: Timing::Linear(step), noise: Noise::NONE, ..EngineConfig::default() }
}

/// A bundle of a simulated run, as if it had been measured.
fn bundle(config: &EngineConfig, folder: &Path) -> Recorded {
    let spec = Spec {
        arrivals: Some("poisson:4".parse().unwrap()),
        requests: Some(60),
        input: Some("uniform:50-400".parse().unwrap()),
        output: Some("uniform:5-60".parse().unwrap()),
        ..Spec::default()
    };
    let trace = spec.generate(3, None).unwrap().trace;
    let recording = simulate(config, &trace, &SimulateOptions::new(0, "served")).unwrap();
    write_recording(folder, &recording).unwrap();
    Recorded::from_bundle(folder).unwrap()
}

#[test]
fn a_bundle_of_the_simulator_is_replayed_exactly() {
    let parent = tempfile::tempdir().unwrap();
    let recorded = bundle(&engine(TRUE), &parent.path().join("served-1"));
    assert_eq!((recorded.name.as_str(), recorded.requests.len(), recorded.unanswered), ("served-1", 60, 0));
    let replayed = replay(&recorded, &engine(TRUE), 0).unwrap();
    assert_eq!(replayed.latencies.count(Metric::Ttft), recorded.latencies().count(Metric::Ttft));
    for metric in Metric::ALL {
        let error = median_error(&replayed.latencies, &recorded.latencies(), metric).unwrap();
        assert!(error < 1e-9, "{} {error}", metric.name());
    }
}

#[test]
fn a_fit_finds_the_step_time_that_was_there() {
    let parent = tempfile::tempdir().unwrap();
    let recorded = bundle(&engine(TRUE), &parent.path().join("served"));
    let parameters =
        [Parameter { name: "base", unit: "s", start: 0.001 }, Parameter { name: "token", unit: "s", start: 2e-5 }];
    let fitted = fit(&[(&recorded, 0..recorded.requests.len())], &parameters, |run, values| {
        replay(run, &engine(Linear { base: values[0], per_token: values[1], ..TRUE }), 0)
    });
    let fitted = fitted.unwrap();
    assert!((fitted.values[0] / TRUE.base - 1.0).abs() < 0.01, "{fitted:?}");
    assert!((fitted.values[1] / TRUE.per_token - 1.0).abs() < 0.01, "{fitted:?}");
}

#[test]
fn ranks_share_the_load_and_wait_for_the_slowest() {
    let parent = tempfile::tempdir().unwrap();
    let recorded = bundle(&engine(TRUE), &parent.path().join("served"));
    let one = replay_ranks(&recorded, &engine(TRUE), 1, 0).unwrap();
    let two = replay_ranks(&recorded, &engine(TRUE), 2, 0).unwrap();
    let mean = |latencies: &Latencies| latencies.mean(Metric::Tpot).unwrap();
    assert_eq!(one, replay(&recorded, &engine(TRUE), 0).unwrap());
    // Half the batch each, but never less than a whole step.
    assert!(mean(&two.latencies) < mean(&one.latencies));
    assert!(mean(&two.latencies) > TRUE.base + TRUE.per_token + TRUE.per_sequence);
}

/// A setup with two requests on an RTX 4090.
fn write_setup(folder: &Path) {
    fs::create_dir_all(folder.join("vllm")).unwrap();
    let hardware = r#"{"nodes": [{"instances": [{"hardware": "RTX4090"}]}]}"#;
    fs::write(folder.join("config.json"), hardware).unwrap();
    let meta = r#"{"model": "x/Llama-3.1-8B", "vllm_version": "0.19.0", "engine_kwargs": {"data_parallel_size": 1,
        "max_num_seqs": 8, "max_num_batched_tokens": 512, "max_model_len": 4096},
        "kv_cache": {"num_gpu_blocks": 300, "block_size": 16}}"#;
    fs::write(folder.join("vllm/meta.json"), meta).unwrap();
    let line = |tokens: u32, arrival: f64, queued: f64| {
        format!(
            r#"{{"input_toks": {tokens}, "output_toks": 3, "arrival_time": {arrival}, "queued_ts": {queued},
                "first_token_ts": {}, "last_token_ts": {}}}"#,
            queued + 0.2,
            queued + 0.4
        )
        .replace('\n', " ")
    };
    let lines = [line(40, 1000.0, 7.0), line(20, 1001.0, 8.5)].join("\n");
    fs::write(folder.join("vllm/requests.jsonl"), lines).unwrap();
}

#[test]
fn a_setup_joins_its_two_clocks_and_keeps_shared_prefixes() {
    let parent = tempfile::tempdir().unwrap();
    write_setup(parent.path());
    let workload = parent.path().join("workload.jsonl");
    let asked = "{\"input_toks\":40,\"block16_ids\":[1,2]}\n{\"input_toks\":20,\"block16_ids\":[1]}\n";
    fs::write(&workload, asked).unwrap();
    let setup = Setup::read(parent.path(), Some(&workload)).unwrap();
    assert_eq!((setup.engine.num_gpu_blocks, setup.engine.max_num_seqs, setup.ranks), (300, 8, 1));
    let requests = &setup.recorded.requests;
    assert_eq!(requests[1].arrival_ns, 1_000_000_000);
    assert_eq!(requests[0].prompt[0], requests[1].prompt[0]);
    assert_ne!(requests[0].prompt.last(), requests[1].prompt.last());
    // Half a second passed before the second was queued.
    let ttft = |row: usize| requests[row].latency.unwrap().ttft;
    assert!((ttft(0) - 0.2).abs() < 1e-6 && (ttft(1) - 0.7).abs() < 1e-6, "{requests:?}");
    fs::write(&workload, "{\"input_toks\":41,\"block16_ids\":[]}\n").unwrap();
    assert!(matches!(Setup::read(parent.path(), Some(&workload)), Err(FidelityError::Workload { .. })));
}

/// Most that the median request may be off on each setup: TTFT, TPOT, E2E.
const BOUNDS: [(&str, Option<&str>, [f64; 3]); 3] = [
    ("vllm-0.19-rtx4090-llama3.1-8b", Some("sharegpt-llama-3.1-8b-300-sps10.jsonl"), [0.05, 0.05, 0.05]),
    ("vllm-0.19-rtxpro6000-llama3.1-8b", Some("sharegpt-llama-3.1-8b-300-sps10.jsonl"), [0.05, 0.04, 0.04]),
    ("vllm-0.19-rtxpro6000-qwen3-30b-a3b", None, [0.25, 0.05, 0.05]),
];

#[test]
fn real_engines_on_gpus_are_predicted_as_well_as_before() {
    let Some(root) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, no recorded runs of real engines to replay");
        return;
    };
    let folder = Path::new(&root).join("simulation");
    for (name, workload, bounds) in BOUNDS {
        let workload = workload.map(|file| folder.join(file));
        let setup = Setup::read(&folder.join(name), workload.as_deref()).unwrap();
        let replayed = replay_ranks(&setup.recorded, &setup.engine, setup.ranks, 0).unwrap();
        for (metric, bound) in Metric::ALL.into_iter().zip(bounds) {
            let error = median_error(&replayed.latencies, &setup.recorded.latencies(), metric).unwrap();
            eprintln!("{name} {}: {:.1} %", metric.name(), error * 100.0);
            assert!(error <= bound, "{name} {}: {error} above {bound}", metric.name());
        }
    }
}

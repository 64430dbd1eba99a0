//! Answers beside a recording, and a trainer's view of them.

use crate::simulate::{config, trace};
use firstcheck_sim::{
    EngineConfig, SimulateOptions,
    config::sampler::Weights,
    emit::{
        log::{LogOptions, ServerLog},
        outputs::Trainer,
    },
    language::{
        asking::{Asking, Seeds},
        sampling::Sampling,
    },
    memory::start,
    simulate_with_truth,
};
use serde_json::Value;

fn asking(temperature: f64) -> Asking {
    let sampling = Sampling { temperature: Some(temperature), logprobs: Some(2), ..Sampling::default() };
    Asking { sampling, seeds: Seeds::FromRow(100), unseeded_every: 10 }
}

/// The lines of the attachments, in the order of rows.
fn lines(config: &EngineConfig, asking: Asking, trainer: Option<Trainer>) -> Vec<Vec<Value>> {
    let options = SimulateOptions { asking: Some(asking), trainer, ..SimulateOptions::new(1, "run") };
    let simulated = simulate_with_truth(config, &trace(40, 8.0), &options).unwrap();
    let read = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).unwrap();
        let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines.sort_by_key(|line| line["request"].as_u64());
        lines
    };
    simulated.attachments.iter().map(|attachment| read(&attachment.content)).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

#[test]
fn a_run_that_asks_for_outputs_keeps_one_line_an_answer() {
    let lines = lines(&config(), asking(0.8), None).remove(0);
    assert_eq!(lines.len(), 40);
    for (row, line) in lines.iter().enumerate() {
        let tokens = line["token_ids"].as_array().unwrap().len();
        assert_eq!(line["logprobs"].as_array().unwrap().len(), tokens);
        assert_eq!(line["top_logprobs"][0].as_array().unwrap().len(), 2);
        assert_eq!(line["usage"]["completion_tokens"], tokens);
        assert_eq!(line["usage"]["prompt_tokens"], line["prompt_token_ids"].as_array().unwrap().len());
        assert_eq!(line["sampling"]["temperature"], 0.8);
        assert_eq!((&line["resolved"]["top_p"], &line["resolved"]["top_k"]), (&Value::from(1.0), &Value::from(0)));
        assert_eq!(line["logprobs_mode"], "raw_logprobs");
        assert_eq!(line["finish_reason"], "length");
        let seed = &line["sampling"]["seed"];
        assert_eq!(*seed, if row % 10 == 9 { Value::Null } else { Value::from(100 + row) });
    }
}

#[test]
fn a_run_that_asks_for_none_keeps_none() {
    let simulated = simulate_with_truth(&config(), &trace(10, 8.0), &SimulateOptions::new(1, "run")).unwrap();
    assert!(simulated.attachments.is_empty());
}

#[test]
fn defaults_of_the_deployment_show_in_what_is_resolved_only() {
    let mut changed = config();
    changed.sampler.defaults.repetition_penalty = Some(1.1);
    changed.sampler.defaults.max_tokens = Some(5);
    let (before, after) = (lines(&config(), asking(0.0), None).remove(0), lines(&changed, asking(0.0), None).remove(0));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before["sampling"], after["sampling"]);
        assert_eq!(before["prompt_token_ids"], after["prompt_token_ids"]);
        assert_eq!(
            (&before["resolved"]["repetition_penalty"], &after["resolved"]["repetition_penalty"]),
            (&Value::from(1.0), &Value::from(1.1))
        );
        assert_eq!(after["usage"]["completion_tokens"], 5);
    }
    assert!(before.iter().zip(&after).any(|(before, after)| before["token_ids"][4] != after["token_ids"][4]));
}

/// Mean difference between the engine's and the trainer's log probabilities, absolute, of answers by their thirds.
fn gaps(config: &EngineConfig, temperature: f64, trainer: Trainer) -> [f64; 3] {
    let mut both = lines(config, asking(temperature), Some(trainer));
    let (trainer, outputs) = (both.pop().unwrap(), both.pop().unwrap());
    let gap = |row: usize| {
        let (ours, theirs) = (numbers(&outputs[row]["logprobs"]), numbers(&trainer[row]["logprobs"]));
        ours.iter().zip(&theirs).map(|(ours, theirs)| (ours - theirs).abs()).sum::<f64>() / ours.len() as f64
    };
    let mean = |rows: std::ops::Range<usize>| rows.clone().map(gap).sum::<f64>() / rows.len() as f64;
    [mean(0..13), mean(13..26), mean(26..40)]
}

#[test]
fn a_trainer_agrees_with_raw_log_probabilities_at_its_own_temperature() {
    let raw = Trainer { temperature: Some(1.0) };
    assert_eq!(gaps(&config(), 0.6, raw), [0.0; 3]);
    assert_eq!(gaps(&config(), 1.0, Trainer::default()), [0.0; 3]);
    assert!(gaps(&config(), 0.6, Trainer::default())[0] > 0.05, "raw against logits over the temperature");
}

#[test]
fn weights_that_no_longer_arrive_move_the_engine_away_from_the_trainer() {
    let run = |last_loaded| {
        let mut config = config();
        config.sampler.weights = Weights { update_sd: 0.05, update_seconds: 2.0, last_loaded, ..Weights::default() };
        gaps(&config, 1.0, Trainer::default())
    };
    let (sound, stale) = (run(None), run(Some(0)));
    assert!(sound[2] < 0.02, "{sound:?}");
    assert!(stale[2] > 2.5 * sound[2] && stale[2] > 2.0 * stale[0], "{stale:?} against {sound:?}");
}

#[test]
fn the_log_warns_of_the_models_own_sampling_settings() {
    let log_of = |version: &str, temperature: Option<f64>| {
        let mut config = EngineConfig { version: version.into(), ..config() };
        (config.sampler.defaults.temperature, config.sampler.defaults.top_k) = (temperature, temperature.map(|_| 20));
        let mut log = ServerLog::new(&config, LogOptions::default());
        log.start(&start(&config));
        log.into_text()
    };
    assert!(!log_of("0.32.0", None).contains("overridden by"));
    let now = log_of("0.32.0", Some(0.6));
    assert!(now.contains("the model's `generation_config.json`: `{'temperature': 0.6, 'top_k': 20}`. If"), "{now}");
    let old = log_of("0.16.0", Some(0.6));
    assert!(old.contains("Using default chat sampling params from model: {'temperature': 0.6, 'top_k': 20}"), "{old}");
}

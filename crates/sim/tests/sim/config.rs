//! What an engine refuses.

use crate::play::small;
use firstcheck_sim::{ConfigError, Engine, EngineConfig, Experts, Graphs, NewRequest, Parallel, Refusal};

#[test]
fn the_defaults_start() {
    assert_eq!(EngineConfig::default().validate(), Ok(()));
}

#[test]
fn a_pool_smaller_than_one_sequence_is_refused() {
    let config = EngineConfig { num_gpu_blocks: 32, ..small() };
    assert!(matches!(config.validate(), Err(ConfigError::PoolTooSmall { needed: 32, usable: 31, .. })));
    assert_eq!(EngineConfig { num_gpu_blocks: 33, ..small() }.validate(), Ok(()));
}

#[test]
fn a_budget_below_the_longest_prompt_needs_chunks() {
    let config = EngineConfig { enable_chunked_prefill: false, ..small() };
    assert!(matches!(config.validate(), Err(ConfigError::BudgetTooSmall { .. })));
}

#[test]
fn values_out_of_range_are_named() {
    for (config, expected) in [
        (EngineConfig { max_num_seqs: 0, ..small() }, "max_num_seqs"),
        (EngineConfig { block_size: 0, ..small() }, "block_size"),
        (EngineConfig { watermark: f64::NAN, ..small() }, "watermark"),
        (EngineConfig { frontend_seconds: -1.0, ..small() }, "frontend_seconds"),
    ] {
        let error = config.validate().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_a_step_cannot_have_is_refused() {
    let graphs = |size| Graphs { capture_sizes: Some(vec![1, size]), ..Graphs::default() };
    let experts = |imbalance| {
        let experts = Some(Experts { ranks: 4, imbalance, ..Experts::default() });
        Parallel { experts, ..Parallel::default() }
    };
    let with_graphs = |size| EngineConfig { graphs: graphs(size), ..small() }.validate();
    let with_experts = |imbalance| EngineConfig { parallel: experts(imbalance), ..small() }.validate();
    assert_eq!((with_graphs(8192), with_experts(4.0)), (Ok(()), Ok(())));
    let error = with_graphs(u32::MAX).unwrap_err().to_string();
    assert!(error.contains("graphs.capture_sizes"), "{error}");
    let error = with_experts(4.5).unwrap_err().to_string();
    assert!(error.contains("parallel.experts.imbalance"), "{error}");
}

#[test]
fn a_configuration_reads_back_and_rejects_unknown_fields() {
    let config = EngineConfig { num_gpu_blocks: 123, ..EngineConfig::default() };
    let text = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<EngineConfig>(&text).unwrap(), config);
    assert!(serde_json::from_str::<EngineConfig>(r#"{"num_gpu_block": 1}"#).is_err());
    let preset: EngineConfig = serde_json::from_str(r#"{"timing": {"preset": "a100-llama-3.1-70b-tp4"}}"#).unwrap();
    assert_eq!(preset.validate(), Ok(()));
}

#[test]
fn requests_that_could_never_be_answered_are_refused_at_the_door() {
    let mut engine = Engine::new(small(), 0).unwrap();
    let mut refuse = |prompt: usize, max_tokens, min_tokens| {
        let request = NewRequest { max_tokens, min_tokens, ..NewRequest::forced(0, vec![1; prompt], 1) };
        engine.submit(0, request).unwrap_err()
    };
    assert_eq!(refuse(0, Some(1), 0), Refusal::EmptyPrompt);
    assert_eq!(refuse(5, Some(0), 0), Refusal::NoOutput);
    assert_eq!(refuse(128, None, 0), Refusal::PromptTooLong { prompt_tokens: 128, max_model_len: 128 });
    assert!(matches!(refuse(100, Some(29), 0), Refusal::TooLong { max_tokens: 29, .. }));
    assert!(matches!(refuse(5, Some(2), 3), Refusal::MinAboveMax { .. }));
    assert!(engine.is_idle());
}

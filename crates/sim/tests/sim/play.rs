//! Driving an engine step by step.

use firstcheck_sim::{Engine, EngineConfig, Finished, Linear, NewRequest, Noise, Output, RequestId, Timing};

/// A small engine with round numbers: 10 ms a step and 1 ms a token, no noise, no host or frontend time.
pub fn small() -> EngineConfig {
    EngineConfig {
        num_gpu_blocks: 65,
        block_size: 4,
        max_num_seqs: 8,
        max_num_batched_tokens: 64,
        max_model_len: 128,
        timing: Timing::Linear(Linear { base: 0.010, per_token: 0.001, per_sequence: 0.0, per_kv_token: 0.0 }),
        host_seconds: 0.0,
        frontend_seconds: 0.0,
        noise: Noise::NONE,
        ..EngineConfig::default()
    }
}

/// An engine with its time.
pub struct Play {
    pub engine: Engine,
    pub now: i64,
    pub outputs: Vec<Output>,
    pub finished: Vec<Finished>,
}

impl Play {
    pub fn new(config: EngineConfig) -> Self {
        Self { engine: Engine::new(config, 0).unwrap(), now: 0, outputs: Vec::new(), finished: Vec::new() }
    }

    pub fn submit(&mut self, tag: u64, prompt: Vec<u32>, output: u32) -> RequestId {
        self.engine.submit(self.now, NewRequest::forced(tag, prompt, output)).unwrap()
    }

    /// Schedules and finishes one step; false when there is nothing to do.
    pub fn step(&mut self) -> bool {
        let Some(end) = self.engine.begin_step(self.now) else { return false };
        self.now = end;
        let result = self.engine.finish_step(end);
        self.outputs.extend_from_slice(result.outputs);
        self.finished.extend_from_slice(result.finished);
        true
    }

    pub fn run(&mut self) {
        while self.step() {}
    }

    /// Runs until nothing is left, waiting for what gets ready of itself.
    pub fn drain(&mut self) {
        loop {
            self.run();
            let Some(ready_ns) = self.engine.next_ready_ns() else { return };
            assert!(ready_ns > self.now, "time goes on");
            self.now = ready_ns;
        }
    }

    /// Arrival to first token of a request that has ended, whole milliseconds.
    pub fn first_token_ms(&self, tag: u64) -> i64 {
        let life = self.ended(tag).life;
        (life.first_token_ns.unwrap() - life.arrival_ns) / 1_000_000
    }

    pub fn ended(&self, tag: u64) -> Finished {
        *self.finished.iter().find(|finished| finished.tag == tag).expect("request ended")
    }
}

/// A prompt that shares nothing with one of another seed.
pub fn prompt(seed: u32, tokens: u32) -> Vec<u32> {
    (0..tokens).map(|position| seed * 100_000 + position).collect()
}

//! Result files as `vllm bench serve --save-detailed` writes them, made of given latencies.

use serde_json::{Value, json};

/// What a made-up run was like.
#[derive(Debug, Clone, Copy)]
pub struct Like {
    /// Requests.
    pub requests: u32,
    /// Median TTFT, seconds; requests vary around it by a fixed pattern.
    pub ttft: f64,
    /// Gap between tokens, seconds.
    pub itl: f64,
    /// Offered requests a second.
    pub rate: f64,
    /// Tokens of each prompt.
    pub input: u32,
}

impl Like {
    /// 300 requests of 200 ms and 20 ms at 10 a second.
    pub const GOOD: Self = Self { requests: 300, ttft: 0.2, itl: 0.02, rate: 10.0, input: 256 };

    /// The file's text.
    pub fn file(self) -> String {
        self.value().to_string()
    }

    fn value(self) -> Value {
        const OUTPUT: u32 = 16;
        // A fixed pattern between 0.5 and 1.5, so that quantiles differ and nothing is random.
        let vary = |i: u32| 0.5 + f64::from(i * 37 % 101) / 100.0;
        let rows = 0..self.requests;
        let start: Vec<f64> = rows.clone().map(|i| 100.0 + f64::from(i) / self.rate).collect();
        let ttfts: Vec<f64> = rows.clone().map(|i| self.ttft * vary(i)).collect();
        let itls: Vec<Vec<f64>> =
            rows.clone().map(|i| (1..OUTPUT).map(|j| self.itl * vary(i * 16 + j)).collect()).collect();
        let longest = ttfts.iter().zip(&itls).map(|(t, gaps)| t + gaps.iter().sum::<f64>()).fold(0.0, f64::max);
        let duration = f64::from(self.requests) / self.rate + longest;
        json!({
            "date": "20260101-000000", "endpoint_type": "openai", "backend": "openai", "label": null,
            "model_id": "mock", "tokenizer_id": "mock", "num_prompts": self.requests, "request_rate": self.rate,
            "burstiness": 1.0, "max_concurrency": null, "duration": duration, "completed": self.requests, "failed": 0,
            "total_input_tokens": self.requests * self.input, "total_output_tokens": self.requests * OUTPUT,
            "request_throughput": f64::from(self.requests) / duration,
            "output_throughput": f64::from(self.requests * OUTPUT) / duration,
            "input_lens": vec![self.input; self.requests as usize],
            "output_lens": vec![OUTPUT; self.requests as usize],
            "ttfts": ttfts, "itls": itls, "start_times": start,
            "generated_texts": vec![""; self.requests as usize], "errors": vec![""; self.requests as usize],
        })
    }
}

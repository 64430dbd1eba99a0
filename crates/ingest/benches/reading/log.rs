//! Content of the shape that an engine's server logs: for each statistics line some lines of requests and of warnings.

use std::fmt::Write as _;

/// Ten seconds of a server each.
pub struct Log {
    part: u64,
    collected: bool,
}

impl Log {
    /// As the server wrote it.
    pub fn new() -> Self {
        Self { part: 0, collected: false }
    }

    /// As a node of Kubernetes keeps it.
    pub fn collected() -> Self {
        Self { part: 0, collected: true }
    }
}

impl Iterator for Log {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let n = self.part;
        self.part += 1;
        let (day, seconds) = (1 + n * 10 / 86_400 % 28, n * 10 % 86_400);
        let time = format!("01-{day:02} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        let mut text = String::new();
        for request in 0..20 {
            let _ = writeln!(
                text,
                "(APIServer pid=123) INFO:     10.0.{}.{}:{} - \"POST /v1/chat/completions HTTP/1.1\" 200 OK",
                request % 4,
                n % 250,
                40_000 + (n * 31 + request) % 20_000
            );
            if request % 4 == 0 {
                let _ = writeln!(
                    text,
                    "(APIServer pid=123) INFO {time} [logger.py:42] Received request chatcmpl-{n:08x}{request:08x}: \
                     params: SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, temperature=0.7, \
                     top_p=0.95, max_tokens={}, stop=[]), lora_request: None.",
                    256 + request
                );
            }
        }
        let _ = writeln!(
            text,
            "(APIServer pid=123) INFO {time} [loggers.py:127] Engine 000: Avg prompt throughput: {}.{} tokens/s, Avg \
             generation throughput: {}.5 tokens/s, Running: {} reqs, Waiting: {} reqs, GPU KV cache usage: {}.{}%, Prefix \
             cache hit rate: {}.0%",
            n * 17 % 9_000,
            n % 10,
            n * 7 % 4_000,
            n % 256,
            n % 40,
            n % 100,
            n % 10,
            n * 3 % 100
        );
        if n % 50 == 7 {
            let _ = writeln!(
                text,
                "(EngineCore pid=456) WARNING {time} [scheduler.py:9] Something of no known kind happened to request {n}"
            );
        }
        if self.collected {
            let time = time.replacen(' ', "T", 1);
            text = text.lines().map(|line| format!("2026-{time}.123456789Z stdout F {line}\n")).collect();
        }
        Some(text)
    }
}

//! How long answers are.

use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    request::Fate,
    unit::Tokens,
};

/// Mean output length of completed requests in the windows of a side.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputLength {
    /// Mean tokens.
    pub mean: Measurement<Tokens>,
}

impl Measure for OutputLength {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let (mut sum, mut n, mut from) = (0.0, 0u64, Vec::new());
        for run in &side.evidence.runs {
            let completed = run.window().filter(|(_, r)| r.fate == Fate::Completed);
            let lengths: Vec<u32> = completed.filter_map(|(_, r)| r.output_tokens).collect();
            sum += lengths.iter().map(|l| f64::from(*l)).sum::<f64>();
            n += lengths.len() as u64;
            from.push(Source::Requests { run: run.info.id.clone(), count: lengths.len() as u64, rows: Vec::new() });
        }
        if n == 0 {
            return Err(Missing::not_exposed(
                "output lengths of requests",
                "firstcheck run --url URL, or a detailed benchmark file",
            ));
        }
        let source = Source::Derived { by: "mean of output tokens".into(), from };
        Ok(Self { mean: Measurement { value: Tokens(sum / n as f64), interval: None, n, source } })
    }
}

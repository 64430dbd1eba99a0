//! What the sampler can see of the batch in which a token is chosen.

use super::speech::Speech;

/// What is the same for all rows of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Step {
    /// Steps of the engine before this one.
    pub number: u64,
    /// When it ends, nanoseconds.
    pub now_ns: i64,
    /// Requests in the batch.
    pub rows: u32,
    /// Seed of the first row, if it has one.
    pub first_seed: Option<u64>,
    /// Whether any row draws without a seed.
    pub unseeded: bool,
    /// Largest activation of any row.
    pub loudest: f64,
}

impl Step {
    /// The step `number` of the engine over the batch's rows in order; a row is `None` where the request is answered
    /// greedily without a [`Speech`].
    pub fn over<'a>(number: u64, rows: impl Iterator<Item = Option<&'a Speech>>) -> Self {
        let mut step = Self { number, ..Self::default() };
        for speech in rows {
            if let Some(speech) = speech {
                let seed = speech.settings().seed;
                if step.rows == 0 {
                    step.first_seed = seed;
                }
                step.unseeded |= seed.is_none() && !speech.settings().is_greedy();
                step.loudest = step.loudest.max(speech.loudness());
            }
            step.rows += 1;
        }
        step
    }

    /// A step of one row: the request alone.
    pub fn alone(number: u64, speech: &Speech) -> Self {
        Self::over(number, std::iter::once(Some(speech)))
    }
}

/// One row of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchView<'a> {
    /// The step.
    pub step: &'a Step,
    /// The request's row in it, from 0.
    pub row: u32,
    /// Prompt tokens that the request found in the cache.
    pub cached_tokens: u32,
    /// How often the request was preempted so far.
    pub preemptions: u32,
}

impl<'a> BatchView<'a> {
    /// The first row of a step, for a request whose prompt was computed in full and that was never preempted.
    pub fn first(step: &'a Step) -> Self {
        Self { step, row: 0, cached_tokens: 0, preemptions: 0 }
    }
}

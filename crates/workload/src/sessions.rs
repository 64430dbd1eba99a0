//! Synthetic requests, single or in sessions of several turns.
//!
//! A session's prompt grows: each turn repeats what was said before, then asks something new. The answers in that
//! history are synthetic words of the forced output length, not what the server said, so that both sides of a comparison
//! get the same prompts. A server that caches its own answers therefore finds the questions before the first answer in
//! its cache, and what it computed for earlier prompts, but not its own words.

use crate::{
    distribution::Distribution,
    prefix::{Prefixes, SharedPrefix},
    prompt::{Message, Piece, Prompt, Speaker},
    rng::{self, PieceKind, Purpose, piece_seed},
};
use rand_chacha::ChaCha8Rng;

/// One request of a session, not yet due.
pub(crate) struct Turn {
    /// What it asks.
    pub(crate) prompt: Prompt,
    /// Output length to force.
    pub(crate) output_tokens: Option<u32>,
    /// Time between the end of the turn before and this one; 0 for the first.
    pub(crate) think_ns: i64,
}

/// What synthetic requests look like.
pub(crate) struct Shape<'a> {
    pub(crate) input: &'a Distribution,
    pub(crate) output: &'a Distribution,
    pub(crate) prefix: Option<SharedPrefix>,
    pub(crate) turns: Option<&'a Distribution>,
    pub(crate) think_ms: Option<&'a Distribution>,
}

/// Draws synthetic sessions, without end; without `turns` each has one turn.
pub(crate) struct Sessions<'a> {
    shape: Shape<'a>,
    seed: u64,
    prefixes: Prefixes,
    input: ChaCha8Rng,
    output: ChaCha8Rng,
    turns: ChaCha8Rng,
    think: ChaCha8Rng,
    /// Requests drawn so far: numbers the pieces.
    drawn: u64,
}

impl<'a> Sessions<'a> {
    pub(crate) fn new(shape: Shape<'a>, seed: u64) -> Self {
        Self {
            prefixes: Prefixes::new(shape.prefix, seed),
            input: rng::stream(seed, Purpose::Input),
            output: rng::stream(seed, Purpose::Output),
            turns: rng::stream(seed, Purpose::Turns),
            think: rng::stream(seed, Purpose::Think),
            shape,
            seed,
            drawn: 0,
        }
    }

    fn piece(&self, kind: PieceKind, tokens: u32) -> Piece {
        Piece::Synthetic { seed: piece_seed(self.seed, kind, self.drawn), tokens }
    }
}

impl Iterator for Sessions<'_> {
    type Item = Vec<Turn>;

    fn next(&mut self) -> Option<Vec<Turn>> {
        let count = self.shape.turns.map_or(1, |turns| turns.sample(&mut self.turns));
        let mut history: Vec<Message> = Vec::new();
        let mut session = Vec::new();
        let mut prefix = self.prefixes.draw();
        for turn in 0..count {
            let (input, output) =
                (self.shape.input.sample(&mut self.input), self.shape.output.sample(&mut self.output));
            let question = prefix.take().into_iter().chain([self.piece(PieceKind::Own, input)]).collect();
            history.push(Message::new(Speaker::User, question));
            let think_ms = match self.shape.think_ms {
                Some(think) if turn > 0 => i64::from(think.sample(&mut self.think)),
                _ => 0,
            };
            session.push(Turn {
                prompt: Prompt::Messages(history.clone()),
                output_tokens: Some(output),
                think_ns: think_ms * 1_000_000,
            });
            if turn + 1 < count {
                history.push(Message::new(Speaker::Assistant, vec![self.piece(PieceKind::Answer, output)]));
            }
            self.drawn += 1;
        }
        Some(session)
    }
}

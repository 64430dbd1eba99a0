//! The description of a workload: the section `[workload]` of `firstcheck.toml`, and what the command line fills.

use crate::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    error::Error,
    formats::{Reading, Skipped, Slice, Timed, access, azure, bodies, mooncake, sharegpt},
    prefix::SharedPrefix,
    recorded,
    schedule::{self, End, Rows, Starts},
    sessions::{Sessions, Shape, Turn},
    trace::Trace,
};
use firstcheck_model::moment::Moment;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::{fmt, io::BufRead, path::PathBuf, str::FromStr};

mod check;

/// Where the requests of a workload come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Drawn from distributions.
    #[default]
    Synthetic,
    /// A Mooncake trace (JSONL).
    Mooncake,
    /// An Azure LLM inference trace (CSV).
    Azure,
    /// ShareGPT conversations (JSON).
    Sharegpt,
    /// Request bodies (JSONL).
    Bodies,
    /// An access log (JSON lines, or the common or combined format).
    Access,
    /// A run as it was recorded, without its text ([`crate::recorded`]).
    Run,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 7] =
        [Self::Synthetic, Self::Mooncake, Self::Azure, Self::Sharegpt, Self::Bodies, Self::Access, Self::Run];

    /// Its name in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Synthetic => "synthetic",
            Self::Mooncake => "mooncake",
            Self::Azure => "azure",
            Self::Sharegpt => "sharegpt",
            Self::Bodies => "bodies",
            Self::Access => "access",
            Self::Run => "run",
        }
    }

    /// Whether its rows have timestamps.
    const fn timed(self) -> bool {
        matches!(self, Self::Mooncake | Self::Azure | Self::Access | Self::Run)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Source {
    type Err = crate::error::ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|source| source.name() == text)
            .ok_or_else(|| crate::error::ParseError::new(text, format!("no source: expected one of {names}")))
    }
}

/// A workload.
///
/// Every field may be left out; a field that does not go with the source is an error, never ignored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Where requests come from.
    pub source: Source,
    /// File of the source; the caller opens it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How requests, or sessions, arrive. Not given, what has times of its own keeps them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<ArrivalProcess>,
    /// Most requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// Seconds in which requests, or sessions, begin. Does not bound the rows of a closed loop, where only the client
    /// knows the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Prompt lengths in tokens (synthetic); in a session, of what each turn adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Distribution>,
    /// Output lengths in tokens to force. Of other sources it replaces their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Distribution>,
    /// Shared prefixes (synthetic).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<SharedPrefix>,
    /// Turns of a session (synthetic); not given, each request stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Distribution>,
    /// Milliseconds between the end of a turn and the next one; not given, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think_ms: Option<Distribution>,
    /// Whether all turns of a conversation are asked, as a session, or only the first (ShareGPT).
    pub all_turns: bool,
    /// Rows of the source to leave out at the start.
    pub offset: u32,
    /// Whether to leave out, and return, rows of the source that cannot be read, instead of failing.
    pub skip_bad: bool,
    /// Tokens of a block (Mooncake); 512 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_tokens: Option<u32>,
    /// Bytes of a request that make a token of its prompt (access).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_bytes_per_token: Option<f64>,
    /// Bytes of a response that make a token of it (access); of a stream every token brings its frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes_per_token: Option<f64>,
    /// Salt in front of each prompt: nothing is shared with a run under another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
}

/// A trace, and what of its source was left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The trace.
    pub trace: Trace,
    /// Rows that could not be read, with [`Spec::skip_bad`], and those of an access log that ask for no answer.
    pub skipped: Vec<Skipped>,
}

impl Spec {
    /// Generates the trace; `source` is the opened file of a source that reads one.
    ///
    /// # Errors
    /// When a field is missing, out of range or in conflict with another; when the source cannot be read, a row of it is
    /// malformed, or it holds no row.
    pub fn generate(&self, seed: u64, source: Option<&mut dyn BufRead>) -> Result<Generated, Error> {
        let process = check::process(self)?;
        check::fields(self, &process, source.is_some())?;
        let slice = Slice { offset: self.offset, limit: self.requests, skip_bad: self.skip_bad };
        let (rows, skipped) = match source {
            None => (self.synthetic(&process, seed)?, Vec::new()),
            Some(source) => match self.source {
                // `check::fields` refuses a file for a synthetic workload.
                Source::Synthetic => (self.synthetic(&process, seed)?, Vec::new()),
                Source::Mooncake => {
                    let block_tokens = self.block_tokens.unwrap_or(mooncake::BLOCK_TOKENS);
                    self.timed(mooncake::read(source, slice, block_tokens, seed)?, &process, seed)?
                }
                Source::Run => {
                    self.timed(mooncake::read(source, slice, recorded::BLOCK_TOKENS, seed)?, &process, seed)?
                }
                Source::Access => {
                    let bytes = access::BytesPerToken {
                        prompt: self.prompt_bytes_per_token,
                        output: self.output_bytes_per_token,
                    };
                    let forced = self.output.is_some();
                    self.timed(access::read(source, slice, bytes, forced, seed)?, &process, seed)?
                }
                Source::Azure => self.timed(azure::read(source, slice, seed)?, &process, seed)?,
                Source::Sharegpt => self.conversations(source, slice, &process, seed)?,
                Source::Bodies => self.bodies(bodies::read(source, slice)?, &process, seed)?,
            },
        };
        if rows.items.is_empty() {
            let hint = if skipped.is_empty() { "lower `offset` or lengthen `duration_s`" } else { "every row is bad" };
            return Err(Error::Empty { format: self.source.name(), offset: self.offset, hint });
        }
        let arrivals = schedule::arrivals(&process, &rows, self.end());
        let description = self.describe(&process, &rows, skipped.len());
        Ok(Generated { trace: Trace { description, arrivals, items: rows.items, salt: self.salt.clone() }, skipped })
    }

    fn end(&self) -> End {
        End { requests: self.requests, duration: self.duration_s.map(Moment::from_seconds) }
    }

    /// When sessions begin by a process that does not need the source's times.
    fn starts(process: &ArrivalProcess, seed: u64) -> Result<Starts, Error> {
        match process {
            ArrivalProcess::Closed { .. } => Ok(Starts::WhenFree),
            open => open.offsets(seed).map(Box::new).map(Starts::Drawn).ok_or_else(|| {
                Error::field("arrivals", format!("`{open}` has no times of its own here, or a value out of range"))
            }),
        }
    }

    fn synthetic(&self, process: &ArrivalProcess, seed: u64) -> Result<Rows, Error> {
        let missing =
            |field, example| Error::field(field, format!("missing: a synthetic workload needs it, as `{example}`"));
        let shape = Shape {
            input: self.input.as_ref().ok_or_else(|| missing("input", "lognormal:512,0.8,max=4096"))?,
            output: self.output.as_ref().ok_or_else(|| missing("output", "fixed:128"))?,
            prefix: self.prefix,
            turns: self.turns.as_ref(),
            think_ms: self.think_ms.as_ref(),
        };
        let sessions = Sessions::new(shape, seed);
        schedule::lay_out(sessions, Self::starts(process, seed)?, self.turns.is_some(), self.end())
    }

    fn timed(
        &self,
        mut reading: Reading<Timed>,
        process: &ArrivalProcess,
        seed: u64,
    ) -> Result<(Rows, Vec<Skipped>), Error> {
        // Stable: rows of the same moment keep the order of the file.
        reading.rows.sort_by_key(|row| row.at_ns);
        let starts = match *process {
            ArrivalProcess::Trace { time_scale } => {
                let first = reading.rows.first().map_or(0, |row| row.at_ns);
                let moments = reading.rows.iter().map(|row| scaled(row.at_ns.saturating_sub(first), time_scale));
                Starts::Own(moments.collect::<Vec<_>>().into_iter())
            }
            _ => Self::starts(process, seed)?,
        };
        let mut output = self.output_lengths(seed);
        let sessions = reading.rows.into_iter().map(|row| {
            let output_tokens = output.next().or(Some(row.output_tokens));
            vec![Turn { prompt: row.prompt, output_tokens, think_ns: 0 }]
        });
        Ok((schedule::lay_out(sessions, starts, false, self.end())?, reading.skipped))
    }

    fn conversations(
        &self,
        source: &mut dyn BufRead,
        slice: Slice,
        process: &ArrivalProcess,
        seed: u64,
    ) -> Result<(Rows, Vec<Skipped>), Error> {
        let reading = sharegpt::read(source, slice, self.all_turns)?;
        let mut output = self.output_lengths(seed);
        let mut think = crate::rng::stream(seed, crate::rng::Purpose::Think);
        let sessions = reading.rows.into_iter().map(|turns| {
            let turn = |(place, turn): (usize, sharegpt::Turn)| {
                let think_ms = match &self.think_ms {
                    Some(think_ms) if place > 0 => i64::from(think_ms.sample(&mut think)),
                    _ => 0,
                };
                let output_tokens = output.next().or(turn.answer_tokens);
                Turn { prompt: turn.prompt, output_tokens, think_ns: think_ms * 1_000_000 }
            };
            turns.into_iter().enumerate().map(turn).collect()
        });
        let starts = Self::starts(process, seed)?;
        Ok((schedule::lay_out(sessions, starts, self.all_turns, self.end())?, reading.skipped))
    }

    fn bodies(
        &self,
        reading: Reading<crate::prompt::Prompt>,
        process: &ArrivalProcess,
        seed: u64,
    ) -> Result<(Rows, Vec<Skipped>), Error> {
        let mut output = self.output_lengths(seed);
        let sessions =
            reading.rows.into_iter().map(|prompt| vec![Turn { prompt, output_tokens: output.next(), think_ns: 0 }]);
        let starts = Self::starts(process, seed)?;
        Ok((schedule::lay_out(sessions, starts, false, self.end())?, reading.skipped))
    }

    /// Output lengths to force instead of the source's own; nothing if none are asked for.
    fn output_lengths(&self, seed: u64) -> OutputLengths<'_> {
        OutputLengths { lengths: self.output.as_ref(), rng: crate::rng::stream(seed, crate::rng::Purpose::Output) }
    }

    fn describe(&self, process: &ArrivalProcess, rows: &Rows, skipped: usize) -> String {
        let mut words = format!("{}, {} requests", self.source, rows.items.len());
        if self.turns.is_some() || self.all_turns {
            words += &format!(" in {} sessions", rows.sessions);
        }
        words += &format!(", {process}");
        let fields = [
            ("input", self.input.as_ref().map(ToString::to_string)),
            ("output", self.output.as_ref().map(ToString::to_string)),
            ("prefix", self.prefix.map(|prefix| prefix.to_string())),
            ("turns", self.turns.as_ref().map(ToString::to_string)),
            ("think ms", self.think_ms.as_ref().map(ToString::to_string)),
            ("offset", (self.offset > 0).then(|| self.offset.to_string())),
            (
                if self.source == Source::Access { "rows left out" } else { "bad rows left out" },
                (skipped > 0).then(|| skipped.to_string()),
            ),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                words += &format!(", {name} {value}");
            }
        }
        words
    }
}

/// A time since the trace's first row, scaled.
fn scaled(ns: i64, scale: f64) -> Moment {
    // Exactly the source's times when nothing is asked of them.
    if scale == 1.0 { Moment::at(ns) } else { Moment::at((ns as f64 * scale).round() as i64) }
}

struct OutputLengths<'a> {
    lengths: Option<&'a Distribution>,
    rng: ChaCha8Rng,
}

impl Iterator for OutputLengths<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.lengths.map(|lengths| lengths.sample(&mut self.rng))
    }
}

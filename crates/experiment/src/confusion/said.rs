//! What a check said, in short.

use firstcheck_model::{
    finding::{Cause, Finding, Outcome},
    measurement::Fact,
};
use std::fmt;

/// A check's outcome without its facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// The symptom is there.
    Present {
        /// Causes that the evidence speaks for.
        supported: Vec<String>,
        /// Causes that it does not tell.
        open: Vec<String>,
    },
    /// It is not there.
    Absent,
    /// The evidence does not tell, for lack of these.
    Undecided(Vec<String>),
    /// The check does not apply.
    NotApplicable,
}

/// What one check said of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The check's code.
    pub code: String,
    /// What it said.
    pub word: Word,
    /// The finding that it is a consequence of, by its own account.
    pub consequence_of: Option<String>,
    /// What it rests on: the facts of the symptom, and those of each cause behind its name.
    pub facts: Vec<String>,
}

impl Said {
    /// A finding in short.
    pub fn of(finding: &Finding) -> Self {
        let word = match &finding.outcome {
            Outcome::Present { causes, .. } => {
                let ids = |wanted: fn(&Cause) -> bool| -> Vec<String> {
                    causes.iter().filter(|cause| wanted(cause)).map(|cause| cause.id().to_owned()).collect()
                };
                Word::Present {
                    supported: ids(Cause::is_supported),
                    open: ids(|cause| matches!(cause, Cause::Open { .. })),
                }
            }
            Outcome::Absent { .. } => Word::Absent,
            Outcome::Undecided { missing } => Word::Undecided(missing.iter().map(|one| one.what.clone()).collect()),
            Outcome::NotApplicable { .. } => Word::NotApplicable,
        };
        let facts = facts(&finding.outcome);
        Self { code: finding.code.clone(), word, consequence_of: finding.consequence_of.clone(), facts }
    }

    /// Whether the symptom is there.
    pub fn is_present(&self) -> bool {
        matches!(self.word, Word::Present { .. })
    }

    /// Whether it is there and the evidence speaks for that cause.
    pub fn names(&self, cause: &str) -> bool {
        matches!(&self.word, Word::Present { supported, .. } if supported.iter().any(|id| id == cause))
    }
}

fn facts(outcome: &Outcome) -> Vec<String> {
    let of_cause = |cause: &Cause| match cause {
        Cause::Supported { id, facts, .. } => lines(&format!("for {id}: "), facts),
        Cause::Excluded { id, facts, .. } => lines(&format!("against {id}: "), facts),
        Cause::Open { id, missing, .. } => missing.iter().map(|one| format!("{id} lacks {}", one.what)).collect(),
    };
    match outcome {
        Outcome::Present { facts, causes, .. } => {
            lines("", facts).into_iter().chain(causes.iter().flat_map(of_cause)).collect()
        }
        Outcome::Absent { why } => lines("", why),
        Outcome::Undecided { .. } | Outcome::NotApplicable { .. } => Vec::new(),
    }
}

fn lines(before: &str, facts: &[Fact]) -> Vec<String> {
    facts.iter().map(|fact| format!("{before}{}", fact.text)).collect()
}

/// `S15 present (kv-pool-shrank; open: leaked-pages)`.
impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.code)?;
        match &self.word {
            Word::Present { supported, open } => {
                let named = if supported.is_empty() { "no cause".into() } else { supported.join(", ") };
                write!(f, "present ({named}")?;
                if !open.is_empty() {
                    write!(f, "; open: {}", open.join(", "))?;
                }
                f.write_str(")")?;
            }
            Word::Absent => f.write_str("absent")?,
            Word::Undecided(lacks) => write!(f, "undecided (lacks {})", lacks.join(" / "))?,
            Word::NotApplicable => f.write_str("not applicable")?,
        }
        match &self.consequence_of {
            Some(of) => write!(f, " under {of}"),
            None => Ok(()),
        }
    }
}

//! Weighing the causes of a symptom that is present.

use crate::declare::CauseId;
use firstcheck_model::{
    finding::{Cause, Explained, FollowUp, Outcome},
    measurement::{Fact, Missing},
};

/// What the evidence says of one cause.
#[derive(Debug, Clone, PartialEq)]
pub enum Weighed {
    /// It speaks for it.
    Supports(Vec<Fact>),
    /// It speaks against it.
    Excludes(Vec<Fact>),
    /// It does not tell, and this is what is missing.
    Open(Vec<Missing>),
}

/// Share of a whole from which a part is most of it.
pub const MOST: f64 = 0.5;

impl Weighed {
    /// What `facts` do: they speak for the cause where it `counts`, else against it.
    pub fn by(counts: bool, facts: Vec<Fact>) -> Self {
        if counts { Self::Supports(facts) } else { Self::Excludes(facts) }
    }
}

impl From<Missing> for Weighed {
    fn from(missing: Missing) -> Self {
        Self::Open(vec![missing])
    }
}

/// Where each cause of a check stands. Every cause starts open, so a forgotten one is visible.
pub struct Verdict<C> {
    weighed: Vec<(C, Weighed)>,
}

impl<C: CauseId> Verdict<C> {
    /// Nothing weighed yet.
    pub fn new() -> Self {
        Self { weighed: C::ALL.iter().map(|cause| (*cause, Weighed::Open(Vec::new()))).collect() }
    }

    /// Records what the evidence says of `cause`; missing evidence leaves it open, with what is missing.
    pub fn weigh(&mut self, cause: C, result: Result<Weighed, Missing>) {
        let weighed = result.unwrap_or_else(Weighed::from);
        if let Some(slot) = self.weighed.iter_mut().find(|(c, _)| *c == cause) {
            slot.1 = weighed;
        }
    }

    /// Whether the evidence speaks for `cause`.
    pub fn supports(&self, cause: C) -> bool {
        self.weighed.iter().any(|(c, w)| *c == cause && matches!(w, Weighed::Supports(_)))
    }

    /// Whether the evidence speaks against every cause.
    pub fn excludes_all(&self) -> bool {
        self.weighed.iter().all(|(_, weighed)| matches!(weighed, Weighed::Excludes(_)))
    }

    /// The symptom is present: `facts` show it, `follow_up` says for a cause what to measure next.
    pub fn present(self, facts: Vec<Fact>, explains: Option<Explained>, follow_up: impl Fn(C) -> FollowUp) -> Outcome {
        let causes = self.weighed.into_iter().map(|(cause, weighed)| {
            let (id, means) = (cause.id().to_owned(), cause.means().to_owned());
            match weighed {
                Weighed::Supports(facts) => Cause::Supported { id, means, facts, follow_up: follow_up(cause) },
                Weighed::Excludes(facts) => Cause::Excluded { id, means, facts },
                Weighed::Open(missing) => Cause::Open { id, means, missing, follow_up: follow_up(cause) },
            }
        });
        Outcome::Present { facts, causes: causes.collect(), explains }
    }
}

impl<C: CauseId> Default for Verdict<C> {
    fn default() -> Self {
        Self::new()
    }
}

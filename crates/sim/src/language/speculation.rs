//! What the verification of drafts leaves behind in the model's state.

use super::{Context, Language, SPREAD, speech::Speech};
use crate::{config::sampler::Flaw, kv_cache::hash::mix};

/// What became of a request's drafts in a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpecOutcome {
    /// Drafts that were verified; 0: the step had none.
    pub drafted: u32,
    /// How many of them, from the first on, were accepted.
    pub accepted: u32,
}

/// A step of a request that speculates, as its tokens were committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecStep {
    /// What became of the drafts.
    pub outcome: SpecOutcome,
    /// Tokens of the answer before the step.
    pub before: u32,
}

impl Language {
    /// Tells the model what the verification in this step makes of the drafts; to be called before the step's accepted
    /// tokens and the one after them are taken with [`Self::speak`]. What the step before has left behind takes effect
    /// here.
    pub fn verified(&self, speech: &mut Speech, outcome: SpecOutcome) {
        let last = speech.spec_steps.last().copied();
        let before = speech.len();
        speech.spec_steps.push(SpecStep { outcome, before });
        let Some(SpecStep { outcome: SpecOutcome { drafted, accepted }, .. }) = last else { return };
        let verification = &self.sampler.verification;
        let (strikes, context) = match verification.flaw {
            Flaw::KeepsRejected => (accepted < drafted, speech.context),
            Flaw::LosesBonus => (drafted >= 2 && accepted == drafted, speech.context_before_last),
            Flaw::StaleColumn => (outcome.drafted == 0 && accepted >= 2, speech.context_before_last),
            Flaw::Nothing | Flaw::RunsPastEnd | Flaw::RunsPastLimit => return,
        };
        let chance = mix(context.key ^ u64::from(before).wrapping_mul(SPREAD) ^ 0x666c_6177);
        if strikes && ((chance >> 11) as f64 / (1u64 << 53) as f64) < verification.share {
            speech.context = Context { key: mix(context.key ^ 0x0073_7461_6c65), run: context.run };
            self.reconsider_end(speech);
        }
    }

    /// Whether tokens accepted behind one that ends the answer are handed out.
    pub fn runs_past_end(&self) -> bool {
        self.sampler.verification.flaw == Flaw::RunsPastEnd
    }

    /// Whether tokens accepted beyond the request's limit are handed out.
    pub fn runs_past_limit(&self) -> bool {
        self.sampler.verification.flaw == Flaw::RunsPastLimit
    }
}

//! What one step computes.

use super::Decisions;
use crate::{
    config::EngineConfig,
    encoder::OutOfMemory,
    request::{RequestId, Slots},
    step::Load,
    timing::StepShape,
};

/// A request's share of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheduled {
    /// Whose.
    pub id: RequestId,
    /// Tokens it computes in this step, drafted ones included.
    pub tokens: u32,
    /// Whether that completes what is known of the request, so that the step gives it a token.
    pub samples: bool,
    /// Drafted tokens among them, which the step verifies.
    pub drafts: u32,
}

/// A step as it was decided.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<Scheduled>,
    pub(crate) shape: StepShape,
    pub(crate) load: Load,
    pub(crate) decisions: Decisions,
    /// What the step's images need beyond the memory that there is: the engine will not survive it.
    pub(crate) out_of_memory: Option<OutOfMemory>,
}

impl Batch {
    /// An empty step, its memory kept.
    pub(super) fn begin(&mut self) {
        self.rows.clear();
        self.shape = StepShape::default();
        self.load = Load::default();
        self.decisions = Decisions::default();
        self.out_of_memory = None;
    }

    /// Counts the tokens of every row as computed, so that a next step can be decided before this one's results are
    /// back, and works out what the step costs.
    pub(super) fn settle(&mut self, config: &EngineConfig, slots: &mut Slots, running: usize) {
        let drafting = config.speculation.as_ref();
        for row in &mut self.rows {
            let request = &mut slots[row.id.slot];
            let prior = request.num_computed;
            let known = request.num_known();
            request.num_computed += row.tokens;
            request.in_flight += 1;
            row.samples = request.num_computed >= known;
            self.shape.add(prior, row.tokens, row.samples);
            if !row.samples || row.tokens > 1 + row.drafts {
                self.load.prompt_rows += 1;
            }
            if !row.samples {
                continue;
            }
            let structured = request.features.schema.is_some();
            self.load.structured += u32::from(structured);
            let drafted = match drafting {
                Some(drafting) if !(structured && config.structured.forbids_speculation) => {
                    drafting.drafted(request, running)
                }
                _ => 0,
            };
            self.load.drafted += u32::from(drafted > 0);
            if config.async_scheduling {
                request.placeholders += 1 + row.drafts;
            }
            request.drafts = drafted;
        }
        self.load.rows = self.rows.len() as u32;
    }
}

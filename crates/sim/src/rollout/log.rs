//! The rollout framework's own log: samples and trainer steps as JSON Lines.

use super::Course;
use crate::emit::{attachment::Attachment, outputs::lines_of};

/// All samples with their fates, one a line.
pub fn samples_attachment(course: &Course) -> Attachment {
    Attachment { name: "rollouts.jsonl".into(), content: lines_of(course.samples.iter()) }
}

/// All steps of the trainer, one a line.
pub fn steps_attachment(course: &Course) -> Attachment {
    Attachment { name: "trainer_steps.jsonl".into(), content: lines_of(course.steps.iter()) }
}

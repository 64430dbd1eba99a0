//! The steps of each replica as lines.

use crate::{
    deployment::{Deployment, fleet::Fleet},
    emit::{attachment::Attachment, steps::line},
};

/// Watches steps begin.
#[derive(Debug)]
pub(super) struct StepWatch {
    replicas: Vec<Seen>,
}

/// What has been written of one replica.
#[derive(Debug, Default)]
struct Seen {
    /// When the latest step that was written began; no two of a replica begin at once.
    began_ns: Option<i64>,
    text: String,
}

impl StepWatch {
    pub(super) fn new(fleet: &Fleet) -> Self {
        Self { replicas: fleet.members().iter().map(|_| Seen::default()).collect() }
    }

    pub(super) fn look(&mut self, fleet: &Fleet) {
        for (seen, member) in self.replicas.iter_mut().zip(fleet.members()) {
            let step = member.engine().last_step();
            // A record without an end is that of an engine that has not taken a step yet.
            if step.ends_ns > step.began_ns && seen.began_ns.is_none_or(|began_ns| step.began_ns > began_ns) {
                seen.began_ns = Some(step.began_ns);
                seen.text.push_str(&line(step));
                seen.text.push('\n');
            }
        }
    }

    pub(super) fn finish(self, deployment: &Deployment) -> Vec<Attachment> {
        let named = |(place, seen): (usize, Seen)| {
            Attachment::text(format!("steps-{}.jsonl", deployment.name_of(place)), seen.text)
        };
        self.replicas.into_iter().enumerate().map(named).collect()
    }
}

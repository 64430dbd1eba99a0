//! The first token is late (S01–S06).

use crate::{
    fault::{FaultSpec, Param},
    kv_cache::hash::mix,
};

pub(super) const FAULTS: &[FaultSpec] = &[FaultSpec {
    slug: "template-deploy",
    symptom: "S01",
    cause: "volatile-text",
    acts_in: "chat template",
    doc: "a new chat template puts text that changes with every request (an id, a time) near the front of the prompt, \
          so that no two requests share what follows",
    params: &[
        Param {
            name: "at",
            unit: "tokens",
            by_severity: [64.0, 16.0, 0.0],
            range: [0.0, 1e6],
            doc: "tokens of the prompt that stay in front of the volatile text",
        },
        Param {
            name: "tokens",
            unit: "tokens",
            by_severity: [12.0, 12.0, 12.0],
            range: [1.0, 1e5],
            doc: "length of the volatile text",
        },
    ],
    apply: |values, rig| {
        let (at, tokens) = (values.count("at") as usize, values.count("tokens"));
        rig.server_renders(move |call, at_ns| {
            let seed = mix(call.tag ^ mix(at_ns as u64));
            let volatile = firstcheck_workload::text::word_ids(seed, tokens);
            let place = at.min(call.prompt.len());
            call.prompt.splice(place..place, volatile);
        });
    },
}];

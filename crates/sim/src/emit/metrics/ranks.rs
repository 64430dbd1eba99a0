//! One page for all attention ranks of a server.

use super::{EngineLabels, Family, FamilyKind};
use std::borrow::Cow;

/// The families of a server whose ranks' own pages would be `ranks`, by rank: a rank's samples carry its label, and what
/// no label tells apart is counted for all of them together.
pub(crate) fn of_server<'a>(ranks: impl IntoIterator<Item = Vec<Family<'a>>>) -> Vec<Family<'a>> {
    let mut ranks = ranks.into_iter();
    let Some(first) = ranks.next() else { return Vec::new() };
    let mut server: Vec<Family<'a>> = first.into_iter().map(|family| labelled(family, 0)).collect();
    for (rank, families) in (1..).zip(ranks) {
        for family in families.into_iter().map(|family| labelled(family, rank)) {
            match server.iter_mut().find(|known| known.name == family.name) {
                Some(known) => merge(known, family),
                None => server.push(family),
            }
        }
    }
    server
}

/// The family with its rank among the labels of each sample, where it says the engine.
fn labelled(mut family: Family<'_>, rank: u32) -> Family<'_> {
    family.engine_labels = match family.engine_labels {
        EngineLabels::Both => EngineLabels::Model,
        EngineLabels::Engine => EngineLabels::None,
        without @ (EngineLabels::Model | EngineLabels::None) => return Family { engine_labels: without, ..family },
    };
    for sample in &mut family.samples {
        sample.labels.push(("engine", Cow::Owned(rank.to_string())));
    }
    family
}

/// Adds the samples of another rank.
fn merge<'a>(known: &mut Family<'a>, other: Family<'a>) {
    for sample in other.samples {
        let same = known.samples.iter_mut().find(|own| own.part == sample.part && own.labels == sample.labels);
        match same {
            None => known.samples.push(sample),
            // A level that no rank is named for is that of the process which they share.
            Some(own) if known.kind != FamilyKind::Gauge => own.value += sample.value,
            Some(_) => {}
        }
    }
}

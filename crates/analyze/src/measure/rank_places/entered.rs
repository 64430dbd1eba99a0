//! The collective that a rank has entered, from whatever tells it.

use firstcheck_model::{
    hang::{Collective, CollectiveState, CollectiveTimeout, FlightRecord, NcclOperation, ProcessGroup},
    measurement::Source,
};

/// A collective that a rank has entered.
#[derive(Debug, Clone, PartialEq)]
pub struct Entered {
    /// Its process group; `None`: the source does not tell.
    pub group: Option<String>,
    /// Ranks of the group; empty: the source does not tell.
    pub members: Vec<u32>,
    /// Its number within the group.
    pub sequence: u64,
    /// What it is, in one spelling: `allreduce`.
    pub operation: String,
    /// Elements of its inputs.
    pub elements: Option<u64>,
    /// Where it is written.
    pub source: Source,
}

/// Kinds of collectives; the longer names first, since others are parts of them.
pub(super) const COLLECTIVES: [&str; 9] =
    ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "barrier", "scatter", "gather", "reduce"];

/// Operations between two ranks.
const POINT_TO_POINT: [&str; 2] = ["send", "recv"];

/// One spelling of what PyTorch, NCCL and frames call an operation: `nccl:_all_gather_base`, `AllReduce`, `all_to_all_single`.
pub(super) fn spelled(operation: &str) -> String {
    let plain: String = operation.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let known = COLLECTIVES.into_iter().chain(POINT_TO_POINT).find(|kind| plain.contains(kind));
    known.map_or(plain.clone(), str::to_owned)
}

impl Entered {
    /// Whether two ranks that are in these are in the same collective. What one of them does not tell counts as equal.
    pub fn is(&self, other: &Self) -> bool {
        let sizes = self.elements.zip(other.elements).is_none_or(|(a, b)| a == b);
        self.shares_a_group(other) && self.sequence == other.sequence && self.operation == other.operation && sizes
    }

    /// Whether the numbers of the two can be held against each other.
    pub fn shares_a_group(&self, other: &Self) -> bool {
        self.group.as_ref().zip(other.group.as_ref()).is_none_or(|(a, b)| a == b)
    }

    /// In words: `all_reduce number 6 of 32 elements`.
    pub fn words(&self) -> String {
        let size = self.elements.map(|elements| format!(" of {elements} elements")).unwrap_or_default();
        format!("{} number {}{size}", self.operation, self.sequence)
    }

    fn of_collective(label: &str, groups: &[ProcessGroup], collective: &Collective) -> Self {
        let sized = !collective.input_sizes.is_empty();
        Self {
            group: Some(collective.group.clone()),
            members: groups
                .iter()
                .find(|group| group.key == collective.group)
                .map_or_else(Vec::new, |of| of.ranks.clone()),
            sequence: collective.sequence,
            operation: spelled(&collective.operation),
            elements: sized.then(|| collective.input_elements()),
            source: Source::line(label, 1),
        }
    }

    pub(super) fn of_timeout(label: &str, timeout: &CollectiveTimeout) -> Self {
        Self {
            group: None,
            members: Vec::new(),
            sequence: timeout.sequence,
            operation: spelled(&timeout.operation),
            elements: timeout.elements,
            source: Source::line(label, timeout.line),
        }
    }

    pub(super) fn of_nccl(label: &str, operation: &NcclOperation) -> Self {
        Self {
            // Addresses of communicators differ from process to process; their sizes do not.
            group: operation.ranks.map(|ranks| format!("{ranks} ranks")),
            members: Vec::new(),
            sequence: operation.count,
            operation: spelled(&operation.operation),
            elements: Some(operation.elements),
            source: Source::line(label, operation.line),
        }
    }
}

/// The first collective of a record that has not ended, and the last of each group that has.
pub(super) fn of_flight(label: &str, record: &FlightRecord) -> (Option<Entered>, Vec<Entered>) {
    let of = |collective: &Collective| Entered::of_collective(label, &record.groups, collective);
    let mut ended: Vec<Entered> = Vec::new();
    for collective in record.collectives.iter().filter(|one| one.state == CollectiveState::Completed) {
        let one = of(collective);
        match ended.iter_mut().find(|known| known.group == one.group) {
            Some(known) if known.sequence <= one.sequence => *known = one,
            Some(_) => {}
            None => ended.push(one),
        }
    }
    let waiting = record.collectives.iter().find(|one| one.state != CollectiveState::Completed);
    (waiting.map(of), ended)
}

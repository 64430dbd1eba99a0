//! Where each rank of a deployment stood when somebody looked: in a collective, or outside of all of them.

mod entered;
mod standing;

pub use entered::Entered;
pub use standing::{Doing, Standing};

use crate::side::{Measure, Side};
use firstcheck_model::{evidence::Evidence, hang::StackDump, measurement::Missing};
use std::collections::{BTreeMap, BTreeSet};

/// Where the ranks stood, by replica.
#[derive(Debug, Clone, PartialEq)]
pub struct RankPlaces {
    /// One for each replica of which there are dumps.
    pub replicas: Vec<Ranks>,
}

/// The ranks of one replica.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ranks {
    /// Those of which something is known, in their order.
    pub ranks: Vec<Rank>,
    /// Ranks that their groups name and of which nothing is known.
    pub missing: Vec<u32>,
    /// Whether the number of ranks is known.
    pub size_known: bool,
    /// Where processes that are no rank stood: the engine's core, the server.
    pub leaders: Vec<Standing>,
}

/// One rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Rank {
    /// What to call it: `rank 1`, or host and process.
    pub name: String,
    /// Its number, where it is known.
    pub number: Option<u32>,
    /// The collective that it has entered and that has not ended.
    pub inside: Option<Entered>,
    /// Whether its record of collectives was read, so that an absent `inside` means that it has entered none.
    pub recorded: bool,
    /// Its last collective of each group that ended.
    pub ended: Vec<Entered>,
    /// What its stack shows.
    pub stack: Option<Standing>,
}

impl Rank {
    fn new(name: String, number: Option<u32>) -> Self {
        Self { name, number, inside: None, recorded: false, ended: Vec::new(), stack: None }
    }

    /// What its stack shows it to be doing.
    pub fn doing(&self) -> Option<&Doing> {
        self.stack.as_ref().map(|stack| &stack.doing)
    }

    /// Whether it stands in a collective, by its record or else by its stack. One that waits for the device waits for a
    /// collective there, unless its record has none.
    pub fn in_collective(&self) -> bool {
        let by_stack = match self.doing() {
            Some(Doing::Collective(_)) => true,
            Some(Doing::Device) => !self.recorded,
            _ => false,
        };
        self.inside.is_some() || by_stack
    }

    /// Whether it stands elsewhere than `other`, which is inside a collective: in another one of a group that both belong
    /// to, or in none although it has ended the one that `other` waits in.
    pub fn departs_from(&self, other: &Entered) -> bool {
        let ours = |group: &Entered| group.shares_a_group(other);
        match &self.inside {
            Some(inside) if inside.shares_a_group(other) => !inside.is(other),
            Some(_) => self.number.is_some_and(|number| other.members.contains(&number)),
            None => self.ended.iter().filter(|ended| ours(ended)).any(|ended| ended.sequence >= other.sequence),
        }
    }
}

impl Ranks {
    /// Ranks inside a collective.
    pub fn inside(&self) -> impl Iterator<Item = &Rank> {
        self.ranks.iter().filter(|rank| rank.in_collective())
    }

    /// Ranks outside of every collective.
    pub fn outside(&self) -> impl Iterator<Item = &Rank> {
        self.ranks.iter().filter(|rank| !rank.in_collective())
    }

    /// Two ranks that are not in the same collective although one waits for the other.
    pub fn departing(&self) -> Option<(&Rank, &Rank)> {
        self.ranks.iter().find_map(|rank| {
            let inside = rank.inside.as_ref()?;
            Some((rank, self.ranks.iter().find(|other| other.departs_from(inside))?))
        })
    }
}

impl Measure for RankPlaces {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let mut replicas: BTreeMap<Option<u32>, Builder> = BTreeMap::new();
        let evidence = side.evidence;
        for stack in &evidence.stacks {
            replicas.entry(replica_of(&stack.label)).or_default().stack(&stack.label, &stack.item);
        }
        for flight in &evidence.flights {
            replicas.entry(replica_of(&flight.label)).or_default().flight(&flight.label, &flight.item);
        }
        for log in &evidence.logs {
            for timeout in &log.collective_timeouts {
                replicas.entry(replica_of(&log.label)).or_default().timeout(&log.label, timeout);
            }
        }
        if replicas.values().all(|builder| builder.ranks.is_empty()) {
            take_nccl(evidence, &mut replicas);
        }
        let replicas: Vec<Ranks> =
            replicas.into_values().map(Builder::finish).filter(|of| !of.ranks.is_empty()).collect();
        if replicas.is_empty() {
            let what = "where each rank stood: its stack, and its record of collectives";
            return Err(Missing::not_given(
                what,
                "py-spy dump --pid PID > pyspy_rank0.txt, for each rank, while it hangs",
            ));
        }
        Ok(Self { replicas })
    }
}

/// What one replica's dumps add up to.
#[derive(Default)]
struct Builder {
    ranks: BTreeMap<u32, Rank>,
    /// Ranks by process, where no number is known.
    processes: BTreeMap<String, Rank>,
    leaders: Vec<Standing>,
    named: BTreeSet<u32>,
    size: Option<u32>,
}

impl Builder {
    fn rank(&mut self, number: u32) -> &mut Rank {
        self.ranks.entry(number).or_insert_with(|| Rank::new(format!("rank {number}"), Some(number)))
    }

    fn stack(&mut self, label: &str, dump: &StackDump) {
        let Some(standing) = Standing::of(label, dump) else { return };
        match dump.rank.or_else(|| dump.command.as_deref().and_then(rank_of_command)) {
            // Of several dumps of one rank the first that shows more than a host function tells most.
            Some(number) => {
                let known = &mut self.rank(number).stack;
                if known.as_ref().is_none_or(|known| known.doing == Doing::Host) {
                    *known = Some(standing);
                }
            }
            None => self.leaders.push(standing),
        }
    }

    fn flight(&mut self, label: &str, record: &firstcheck_model::hang::FlightRecord) {
        let Some(number) = record.rank else { return };
        self.named.extend(record.groups.iter().flat_map(|group| group.ranks.iter().copied()));
        let (inside, ended) = entered::of_flight(label, record);
        let rank = self.rank(number);
        (rank.inside, rank.ended, rank.recorded) = (inside, ended, true);
    }

    fn timeout(&mut self, label: &str, timeout: &firstcheck_model::hang::CollectiveTimeout) {
        let Some(number) = timeout.rank else { return };
        let rank = self.rank(number);
        if rank.inside.is_none() {
            rank.inside = Some(Entered::of_timeout(label, timeout));
        }
    }

    fn finish(self) -> Ranks {
        let missing = self.named.iter().filter(|number| !self.ranks.contains_key(number)).copied().collect();
        let numbered = self.ranks.len();
        let ranks: Vec<Rank> = self.ranks.into_values().chain(self.processes.into_values()).collect();
        let size_known =
            !self.named.is_empty() || self.size.is_some_and(|size| size as usize <= ranks.len() - numbered);
        Ranks { ranks, missing, size_known, leaders: self.leaders }
    }
}

/// The last operation that each process logged: the one it stands in, if it stands.
fn take_nccl(evidence: &Evidence, replicas: &mut BTreeMap<Option<u32>, Builder>) {
    for log in &evidence.nccl {
        let builder = replicas.entry(replica_of(&log.label)).or_default();
        for operation in &log.item {
            let name = format!("{}:{} [{}]", operation.host, operation.pid, operation.device);
            let rank = builder.processes.entry(name.clone()).or_insert_with(|| Rank::new(name, None));
            rank.inside = Some(Entered::of_nccl(&log.label, operation));
            builder.size = builder.size.max(operation.ranks);
        }
    }
}

/// The rank that a worker's command line states: `VLLM::Worker_TP1`, `sglang::scheduler_TP0`. Of more than one axis the
/// number within the job is not known.
fn rank_of_command(command: &str) -> Option<u32> {
    let (before, digits) = command.trim_end().rsplit_once("TP")?;
    let plain = before.ends_with('_') && !["PP", "DP", "EP"].iter().any(|axis| before.contains(axis));
    digits.parse().ok().filter(|_| plain)
}

/// The replica that a file's name states: the number behind `replica`.
fn replica_of(label: &str) -> Option<u32> {
    let lower = label.to_ascii_lowercase();
    let rest = lower[lower.rfind("replica")? + "replica".len()..].trim_start_matches(['_', '-', '.', '=']);
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

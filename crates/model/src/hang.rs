//! What a process that makes no progress says of itself: the stacks of its threads, and the collectives that it entered.

use crate::unit::Seconds;
use serde::{Deserialize, Serialize};

/// The program that took a dump of stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackTool {
    /// `py-spy dump`, as text or JSON.
    PySpy,
    /// `gdb` with `thread apply all bt`.
    Gdb,
}

/// The stacks of all threads of a process at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackDump {
    /// What took it.
    pub tool: StackTool,
    /// The process, where the dump names it.
    pub pid: Option<u64>,
    /// Its command line, where the dump names it.
    pub command: Option<String>,
    /// Rank of the process within its deployment. No dump states it: it comes from the file's name.
    pub rank: Option<u32>,
    /// Line of the source at which the dump begins, from 1.
    pub line: u64,
    /// Its threads, in the order of the dump.
    pub threads: Vec<ThreadStack>,
}

/// What a thread was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// It ran.
    Active,
    /// It waited.
    Idle,
}

/// The stack of one thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStack {
    /// Its name.
    pub name: Option<String>,
    /// The operating system's number of the thread.
    pub os_id: Option<u64>,
    /// Whether it ran; `None`: the tool does not tell.
    pub activity: Option<Activity>,
    /// Whether it held Python's global interpreter lock; `None`: the tool does not tell.
    pub holds_gil: Option<bool>,
    /// Symbol of the lock it waits for, where the innermost frames name one.
    pub waits_for: Option<String>,
    /// Its frames, innermost first.
    pub frames: Vec<StackFrame>,
}

/// One frame of a stack. Arguments and local variables are never kept: they may hold prompts and keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// The function, or the address of one without a name.
    pub function: String,
    /// Source file or library.
    pub file: Option<String>,
    /// Line in the source file.
    pub line: Option<u32>,
}

/// A rank's record of the collectives that it entered (PyTorch's flight recorder).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlightRecord {
    /// Rank within the job. The record does not state it: it comes from the file's name.
    pub rank: Option<u32>,
    /// Version of the record's format.
    pub version: String,
    /// Process groups.
    pub groups: Vec<ProcessGroup>,
    /// Collectives, oldest first. The recorder is a ring: older ones are gone.
    pub collectives: Vec<Collective>,
}

/// A group of ranks that communicate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessGroup {
    /// Its key in the record.
    pub key: String,
    /// What it is for.
    pub description: String,
    /// Its ranks; empty where the record does not name them.
    pub ranks: Vec<u32>,
    /// Sequence number of the last collective that was enqueued; `None`: none was, or it is not stated.
    pub last_enqueued: Option<u64>,
    /// … that began.
    pub last_started: Option<u64>,
    /// … that ended.
    pub last_completed: Option<u64>,
}

/// How far a collective got on this rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveState {
    /// Enqueued.
    Scheduled,
    /// Begun.
    Started,
    /// Ended. Gloo leaves ended ones `scheduled` and marks them retired: they count as ended.
    Completed,
}

/// One collective, or one point-to-point operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collective {
    /// Name of its process group.
    pub group: String,
    /// Its number within the group: of collectives, or of point-to-point operations.
    pub sequence: u64,
    /// Whether it is point-to-point.
    pub point_to_point: bool,
    /// What it is, such as `nccl:all_reduce`.
    pub operation: String,
    /// Shapes of its inputs, elements.
    pub input_sizes: Vec<Vec<u64>>,
    /// Shapes of its outputs, elements.
    pub output_sizes: Vec<Vec<u64>>,
    /// Types of its inputs.
    pub input_types: Vec<String>,
    /// How far it got.
    pub state: CollectiveState,
    /// When it was enqueued, nanoseconds of Unix time.
    pub created_ns: Option<i64>,
    /// When it was seen to begin.
    pub started_ns: Option<i64>,
    /// When it was seen to end.
    pub completed_ns: Option<i64>,
    /// Python frames that enqueued it, innermost first; empty where the record has none (its JSON form).
    pub frames: Vec<StackFrame>,
}

impl Collective {
    /// Elements of all inputs together; a record may state any sizes, and those beyond 64 bits count as the most.
    pub fn input_elements(&self) -> u64 {
        let elements = |shape: &Vec<u64>| shape.iter().fold(1, |all: u64, one| all.saturating_mul(*one));
        self.input_sizes.iter().map(elements).fold(0, u64::saturating_add)
    }
}

/// One operation that NCCL logged at `INFO`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NcclOperation {
    /// Host.
    pub host: String,
    /// Process.
    pub pid: u64,
    /// Thread.
    pub thread: u64,
    /// Device index.
    pub device: u32,
    /// What it is, such as `AllReduce`.
    pub operation: String,
    /// Its number within the communicator (hexadecimal in the log).
    pub count: u64,
    /// Elements.
    pub elements: u64,
    /// Address of the communicator: equal on all lines of a process that use it.
    pub communicator: String,
    /// Ranks of the communicator, where stated.
    pub ranks: Option<u32>,
    /// Line of the log, from 1.
    pub line: u64,
}

/// A collective that PyTorch's watchdog gave up waiting for, as the log of a rank tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectiveTimeout {
    /// Rank within the job, where the line states it.
    pub rank: Option<u32>,
    /// Its number within its process group.
    pub sequence: u64,
    /// What it is, such as `ALLREDUCE`.
    pub operation: String,
    /// Elements of its input.
    pub elements: Option<u64>,
    /// How long the rank had waited.
    pub waited: Option<Seconds>,
    /// Line of the log, from 1.
    pub line: u64,
}

//! NCCL's own log at `NCCL_DEBUG=INFO` (with `NCCL_DEBUG_SUBSYS=COLL` for operations).
//!
//! A line is `HOST:PID:TID [DEVICE] NCCL INFO …`, with a time before it or not.

use super::NcclNetwork;
use crate::json::clip;
use firstcheck_model::hang::NcclOperation;
use std::sync::LazyLock;

/// Characters of a warning that a note shows.
const WARNING: usize = 200;

/// What a log of NCCL says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NcclLog {
    /// Operations in the order of the log.
    pub operations: Vec<NcclOperation>,
    /// Warnings with their line, from 1.
    pub warnings: Vec<(u64, String)>,
    /// What its set-up says of the network.
    pub network: NcclNetwork,
    /// Lines of NCCL's that are neither operation nor warning: set-up, topology, channels.
    pub other: u64,
    /// Lines that are not NCCL's.
    pub foreign: u64,
}

/// Reads NCCL's lines out of a log.
///
/// # Example: the operation's number is hexadecimal
/// ```
/// let log = "node1:41:77 [0] NCCL INFO AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count 8192 datatype 9 op 0 root 0 \
///            comm 0x5581 [nranks=8] stream 0x3";
/// let read = firstcheck_ingest::hang::read_nccl_log(log);
/// assert_eq!(read.operations[0].count, 0x1f);
/// assert_eq!(read.operations[0].elements, 8192);
/// assert_eq!(read.operations[0].ranks, Some(8));
/// ```
pub fn read_nccl_log(text: &str) -> NcclLog {
    let mut log = NcclLog::default();
    for (number, line) in (1u64..).zip(text.lines()) {
        if !log.take(number, line) {
            log.foreign += 1;
        }
    }
    log
}

impl NcclLog {
    /// Takes a line; whether it was one of NCCL's.
    pub fn take(&mut self, number: u64, line: &str) -> bool {
        let Some((before, kind, message)) = split(line) else { return false };
        if kind == "WARN" {
            self.warnings.push((number, message.trim().to_owned()));
        } else if let Some(operation) = operation(before, message, number) {
            self.operations.push(operation);
        } else {
            self.network.take(number, message);
            self.other += 1;
        }
        true
    }

    /// How many warnings there are and what the first one says, in words.
    pub(crate) fn warned(&self) -> Option<String> {
        let (line, first) = self.warnings.first()?;
        Some(format!("{} warnings of NCCL, the first in line {line}: {}", self.warnings.len(), clip(first, WARNING)))
    }
}

/// What stands before `NCCL`, the level, and the message.
fn split(line: &str) -> Option<(&str, &str, &str)> {
    // Every line of an engine's log is asked.
    static MARK: LazyLock<memchr::memmem::Finder<'static>> = LazyLock::new(|| memchr::memmem::Finder::new(b" NCCL "));
    let at = MARK.find(line.as_bytes())?;
    let (before, after) = (&line[..at], &line[at + b" NCCL ".len()..]);
    let (kind, message) = after.split_once(' ')?;
    matches!(kind, "INFO" | "WARN" | "TRACE" | "ABORT").then_some((before, kind, message))
}

fn operation(before: &str, message: &str, line: u64) -> Option<NcclOperation> {
    let (operation, fields) = message.trim().split_once(": opCount ")?;
    let mut words = fields.split_ascii_whitespace();
    let count = u64::from_str_radix(words.next()?, 16).ok()?;
    let words: Vec<&str> = words.collect();
    let after = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied();
    let ranks = words.iter().find_map(|word| word.strip_prefix("[nranks=")?.strip_suffix(']')?.parse().ok());
    let mut parts = before.split_ascii_whitespace().rev();
    let device = parts.next()?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    let mut place = parts.next()?.rsplitn(3, ':');
    let (thread, pid, host) = (place.next()?.parse().ok()?, place.next()?.parse().ok()?, place.next()?.to_owned());
    let (elements, communicator) = (after("count")?.parse().ok()?, after("comm")?.to_owned());
    Some(NcclOperation {
        host,
        pid,
        thread,
        device,
        operation: operation.to_owned(),
        count,
        elements,
        communicator,
        ranks,
        line,
    })
}

//! Processes that a process started: an engine's ranks hang below its API server.

use std::{collections::HashMap, fs};

/// Most processes of one family: a shell or a container's first process given by mistake starts them all.
const MOST: usize = 64;

/// Processes given, those they started, and how many of these were left out.
#[derive(Debug, Default)]
pub(super) struct Family {
    /// Each once: the process, and for one that was not given the process that was.
    pub members: Vec<(u32, Option<u32>)>,
    /// Processes beyond the limit.
    pub left_out: usize,
}

/// The family of `given`, parents first. Off Linux, or where `/proc` cannot be read, those given alone.
pub(super) fn of(given: &[u32]) -> Family {
    let mut family = Family::default();
    for pid in given {
        if !family.members.iter().any(|(known, _)| known == pid) {
            family.members.push((*pid, None));
        }
    }
    let children = children();
    let mut next = 0;
    while let Some((pid, from)) = family.members.get(next).copied() {
        next += 1;
        for child in children.get(&pid).into_iter().flatten() {
            if family.members.iter().any(|(known, _)| known == child) {
                continue;
            }
            match family.members.len() < MOST.max(given.len()) {
                true => family.members.push((*child, Some(from.unwrap_or(pid)))),
                false => family.left_out += 1,
            }
        }
    }
    family
}

/// Processes by the one that started them.
fn children() -> HashMap<u32, Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children.values_mut().for_each(|pids| pids.sort_unstable());
    children
}

/// The parent in `/proc/PID/stat`: the second field behind the command, which may hold blanks and brackets.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parent;

    #[test]
    fn a_command_with_brackets_keeps_its_parent() {
        assert_eq!(parent("77 (VLLM::Engine) S 76 77 1 0 -1"), Some(76));
        assert_eq!(parent("78 (a) b (c) R 3 1"), Some(3));
        assert_eq!(parent("79 (cut"), None);
    }
}

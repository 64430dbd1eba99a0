//! What NCCL says of the ways that it found when it came up: the network, its devices, and how ranks reach each other.

use std::collections::{BTreeMap, BTreeSet};

/// Devices, paths and variables of a log that are kept at most.
const MOST: usize = 256;

/// What communicators run over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NcclNetwork {
    /// Version of NCCL.
    pub version: Option<String>,
    /// The network between hosts: `IB`, `Socket`, `Libfabric`.
    pub network: Option<String>,
    /// Its devices with their link layer (`mlx5_0:1/IB`), or interfaces (`eth0`); without addresses.
    pub devices: BTreeSet<String>,
    /// How channels reach their peers: `P2P/CUMEM`, `SHM/direct`, `NET/IB/GDRDMA`; without numbers of devices.
    pub paths: BTreeSet<String>,
    /// Variables of NCCL that the environment sets.
    pub given: BTreeMap<String, String>,
    /// The line that said the first of it, from 1; 0 where nothing did.
    pub line: u64,
}

impl NcclNetwork {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        self.line == 0
    }

    /// Takes the message of a line.
    pub(super) fn take(&mut self, number: u64, message: &str) {
        let message = message.trim();
        let told = self.version(message)
            || self.devices(message)
            || self.network(message)
            || self.path(message)
            || self.given(message);
        if told && self.line == 0 {
            self.line = number;
        }
    }

    fn version(&mut self, message: &str) -> bool {
        let version = message.strip_prefix("NCCL version ").and_then(|rest| rest.split_ascii_whitespace().next());
        let is_one = version.filter(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        is_one.map(|version| self.version = Some(version.to_owned())).is_some()
    }

    fn network(&mut self, message: &str) -> bool {
        // Plugins have changed their names: `AWS Libfabric` and `Libfabric` are one.
        let name = message.strip_prefix("Using network ").map(|name| name.trim_start_matches("AWS ").to_owned());
        name.map(|name| self.network = Some(name)).is_some()
    }

    /// `NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.5<0>`, `NET/Socket : Using [0]eth0:10.0.0.5<0>`
    fn devices(&mut self, message: &str) -> bool {
        let Some((net, listed)) = message.split_once(" : Using ") else { return false };
        if !net.starts_with("NET/") {
            return false;
        }
        let devices = listed.split(';').next().unwrap_or_default().split_ascii_whitespace();
        let names = devices.filter_map(|device| {
            let (number, name) = device.strip_prefix('[')?.split_once(']')?;
            // `[RO]` says how they are used, and what follows an interface is its address.
            number.parse::<u32>().ok()?;
            let is_interface = name.contains('<');
            Some(if is_interface { name.split(':').next().unwrap_or(name) } else { name }.to_owned())
        });
        let before = self.devices.len();
        self.devices.extend(names.filter(|name| !name.is_empty()).take(MOST - before.min(MOST)));
        self.devices.len() > before
    }

    /// `Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA`
    fn path(&mut self, message: &str) -> bool {
        let way = message.starts_with("Channel ").then(|| message.split_once(" via ")).flatten();
        let Some(way) = way.and_then(|(_, way)| way.split_ascii_whitespace().next()) else { return false };
        let parts = way.split('/').map(|part| part.split('(').next().unwrap_or(part));
        let named: Vec<&str> = parts.filter(|part| part.starts_with(|c: char| c.is_ascii_alphabetic())).collect();
        let is_new = !named.is_empty() && self.paths.len() < MOST;
        is_new && self.paths.insert(named.join("/"))
    }

    /// `NCCL_IB_HCA set by environment to mlx5_0.`
    fn given(&mut self, message: &str) -> bool {
        let Some((name, value)) = message.split_once(" set by environment to ") else { return false };
        let is_one = name.starts_with("NCCL_") && !name.contains(' ') && self.given.len() < MOST;
        let value = value.trim_end_matches('.').to_owned();
        is_one && self.given.insert(name.to_owned(), value).is_none()
    }
}

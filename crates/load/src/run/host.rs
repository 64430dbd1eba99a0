//! The host that the client runs on, as it was just before the run.

use firstcheck_model::fingerprint::{Fingerprint, Group, Stated, field};

/// Where Linux tells the load.
const LOAD: &str = "/proc/loadavg";

/// States how busy the host was in the last minute, and its cores; what the host does not tell is left out.
pub(super) fn state(into: &mut Fingerprint) {
    let load = std::fs::read_to_string(LOAD).ok();
    let load = load.as_deref().and_then(|text| text.split_whitespace().next());
    if let Some(load) = load {
        into.state(Group::Hardware, field::CLIENT_HOST_LOAD, Stated::new(load, LOAD));
    }
    if let Ok(cores) = std::thread::available_parallelism() {
        into.state(Group::Hardware, field::CLIENT_HOST_CORES, Stated::new(cores.to_string(), "client"));
    }
}

//! What a host says as formats.

use super::{
    Snapshots, is_nvidia_smi, is_smaps_rollup, is_topology, read_nvidia_smi, read_smaps_rollup, read_topology,
};
use crate::{
    Error,
    fingerprint::{from_gpus, from_topology},
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
    join::Beside,
};
use firstcheck_model::{evidence::MemorySamples, fingerprint::Fingerprint, moment::Moment, moment::Window};

pub(crate) static NVIDIA_SMI: Format = Format {
    id: "nvidia-smi",
    group: Group::Host,
    name: "output of nvidia-smi -q -x",
    versions: "drivers of CUDA 11 to 13",
    takes: "clocks, power, temperature, what holds clocks down, memory, PCIe, MIG, ECC and processes of each GPU",
    recognise: |head| Confidence::certain_if(is_nvidia_smi(&text(head))),
    action: Action::Read(nvidia_smi),
};

pub(crate) static TOPOLOGY: Format = Format {
    id: "gpu-topology",
    group: Group::Host,
    name: "output of nvidia-smi topo -m",
    versions: "",
    takes: "the link between each pair of devices, NUMA nodes",
    recognise: |head| Confidence::certain_if(is_topology(&text(head))),
    action: Action::Read(topology),
};

pub(crate) static SMAPS: Format = Format {
    id: "smaps-rollup",
    group: Group::Host,
    name: "snapshots of /proc/PID/smaps_rollup",
    versions: "",
    takes: "anonymous, shared and swapped memory of processes over time",
    recognise: |head| Confidence::certain_if(is_smaps_rollup(&text(head))),
    action: Action::Read(smaps),
};

fn text<'h>(head: &Head<'h>) -> std::borrow::Cow<'h, str> {
    String::from_utf8_lossy(head.start())
}

fn nvidia_smi(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let bytes = artefact.all(intake.limits())?;
    let snapshot = read_nvidia_smi(&path, &String::from_utf8_lossy(&bytes))?;
    let held = snapshot.gpus.iter().filter(|gpu| !gpu.throttled_by.is_empty());
    let notes =
        held.map(|gpu| format!("{}: clocks held down by {}", gpu.bus_id, gpu.throttled_by.join(", "))).collect();
    let reading = Reading { rows: snapshot.gpus.len() as u64, unit: "GPUs", notes, ..Reading::default() };
    let mut stated = Fingerprint::default();
    from_gpus(&snapshot, &path.display().to_string(), &mut stated);
    intake.give(stated);
    intake.give(Beside::Gpus(snapshot));
    Ok(reading)
}

fn topology(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let bytes = artefact.all(intake.limits())?;
    let topology = read_topology(&String::from_utf8_lossy(&bytes)).ok_or_else(|| {
        Error::malformed(&path, None, "output of nvidia-smi topo -m", "a row of the matrix is missing or cut")
    })?;
    let reading = Reading { rows: topology.devices.len() as u64, unit: "devices", ..Reading::default() };
    let mut stated = Fingerprint::default();
    from_topology(&topology, &path.display().to_string(), &mut stated);
    intake.give(stated);
    intake.give(Beside::Topology(topology));
    Ok(reading)
}

fn smaps(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let bytes = artefact.all(intake.limits())?;
    let Snapshots { series, dated, started_unix_ns, unread } =
        read_smaps_rollup(&path, &String::from_utf8_lossy(&bytes));
    for line in unread {
        intake.unread(line.line, line.reason);
    }
    let end = series.iter().filter_map(|series| series.at.last()).max().copied();
    let reading = Reading {
        rows: series.iter().map(|series| series.at.len() as u64).sum(),
        unit: "samples",
        window: end.filter(|_| dated).map(|end| Window { start: Moment::at(0), end }),
        notes: (!dated).then(|| "snapshots without times: growth is known, rates are not".into()).into_iter().collect(),
        ..Reading::default()
    };
    intake.give(Beside::Memory(MemorySamples { series, started_unix_ns }));
    Ok(reading)
}

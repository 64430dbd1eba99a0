//! What a host says: nvidia-smi (state and topology), memory of processes, pauses of a collector.
//!
//! The first byte chooses the reader.

#![no_main]

use firstcheck_ingest::host::{
    gc_pause, is_nvidia_smi, is_smaps_rollup, is_topology, read_nvidia_smi, read_smaps_rollup, read_topology,
};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    match choice % 4 {
        0 => {
            let _ = is_nvidia_smi(&text);
            let _ = read_nvidia_smi(Path::new("gpus.xml"), &text);
        }
        1 => {
            let _ = is_topology(&text);
            if let Some(topology) = read_topology(&text) {
                assert_eq!(topology.links.len(), topology.devices.len());
                assert!(topology.links.iter().all(|row| row.len() == topology.devices.len()));
            }
        }
        2 => {
            let _ = is_smaps_rollup(&text);
            let snapshots = read_smaps_rollup(Path::new("smaps"), &text);
            for series in &snapshots.series {
                assert_eq!(series.at.len(), series.value.len());
                assert!(series.at.is_sorted());
            }
        }
        _ => {
            if let Some(pause) = gc_pause(&text) {
                assert!(pause.length.0.is_finite() && pause.length.0 >= 0.0);
            }
        }
    }
});

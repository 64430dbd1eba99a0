//! Answers of the Prometheus API: what is held stays bounded, times ascend, what cannot be read is said.

#![no_main]

use firstcheck_ingest::{Input, Limits, collect};
use libfuzzer_sys::fuzz_target;

/// What makes any bytes such an answer.
const HEAD: &[u8] = br#"{"status":"success","data":{"resultType":"matrix","result":["#;

fuzz_target!(|data: &[u8]| {
    let begun = [HEAD, data].concat();
    let small = Limits { samples: 64, series: 8, file_bytes: 1 << 16, ..Limits::default() };
    for (bytes, limits) in [(data, Limits::default()), (&begun[..], Limits::default()), (&begun[..], small)] {
        let mut source = bytes;
        let collected = collect(vec![Input::Stream("-", &mut source)], &limits);
        assert!(!collected.read.is_empty() || !collected.unread.is_empty() || bytes.is_empty());
        assert!(collected.unread.iter().all(|unread| !unread.reason.contains("gave up")), "{:?}", collected.unread);
        for series in collected.evidence.runs.iter().flat_map(|run| &run.signals) {
            assert_eq!(series.at.len(), series.value.len());
            assert!(series.at.is_sorted());
        }
    }
});

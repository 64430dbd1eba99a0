//! Metrics pages with times: read as a stream they say what each page says by itself.

#![no_main]

use firstcheck_ingest::{Input, Limits, collect, prometheus};
use libfuzzer_sys::fuzz_target;

/// What makes any bytes a metrics page.
const HEAD: &[u8] = b"# TYPE a gauge\na 1\na 2\na 3\na 4\n";

fuzz_target!(|data: &[u8]| {
    let bytes = [HEAD, data].concat();
    let limits = Limits { samples: 64, series: 8, ..Limits::default() };
    for limits in [limits, Limits::default()] {
        let mut source = &bytes[..];
        let collected = collect(vec![Input::Stream("-", &mut source)], &limits);
        assert!(collected.unread.iter().all(|unread| !unread.reason.contains("gave up")), "{:?}", collected.unread);
        for series in collected.evidence.runs.iter().flat_map(|run| &run.signals) {
            assert_eq!(series.at.len(), series.value.len());
            assert!(series.at.is_sorted());
        }
    }
    let page = prometheus::parse(data);
    assert!(page.unread.len() as u64 <= page.unread_total);
});

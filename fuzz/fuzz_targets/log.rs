//! An engine's log: wrappers, prefixes, statistics lines, settings, failures.
//!
//! Each line is counted, what is kept stays bounded, series ascend, and read whole it says what it says line by line.

#![no_main]

use firstcheck_ingest::{
    Input, Limits, collect,
    log::{LogReader, prefix::split, settings::settings, wrapper::unwrap},
};
use libfuzzer_sys::fuzz_target;

/// What makes any bytes the log of an engine.
const HEAD: &[u8] = b"INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.9.0\n";

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let mut reader = LogReader::new("fuzzed");
    let mut lines = 0;
    for (number, line) in (1..).zip(text.split('\n')) {
        lines = number;
        let inner = unwrap(line);
        let entry = split(&inner.text);
        assert!(entry.message.len() <= inner.text.len());
        let _ = settings(entry.message, number);
        reader.line(number, line);
    }
    let log = reader.finish();
    assert_eq!(log.lines, lines);
    assert!(log.not_understood <= log.lines);
    let _ = log.root_cause();
    for series in &log.series {
        assert_eq!(series.at.len(), series.value.len());
        assert!(series.at.is_sorted());
        assert!(series.value.iter().all(|value| value.is_finite()), "{}", series.name);
    }
    let bytes = [HEAD, data].concat();
    let mut source = &bytes[..];
    let collected = collect(vec![Input::Stream("-", &mut source)], &Limits::default());
    assert!(collected.unread.iter().all(|unread| !unread.reason.contains("gave up")), "{:?}", collected.unread);
});

//! Whatever it is wrapped in: every input is read or listed, no decoder gives up, and memory stays bounded.

#![no_main]

use firstcheck_ingest::{Input, Limits, collect};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = Limits {
        file_bytes: 1 << 20,
        line_bytes: 1 << 16,
        expanded_free_bytes: 1 << 20,
        expanded_bytes: 1 << 24,
        held_archive_bytes: 1 << 20,
        ..Limits::default()
    };
    let mut source = data;
    let collected = collect(vec![Input::Stream("-", &mut source)], &limits);
    assert!(!collected.read.is_empty() || !collected.unread.is_empty() || data.is_empty());
    for unread in &collected.unread {
        assert!(!unread.reason.contains("gave up"), "{}", unread.reason);
    }
});

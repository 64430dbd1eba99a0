//! A metrics page: every line is a sample, a comment or counted as unread.

#![no_main]

use firstcheck_ingest::{
    fingerprint::{from_models, from_page, from_server_info, from_version},
    prometheus,
};
use firstcheck_model::fingerprint::Fingerprint;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let page = prometheus::parse(data);
    let lines = data.split(|byte| *byte == b'\n').count() as u64;
    assert!(page.samples.len() as u64 + page.unread_total <= lines);
    assert!(page.unread.len() as u64 <= page.unread_total);
    let mut fingerprint = Fingerprint::default();
    from_page(&page, "page", &mut fingerprint);
    for read in [from_version, from_models, from_server_info] {
        read(data, "endpoint", &mut fingerprint);
    }
});

//! What connectors say in engines' logs of the KV that they look up, load, store and transfer.

use firstcheck_ingest::log::LogReader;
use firstcheck_model::{
    engine_log::{EngineLog, KvAction, KvConnector, KvOperation},
    unit::{Bytes, Seconds},
};

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

fn read(text: &str) -> EngineLog {
    let mut reader = LogReader::new("server.log");
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line);
    }
    reader.finish()
}

fn only(line: &str) -> KvOperation {
    let log = read(line);
    assert_eq!(log.kv_operations.len(), 1, "{line}");
    assert_eq!(log.not_understood, 0, "{line}");
    log.kv_operations[0].clone()
}

/// Asked for, tokens, bytes, seconds.
type Figures = (Option<u64>, Option<u64>, Option<f64>, Option<f64>);

#[test]
fn lines_of_lmcache_as_its_versions_write_them() {
    let cases: [(&str, KvAction, Figures); 11] = [
        (
            "Reqid: a-0, Total tokens 8192, LMCache hit tokens: 4096, need to load: 4090",
            KvAction::Lookup,
            (Some(8192), Some(4096), None, None),
        ),
        (
            "Reqid: a-0, Total tokens 32, Inference Engine computed tokens: 16, LMCache hit tokens: 24, need to load: 8",
            KvAction::Lookup,
            (Some(32), Some(24), None, None),
        ),
        (
            "Prefetch request completed (L1+L2): 34/38 retained keys (34 L1, 0 L2) in 0.5 ms (external_request_id=a)",
            KvAction::Lookup,
            (None, None, None, Some(0.0005)),
        ),
        (
            "Store 1792 tokens takes: 2.5 ms, throughput: 90.1 GB/s; offload_time: 2.0 ms, put_time: 0.5 ms",
            KvAction::Store,
            (None, Some(1792), None, Some(0.0025)),
        ),
        (
            "Stored 256 out of total 300 tokens. size: 0.5 gb, cost 1.5 ms, throughput: 300.0 GB/s; offload_time: 1.4 ms, put_time: 0.1 ms",
            KvAction::Store,
            (Some(300), Some(256), Some(0.5 * GIB), Some(0.0015)),
        ),
        (
            "[req_id=a kv_group=0] Stored 256 out of total 256 tokens. size: 0.5 GB, cost 1.5 ms, throughput: 300.0 GB/s; offload_time: 1.4 ms, put_time: 0.1 ms",
            KvAction::Store,
            (Some(256), Some(256), Some(0.5 * GIB), Some(0.0015)),
        ),
        ("Stored 1600 tokens in 0.002 seconds", KvAction::Store, (None, Some(1600), None, Some(0.002))),
        (
            "[req_id=a] Retrieved 8 out of 24 required tokens (from 32 total tokens). size: 0.25 gb, cost 0.5 ms, throughput: 500.0 GB/s;",
            KvAction::Load,
            (Some(24), Some(8), Some(0.25 * GIB), Some(0.0005)),
        ),
        ("Retrieved 8 out of 24 out of total 32 tokens", KvAction::Load, (Some(32), Some(8), None, None)),
        ("Retrieved 1600 tokens in 0.003 seconds", KvAction::Load, (None, Some(1600), None, Some(0.003))),
        // NaN, overflow and the like are no figures.
        (
            "Retrieved 8 out of 24 required tokens (from 32 total tokens). size: x gb, cost nan ms",
            KvAction::Load,
            (Some(24), Some(8), None, None),
        ),
    ];
    for (message, action, (asked, tokens, bytes, seconds)) in cases {
        for prefix in [
            "[2026-01-02 03:04:05,678] LMCache INFO: ",
            "(EngineCore_DP0 pid=7) [2026-01-02 03:04:05,678] LMCache INFO: ",
            "(VllmWorker rank=1 pid=7) [2026-01-02 03:04:05,678] LMCache DEBUG: ",
        ] {
            let line = format!("{prefix}{message} (cache_engine.py:12:lmcache.v1.cache_engine)");
            let found = only(&line);
            assert_eq!((found.connector, found.action), (KvConnector::LmCache, action), "{line}");
            let figures =
                (found.asked, found.tokens, found.bytes.map(|bytes| bytes.0), found.length.map(|length| length.0));
            assert_eq!(figures, (asked, tokens, bytes, seconds), "{line}");
            assert_eq!((found.line, found.count), (1, 1));
            assert_eq!(found.process.is_some(), prefix.starts_with('('), "{line}");
        }
    }
}

#[test]
fn other_programs_that_store_and_retrieve_are_no_connector() {
    for line in [
        "INFO 01-02 03:04:05 [a.py:1] Stored 3 files in 0.2 seconds",
        "INFO 01-02 03:04:05 [a.py:1] Retrieved 3 rows",
        "INFO 01-02 03:04:05 [a.py:1] Store the token",
        "INFO 01-02 03:04:05 [a.py:1] KV Transfer metrics: Something else=3",
    ] {
        let log = read(line);
        assert_eq!((log.kv_operations.len(), log.not_understood), (0, 1), "{line}");
    }
}

#[test]
fn transfers_of_an_interval() {
    let line = "(APIServer pid=2) INFO 01-02 03:04:05 [metrics.py:98] KV Transfer metrics: Num successful transfers=4, \
                Avg xfer time (ms)=10.0, P90 xfer time (ms)=12.5, Avg post time (ms)=5.5, P90 post time (ms)=5.5, \
                Avg MB per transfer=2.5, Throughput (MB/s)=250.0, Avg number of descriptors=56.0, Num failed transfers=1, \
                Num KV expired reqs=2";
    let found = only(line);
    assert_eq!((found.connector, found.action), (KvConnector::Nixl, KvAction::Transfer));
    assert_eq!((found.count, found.failed, found.expired), (4, Some(1), Some(2)));
    assert_eq!(found.bytes, Some(Bytes(4.0 * 2.5 * 1024.0 * 1024.0)));
    assert_eq!((found.length, found.length_p90), (Some(Seconds(0.01)), Some(Seconds(0.0125))));
    assert_eq!(found.process.as_deref(), Some("APIServer"));

    let failed = "INFO 01-02 03:04:05 [metrics.py:98] KV Transfer metrics: Num successful transfers=0, Avg xfer time (ms)=0, \
                  P90 xfer time (ms)=0, Avg MB per transfer=0, Throughput (MB/s)=0, Num failed transfers=3, \
                  Num failed recvs=1, Num KV expired reqs=0";
    let found = only(failed);
    assert_eq!((found.connector, found.count, found.failed), (KvConnector::Mooncake, 0, Some(4)));
    assert_eq!((found.bytes, found.length, found.length_p90), (None, None, None), "a mean of nothing is no time of 0");

    let made = "INFO 01-02 03:04:05 [factory.py:1] Creating v1 connector with name: MooncakeConnector and engine_id: x\n\
                INFO 01-02 03:04:06 [metrics.py:98] KV Transfer metrics: Num successful transfers=1, Avg xfer time (ms)=1";
    let log = read(made);
    assert_eq!((log.kv_operations[0].connector, log.kv_operations[0].failed), (KvConnector::Mooncake, None));
}

#[test]
fn transfers_that_failed_are_events() {
    for line in [
        "ERROR 01-02 03:04:05 [mooncake_connector.py:1] pulling kv_caches for ['a'] failed: Timeout waiting for P side",
        "ERROR 01-02 03:04:05 [base_worker.py:1] NIXL transfer failure: {'failure_type': 'transfer_failed'}",
        "[2026-01-02 03:04:05 TP0] ERROR: Decode transfer failed for request rank=0 decode_req.req.rid='a'",
        "[2026-01-02 03:04:05 TP0] Prefill bootstrap failed for request rank=0 req.rid='a' with exception KVTransferError",
    ] {
        let log = read(line);
        assert_eq!(log.events.iter().map(|event| event.kind).collect::<Vec<_>>(), ["kv_transfer_failed"], "{line}");
    }
    let aborted = read(
        "[2026-01-02 03:04:05 TP0] Decode transfer failed for request rank=0 KVTransferError: Aborted by AbortReq.",
    );
    assert!(aborted.events.is_empty());
    let went_well = read("DEBUG 01-02 03:04:05 [mooncake_connector.py:1] pulling kv_caches for ['a'] finished");
    assert!(went_well.events.is_empty());
}

#[test]
fn operations_without_end_are_bounded_and_counted() {
    let line = "[2026-01-02 03:04:05,678] LMCache INFO: Stored 1600 tokens in 0.002 seconds";
    let mut reader = LogReader::new("server.log");
    for number in 1..=100_010 {
        reader.line(number, line);
    }
    let log = reader.finish();
    assert_eq!((log.kv_operations.len(), log.kv_operations_dropped), (100_000, 10));
}

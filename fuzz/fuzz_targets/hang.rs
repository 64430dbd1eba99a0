//! Dumps of hung processes: py-spy (text, JSON), gdb, flight records (pickle, JSON), NCCL's log.
//!
//! The first byte chooses the reader; every reader ends with a dump or an error, and a record that unfolds without end
//! is refused.

#![no_main]

use firstcheck_ingest::hang::{
    is_flight_record, pickle, rank_of_name, read_flight_record, read_gdb, read_nccl_log, read_py_spy_json,
    read_py_spy_text,
};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let (path, text) = (Path::new("dump_rank_0"), String::from_utf8_lossy(bytes));
    match choice % 6 {
        0 => {
            let (dumps, unread) = read_py_spy_text(path, &text, Some(0));
            assert!(unread.len() <= text.lines().count());
            assert!(dumps.iter().all(|dump| dump.line > 0));
        }
        1 => drop(read_py_spy_json(path, bytes, None)),
        2 => {
            let dump = read_gdb(&text, None);
            assert!(dump.is_none_or(|dump| !dump.threads.is_empty()));
        }
        3 => {
            let _ = pickle::read(bytes);
            let _ = (is_flight_record(bytes), read_flight_record(path, bytes));
        }
        4 => {
            let log = read_nccl_log(&text);
            let told = log.operations.len() as u64 + log.warnings.len() as u64 + log.other + log.foreign;
            assert_eq!(told, text.lines().count() as u64);
        }
        _ => drop(rank_of_name(&text)),
    }
});

//! Stack dumps, flight records and NCCL's log.

use firstcheck_ingest::{
    Input, Limits, collect,
    hang::{
        is_flight_record, pickle, rank_of_name, read_flight_record, read_gdb, read_nccl_log, read_py_spy_json,
        read_py_spy_text,
    },
};
use firstcheck_model::hang::{Activity, CollectiveState};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

fn artefact(name: &str) -> Option<(PathBuf, Vec<u8>)> {
    let Some(folder) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, {name} is not read");
        return None;
    };
    let path = PathBuf::from(folder).join("traces").join(name);
    let bytes = std::fs::read(&path).unwrap();
    Some((path, bytes))
}

const DUMP: &str = "\
Process 12: python -m engine --tp 2
Python v3.12.1 (/usr/bin/python3.12)

Thread 12 (idle): \"MainThread\"
    wait::on(std::function<void (int)>) (libcomm.so)
    broadcast (dist/comm.py:41)
        Arguments:
            key: \"secret (not kept:7)\"
        Locals:
            x: Thread 9 (idle)
    step (engine.py:10)
Thread 0x1F (active+gil): \"compile \"worker\"\"
    build (nvcc.py:3)
stray line
Process 13: python
Thread 13 (active): \"MainThread\"
    idle_loop (engine.py:77)
";

#[test]
fn a_text_dump_gives_threads_frames_and_no_variables() {
    let (dumps, unread) = read_py_spy_text(Path::new("d"), DUMP, Some(3));
    assert_eq!(dumps.len(), 2);
    let first = &dumps[0];
    assert_eq!((first.pid, first.rank, first.line), (Some(12), Some(3), 1));
    assert_eq!(first.command.as_deref(), Some("python -m engine --tp 2"));
    let main = &first.threads[0];
    let functions: Vec<_> = main.frames.iter().map(|frame| frame.function.as_str()).collect();
    assert_eq!(functions, ["wait::on(std::function<void (int)>)", "broadcast", "step"]);
    assert_eq!((main.frames[1].file.as_deref(), main.frames[1].line), (Some("dist/comm.py"), Some(41)));
    assert_eq!((main.activity, main.holds_gil), (Some(Activity::Idle), Some(false)));
    let compile = &first.threads[1];
    assert_eq!((compile.os_id, compile.activity, compile.holds_gil), (Some(31), Some(Activity::Active), Some(true)));
    assert_eq!(compile.name.as_deref(), Some("compile \"worker\""));
    assert_eq!(unread.len(), 1);
    assert_eq!(unread[0].line, Some(14));
    assert!(!format!("{dumps:?}").contains("secret"));
}

#[test]
fn text_and_json_of_one_process_agree() {
    let (Some((path, text)), Some((json_path, json))) =
        (artefact("pyspy/pyspy_rank0.txt"), artefact("pyspy/pyspy_rank0.json"))
    else {
        return;
    };
    let (text, unread) = read_py_spy_text(&path, std::str::from_utf8(&text).unwrap(), Some(0));
    let json = read_py_spy_json(&json_path, &json, Some(0)).unwrap();
    assert!(unread.is_empty());
    assert_eq!((text.len(), json.len()), (1, 1));
    let ids = |dump: &firstcheck_model::hang::StackDump| {
        let mut ids: Vec<_> = dump
            .threads
            .iter()
            .map(|thread| {
                (thread.os_id, thread.frames.iter().map(|f| (f.function.clone(), f.line)).collect::<Vec<_>>())
            })
            .collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&text[0]), ids(&json[0]));
}

#[test]
fn native_frames_and_locals_of_a_real_dump() {
    let Some((path, text)) = artefact("pyspy/pyspy_native_locals_rank0.txt") else { return };
    let (dumps, unread) = read_py_spy_text(&path, std::str::from_utf8(&text).unwrap(), None);
    assert!(unread.is_empty(), "{unread:?}");
    let main = &dumps[0].threads[0];
    assert!(main.frames.iter().any(|frame| frame.function == "all_reduce" && frame.line == Some(4181)));
    assert!(main.frames.iter().any(|frame| frame.file.as_deref() == Some("libtorch_cpu.so")));
    assert!(!format!("{dumps:?}").contains("Tensor at"));
}

const BACKTRACE: &str = "\
[New LWP 837]
warning: some chatter

Thread 2 (Thread 0x7fd7 (LWP 837) \"kv-worker\"):
#0  futex_wait (private=0, expected=2, futex_word=0x55f9 <store_lock>) at ../nptl/futex.h:146
#1  0x000055f9 in operator() (this=0x1) at worker.cc:5
#2  0x00007fd8 in very::long_name(int,
    char const*) () from /lib/libx.so

Thread 1 (Thread 0x7fd8 (LWP 835) \"engine\"):
#0  0x00007fd8 in epoll_wait (epfd=3) at epoll.c:30
[Inferior 1 (process 835) detached]
";

#[test]
fn a_backtrace_names_the_lock_and_the_process() {
    let dump = read_gdb(BACKTRACE, Some(1)).unwrap();
    assert_eq!((dump.pid, dump.rank, dump.line, dump.threads.len()), (Some(835), Some(1), 4, 2));
    let waiting = &dump.threads[0];
    assert_eq!(waiting.waits_for.as_deref(), Some("store_lock"));
    assert_eq!((waiting.os_id, waiting.name.as_deref()), (Some(837), Some("kv-worker")));
    assert_eq!(waiting.frames.len(), 3);
    assert_eq!((waiting.frames[1].function.as_str(), waiting.frames[1].line), ("operator()", Some(5)));
    assert_eq!(waiting.frames[2].file.as_deref(), Some("/lib/libx.so"));
    assert_eq!(dump.threads[1].waits_for, None);
    assert!(read_gdb("nothing here\n", None).is_none());
}

#[test]
fn real_backtraces_are_read_to_the_last_frame() {
    for (name, threads, lock) in
        [("gdb/deadlock_thread_apply_all_bt.txt", 2, Some("a")), ("gdb/gdb_rank1.txt", 6, None)]
    {
        let Some((_, text)) = artefact(name) else { return };
        let text = String::from_utf8_lossy(&text).into_owned();
        let dump = read_gdb(&text, None).unwrap();
        assert_eq!(dump.threads.len(), threads, "{name}");
        let frames: usize = dump.threads.iter().map(|thread| thread.frames.len()).sum();
        let written = text.lines().filter(|line| line.starts_with('#')).count();
        assert_eq!(frames, written, "{name}");
        if let Some(lock) = lock {
            assert_eq!(dump.threads[0].waits_for.as_deref(), Some(lock));
            assert_eq!(dump.threads[1].waits_for.as_deref(), Some("b"));
        }
    }
}

#[test]
fn both_forms_of_a_real_flight_record_agree() {
    for (pickled, json, entries) in
        [("fr_trace_0", "fr_trace_json_rank0.json", 6), ("fr_trace_1", "fr_trace_json_rank1.json", 5)]
    {
        let (Some((path, bytes)), Some((json_path, json))) =
            (artefact(&format!("flight_recorder/{pickled}")), artefact(&format!("flight_recorder/{json}")))
        else {
            return;
        };
        assert!(is_flight_record(&bytes[..256]) && is_flight_record(&json));
        let mut from_pickle = read_flight_record(&path, &bytes).unwrap();
        let from_json = read_flight_record(&json_path, &json).unwrap();
        assert_eq!(from_pickle.collectives.len(), entries);
        assert!(from_pickle.collectives.iter().all(|one| one.frames.len() == 5));
        for collective in &mut from_pickle.collectives {
            collective.frames.clear();
        }
        assert_eq!(from_pickle, from_json);
        assert_eq!(from_json.groups[0].ranks, [0, 1]);
        assert_eq!(from_json.groups[0].last_enqueued, Some(entries as u64));
        assert_eq!(from_json.groups[0].last_completed, Some(5));
    }
    let Some((path, bytes)) = artefact("flight_recorder/fr_trace_0") else { return };
    let record = read_flight_record(&path, &bytes).unwrap();
    let last = record.collectives.last().unwrap();
    assert_eq!((record.rank, last.sequence, last.state), (Some(0), 6, CollectiveState::Scheduled));
    assert_eq!((last.operation.as_str(), last.input_elements()), ("gloo:all_reduce", 32));
    assert!(record.collectives[..5].iter().all(|one| one.state == CollectiveState::Completed));
}

#[test]
fn a_pickle_that_would_run_code_is_refused() {
    // cos\nsystem\n(S'true'\ntR.
    let program = b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.";
    let error = pickle::read(program).unwrap_err();
    assert!(error.to_string().contains("opcode 0x63 at byte 2"), "{error}");
    let error = read_flight_record(Path::new("fr_0"), program).unwrap_err();
    assert!(error.to_string().starts_with("fr_0: malformed flight record of PyTorch"), "{error}");
}

#[test]
fn a_pickle_that_unfolds_without_end_is_bounded() {
    // A tuple of the tuple before, twice, fifty times over.
    let mut bytes = b"\x80\x02}(X\x07\x00\x00\x00versionK\x00K\x00\x86q\x00".to_vec();
    for level in 0..50u8 {
        bytes.extend([b'h', level, b'h', level, 0x86, b'q', level + 1]);
        if level < 49 {
            bytes.extend([b'K', 0, b'\x86', b'q', level + 1]);
        }
    }
    bytes.extend(b"u.");
    assert!(read_flight_record(Path::new("fr_0"), &bytes).is_err());
}

#[test]
fn nccl_operations_warnings_and_the_rest() {
    let log = "\
2026-01-02 03:04:05 node7:41:99 [3] NCCL INFO AllReduce: opCount 2a sendbuff 0x1 recvbuff 0x2 count 64 datatype 9 op 0 \
root 0 comm 0xab [nranks=8] stream 0x3
node7:41:99 [3] NCCL WARN NET/IB : Got completion with error 12
node7:41:99 [3] NCCL INFO Channel 00/24 : 0 1 2 3
plain text of the engine
";
    let read = read_nccl_log(log);
    assert_eq!((read.operations.len(), read.warnings.len(), read.other, read.foreign), (1, 1, 1, 1));
    let one = &read.operations[0];
    assert_eq!((one.host.as_str(), one.pid, one.thread, one.device), ("node7", 41, 99, 3));
    assert_eq!((one.operation.as_str(), one.count, one.line), ("AllReduce", 0x2a, 1));
    assert_eq!(read.warnings[0], (2, "NET/IB : Got completion with error 12".into()));
}

#[test]
fn warnings_of_nccl_are_told_of_its_log_and_of_an_engines() {
    let warning = "node7:41:99 [3] NCCL WARN NET/IB : Got completion with error 12\n";
    let nccl = format!("node7:41:99 [3] NCCL INFO Channel 00/24 : 0 1 2 3\n{warning}");
    let engine = format!("INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.12.0\n{warning}");
    for (text, format) in [(nccl, "nccl-log"), (engine, "engine-log")] {
        let mut source = text.as_bytes();
        let collected = collect(vec![Input::Stream("-", &mut source)], &Limits::default());
        let row = &collected.read[0];
        assert_eq!(row.format, format);
        let said = "1 warnings of NCCL, the first in line 2: NET/IB : Got completion with error 12";
        assert!(row.notes.iter().any(|note| note == said), "{:?}", row.notes);
    }
}

#[test]
fn ranks_of_names() {
    for (name, rank) in [
        ("pyspy_native_locals_rank0.txt", Some(0)),
        ("rank-7.json", Some(7)),
        ("fr_trace_json_rank1.json", Some(1)),
        ("nccl_trace_rank_12", Some(12)),
        ("dump.4", Some(4)),
        ("ranking.txt", None),
        ("20260102", None),
        ("dump_é1.txt", Some(1)),
        ("nccl_tracé", None),
        ("\u{fffd}\u{fffd}7", Some(7)),
        ("", None),
    ] {
        assert_eq!(rank_of_name(name), rank, "{name}");
    }
}

proptest! {
    #[test]
    fn no_name_panics(name in "(rank|[_.é=-]|\\PC|[0-9]){0,12}") {
        let _ = rank_of_name(&name);
    }

    #[test]
    fn nothing_panics_on_damaged_records(cut in 0usize..400, at in 0usize..400, byte: u8) {
        let mut bytes = b"\x80\x02}(X\x07\x00\x00\x00versionX\x04\x00\x00\x002.10X\x07\x00\x00\x00entries](}(X\x05\x00\x00\x00stateX\x09\x00\x00\x00scheduledueu.".to_vec();
        let place = at % bytes.len();
        bytes[place] = byte;
        bytes.truncate(cut.max(1));
        let _: Result<_, _> = read_flight_record(Path::new("fr"), &bytes);
    }

    #[test]
    fn nothing_panics_on_any_text(text in "(Thread |Process |#|[0-9(): \"<>=,x]|at |in |\n|    ){0,60}") {
        read_py_spy_text(Path::new("d"), &text, None);
        read_gdb(&text, None);
        read_nccl_log(&text);
        rank_of_name(&text);
    }
}

#[test]
fn a_pickle_of_empty_lists_or_of_one_long_text_many_times_is_bounded() {
    let lists = [&b"\x80\x02"[..], &[b']'; 2_000_001], b"."].concat();
    assert!(matches!(pickle::read(&lists), Err(pickle::PickleError::TooMany { .. })));
    let tuples = [&b"\x80\x02("[..], &b"NN\x86".repeat(700_000), b"t."].concat();
    assert!(matches!(pickle::read(&tuples), Err(pickle::PickleError::TooMany { .. })));

    // Two megabytes of text, a hundred and one times.
    let long = "x".repeat(2_000_000);
    let mut bytes = b"\x80\x02}(X\x07\x00\x00\x00versionX".to_vec();
    bytes.extend((long.len() as u32).to_le_bytes());
    bytes.extend(long.bytes());
    bytes.extend(b"q\x00X\x01\x00\x00\x00a(");
    bytes.extend(b"h\x00".repeat(100));
    bytes.extend(b"tu.");
    let error = read_flight_record(Path::new("fr_0"), &bytes).unwrap_err();
    assert!(error.to_string().contains("bytes of text"), "{error}");
}

#[test]
fn sizes_of_any_magnitude_add_up_without_a_panic() {
    let most = u64::MAX;
    let text = format!(
        r#"{{"version":"2.10","entries":[{{"process_group":["0","default"],"collective_seq_id":1,"state":"scheduled",
        "profiling_name":"nccl:all_reduce","input_sizes":[[{most}],[{most},2]]}}]}}"#
    );
    let record = read_flight_record(Path::new("fr_0"), text.as_bytes()).unwrap();
    assert_eq!(record.collectives[0].input_elements(), most);
}

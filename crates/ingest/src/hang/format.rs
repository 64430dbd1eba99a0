//! Dumps of hung processes as formats.

use super::{
    is_flight_record, nccl_log::NcclLog, rank_of_name, read_flight_record, read_gdb, read_py_spy_json, read_py_spy_text,
};
use crate::{
    Error,
    fingerprint::from_nccl,
    frame::{Action, Artefact, Confidence, Format, Group, Head, Intake, Reading},
    join::Beside,
};
use firstcheck_model::{fingerprint::Fingerprint, hang::StackDump};
use memchr::memmem::find;

pub(crate) static PY_SPY: Format = Format {
    id: "py-spy",
    group: Group::Stacks,
    name: "py-spy dump",
    versions: "0.3 and 0.4; text (with native frames or locals) and JSON",
    takes: "threads with their frames; arguments and locals are left out",
    recognise: |head| {
        let lines: Vec<&[u8]> = head.lines().take(2).collect();
        let text =
            matches!(&lines[..], [first, second] if first.starts_with(b"Process ") && second.starts_with(b"Python v"));
        Confidence::certain_if(text || head.object(&["pid", "thread_name", "frames"]).is_some())
    },
    action: Action::Read(py_spy),
};

pub(crate) static GDB: Format = Format {
    id: "gdb",
    group: Group::Stacks,
    name: "gdb backtrace of all threads",
    versions: "10 and later",
    takes: "threads with their frames and the lock that each waits for",
    recognise: |head| {
        let says = |text: &str| find(head.start(), text.as_bytes()).is_some();
        Confidence::certain_if((says("\nThread ") || head.begins("Thread ")) && says("LWP ") && says("\n#0 "))
    },
    action: Action::Read(gdb),
};

pub(crate) static FLIGHT_RECORD: Format = Format {
    id: "flight-recorder",
    group: Group::Stacks,
    name: "flight record of PyTorch's collectives",
    versions: "2.5 to 2.10; pickle and JSON",
    takes: "process groups with their progress, collectives with shapes, state and frames",
    // A profiler's trace in JSON names the same fields, further in.
    recognise: |head| {
        let plain = head.json().is_none() || head.object(&["entries"]).is_some();
        Confidence::certain_if(plain && is_flight_record(head.bytes()))
    },
    action: Action::Read(flight_record),
};

pub(crate) static NCCL_LOG: Format = Format {
    id: "nccl-log",
    group: Group::Stacks,
    name: "log of NCCL",
    versions: "NCCL_DEBUG=INFO of NCCL 2",
    takes: "operations with their numbers and sizes, warnings, the network that it found",
    recognise: |head| {
        let (mut lines, mut own) = (0usize, 0usize);
        for line in head.lines().take(200) {
            lines += 1;
            own += usize::from(find(line, b" NCCL INFO ").is_some() || find(line, b" NCCL WARN ").is_some());
        }
        (own > 0 && own * 2 >= lines).then_some(Confidence::Likely)
    },
    action: Action::Read(nccl_log),
};

fn name_of(artefact: &Artefact<'_>) -> String {
    artefact.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn py_spy(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let (path, rank) = (artefact.path().to_owned(), rank_of_name(&name_of(artefact)));
    let is_json = Head::begins(&artefact.head(), "[") || artefact.head().begins("{");
    let bytes = artefact.all(intake.limits())?;
    let dumps = if is_json {
        read_py_spy_json(&path, &bytes, rank)?
    } else {
        let (dumps, unread) = read_py_spy_text(&path, &String::from_utf8_lossy(&bytes), rank);
        for line in unread {
            intake.unread(line.line, line.reason);
        }
        dumps
    };
    Ok(stacks(dumps, intake))
}

fn gdb(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let (path, rank) = (artefact.path().to_owned(), rank_of_name(&name_of(artefact)));
    let bytes = artefact.all(intake.limits())?;
    let dump = read_gdb(&String::from_utf8_lossy(&bytes), rank)
        .ok_or_else(|| Error::malformed(&path, None, "backtrace of gdb", "it holds no thread"))?;
    Ok(stacks(vec![dump], intake))
}

fn stacks(dumps: Vec<StackDump>, intake: &mut Intake) -> Reading {
    let mut reading = Reading { unit: "threads", ..Reading::default() };
    for dump in dumps {
        reading.rows += dump.threads.len() as u64;
        reading.replicas.extend(dump.rank.map(|rank| format!("rank {rank}")));
        intake.give(Beside::Stacks(dump));
    }
    reading
}

fn flight_record(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let path = artefact.path().to_owned();
    let bytes = artefact.all(intake.limits())?;
    let record = read_flight_record(&path, &bytes)?;
    let reading = Reading {
        rows: record.collectives.len() as u64,
        unit: "collectives",
        replicas: record.rank.iter().map(|rank| format!("rank {rank}")).collect(),
        ..Reading::default()
    };
    intake.give(Beside::Flight(record));
    Ok(reading)
}

fn nccl_log(artefact: &mut Artefact<'_>, intake: &mut Intake) -> Result<Reading, Error> {
    let mut log = NcclLog::default();
    while let Some(line) = artefact.next_line(intake) {
        let text = String::from_utf8_lossy(line.bytes);
        if !log.take(line.number, &text) {
            log.foreign += 1;
        }
    }
    let rows = log.operations.len() as u64 + log.warnings.len() as u64 + log.other;
    let foreign = (log.foreign > 0).then(|| format!("{} lines of other programs", log.foreign));
    let notes = log.warned().into_iter().chain(foreign).collect();
    let mut stated = Fingerprint::default();
    from_nccl(&log.network, &artefact.path().display().to_string(), &mut stated);
    if !stated.is_empty() {
        intake.give(stated);
    }
    intake.give(Beside::Nccl(log));
    Ok(Reading { rows, unit: "lines", notes, ..Reading::default() })
}

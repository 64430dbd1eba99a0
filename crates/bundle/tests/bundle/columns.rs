//! The tables are what docs/bundle.md says they are, and other tools can read them.

use crate::run;
use firstcheck_bundle::{Bundle, SCHEMA};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::{
    fs::{self, File},
    path::Path,
    process::Command,
};

const TABLES: [&str; 5] = ["requests", "events", "signals", "spans", "traces"];

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bundle.md")).unwrap()
}

/// The first cells of the table under the heading of a file.
fn documented(page: &str, file: &str) -> Vec<String> {
    let section = page.split("\n## ").find(|section| section.starts_with(&format!("`{file}`"))).unwrap();
    let cell = |line: &str| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name.to_owned());
    // Tables after the first one say what values mean.
    let table = section.lines().skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    table.filter_map(cell).collect()
}

#[test]
fn the_page_lists_every_column() {
    let parent = tempfile::tempdir().unwrap();
    run::unfinished(parent.path(), 5).finish(run::info()).unwrap();
    let page = page();
    assert!(page.contains(SCHEMA));
    for table in TABLES {
        let file = format!("{table}.parquet");
        let reader = SerializedFileReader::new(File::open(parent.path().join(&file)).unwrap()).unwrap();
        let columns = reader.metadata().file_metadata().schema().get_fields().to_vec();
        let names: Vec<_> = columns.iter().map(|column| column.name().to_owned()).collect();
        assert_eq!(documented(&page, &file), names, "{file}");
    }
}

#[test]
fn tables_without_rows_are_left_out_but_for_requests_and_events() {
    let parent = tempfile::tempdir().unwrap();
    run::unfinished(parent.path(), 0).finish(run::info()).unwrap();
    let there: Vec<_> =
        TABLES.into_iter().filter(|table| parent.path().join(format!("{table}.parquet")).exists()).collect();
    assert_eq!(there, ["requests", "events"]);
    let recording = Bundle::open(parent.path()).unwrap().recording().unwrap();
    assert!(recording.requests.is_empty() && recording.events.is_empty() && recording.signals.is_empty());
}

/// Needs python3 with pyarrow; says so when it is not there.
#[test]
fn pyarrow_reads_the_tables() {
    let python = |code: &str, dir: &Path| Command::new("python3").args(["-c", code]).current_dir(dir).output();
    let parent = tempfile::tempdir().unwrap();
    if !python("import pyarrow.parquet", parent.path()).is_ok_and(|out| out.status.success()) {
        eprintln!("SKIPPED pyarrow_reads_the_tables: no python3 with pyarrow on this machine");
        return;
    }
    run::unfinished(parent.path(), 5).finish(run::info()).unwrap();
    let code = "import pyarrow.parquet as p\n\
        r = p.read_table('requests.parquet').to_pylist(); e = p.read_table('events.parquet').to_pylist()\n\
        s = p.read_table('signals.parquet').to_pylist()\n\
        print(len(r), len(e), r[3]['prompt_hash'], r[3]['fate'], e[1]['kernel_ns'], s[1]['bound'])";
    let out = python(code, parent.path()).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&out.stdout).trim(),
        format!("5 16 {} completed 19980000 inf", u64::MAX - 3),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

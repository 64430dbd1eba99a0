use firstcheck_workload::{
    hash::trace_hash,
    spec::{Source, Spec},
    trace::Trace,
};
use serde::Deserialize;
use std::{fs::File, io::BufReader, path::PathBuf};

/// A file of the published traces; says so loudly when there are none.
fn artefact(path: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, {path} is not read");
        return None;
    };
    Some(PathBuf::from(folder).join("workloads").join(path))
}

fn read(source: Source, path: &PathBuf) -> Trace {
    let mut file = BufReader::new(File::open(path).unwrap());
    Spec { source, ..Spec::default() }.generate(1, Some(&mut file)).unwrap().trace
}

#[derive(Deserialize)]
struct Line {
    input_length: u64,
    hash_ids: Vec<u64>,
}

#[test]
fn mooncake_traces_share_what_their_ids_say() {
    for (name, requests) in [("conversation", 12_031), ("synthetic", 3_993)] {
        let Some(path) = artefact(&format!("mooncake/{name}_trace.jsonl")) else { return };
        let trace = read(Source::Mooncake, &path);
        assert_eq!(trace.len(), requests);
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(trace.prompt_tokens(), lines.iter().map(|line| line.input_length).sum::<u64>());
        // Each request against the 20 before it.
        for row in (0..lines.len()).step_by(97) {
            for other in row.saturating_sub(20)..row {
                let (a, b) = (&lines[row], &lines[other]);
                let blocks = a.hash_ids.iter().zip(&b.hash_ids).take_while(|(a, b)| a == b).count();
                let expected = (blocks * 512).min(a.input_length as usize).min(b.input_length as usize);
                let (a, b) = (trace.items[row].prompt.token_ids(None), trace.items[other].prompt.token_ids(None));
                let common = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
                // Blocks that differ may begin with the same word or two by chance.
                assert!((expected..expected + 4).contains(&common), "{name} {row} {other}: {common}, not {expected}");
            }
        }
    }
}

#[test]
fn azure_traces_are_read_whole() {
    // Rows, and nanoseconds from the first to the last.

    let table = [("code", 8_819, 3_435_948_056_000), ("conv", 19_366, 3_501_721_937_000)];
    for (name, requests, last_ns) in table {
        let Some(path) = artefact(&format!("azure/AzureLLMInferenceTrace_{name}.csv")) else { return };
        let trace = read(Source::Azure, &path);
        assert_eq!(trace.len(), requests);
        let last = trace.items.last().unwrap();
        assert_eq!(
            last.due,
            firstcheck_workload::trace::Due::At(firstcheck_model::moment::Moment::at(last_ns)),
            "{name}"
        );
        assert_eq!(trace_hash(&trace), trace_hash(&read(Source::Azure, &path)));
    }
}

//! What checks say of real captures.

use firstcheck_analyze::{case::Case, diagnose::diagnose, settings::Settings, side::Side};
use firstcheck_ingest::{Input, Limits, collect};
use firstcheck_model::{
    evidence::{Evidence, Sourced},
    finding::{Cause, Finding, Outcome},
    prompts::{Content, Prompts},
};
use std::path::{Path, PathBuf};

fn captures() -> Option<PathBuf> {
    let found = std::env::var_os("FIRSTCHECK_ARTEFACTS").map(|folder| Path::new(&folder).join("engine"));
    if found.is_none() {
        eprintln!("SKIPPED: set FIRSTCHECK_ARTEFACTS to the folder of real artefacts to run this test");
    }
    found
}

fn read(captures: &Path, name: &str) -> Evidence {
    collect(vec![Input::Path(captures.join(name))], &Limits::default()).evidence
}

fn findings(base: Option<&Evidence>, side: &Evidence) -> Vec<Finding> {
    let settings = Settings::default();
    let (base, side) = (base.map(|base| Side::with(base, &settings)), Side::with(side, &settings));
    diagnose(&Case { side: &side, base: base.as_ref(), settings: &settings })
}

fn present<'f>(findings: &'f [Finding], code: &str) -> &'f [Cause] {
    let finding = findings.iter().find(|finding| finding.code == code).unwrap();
    match &finding.outcome {
        Outcome::Present { causes, .. } => causes,
        other => panic!("{code}: {other:?}"),
    }
}

fn supported(causes: &[Cause]) -> Vec<&str> {
    causes.iter().filter(|cause| cause.is_supported()).map(Cause::id).collect()
}

/// Prompts like those of the captures: a long common text, with a number of their own in front or not.
fn prompts(id_in_front: bool) -> Vec<Sourced<Prompts>> {
    let common = "You are the support assistant of a shop. Rules: be brief, be kind, name the article. ".repeat(20);
    let prompt = |at: u32| {
        let front = if id_in_front {
            format!("[request {:016x}]\n", u64::from(at).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        } else {
            String::new()
        };
        format!("{front}{common}\nQuestion: number {}", at * 7919)
    };
    vec![Sourced { label: "prompts.jsonl".into(), item: Content::Text((1..20).map(prompt).collect()).into() }]
}

#[test]
fn a_request_id_in_front_of_shared_prompts_is_found() {
    let Some(captures) = captures() else { return };
    let mut base = read(&captures, "b_apc_on_shared_prefix");
    let mut side = read(&captures, "b_apc_on_shared_prefix_uid_start");
    let found = findings(Some(&base), &side);
    let causes = present(&found, "S01");
    assert!(supported(causes).is_empty(), "without prompts no cause is named: {causes:?}");
    let Outcome::Present { facts, explains, .. } = &found[0].outcome else { panic!("{found:?}") };
    // The hits that the page counts are those of the client's warm-up: of the window's tokens at most 3.3 % were found.
    let hits = facts.iter().find(|fact| fact.text.contains("were cached")).unwrap();
    assert!(hits.interval.is_some_and(|(low, high)| low == 0.0 && high < 0.035), "{hits:?}");
    let explains = explains.as_ref().unwrap();
    let ratio = explains.explained / explains.delta;
    assert!((0.5..2.0).contains(&ratio) && (0.10..0.18).contains(&explains.explained), "{explains:?}");
    (base.prompts, side.prompts) = (prompts(false), prompts(true));
    assert_eq!(supported(present(&findings(Some(&base), &side), "S01")), ["volatile-text"]);
}

#[test]
fn a_cache_that_is_off_is_found() {
    let Some(captures) = captures() else { return };
    let (base, side) = (read(&captures, "b_apc_on_shared_prefix"), read(&captures, "b_apc_off_shared_prefix"));
    assert_eq!(supported(present(&findings(Some(&base), &side), "S01")), ["cache-off-or-salted"]);
}

/// A cache that is off and prompts that begin with an id are no cache that collapses at peak.
#[test]
fn other_prompts_are_no_collapse_of_the_cache() {
    let Some(captures) = captures() else { return };
    let base = read(&captures, "b_apc_on_shared_prefix");
    for name in ["b_apc_off_shared_prefix", "b_apc_on_shared_prefix_uid_start"] {
        let found = findings(Some(&base), &read(&captures, name));
        let finding = found.iter().find(|finding| finding.code == "S03").unwrap();
        assert!(!matches!(finding.outcome, Outcome::Present { .. }), "{name}: {finding:?}");
    }
}

#[test]
fn a_pool_that_shrank_is_found() {
    let Some(captures) = captures() else { return };
    let (base, side) = (read(&captures, "c_kv_ample"), read(&captures, "c_kv_small_preempt"));
    let found = findings(Some(&base), &side);
    let causes = present(&found, "S15");
    assert_eq!(supported(causes), ["kv-pool-shrank"]);
    let Cause::Supported { facts, .. } = &causes[0] else { panic!("{causes:?}") };
    for part in ["base: 2047 usable KV blocks", "13 usable KV blocks", "set the number of KV blocks, memory holds 2048"]
    {
        assert!(facts.iter().any(|fact| fact.text.contains(part)), "{part}: {facts:#?}");
    }
    // By itself nothing tells why, and what only adds to it is not named in its stead.
    assert!(supported(present(&findings(None, &side), "S15")).is_empty());
}

#[test]
fn failed_starts_name_their_stage_and_cause() {
    let Some(captures) = captures() else { return };
    let pages = "../metrics/vllm-0.25/vllm_serve_";
    for (name, stage, cause) in [
        ("e_kv_bigger_than_ram", "sizing the KV cache", "kv-request"),
        ("e_kv_too_small_blocks", "sizing the KV cache", "kv-request"),
        ("e_maxlen_over_model", "reading its configuration", "configuration-rejected"),
        (&format!("{pages}max_model_len_rejected_v0.25.1.log"), "reading its configuration", "configuration-rejected"),
        (&format!("{pages}unrecognized_argument_v0.25.1.log"), "reading its configuration", "configuration-rejected"),
        (&format!("{pages}no_kv_cache_memory_v0.25.1.log"), "sizing the KV cache", "kv-request"),
    ] {
        let found = findings(None, &read(&captures, name));
        let causes = present(&found, "S14");
        assert_eq!(supported(causes), [cause], "{name}: {causes:#?}");
        let finding = found.iter().find(|finding| finding.code == "S14").unwrap();
        let Outcome::Present { facts, .. } = &finding.outcome else { panic!("{name}") };
        assert!(facts[0].text.contains(&format!("failed while {stage}")), "{name}: {facts:#?}");
    }
}

#[test]
fn short_prompts_behind_long_ones_are_told_by_the_budget() {
    let Some(captures) = captures() else { return };
    // The same 6,000-token prompts take twelve steps of 512 tokens, or one of 8,192.
    for (name, cause) in
        [("d2_mixed_slow_mnbt512", "serialised-partial-prefill"), ("d2_mixed_slow_mnbt8192", "service-time-variance")]
    {
        let found = findings(None, &read(&captures, name));
        assert_eq!(supported(present(&found, "S02")), [cause], "{name}");
    }
}

/// What a busy client did to its own events is said, and is no fault of the deployment.
#[test]
fn healthy_captures_have_no_finding_but_of_the_client() {
    let Some(captures) = captures() else { return };
    let names =
        ["a_baseline_e1", "a_baseline_e2", "a_baseline_a1", "h_mns64", "f_old_baseline", "b_apc_on_shared_prefix"];
    let all: Vec<Evidence> = names.iter().map(|name| read(&captures, name)).collect();
    for (name, side) in names.iter().zip(&all) {
        // The last one has prompts of its own, so it is no base of the others.
        for base in
            std::iter::once(None).chain(all[..4].iter().map(Some)).filter(|base| base.is_none() || *name != names[5])
        {
            let found = findings(base, side);
            let present: Vec<&Finding> = found
                .iter()
                .filter(|finding| finding.code != "S12" && matches!(finding.outcome, Outcome::Present { .. }))
                .collect();
            assert!(present.is_empty(), "{name}: {present:?}");
        }
    }
}

/// Two ranks: one waits in a sum, the other one never entered it. Dumps of three tools, and records in two forms.
#[test]
fn a_rank_that_never_entered_a_collective_is_found() {
    let Some(captures) = captures() else { return };
    let traces = captures.join("../traces");
    let read = |names: &[&str]| {
        let inputs = names.iter().map(|name| Input::Path(traces.join(name))).collect();
        collect(inputs, &Limits::default()).evidence
    };
    let py_spy = ["pyspy/pyspy_rank0.txt", "pyspy/pyspy_rank1.txt"];
    let native = ["pyspy/pyspy_native_locals_rank0.txt", "pyspy/pyspy_native_locals_rank1.txt"];
    let gdb = ["gdb/gdb_rank0.txt", "gdb/gdb_rank1.txt"];
    for stacks in [py_spy, native, gdb] {
        for records in [&[][..], &["flight_recorder/fr_trace_0", "flight_recorder/fr_trace_1"]] {
            let found = findings(None, &read(&[&stacks, records].concat()));
            assert_eq!(supported(present(&found, "S19")), ["host-code"], "{stacks:?} {records:?}");
        }
    }
    let found = findings(
        None,
        &read(&["flight_recorder/fr_trace_json_rank0.json", "flight_recorder/fr_trace_json_rank1.json"]),
    );
    assert!(supported(present(&found, "S19")).is_empty(), "records tell which rank, not what it does");
    let found = findings(None, &read(&["pyspy/pyspy_rank0.txt"]));
    let finding = found.iter().find(|finding| finding.code == "S19").unwrap();
    assert!(matches!(finding.outcome, Outcome::Undecided { .. }), "one rank alone tells nothing: {finding:?}");
}

/// The Python client was busy in all but the last: zero gaps of 8 to 76 %, against 0.5 %.
#[test]
fn events_that_a_busy_client_read_late_are_found() {
    let Some(captures) = captures() else { return };
    for name in ["a_baseline_e1", "a_baseline_e2", "a_baseline_a1", "h_mns64"] {
        let found = findings(None, &read(&captures, name));
        let causes = present(&found, "S12");
        let open = |id: &str| causes.iter().any(|c| c.id() == id && matches!(c, Cause::Open { .. }));
        assert!(supported(causes).is_empty() && open("proxy-coalesces") && open("slow-client"), "{name}: {causes:?}");
    }
    let found = findings(None, &read(&captures, "f_old_baseline"));
    let finding = found.iter().find(|finding| finding.code == "S12").unwrap();
    assert!(matches!(finding.outcome, Outcome::Absent { .. }), "{finding:?}");
}

/// The pool of 13 blocks throws requests out: their streams stand still while all others run faster than the base's.
#[test]
fn streams_of_a_small_pool_freeze_as_a_consequence() {
    let Some(captures) = captures() else { return };
    let (base, side) = (read(&captures, "c_kv_ample"), read(&captures, "c_kv_small_preempt"));
    let found = findings(Some(&base), &side);
    let freezes = found.iter().find(|finding| finding.code == "S09").unwrap();
    assert_eq!(freezes.consequence_of.as_deref(), Some("S15"));
    assert_eq!(supported(present(&found, "S09")), ["preemption", "resume-waits"]);
    let Outcome::Present { facts, .. } = &freezes.outcome else { panic!("{freezes:?}") };
    let says = |text: &str| facts.iter().any(|fact| fact.text.contains(text));
    assert!(says("1.62 s at p90") && says("0.29 s at p90"), "{facts:?}");
}

/// Prompts of 6,000 tokens among short ones: within a budget of 8,192 one of them freezes a stream for 3.2 s, in chunks of
/// 512 none does, since none runs beside it.
#[test]
fn a_whole_prompt_freezes_a_stream() {
    let Some(captures) = captures() else { return };
    let found = findings(None, &read(&captures, "d2_mixed_slow_mnbt8192"));
    assert_eq!(supported(present(&found, "S09")), ["long-prompt"]);
    let found = findings(None, &read(&captures, "d2_mixed_slow_mnbt512"));
    for finding in found.iter().filter(|finding| ["S07", "S08", "S09"].contains(&finding.code.as_str())) {
        assert!(matches!(finding.outcome, Outcome::Absent { .. }), "{finding:?}");
    }
}

#[test]
fn white_space_up_to_the_limit_is_found() {
    let Some(captures) = captures() else { return };
    let found = findings(None, &read(&captures, "i_structured"));
    // The first request for a schema took 128 ms longer than later ones: no stall yet.
    assert_eq!(supported(present(&found, "S11")), ["unbounded-output"]);
}

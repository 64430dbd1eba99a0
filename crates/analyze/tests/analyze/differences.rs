//! What differs between two deployments, ranked and told apart.

use firstcheck_analyze::compare::{Differences, comparability, difference::defaults};
use firstcheck_ingest::{Input, Limits, collect, fingerprint::setting_name};
use firstcheck_model::{
    fingerprint::{Fingerprint, Group, Impact, Stated, field, impact},
    report::{Came, Difference},
    run::Role,
};
use std::path::PathBuf;

fn print(version: &str, given: &[(&str, &str)], resolved: &[(&str, &str)]) -> Fingerprint {
    let mut print = Fingerprint::default();
    print.set(field::ENGINE, "vllm", "server.log");
    print.set(field::ENGINE_VERSION, version, "server.log");
    given.iter().for_each(|(name, value)| print.set(&format!("given.{name}"), *value, "server.log"));
    resolved.iter().for_each(|(name, value)| print.set(name, *value, "server.log"));
    print
}

fn came(found: &[Difference], name: &str) -> Option<Came> {
    found.iter().find(|one| one.field == name).map(|one| one.came)
}

#[test]
fn who_set_it_is_told_apart() {
    let given: [(&str, &str); 1] = [("model", "m")];
    let old =
        print("0.16.0", &given, &[("gpu_memory_utilization", "0.9"), ("max_num_seqs", "256"), ("kv_blocks", "9")]);
    let more = [("model", "m"), ("max_num_seqs", "64")];
    let new = print("0.32.0", &more, &[("gpu_memory_utilization", "0.92"), ("max_num_seqs", "64"), ("kv_blocks", "8")]);
    let found = Differences::between(&old, &new).differing;
    let expected = [
        (field::ENGINE_VERSION, Came::Given),
        (field::KV_BLOCKS, Came::Computed),
        (field::GPU_MEMORY_UTILIZATION, Came::DefaultChanged),
        (field::MAX_NUM_SEQS, Came::Given),
    ];
    for (name, expected) in expected {
        assert_eq!(came(&found, name), Some(expected), "{name}");
    }
    let utilisation = found.iter().find(|one| one.field == field::GPU_MEMORY_UTILIZATION).unwrap();
    assert!(utilisation.since.as_ref().unwrap().contains("from 0.9 to 0.92"), "{utilisation:?}");
    // The option and what came of it are one change.
    assert_eq!(found.iter().filter(|one| one.field.ends_with(field::MAX_NUM_SEQS)).count(), 1);
}

#[test]
fn without_the_options_of_a_side_nobody_is_named() {
    let old = print("0.16.0", &[("model", "m")], &[("some_setting", "1"), ("gpu_memory_utilization", "0.9")]);
    let new = print("0.32.0", &[], &[("some_setting", "2"), ("gpu_memory_utilization", "0.92")]);
    let found = Differences::between(&old, &new).differing;
    assert_eq!(came(&found, "some_setting"), Some(Came::Untold));
    assert_eq!(came(&found, "gpu_memory_utilization"), Some(Came::DefaultChanged), "both are known defaults");
    let same = Differences::between(&old, &print("0.16.0", &[("model", "m")], &[("some_setting", "2")])).differing;
    assert_eq!(came(&same, "some_setting"), Some(Came::Computed), "one version has one default");
}

#[test]
fn an_option_speaks_for_what_it_implies() {
    let old = print("0.32.0", &[("model", "m")], &[("cudagraph_mode", "FULL_AND_PIECEWISE")]);
    let new = print("0.32.0", &[("model", "m"), ("enforce_eager", "true")], &[("cudagraph_mode", "NONE")]);
    let found = Differences::between(&old, &new);
    assert_eq!(came(&found.differing, "cudagraph_mode"), Some(Came::Given));
    assert_eq!(found.differing[0].impact, Impact::High);
    let alone: Vec<_> = found.one_sided.iter().map(|one| (one.side, one.field.as_str())).collect();
    assert_eq!(alone, [(Role::Candidate, "given.enforce_eager")]);
}

#[test]
fn hardware_and_libraries_are_the_environment_and_the_telling_comes_first() {
    let with = |gpu: &str, driver: &str, noise: &str| {
        let mut print = print("0.32.0", &[("model", "m")], &[("aaa", noise)]);
        print.state(Group::Hardware, field::GPU_MODEL, Stated::new(gpu, "gpus.xml"));
        print.state(Group::Software, "driver_version", Stated::new(driver, "gpus.xml"));
        print
    };
    let found = Differences::between(&with("A100", "550", "1"), &with("H100", "570", "2")).differing;
    let order: Vec<_> = found.iter().map(|one| (one.field.as_str(), one.came)).collect();
    let expected = [("gpu_model", Came::Environment), ("driver_version", Came::Environment), ("aaa", Came::Computed)];
    assert_eq!(order, expected);
}

#[test]
fn values_that_two_sources_write_differently_do_not_differ() {
    let one = print("0.32.0", &[], &[("a", "True"), ("b", "2048"), ("c", "float32")]);
    let other = print("0.32.0", &[], &[("a", "true"), ("b", "2048.0"), ("c", "torch.float32")]);
    assert_eq!(Differences::between(&one, &other), Differences::default());
    let versions = Differences::between(&print("0.1", &[], &[]), &print("0.10", &[], &[])).differing;
    assert_eq!(versions.len(), 1, "versions are no numbers");
}

fn artefacts() -> Option<PathBuf> {
    let root = std::env::var_os("FIRSTCHECK_ARTEFACTS").map(PathBuf::from);
    if root.is_none() {
        eprintln!("SKIPPED: set FIRSTCHECK_ARTEFACTS to compare real deployments");
    }
    root
}

fn of(path: PathBuf) -> Fingerprint {
    firstcheck_analyze::fingerprint::of(&collect(vec![Input::Path(path)], &Limits::default()).evidence)
}

/// Two versions at the same flags: nobody set anything but the version.
#[test]
fn two_real_versions_at_the_same_flags_differ_by_their_defaults() {
    let Some(root) = artefacts() else { return };
    let engine = root.join("engine");
    let found = Differences::between(&of(engine.join("f_old_baseline")), &of(engine.join("a_baseline_e1")));
    let version = found.differing.iter().find(|one| one.field == field::ENGINE_VERSION).unwrap();
    assert_eq!((version.base.as_str(), version.candidate.as_str()), ("0.16.0", "0.32.0"));
    let changed: Vec<&str> =
        found.differing.iter().filter(|one| one.came == Came::DefaultChanged).map(|one| one.field.as_str()).collect();
    for name in [
        "gpu_memory_utilization",
        "kv_cache_memory_bytes",
        "compilation_config.fast_moe_cold_start",
        "compilation_config.pass_config.fuse_norm_quant",
        "compilation_config.pass_config.fuse_act_quant",
    ] {
        assert!(changed.contains(&name), "{name} is not in {changed:?}");
    }
    let given: Vec<_> = found.differing.iter().filter(|one| one.came == Came::Given).collect();
    let workload = |one: &&&Difference| one.group == Group::Workload;
    assert!(
        given
            .iter()
            .filter(|one| !workload(one))
            .all(|one| one.field == field::ENGINE_VERSION || one.field.starts_with("given.api_server")),
        "{given:?}"
    );
}

/// What vLLM 0.16.0 and 0.32.0 both print of their resolved configuration, where it differs between the two captures.
const BOTH_PRINT: [&str; 14] = [
    "cache_config.gpu_memory_utilization",
    "cache_config.kv_cache_memory_bytes",
    "compilation_config.fast_moe_cold_start",
    "compilation_config.pass_config.eliminate_noops",
    "compilation_config.pass_config.fuse_act_quant",
    "compilation_config.pass_config.fuse_norm_quant",
    "kernel_config.enable_flashinfer_autotune",
    "load_config.safetensors_load_strategy",
    "observability_config.collect_detailed_traces",
    "observability_config.otlp_traces_endpoint",
    "optimization_level",
    "parallel_config.distributed_executor_backend",
    "parallel_config.eplb_config.use_async",
    "profiler_config.torch_profiler_dump_cuda_time_total",
];

#[test]
fn the_resolved_configurations_of_two_versions_differ_as_they_print_them() {
    let Some(root) = artefacts() else { return };
    let info = |name: &str| of(root.join("engine").join(name).join("server_info.json"));
    let found = Differences::between(&info("f_old_baseline"), &info("k_otlp")).differing;
    let resolved = found.iter().filter(|one| one.group == Group::Resolved && !one.field.starts_with("env."));
    let mut told: Vec<&str> = resolved.map(|one| one.field.as_str()).collect();
    let mut expected = BOTH_PRINT.map(setting_name).to_vec();
    told.sort_unstable();
    expected.sort_unstable();
    assert_eq!(told, expected);
}

/// The tables of the page are those in force.
#[test]
fn the_page_shows_the_tables_in_force() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fingerprint.md");
    let mut page = std::fs::read_to_string(path).unwrap();
    for (name, table) in [("impact", impact::page()), ("defaults", defaults::page()), ("rules", comparability::page())]
    {
        let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let from = page.find(&start).expect("its place") + start.len();
        let to = page[from..].find(&end).expect("its end") + from;
        if std::env::var_os("UPDATE").is_some() {
            page.replace_range(from..to, &table);
            std::fs::write(path, &page).unwrap();
        } else {
            assert_eq!(&page[from..to], table, "UPDATE=1 writes it anew");
        }
    }
}

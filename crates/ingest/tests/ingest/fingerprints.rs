//! Fingerprints from logs, devices, packages, hosts and the folder of a model.

use crate::fixture;
use firstcheck_ingest::{
    Input, Limits, collect,
    fingerprint::{
        REDACTED, from_collect_env, from_environment, from_gpus, from_log, from_packages, from_server_info,
        from_topology,
    },
    log::LogReader,
};
use firstcheck_model::{
    fingerprint::{Fingerprint, Group, field},
    gpu::{GpuProcess, GpuSnapshot, GpuState, GpuTopology},
    unit::Bytes,
};

fn log(lines: &[&str]) -> Fingerprint {
    let mut reader = LogReader::new("server.log");
    for (number, line) in (1..).zip(lines) {
        reader.line(number, line);
    }
    let mut all = Fingerprint::default();
    from_log(&reader.finish(), "server.log", &mut all);
    all
}

/// NCCL says what it found when it comes up, in a log of its own or among the engine's lines: a fall back to sockets shows.
#[test]
fn the_network_is_what_nccl_found() {
    let up =
        |lines: &[&str]| lines.iter().map(|line| format!("node7:41:99 [3] NCCL INFO {line}\n")).collect::<String>();
    let fabric = up(&[
        "NCCL version 2.27.5+cuda12.9",
        "NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.",
        "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.9.8.7<0>",
        "Using network IB",
        "Channel 00/24 : 0 1 2 3",
        "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read",
        "Channel 01/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
        "Channel 02/0 : 0[0] -> 8[0] [send] via NET/IB/1(7)/GDRDMA",
    ]);
    let socket =
        up(&["NET/IB : No device found.", "NET/Socket : Using [0]eth0:10.9.8.7<0>", "Using network AWS Libfabric"]);
    let engine = format!("INFO 01-02 03:04:05 [api_server.py:1] vLLM API server version 0.12.0\n{fabric}");
    let stated = |text: &str| {
        let mut source = text.as_bytes();
        collect(vec![Input::Stream("-", &mut source)], &Limits::default()).evidence.stated
    };
    for text in [&fabric, &engine] {
        let all = stated(text);
        let expected = [
            ("nccl_version", "2.27.5+cuda12.9"),
            ("nccl_network", "IB"),
            ("nccl_devices", "mlx5_0:1/IB mlx5_1:1/RoCE"),
            ("nccl_paths", "NET/IB/GDRDMA P2P/CUMEM/read"),
            ("given.env.NCCL_IB_HCA", "mlx5_0,mlx5_1"),
        ];
        for (name, value) in expected {
            assert_eq!(all.get(name), Some(value), "{name}");
        }
        assert_eq!(all.field("nccl_network").unwrap().group, Group::Network);
    }
    let all = stated(&socket);
    assert_eq!((all.get("nccl_network"), all.get("nccl_devices")), (Some("Libfabric"), Some("eth0")));
    assert!(!format!("{all:?}").contains("10.9.8.7"), "an address is no property of a deployment");
}

const GIVEN: &str = "(APIServer pid=1) INFO 01-02 03:04:05 [utils.py:1] non-default args: {'model': 'org/toy', \
    'api_key': ['hunter2'], 'host': '10.0.0.1', 'port': 8000, 'enforce_eager': True, 'served_model_name': ['toy'], \
    'max_num_seqs': 32}";
const CONFIG: &str = "(EngineCore pid=2) INFO 01-02 03:04:06 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with \
    config: model='org/toy', tokenizer='org/toy', dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=2, \
    quantization=None, enable_prefix_caching=True, served_model_name=toy, compilation_config={'mode': \
    <CompilationMode.NONE: 0>, 'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'custom_ops': ['all']}";
const KV: &str = "(EngineCore pid=2) INFO 01-02 03:04:07 [kv_cache_utils.py:1] GPU KV cache size: 262,144 tokens";

#[test]
fn a_log_states_what_was_given_and_what_came_of_it_each_with_its_line() {
    let all = log(&[GIVEN, CONFIG, KV]);
    let expected = [
        (field::ENGINE_VERSION, "0.32.0", None),
        ("given.enforce_eager", "true", Some(1)),
        ("given.max_num_seqs", "32", Some(1)),
        (field::MAX_NUM_SEQS, "32", Some(1)),
        (field::MODEL, "toy", Some(2)),
        (field::MODEL_ROOT, "org/toy", Some(2)),
        (field::MAX_MODEL_LEN, "8192", Some(2)),
        ("dtype", "bfloat16", Some(2)),
        (field::PREFIX_CACHING, "true", Some(2)),
        ("cudagraph_mode", "FULL_AND_PIECEWISE", Some(2)),
        ("compilation_config.custom_ops", "[all]", Some(2)),
        (field::KV_TOKENS, "262144", Some(3)),
    ];
    for (name, value, line) in expected {
        let field = all.field(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!((field.stated.value.as_str(), field.stated.line), (value, line), "{name}");
    }
    assert_eq!(all.field("given.max_num_seqs").unwrap().group, Group::Given);
    assert_eq!(all.get("quantization"), None);
    assert!(all.field("quantization").is_some(), "that it is unset is known");
    assert!(all.field("given.host").is_none() && all.field("given.port").is_none(), "of the instance, not the set-up");
}

/// The same setting has one name and spelling in the log and in the endpoint's JSON: nothing contradicts.
#[test]
fn a_log_and_an_endpoint_agree() {
    let mut all = log(&[GIVEN, CONFIG, KV]);
    let info = br#"{"vllm_config":{"model_config":{"model":"org/toy","tokenizer":"org/toy","dtype":"torch.bfloat16",
        "max_model_len":8192,"served_model_name":"toy","quantization":null},"parallel_config":{"tensor_parallel_size":2},
        "cache_config":{"enable_prefix_caching":true},"scheduler_config":{"max_num_seqs":32},
        "compilation_config":{"mode":0,"cudagraph_mode":[2,1],"custom_ops":["all"]}}}"#;
    assert!(from_server_info(info, "/server_info", &mut all));
    let contradicted: Vec<_> = all.iter().filter(|(_, field)| !field.also.is_empty()).collect();
    assert!(contradicted.is_empty(), "{contradicted:?}");
    assert!(from_server_info(br#"{"vllm_config":{"scheduler_config":{"max_num_seqs":64}}}"#, "/server_info", &mut all));
    let seqs = all.field(field::MAX_NUM_SEQS).unwrap();
    assert_eq!((seqs.stated.value.as_str(), seqs.also[0].value.as_str()), ("64", "32"), "both are shown");
}

#[test]
fn devices_state_what_they_are_and_where_they_differ() {
    let gpu = |clock: f64, process: &str| GpuState {
        name: Some("NVIDIA H100".into()),
        memory_total: Some(Bytes(81_559.0 * 1024.0 * 1024.0)),
        sm_clock_max_mhz: Some(clock),
        mig: Some(false),
        processes: vec![GpuProcess { pid: 1, name: process.into(), memory: None }],
        ..GpuState::default()
    };
    let snapshot = GpuSnapshot {
        timestamp: None,
        driver: Some("570.1".into()),
        cuda: Some("12.8".into()),
        gpus: vec![gpu(1980.0, "VLLM::Worker_TP0"), gpu(1410.0, "/usr/bin/miner")],
    };
    let mut all = Fingerprint::default();
    from_gpus(&snapshot, "gpus.xml", &mut all);
    let links = vec![vec!["X".into(), "NV18".into()], vec!["NV18".into(), "X".into()]];
    let topology = GpuTopology { devices: vec!["GPU0".into(), "GPU1".into()], links, numa: vec![Some(0), Some(1)] };
    from_topology(&topology, "topo.txt", &mut all);
    let expected = [
        (field::GPU_MODEL, "NVIDIA H100"),
        (field::GPU_COUNT, "2"),
        ("gpu_memory", "81559 MiB"),
        ("gpu_sm_clock_max_mhz", "1410 × 1, 1980 × 1"),
        ("gpu_mig", "false"),
        ("gpu_co_tenants", "miner"),
        ("gpu_links", "NV18 × 1"),
        ("gpu_numa", "0 1"),
        ("driver_version", "570.1"),
    ];
    for (name, value) in expected {
        assert_eq!(all.get(name), Some(value), "{name}");
    }
    assert!(all.field("gpu_power_limit_watts").is_none(), "what the driver does not state is no field");
}

#[test]
fn packages_and_hosts_state_versions() {
    let mut all = Fingerprint::default();
    let list = "vllm==0.32.0\ntorch==2.13.0\nnvidia-nccl-cu13==2.29.7\ntriton==3.7.1\nnumpy==2.3.5\n";
    assert_eq!(from_packages(list, "freeze.txt", &mut all), 5);
    for (name, value) in [
        (field::ENGINE, "vllm"),
        (field::ENGINE_VERSION, "0.32.0"),
        ("nccl_version", "2.29.7"),
        ("package.numpy", "2.3.5"),
    ] {
        assert_eq!(all.get(name), Some(value), "{name}");
    }
    assert_eq!(all.field("torch_version").unwrap().stated.line, Some(2));

    let mut all = Fingerprint::default();
    let said = "PyTorch version: 2.6.0+cu124\nCUDA used to build PyTorch: 12.4\nNvidia driver version: 550.54\n\
        GPU models and configuration:\nGPU 0: NVIDIA L4\nGPU 1: NVIDIA L4\n[pip3] numpy==1.26\nvLLM Version: 0.8.5\n\
        VLLM_API_KEY=hunter2\nNCCL_DEBUG=INFO\nHOME=/srv/me\n";
    from_collect_env(said, "env.txt", &mut all);
    for (name, value) in [
        ("torch_version", "2.6.0+cu124"),
        ("driver_version", "550.54"),
        (field::GPU_MODEL, "NVIDIA L4"),
        (field::GPU_COUNT, "2"),
        (field::ENGINE_VERSION, "0.8.5"),
        ("package.numpy", "1.26"),
        ("given.env.NCCL_DEBUG", "INFO"),
        ("given.env.VLLM_API_KEY", REDACTED),
    ] {
        assert_eq!(all.get(name), Some(value), "{name}");
    }
    assert!(!format!("{all:?}").contains("/srv/me"), "what sets up no engine is left out");
}

/// Keys planted wherever an engine's settings carry text.
#[test]
fn planted_keys_do_not_enter() {
    let mut all = log(&[
        "INFO 01-02 03:04:05 [u.py:1] non-default args: {'model': 'm', 'api_key': ['hunter2'], 'hf_token': 'hunter2', \
         'otlp_traces_endpoint': 'http://me:hunter2@host/v1', 'kv_transfer_config': '{\"url\": \"http://h/?token=hunter2\"}', \
         'middleware': ['--api-key hunter2'], 'headers': 'Authorization: Bearer hunter2'}",
    ]);
    let info = br#"{"vllm_config":{"model_config":{"hf_token":"hunter2","hf_overrides":{"secret":"hunter2"}},
        "observability_config":{"otlp_traces_endpoint":"http://me:hunter2@host/?api_key=hunter2"}},
        "vllm_env":{"VLLM_API_KEY":"hunter2","VLLM_EXTRA":"--api-key hunter2"},
        "system_env":{"env_vars":"HF_TOKEN=hunter2\nVLLM_API_KEY=hunter2\nNCCL_X=Bearer hunter2"}}"#;
    assert!(from_server_info(info, "/server_info", &mut all));
    from_environment(
        "HF_TOKEN=hunter2\nTORCH_URL=https://u:hunter2@h/\nVLLM_HEADERS=Authorization: Bearer hunter2",
        "nsys",
        &mut all,
    );
    from_collect_env("PyTorch version: 2\nVLLM_API_KEY=hunter2\nHF_TOKEN=hunter2", "env.txt", &mut all);
    let text = format!("{all:?}");
    assert!(!text.contains("hunter2"), "{text}");
    assert!(text.contains(REDACTED), "that a key was set is a fact");
}

/// A file of weights: a header, and as many bytes as it says.
/// An export of Nsight Systems holds the environment of what was profiled. It is known, listed, and nothing of it is kept.
#[test]
fn a_profilers_export_is_listed_without_its_environment() {
    let mut export =
        b"SQLite format 3\0 CREATE TABLE StringIds CUPTI_ACTIVITY_KIND_KERNEL TARGET_INFO_SESSION_START ".to_vec();
    export.extend_from_slice(b"HF_TOKEN=hf_plantedplantedplanted OPENAI_API_KEY=sk-planted --api-key planted ");
    let mut source = &export[..];
    let all = collect(vec![Input::Stream("profile.sqlite", &mut source)], &Limits::default());
    assert!(all.unread[0].reason.starts_with("Nsight Systems export"), "{:?}", all.unread);
    assert!(!format!("{all:?}").contains("planted"));
}

fn weights(tensor: &str, content: &str) -> String {
    let header = format!(
        r#"{{"__metadata__":{{"format":"pt"}},"{tensor}":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}}}}"#,
        content.len()
    );
    let length = String::from_utf8((header.len() as u64).to_le_bytes().to_vec()).unwrap();
    length + &header + content
}

#[test]
fn the_folder_of_a_model_is_hashed() {
    let of = |tensor: &str, content: &str, whole_weights: bool| {
        let (config, template) = (
            r#"{"architectures":["Toy"],"model_type":"toy","hidden_size":64,"num_hidden_layers":2}"#,
            r#"{"tokenizer_class":"Fast","chat_template":"{% for m in messages %}"}"#,
        );
        let folder = fixture::folder(&[
            ("config.json", config),
            ("tokenizer.json", r#"{"version":"1.0","truncation":null,"padding":null,"model":{}}"#),
            ("tokenizer_config.json", template),
            ("model.safetensors", &weights(tensor, content)),
        ]);
        let limits = Limits { whole_weights, ..Limits::default() };
        collect(vec![Input::Path(folder.path().to_owned())], &limits).evidence.stated
    };
    let one = of("w", "abcd", false);
    assert_eq!((one.get("hidden_size"), one.get("architectures")), (Some("64"), Some("[Toy]")));
    for name in [field::TOKENIZER_HASH, field::CHAT_TEMPLATE_HASH, field::WEIGHTS_LAYOUT, field::WEIGHTS_BYTES] {
        assert!(one.get(name).is_some(), "{name}");
    }
    assert_eq!(one.get(field::WEIGHTS_HASH), None, "read on request only");
    let layout = |print: &Fingerprint| print.get(field::WEIGHTS_LAYOUT).map(str::to_owned);
    assert_eq!(layout(&one), layout(&of("w", "dcba", false)), "the layout says nothing of the values");
    assert_ne!(layout(&one), layout(&of("v", "abcd", false)));
    let hash = |content: &str| of("w", content, true).get(field::WEIGHTS_HASH).map(str::to_owned);
    assert!(hash("abcd").is_some());
    assert_ne!(hash("abcd"), hash("dcba"));
}

/// What stands between two marks of a text.
fn between<'t>(text: &'t str, before: &str, after: char) -> Option<&'t str> {
    let rest = &text[text.find(before)? + before.len()..];
    rest.split(after).next()
}

/// The fingerprint of each real capture says what its log says, read here by plain searching.
#[test]
fn real_captures_state_the_figures_of_their_logs() {
    let Some(root) = std::env::var_os("FIRSTCHECK_ARTEFACTS").map(std::path::PathBuf::from) else {
        eprintln!("SKIPPED: set FIRSTCHECK_ARTEFACTS to read real captures");
        return;
    };
    let mut checked = 0;
    for folder in std::fs::read_dir(root.join("engine")).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(log) = std::fs::read_to_string(folder.join("server.log")) else { continue };
        let Some(version) = between(&log, "LLM engine (v", ')') else { continue };
        let evidence = collect(vec![Input::Path(folder.clone())], &Limits::default()).evidence;
        let mut all = evidence.stated.clone();
        evidence.runs.iter().for_each(|run| all.merge(&run.info.fingerprint));
        let name = folder.display();
        assert_eq!(all.get(field::ENGINE_VERSION), Some(version), "{name}");
        let contradicted = |name: &str| all.field(name).is_some_and(|field| !field.also.is_empty());
        if let Some(tokens) = between(&log, "KV cache size: ", ' ') {
            let tokens: f64 = tokens.replace(',', "").parse().unwrap();
            assert_eq!(all.number(field::KV_TOKENS), Some(tokens), "{name}");
            assert!(!contradicted(field::KV_TOKENS), "{name}");
        }
        for (before, field) in [
            ("max_seq_len=", field::MAX_MODEL_LEN),
            ("dtype=torch.", "dtype"),
            ("enable_prefix_caching=", field::PREFIX_CACHING),
            ("tensor_parallel_size=", "tensor_parallel_size"),
            ("'cudagraph_mode': <CUDAGraphMode.", "cudagraph_mode"),
        ] {
            let said = between(&log, before, ',').unwrap().split(':').next().unwrap().to_ascii_lowercase();
            assert_eq!(all.get(field).map(str::to_ascii_lowercase), Some(said), "{name}: {field}");
            assert!(!contradicted(field), "{name}: {:?}", all.field(field));
        }
        checked += 1;
    }
    assert!(checked > 12, "{checked}");
}

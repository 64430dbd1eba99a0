//! Slower than the arithmetic says (S20–S29).

use crate::{
    config::{AllReduce, EngineConfig, Experts, GraphMode, LateRank, SlowRank},
    fault::{FaultSpec, Param, Rig, Values, param, scene},
};

/// The replica that departs from the others.
const REPLICA: Param = param(
    "replica",
    "",
    [0.0, 0.0, 0.0],
    [0.0, 1023.0],
    "which replica, by its number; beyond the last one: the last one",
);

pub(super) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "graph-mode-downgraded",
        symptom: "S22",
        cause: "graph-mode",
        acts_in: "CUDA graphs",
        doc: "the new version runs without CUDA graphs after one line of warning: small batches wait for launches",
        scene: scene::PLAIN,
        params: &[param(
            "us_per_layer",
            "µs",
            [350.0, 450.0, 700.0],
            [0.0, 1e6],
            "time that the host takes to launch a layer",
        )],
        apply: |values, rig| {
            let seconds = values.get("us_per_layer") * 1e-6;
            rig.deployment.each_engine(|engine| {
                engine.graphs.mode = GraphMode::None;
                engine.graphs.eager_layer_seconds = seconds;
            });
        },
    },
    FaultSpec {
        slug: "limits-lower",
        symptom: "S22",
        cause: "default-limits",
        acts_in: "scheduler",
        doc: "the new version resolves lower limits for the same flags: fewer sequences and tokens a step",
        scene: scene::PLAIN,
        params: &[
            param("sequences", "", [16.0, 8.0, 4.0], [1.0, 1e6], "most sequences in the batch"),
            param("tokens", "tokens", [2048.0, 1024.0, 512.0], [1.0, 1e7], "token budget of a step"),
        ],
        apply: |values, rig| {
            let (sequences, tokens) = (values.count("sequences").max(1), values.count("tokens").max(1));
            rig.deployment.each_engine(|engine| {
                engine.max_num_seqs = engine.max_num_seqs.min(sequences);
                engine.max_num_batched_tokens = engine.max_num_batched_tokens.min(tokens);
            });
        },
    },
    FaultSpec {
        slug: "backend-slower",
        symptom: "S22",
        cause: "default-backend",
        acts_in: "kernels",
        doc: "the new version chooses another kernel, and every step takes longer on the GPU",
        scene: scene::PLAIN,
        params: &[param("factor", "", [1.1, 1.25, 1.6], [1.0, 100.0], "what the GPU's time is multiplied by")],
        apply: |values, rig| {
            let factor = values.get("factor");
            rig.deployment.each_engine(|engine| engine.gpu_slowness *= factor);
        },
    },
    FaultSpec {
        slug: "detokeniser-saturated",
        symptom: "S23",
        cause: "front-end-saturated",
        acts_in: "API server",
        doc: "the API process spends so long on each token that it lags behind the engine",
        scene: scene::PLAIN,
        params: &[param("us", "µs", [400.0, 1000.0, 3000.0], [0.0, 1e6], "time of the API process for a token")],
        apply: |values, rig| {
            let seconds = values.get("us") * 1e-6;
            rig.deployment.each_engine(|engine| engine.frontend.token_seconds += seconds);
        },
    },
    FaultSpec {
        slug: "tokeniser-serial",
        symptom: "S23",
        cause: "tokeniser-serial",
        acts_in: "API server",
        doc: "each request takes a fixed time in a slow tokeniser, however short it is",
        scene: scene::PLAIN,
        params: &[param("ms", "ms", [30.0, 100.0, 260.0], [0.0, 1e6], "time of a request")],
        apply: |values, rig| {
            let seconds = values.get("ms") * 1e-3;
            rig.deployment.each_engine(|engine| {
                engine.frontend.request_seconds += seconds;
                engine.frontend.processes = engine.frontend.processes.max(16);
            });
        },
    },
    FaultSpec {
        slug: "core-loop-slow",
        symptom: "S23",
        cause: "engine-loop",
        acts_in: "engine's core",
        doc: "scheduling and preparing a step takes the host a time for each sequence, and the GPU waits",
        scene: scene::PLAIN,
        params: &[param("us", "µs", [200.0, 600.0, 2000.0], [0.0, 1e6], "host time of a sequence and step")],
        apply: |values, rig| {
            let seconds = values.get("us") * 1e-6;
            rig.deployment.each_engine(|engine| engine.host.sequence_seconds += seconds);
        },
    },
    FaultSpec {
        slug: "launch-skew",
        symptom: "S27",
        cause: "late-rank",
        acts_in: "tensor-parallel ranks",
        doc: "now one rank and now another is late at the all-reduce, and the others wait",
        scene: scene::TENSOR_PARALLEL,
        params: &[param("ms", "ms", [3.0, 8.0, 20.0], [0.0, 1e5], "how late the last rank is in a step")],
        apply: |values, rig| {
            let late = LateRank { rank: None, seconds: values.get("ms") * 1e-3 };
            rig.deployment.each_engine(|engine| engine.parallel.late_rank = Some(late));
        },
    },
    FaultSpec {
        slug: "all-reduce-fell-back",
        symptom: "S27",
        cause: "wrong-algorithm",
        acts_in: "all-reduce",
        doc: "the one-shot all-reduce is off and a ring takes its place: each of many small messages is slow",
        scene: scene::TENSOR_PARALLEL,
        params: &[param("us", "µs", [60.0, 120.0, 300.0], [0.0, 1e6], "latency of an all-reduce")],
        apply: |values, rig| all_reduce(rig, values.get("us") * 1e-6, 100e9),
    },
    FaultSpec {
        slug: "link-degraded",
        symptom: "S27",
        cause: "slow-link",
        acts_in: "all-reduce",
        doc: "the GPUs reach each other over a slow link",
        scene: scene::TENSOR_PARALLEL,
        params: &[param("gb_per_s", "GB/s", [20.0, 8.0, 2.0], [0.001, 1e6], "rate of the link")],
        apply: |values, rig| all_reduce(rig, 20e-6, values.get("gb_per_s") * 1e9),
    },
    FaultSpec {
        slug: "experts-hot",
        symptom: "S28",
        cause: "expert-imbalance",
        acts_in: "experts",
        doc: "a few experts get most tokens, and all ranks wait for theirs",
        scene: scene::EXPERTS,
        params: &[param("imbalance", "", [1.6, 2.5, 5.0], [1.0, 4096.0], "tokens of the fullest rank over the mean")],
        apply: |values, rig| experts(rig, values, |experts, values| experts.imbalance = values.get("imbalance")),
    },
    FaultSpec {
        slug: "experts-network",
        symptom: "S28",
        cause: "network",
        acts_in: "experts",
        doc: "the network between the experts' ranks is slow",
        scene: scene::EXPERTS,
        params: &[param("us", "µs", [80.0, 200.0, 600.0], [0.0, 1e6], "latency of an all-to-all")],
        apply: |values, rig| experts(rig, values, |experts, values| experts.latency_seconds = values.get("us") * 1e-6),
    },
    FaultSpec {
        slug: "experts-late-rank",
        symptom: "S28",
        cause: "late-arrival",
        acts_in: "experts",
        doc: "one rank comes late to the all-to-all, and its wait looks like a slow network",
        scene: scene::EXPERTS,
        params: &[param("ms", "ms", [3.0, 10.0, 40.0], [0.0, 1e5], "how late it is in a step")],
        apply: |values, rig| {
            let late = LateRank { rank: Some(0), seconds: values.get("ms") * 1e-3 };
            rig.deployment.each_engine(|engine| engine.parallel.late_rank = Some(late));
        },
    },
    FaultSpec {
        slug: "slow-replica",
        symptom: "S29",
        cause: "host-slow",
        acts_in: "host of one replica",
        doc: "the host of one replica takes longer for each step than that of its peers",
        scene: scene::PLAIN,
        params: &[REPLICA, param("host_ms", "ms", [2.0, 5.0, 15.0], [0.0, 10_000.0], "further host time of each step")],
        apply: |values, rig| one(rig, values, |engine, values| engine.host_seconds += values.get("host_ms") * 1e-3),
    },
    FaultSpec {
        slug: "throttled-replica",
        symptom: "S29",
        cause: "gpu-slow",
        acts_in: "GPU of one replica",
        doc: "the GPUs of one replica run slower than those of its peers: power, heat, a bad card",
        scene: scene::PLAIN,
        params: &[REPLICA, param("factor", "", [1.15, 1.4, 2.0], [1.0, 100.0], "what the GPU's time is multiplied by")],
        apply: |values, rig| one(rig, values, |engine, values| engine.gpu_slowness *= values.get("factor")),
    },
    FaultSpec {
        slug: "slow-card",
        symptom: "S29",
        cause: "slow-rank",
        acts_in: "one GPU of a replica",
        doc: "one of a replica's GPUs is slow, and the others wait for it in every step",
        scene: scene::TENSOR_PARALLEL,
        params: &[
            REPLICA,
            param("factor", "", [1.15, 1.4, 2.0], [1.0, 100.0], "what the time of that GPU is multiplied by"),
        ],
        apply: |values, rig| {
            one(rig, values, |engine, values| {
                engine.parallel.slow_rank = Some(SlowRank { rank: 1, factor: values.get("factor") });
            });
        },
    },
    FaultSpec {
        slug: "busier-replica",
        symptom: "S29",
        cause: "busier",
        acts_in: "router",
        doc: "sessions stick to one replica, which has more to do than its peers and is no slower",
        scene: scene::PLAIN,
        params: &[param(
            "share",
            "",
            [0.3, 0.6, 0.9],
            [0.0, 1.0],
            "share of the sessions that stick to the first replica",
        )],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.routing.policy = crate::router::RoutingPolicy::Session;
            rig.server_renders(move |call, _| {
                let drawn = (crate::kv_cache::hash::mix(call.tag) >> 11) as f64 / (1u64 << 53) as f64;
                call.session = Some(if drawn < share { 0 } else { 1 + (call.tag % 1024) as u32 });
            });
        },
    },
];

fn all_reduce(rig: &mut Rig<'_>, latency_seconds: f64, bytes_per_second: f64) {
    let model = AllReduce::Model { latency_seconds, bytes_per_second };
    rig.deployment.each_engine(|engine| engine.parallel.all_reduce = model);
}

fn experts(rig: &mut Rig<'_>, values: &Values, change: fn(&mut Experts, &Values)) {
    rig.deployment.each_engine(|engine| {
        engine.parallel.experts.iter_mut().for_each(|experts| change(experts, values));
    });
}

/// Changes the replica that the values name, or the last one.
fn one(rig: &mut Rig<'_>, values: &Values, change: fn(&mut EngineConfig, &Values)) {
    let last = rig.deployment.replicas.len().saturating_sub(1);
    if let Some(replica) = rig.deployment.replicas.get_mut((values.count("replica") as usize).min(last)) {
        change(&mut replica.engine, values);
    }
}

//! Two numbers that cannot both be right (S39–S44).

use super::memory::shrink_pool;
use crate::{
    config::{Pause, PauseClock},
    fault::{
        FaultSpec, LASTS, param, scene,
        traffic::{Lengths, every},
    },
    kv_cache::hash::mix,
    router::RoutingPolicy,
};
use firstcheck_workload::text::word_ids;

pub(super) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "benchmark-repeats",
        symptom: "S39",
        cause: "other-traffic",
        acts_in: "workload",
        doc: "the benchmark asks a few prompts again and again, which production does not: most of each comes from the cache",
        scene: scene::PLAIN,
        params: &[param("prompts", "", [50.0, 12.0, 3.0], [1.0, 1e6], "different prompts")],
        apply: |values, rig| {
            let prompts = u64::from(values.count("prompts").max(1));
            rig.server_renders(move |call, _| {
                let length = call.prompt.len() as u32;
                call.prompt = word_ids(mix(call.tag % prompts), length).collect();
            });
        },
    },
    FaultSpec {
        slug: "benchmark-client-limits",
        symptom: "S39",
        cause: "client-limit",
        acts_in: "client",
        doc: "the benchmark's client lets only a few requests out at once and does not count their wait",
        scene: scene::PLAIN,
        params: &[param("most", "", [3.0, 2.0, 1.0], [1.0, 1e6], "requests in flight")],
        apply: |values, rig| {
            rig.deployment.client.concurrency_gate = Some(values.count("most").max(1));
            rig.deployment.client.gate_outside_timer = true;
        },
    },
    FaultSpec {
        slug: "cell-before-filled-cache",
        symptom: "S40",
        cause: "previous-cell",
        acts_in: "benchmark",
        doc: "an earlier cell of the sweep has asked the same prompts, and their beginnings are cached",
        scene: scene::PLAIN,
        params: &[param("share", "", [0.3, 0.6, 1.0], [0.0, 1.0], "share of the prompts that were asked before")],
        apply: |values, rig| {
            let share = values.get("share");
            let items = rig.trace().items.len();
            let count = (items as f64 * share) as usize;
            let before: Vec<_> = rig.trace().items.iter().take(count).cloned().collect();
            for (number, mut item) in before.into_iter().enumerate() {
                // Just before the cell begins: the engine serves them first.
                item.due = firstcheck_workload::trace::Due::At(firstcheck_model::moment::Moment::at(number as i64));
                item.output_tokens = Some(1);
                item.session = None;
                rig.others_send(item);
            }
        },
    },
    FaultSpec {
        slug: "first-cell-compiles",
        symptom: "S40",
        cause: "warm-up-in-cell",
        acts_in: "benchmark",
        doc: "the first requests pay for kernels that are built on their first use",
        scene: scene::PLAIN,
        params: &[
            param("s", "s", [0.3, 1.0, 3.0], [0.0, 1e4], "time of a build"),
            param("requests", "", [4.0, 4.0, 4.0], [1.0, 1e6], "requests between two builds"),
            param(LASTS, "s", [3.0, 4.0, 6.0], [0.0, 1e5], "time from the start in which kernels are built"),
        ],
        apply: |values, rig| {
            let clock = PauseClock::Requests(values.count("requests").max(1));
            let pause = Pause { clock, seconds: values.get("s"), growth_seconds: 0.0, jitter: 0.0 };
            rig.deployment.each_engine(|engine| engine.host.pauses.push(pause));
        },
    },
    FaultSpec {
        slug: "noisy-host",
        symptom: "S41",
        cause: "noise",
        acts_in: "host",
        doc: "steps take a random time, and whole runs differ by chance alone",
        scene: scene::PLAIN,
        params: &[
            param("run_sd", "", [0.03, 0.06, 0.15], [0.0, 2.0], "spread between runs, as a share"),
            param("step_sd", "", [0.1, 0.2, 0.4], [0.0, 2.0], "spread between steps, as a share"),
        ],
        apply: |values, rig| {
            rig.deployment.each_engine(|engine| {
                engine.noise.run_sd = engine.noise.run_sd.max(values.get("run_sd"));
                engine.noise.step_sd = engine.noise.step_sd.max(values.get("step_sd"));
            });
        },
    },
    FaultSpec {
        slug: "cold-start",
        symptom: "S41",
        cause: "missing-warm-up",
        acts_in: "benchmark",
        doc: "the run begins on a cold engine: its first seconds are slower than all that follow",
        scene: scene::PLAIN,
        params: &[
            param("factor", "", [1.5, 2.5, 5.0], [1.0, 100.0], "what the GPU's time is multiplied by at first"),
            param(LASTS, "s", [2.0, 4.0, 8.0], [0.0, 1e5], "how long"),
        ],
        apply: |values, rig| {
            let factor = values.get("factor");
            rig.deployment.each_engine(|engine| engine.gpu_slowness *= factor);
        },
    },
    FaultSpec {
        slug: "transfers-not-asked",
        symptom: "S42",
        cause: "no-transfer-asked",
        acts_in: "KV transfer",
        doc: "nothing asks for the transfer: the decode pool computes every prompt itself, and all requests succeed",
        scene: scene::DISAGGREGATED,
        params: &[],
        apply: |_, rig| rig.deployment.transfer.asked_for = false,
    },
    FaultSpec {
        slug: "transfers-fail",
        symptom: "S42",
        cause: "silent-recompute",
        acts_in: "KV transfer",
        doc: "transfers fail, and the decode pool computes their prompts again without a word to the client",
        scene: scene::DISAGGREGATED,
        params: &[param("share", "", [0.2, 0.6, 1.0], [0.0, 1.0], "share of the transfers that fail")],
        apply: |values, rig| rig.deployment.transfer.failure_share = values.get("share"),
    },
    FaultSpec {
        slug: "rollouts-stale",
        symptom: "S43",
        cause: "stale",
        acts_in: "rollouts",
        doc: "more rollouts at once take longer each, and more of them are too old when the trainer wants them",
        scene: scene::SAMPLED,
        params: &[param("period_s", "s", [0.3, 0.12, 0.05], [0.001, 1e4], "interval at which further rollouts begin")],
        apply: |values, rig| {
            every(rig, values.get("period_s"), Lengths { prompt_tokens: 400, output_tokens: 300 });
        },
    },
    FaultSpec {
        slug: "rollouts-recomputed",
        symptom: "S43",
        cause: "recomputed",
        acts_in: "rollouts",
        doc: "more rollouts than the KV pool holds: tokens are thrown away and computed again",
        scene: scene::SAMPLED,
        params: &[
            param("share", "", [0.3, 0.15, 0.08], [0.01, 1.0], "what the pool is, as a share"),
            param("period_s", "s", [0.3, 0.15, 0.08], [0.001, 1e4], "interval at which further rollouts begin"),
        ],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| shrink_pool(engine, share));
            every(rig, values.get("period_s"), Lengths { prompt_tokens: 200, output_tokens: 300 });
        },
    },
    FaultSpec {
        slug: "affinity-hot",
        symptom: "S44",
        cause: "affinity-concentrates",
        acts_in: "router",
        doc: "the router follows cached prefixes and no load: one replica gets the hot ones",
        scene: scene::FLEET,
        params: &[param(
            "load_tokens",
            "tokens",
            [64.0, 8.0, 0.0],
            [0.0, 1e6],
            "prompt tokens that a unit of load weighs",
        )],
        apply: |values, rig| {
            rig.deployment.routing.load_tokens = values.get("load_tokens");
            rig.deployment.routing.imbalance = None;
        },
    },
    FaultSpec {
        slug: "load-stale",
        symptom: "S44",
        cause: "load-stale",
        acts_in: "router",
        doc: "the router reads the replicas' load seldom and sends everything to the one that was idle then",
        scene: scene::FLEET,
        params: &[param("s", "s", [1.0, 3.0, 8.0], [0.0, 3600.0], "interval between two readings")],
        apply: |values, rig| {
            rig.deployment.routing.policy = RoutingPolicy::LeastLoaded;
            rig.deployment.routing.load_interval_seconds = values.get("s");
        },
    },
    FaultSpec {
        slug: "router-slow",
        symptom: "S44",
        cause: "router-overhead",
        acts_in: "router",
        doc: "the router itself takes long to decide",
        scene: scene::FLEET,
        params: &[param("ms", "ms", [20.0, 60.0, 250.0], [0.0, 60_000.0], "time that it takes")],
        apply: |values, rig| rig.deployment.routing.overhead_seconds += values.get("ms") * 1e-3,
    },
];

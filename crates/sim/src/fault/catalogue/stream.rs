//! The stream stutters (S07–S13).

use super::LONG;
use crate::{
    config::{ClassAcceptance, EngineConfig, Pause, PauseClock, Speculation},
    fault::{
        FaultSpec, Param, Rig, param, scene,
        traffic::{Lengths, bursts, every},
    },
};

const PERIOD: Param = param("period_s", "s", [3.0, 1.5, 0.6], [0.001, 1e4], "interval at which others send");
const PAUSE: Param = param("ms", "ms", [60.0, 200.0, 800.0], [0.1, 1e6], "length of a pause");

pub(super) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "prefill-shares-steps",
        symptom: "S07",
        cause: "prefill-shares-steps",
        acts_in: "scheduler",
        doc: "chunks of long prompts ride in the steps that decode, and every token of those steps is late",
        scene: scene::PLAIN,
        params: &[
            LONG,
            PERIOD,
            param(
                "budget",
                "tokens",
                [1024.0, 2048.0, 2048.0],
                [16.0, 1e6],
                "token budget of a step, at most half of such a prompt: what fits whole is no chunk",
            ),
        ],
        apply: |values, rig| {
            let budget = values.count("budget").min(values.count("prompt_tokens") / 2).max(1);
            rig.deployment.each_engine(|engine| engine.max_num_batched_tokens = budget);
            long_prompts(rig, values.count("prompt_tokens"), values.get("period_s"));
        },
    },
    FaultSpec {
        slug: "whole-prefill",
        symptom: "S07",
        cause: "prefill-between-decodes",
        acts_in: "scheduler",
        doc: "long prompts are computed in one step each, and all streams stand still for it",
        scene: scene::PLAIN,
        params: &[LONG, PERIOD],
        apply: |values, rig| {
            rig.deployment
                .each_engine(|engine| engine.max_num_batched_tokens = engine.max_num_batched_tokens.max(65_536));
            long_prompts(rig, values.count("prompt_tokens"), values.get("period_s"));
        },
    },
    FaultSpec {
        slug: "graphs-too-small",
        symptom: "S07",
        cause: "graph-bucket",
        acts_in: "CUDA graphs",
        doc: "batches grow beyond the largest captured graph and then run without one",
        scene: scene::PLAIN,
        params: &[
            param("largest", "", [8.0, 4.0, 2.0], [1.0, 1e5], "largest captured batch"),
            param(
                "us_per_layer",
                "µs",
                [300.0, 500.0, 900.0],
                [0.0, 1e6],
                "time that the host takes to launch a layer",
            ),
        ],
        apply: |values, rig| {
            let (largest, seconds) = (values.count("largest").max(1), values.get("us_per_layer") * 1e-6);
            rig.deployment.each_engine(|engine| {
                let sizes = [1, 2, 4, 8].into_iter().filter(|size| *size < largest).chain([largest]);
                engine.graphs.capture_sizes = Some(sizes.collect());
                engine.graphs.eager_layer_seconds = seconds;
            });
        },
    },
    FaultSpec {
        slug: "collector-pauses",
        symptom: "S08",
        cause: "garbage-collection",
        acts_in: "engine's core",
        doc: "Python's collector walks all objects after so many requests, longer each time",
        scene: scene::PLAIN,
        params: &[
            // A busy engine that collects for longer, or more often, has no time left for its streams.
            param("ms", "ms", [60.0, 200.0, 300.0], [0.1, 1e6], "length of the first pause"),
            param("requests", "", [20.0, 12.0, 8.0], [1.0, 1e6], "requests between two pauses"),
            param(
                "growth_ms",
                "ms",
                [2.0, 2.0, 2.0],
                [0.0, 1e6],
                "by how much each pause is longer than the one before",
            ),
        ],
        apply: |values, rig| {
            let pause = Pause {
                clock: PauseClock::Requests(values.count("requests").max(1)),
                seconds: values.get("ms") * 1e-3,
                growth_seconds: values.get("growth_ms") * 1e-3,
                jitter: 0.0,
            };
            pauses(rig, pause);
        },
    },
    FaultSpec {
        slug: "host-pauses",
        symptom: "S08",
        cause: "host-agent",
        acts_in: "host",
        doc: "something on the host (a job, an agent, a probe) stops the engine at a regular interval",
        scene: scene::PLAIN,
        params: &[PAUSE, param("period_s", "s", [2.0, 1.5, 1.0], [0.01, 1e5], "interval between two pauses")],
        apply: |values, rig| {
            let clock = PauseClock::Wall(values.get("period_s"));
            pauses(rig, Pause { clock, seconds: values.get("ms") * 1e-3, growth_seconds: 0.0, jitter: 0.0 });
        },
    },
    FaultSpec {
        slug: "step-pauses",
        symptom: "S08",
        cause: "every-n-steps",
        acts_in: "engine's core",
        doc: "the engine rearranges something (experts, a cache) every so many steps",
        scene: scene::PLAIN,
        params: &[PAUSE, param("steps", "", [400.0, 250.0, 120.0], [1.0, 1e9], "steps between two pauses")],
        apply: |values, rig| {
            let clock = PauseClock::Steps(values.count("steps").max(1));
            pauses(rig, Pause { clock, seconds: values.get("ms") * 1e-3, growth_seconds: 0.0, jitter: 0.0 });
        },
    },
    FaultSpec {
        slug: "preemption-bursts",
        symptom: "S09",
        cause: "preemption",
        acts_in: "scheduler",
        doc: "others send a few long prompts at once now and then, which fill the KV pool and whose answers then grow beyond it: \
              the latest streams are thrown out of the batch and stand still until there is room",
        scene: scene::PLAIN,
        params: &[
            param("period_s", "s", [20.0, 15.0, 12.0], [0.001, 1e4], "interval at which others send"),
            param("pool_share", "", [0.9, 0.93, 0.95], [0.01, 1.0], "share of a KV pool that their prompts fill"),
            param("output_tokens", "tokens", [300.0, 400.0, 500.0], [1.0, 1e6], "length of their answers"),
        ],
        apply: |values, rig| {
            let replicas = rig.deployment.replicas.len().max(1) as u32;
            let engine = rig.deployment.replicas.first().map(|replica| &replica.engine);
            let (pool, longest) = engine.map_or((0, 1), |engine| (engine.kv_tokens(), engine.max_model_len));
            let output_tokens = values.count("output_tokens");
            let longest = longest.saturating_sub(output_tokens).max(1);
            let fill = pool as f64 * values.get("pool_share");
            let prompts = (fill / f64::from(longest)).ceil().max(1.0);
            let lengths = Lengths { prompt_tokens: (fill / prompts) as u32, output_tokens };
            bursts(rig, values.get("period_s"), prompts as u32 * replicas, lengths);
        },
    },
    FaultSpec {
        slug: "engine-freezes",
        symptom: "S09",
        cause: "engine-wide-freeze",
        acts_in: "engine's core",
        doc: "now and then, at no regular interval, the whole engine stands still",
        scene: scene::PLAIN,
        params: &[
            param("s", "s", [1.0, 2.0, 4.0], [0.01, 1e4], "length of a freeze"),
            param("period_s", "s", [3.0, 3.0, 3.0], [0.01, 1e5], "mean interval between two"),
        ],
        apply: |values, rig| {
            let clock = PauseClock::Wall(values.get("period_s"));
            pauses(rig, Pause { clock, seconds: values.get("s"), growth_seconds: 0.0, jitter: 0.9 });
        },
    },
    FaultSpec {
        slug: "draft-class",
        symptom: "S10",
        cause: "acceptance-by-class",
        acts_in: "speculation",
        doc: "drafts of one class of requests are seldom accepted",
        scene: scene::SPECULATION,
        params: &[param("factor", "", [0.4, 0.15, 0.0], [0.0, 1.0], "what the chance of acceptance is multiplied by")],
        apply: |values, rig| {
            let factor = values.get("factor");
            speculation(rig, |spec| spec.classes.push(ClassAcceptance { class: 1, factor, disabled: false }));
        },
    },
    FaultSpec {
        slug: "draft-costs",
        symptom: "S10",
        cause: "fixed-cost",
        acts_in: "speculation",
        doc: "a draft takes so long that accepted tokens do not pay for it",
        scene: scene::SPECULATION,
        params: &[param("ms", "ms", [3.0, 6.0, 12.0], [0.0, 1e5], "time of a draft")],
        apply: |values, rig| {
            let seconds = values.get("ms") * 1e-3;
            speculation(rig, |spec| spec.draft_seconds += seconds);
        },
    },
    FaultSpec {
        slug: "draft-crowds",
        symptom: "S10",
        cause: "batch-effect",
        acts_in: "speculation",
        doc: "verification of many drafts competes with decoding when the batch is large",
        scene: scene::SPECULATION,
        params: &[param(
            "us",
            "µs",
            [200.0, 500.0, 1500.0],
            [0.0, 1e6],
            "further time of a step for each sequence with drafts",
        )],
        apply: |values, rig| {
            let seconds = values.get("us") * 1e-6;
            speculation(rig, |spec| spec.draft_sequence_seconds += seconds);
        },
    },
    FaultSpec {
        slug: "draft-decays",
        symptom: "S10",
        cause: "draft-cache",
        acts_in: "speculation",
        doc: "the draft's own cache goes wrong with length: acceptance falls along an answer",
        scene: scene::SPECULATION,
        params: &[param(
            "per_100",
            "",
            // With all of it lost from the start nothing falls along an answer.
            [0.35, 0.5, 0.8],
            [0.0, 0.95],
            "share of the acceptance lost in a hundred tokens",
        )],
        apply: |values, rig| {
            let decay = 1.0 - (1.0 - values.get("per_100")).powi(10);
            speculation(rig, |spec| spec.decay = decay);
        },
    },
    FaultSpec {
        slug: "schema-compile",
        symptom: "S11",
        cause: "cold-compile",
        acts_in: "structured output",
        doc: "a schema that was not seen before takes long to compile, every time",
        scene: scene::SCHEMAS,
        params: &[param("s", "s", [0.3, 0.5, 0.8], [0.0, 1e4], "time to compile a schema")],
        apply: |values, rig| {
            let seconds = values.get("s");
            rig.deployment.each_engine(|engine| engine.structured.compile_seconds = seconds);
        },
    },
    FaultSpec {
        slug: "schema-compile-blocks",
        symptom: "S11",
        cause: "compile-blocks-engine",
        acts_in: "structured output",
        doc: "schemas are compiled on the engine's own thread, and everybody waits",
        scene: scene::SCHEMAS,
        // Longer ones leave a busy engine no time at all for its streams.
        params: &[param("s", "s", [0.08, 0.12, 0.16], [0.0, 1e4], "time to compile a schema")],
        apply: |values, rig| {
            let seconds = values.get("s");
            rig.deployment.each_engine(|engine| {
                engine.structured.compile_seconds = seconds;
                engine.structured.compiles_on_engine = true;
                engine.structured.cached = false;
            });
        },
    },
    FaultSpec {
        slug: "schema-mask",
        symptom: "S11",
        cause: "mask-cost",
        acts_in: "structured output",
        doc: "the mask of allowed tokens costs time in every step for each structured request",
        scene: scene::SCHEMAS,
        params: &[param("us", "µs", [1100.0, 3000.0, 10_000.0], [0.0, 1e7], "time of a mask")],
        apply: |values, rig| {
            let seconds = values.get("us") * 1e-6;
            rig.deployment.each_engine(|engine| engine.structured.mask_seconds += seconds);
        },
    },
    FaultSpec {
        slug: "schema-runaway",
        symptom: "S11",
        cause: "unbounded-output",
        acts_in: "structured output",
        doc: "a schema allows white space without end, and answers run to their limit",
        scene: scene::SCHEMAS,
        params: &[param("share", "", [0.2, 0.5, 1.0], [0.0, 1.0], "share of the structured requests that run away")],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| engine.structured.runaway_share = share);
            // An answer that has to be of a given length cannot run away.
            rig.server_renders(|call, _| {
                if call.features.schema.is_some() {
                    call.ignore_eos = false;
                    call.max_tokens = call.max_tokens.map(|most| most.saturating_mul(8));
                }
            });
        },
    },
    FaultSpec {
        slug: "stream-interval",
        symptom: "S12",
        cause: "multi-token-events",
        acts_in: "API server",
        doc: "the server sends an event only every so many tokens",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [4.0, 8.0, 20.0], [1.0, 1e5], "tokens of an event")],
        apply: |values, rig| {
            let tokens = values.count("tokens").max(1);
            rig.deployment.each_engine(|engine| engine.frontend.stream_interval = tokens);
        },
    },
    FaultSpec {
        slug: "parser-holds",
        symptom: "S12",
        cause: "parser-holds",
        acts_in: "API server",
        doc: "a parser (of tool calls, of reasoning) holds the first tokens back until it has seen enough",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [8.0, 16.0, 40.0], [1.0, 1e5], "tokens that are held back")],
        apply: |values, rig| {
            let tokens = values.count("tokens");
            rig.deployment.each_engine(|engine| engine.frontend.held_tokens = tokens);
        },
    },
    FaultSpec {
        slug: "proxy-gathers",
        symptom: "S12",
        cause: "proxy-coalesces",
        acts_in: "proxy",
        doc: "a proxy gathers events and passes them on at an interval",
        scene: scene::PLAIN,
        params: &[param("ms", "ms", [50.0, 150.0, 500.0], [0.1, 60_000.0], "interval of the proxy")],
        apply: |values, rig| rig.deployment.client.flush_seconds = values.get("ms") * 1e-3,
    },
    FaultSpec {
        slug: "handover-orchestrated",
        symptom: "S13",
        cause: "orchestration",
        acts_in: "KV transfer",
        doc: "hops and hand-shakes between the pools take longer than the data",
        scene: scene::DISAGGREGATED,
        params: &[param("ms", "ms", [40.0, 150.0, 500.0], [0.0, 60_000.0], "further time of each hand-over")],
        apply: |values, rig| rig.deployment.transfer.latency_seconds += values.get("ms") * 1e-3,
    },
    FaultSpec {
        slug: "handover-fragmented",
        symptom: "S13",
        cause: "fragmented",
        acts_in: "KV transfer",
        doc: "KV goes over in many small pieces, each with a cost of its own",
        scene: scene::DISAGGREGATED,
        params: &[
            param("kib", "KiB", [64.0, 32.0, 16.0], [0.001, 1e6], "size of a piece"),
            param("us", "µs", [50.0, 80.0, 150.0], [0.0, 1e6], "cost of a piece"),
        ],
        apply: |values, rig| {
            rig.deployment.transfer.bytes_per_descriptor = values.get("kib") * 1024.0;
            rig.deployment.transfer.descriptor_seconds = values.get("us") * 1e-6;
        },
    },
    FaultSpec {
        slug: "handover-slow-link",
        symptom: "S13",
        cause: "bandwidth",
        acts_in: "KV transfer",
        doc: "KV goes over a slow link: the wrong adapter, or TCP",
        scene: scene::DISAGGREGATED,
        params: &[param("gb_per_s", "GB/s", [2.0, 0.8, 0.2], [0.001, 1e6], "rate of the link")],
        apply: |values, rig| rig.deployment.transfer.bytes_per_second = values.get("gb_per_s") * 1e9,
    },
];

fn long_prompts(rig: &mut Rig<'_>, prompt_tokens: u32, period_seconds: f64) {
    every(rig, period_seconds, Lengths { prompt_tokens, output_tokens: 4 });
}

fn pauses(rig: &mut Rig<'_>, pause: Pause) {
    rig.deployment.each_engine(|engine: &mut EngineConfig| engine.host.pauses.push(pause));
}

fn speculation(rig: &mut Rig<'_>, change: impl Fn(&mut Speculation)) {
    rig.deployment.each_engine(|engine| engine.speculation.iter_mut().for_each(&change));
}

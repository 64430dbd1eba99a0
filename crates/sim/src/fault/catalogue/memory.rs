//! Memory, preemption and start-up (S14–S19).

use crate::{
    config::{Encoder, EngineConfig, Hang, HangCause, LeakKind, Leaker, Memory},
    fault::{FaultSpec, LASTS, Param, Rig, Values, param, scene},
    memory::{GIB, ledger},
};

/// Ranks of the engine that hangs.
const RANKS: Param = param("ranks", "", [2.0, 4.0, 8.0], [2.0, 1024.0], "ranks");

/// What is left of a pool.
const LEFT: Param = param("share", "", [0.5, 0.2, 0.08], [0.001, 1.0], "what is left of the pool");

pub(super) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "gpu-shared",
        symptom: "S14",
        cause: "other-process",
        acts_in: "GPU memory",
        doc: "another process holds memory of the GPU when the engine starts",
        scene: scene::PLAIN,
        params: &[param("gib", "GiB", [8.0, 30.0, 70.0], [0.0, 1000.0], "memory that it holds")],
        apply: |values, rig| memory(rig, |memory| memory.others_gib = vec![values.get("gib")]),
    },
    FaultSpec {
        slug: "weights-larger",
        symptom: "S14",
        cause: "weights-larger",
        acts_in: "GPU memory",
        doc: "more weights than thought: an unquantised head, a draft, a vision tower, an uneven shard",
        scene: scene::PLAIN,
        params: &[param("gib", "GiB", [45.0, 57.0, 70.0], [0.0, 1000.0], "weights beyond the model's own")],
        apply: |values, rig| memory(rig, |memory| memory.extra_weights_gib = vec![values.get("gib")]),
    },
    FaultSpec {
        slug: "activation-peak",
        symptom: "S14",
        cause: "activation-peak",
        acts_in: "GPU memory",
        doc: "profiling finds a peak of activations that leaves nothing for the KV cache",
        scene: scene::PLAIN,
        params: &[param("gib", "GiB", [56.0, 60.0, 80.0], [0.0, 1000.0], "peak of activations")],
        apply: |values, rig| memory(rig, |memory| memory.activation_gib = Some(values.get("gib"))),
    },
    FaultSpec {
        slug: "sampler-warm-up",
        symptom: "S14",
        cause: "sampler-warm-up",
        acts_in: "GPU memory",
        doc: "logits of a warm-up with all sequences do not fit beside the KV cache",
        scene: scene::PLAIN,
        params: &[param("gib", "GiB", [68.0, 73.0, 78.0], [0.0, 1000.0], "memory of the warm-up")],
        apply: |values, rig| memory(rig, |memory| memory.sampler_gib = Some(values.get("gib"))),
    },
    FaultSpec {
        slug: "context-rejected",
        symptom: "S14",
        cause: "configuration-rejected",
        acts_in: "configuration",
        doc: "the longest sequence asked for is longer than the model's own: the configuration is rejected",
        scene: scene::PLAIN,
        params: &[param(
            "share",
            "",
            [0.9, 0.5, 0.1],
            [0.0, 1.0],
            "the model's longest sequence, as a share of the one asked for",
        )],
        apply: |values, rig| {
            rig.deployment.each_engine(|engine| {
                let most = (f64::from(engine.max_model_len) * values.get("share")) as u32;
                engine.memory.model_max_len = Some(most.max(1));
            });
        },
    },
    FaultSpec {
        slug: "host-memory-out",
        symptom: "S14",
        cause: "host-memory",
        acts_in: "host memory",
        doc: "the container's limit is below what loading the weights takes: the kernel kills the engine",
        scene: scene::PLAIN,
        params: &[param("gib", "GiB", [10.0, 7.0, 4.0], [0.1, 1e5], "limit of the container")],
        apply: |values, rig| memory(rig, |memory| memory.host.limit_gib = values.get("gib")),
    },
    FaultSpec {
        slug: "kv-pool-shrank",
        symptom: "S15",
        cause: "kv-pool-shrank",
        acts_in: "KV cache",
        doc: "the KV pool of every replica is smaller than it was: graphs, a new version or a lower memory share took the \
              rest",
        scene: scene::PLAIN,
        params: &[LEFT],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| shrink_pool(engine, share));
        },
    },
    FaultSpec {
        slug: "blocks-leak",
        symptom: "S15",
        cause: "leaked-pages",
        acts_in: "KV cache",
        doc: "ended requests leave blocks behind that nobody frees",
        scene: scene::PLAIN,
        params: &[param("blocks", "", [1.0, 3.0, 8.0], [0.0, 1e6], "blocks that an ended request leaves behind")],
        apply: |values, rig| {
            let blocks = values.get("blocks");
            rig.deployment.each_engine(|engine| engine.defects.leaked_blocks += blocks);
        },
    },
    FaultSpec {
        slug: "answers-longer",
        symptom: "S15",
        cause: "outputs-grew",
        acts_in: "workload",
        doc: "answers are longer than they were: the pool that held their peak no longer does",
        scene: scene::PLAIN,
        params: &[param("factor", "", [3.0, 6.0, 12.0], [1.0, 1000.0], "what the length of answers is multiplied by")],
        apply: |values, rig| {
            let factor = values.get("factor");
            rig.server_renders(move |call, _| {
                let longer = |tokens: u32| (f64::from(tokens) * factor) as u32;
                call.max_tokens = call.max_tokens.map(longer);
            });
        },
    },
    FaultSpec {
        slug: "graphs-take-memory",
        symptom: "S16",
        cause: "graph-memory",
        acts_in: "CUDA graphs",
        doc: "more captured graphs take memory that the KV cache had",
        scene: scene::PROFILED,
        params: &[LEFT],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| {
                let graphs = expect_graphs(engine, share);
                engine.memory.graphs_gib = graphs;
            });
        },
    },
    FaultSpec {
        slug: "graphs-over-estimated",
        symptom: "S16",
        cause: "over-estimate",
        acts_in: "CUDA graphs",
        doc: "the estimate of what graphs will take is far above what they take, and the difference is lost to the KV cache",
        scene: scene::PROFILED,
        params: &[LEFT],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| {
                expect_graphs(engine, share);
            });
        },
    },
    FaultSpec {
        slug: "leak-per-request",
        symptom: "S17",
        cause: "leak-per-request",
        acts_in: "host memory",
        doc: "the API process keeps something of every request",
        scene: scene::PLAIN,
        params: &[param("kib", "KiB", [200.0, 2000.0, 50_000.0], [0.0, 1e9], "memory that a request leaves behind")],
        apply: |values, rig| {
            memory(rig, |memory| memory.host.leak.per_request += values.get("kib") * 1024.0);
        },
    },
    FaultSpec {
        slug: "leak-per-token",
        symptom: "S17",
        cause: "leak-per-token",
        acts_in: "host memory",
        doc: "the engine's core keeps something of every generated token",
        scene: scene::PLAIN,
        params: &[param("kib", "KiB", [5.0, 50.0, 500.0], [0.0, 1e9], "memory that a token leaves behind")],
        apply: |values, rig| {
            memory(rig, |memory| {
                memory.host.leak.process = Leaker::Core;
                memory.host.leak.per_output_token += values.get("kib") * 1024.0;
            });
        },
    },
    FaultSpec {
        slug: "retention",
        symptom: "S17",
        cause: "retention",
        acts_in: "host memory",
        doc: "the allocator keeps what was freed: memory grows to a level and stays there",
        scene: scene::PLAIN,
        params: &[
            param("kib", "KiB", [500.0, 5000.0, 50_000.0], [0.0, 1e9], "memory that a request leaves behind at first"),
            // Many more would not be over in a minute: until then it is a leak to whoever looks.
            param(
                "requests",
                "",
                [40.0, 50.0, 60.0],
                [1.0, 1e9],
                "requests that leave as much behind as stays at last",
            ),
        ],
        apply: |values, rig| {
            memory(rig, |memory| {
                let bytes = values.get("kib") * 1024.0;
                memory.host.leak.per_request += bytes;
                memory.host.leak.plateau = Some(bytes * values.get("requests"));
            });
        },
    },
    FaultSpec {
        slug: "shared-memory-grows",
        symptom: "S17",
        cause: "shared-memory",
        acts_in: "host memory",
        doc: "segments of shared memory pile up: they count for the container and for no process alone",
        scene: scene::PLAIN,
        params: &[param(
            "kib",
            "KiB",
            [200.0, 2000.0, 50_000.0],
            [0.0, 1e9],
            "shared memory that a request leaves behind",
        )],
        apply: |values, rig| {
            memory(rig, |memory| {
                memory.host.leak.kind = LeakKind::Shared;
                memory.host.leak.per_request += values.get("kib") * 1024.0;
            });
        },
    },
    FaultSpec {
        slug: "encoder-unprofiled",
        symptom: "S18",
        cause: "encoder-peak",
        acts_in: "multimodal encoder",
        doc: "the encoder's peak was not part of the start's profile: little is kept free for it",
        scene: scene::IMAGES,
        // One request's images take 110 MiB: with more than that it is what images leave behind that ends the engine.
        params: &[param("mib", "MiB", [70.0, 40.0, 10.0], [0.0, 1e6], "memory that is left for the encoder")],
        apply: |values, rig| {
            let bytes = values.get("mib") * 1024.0 * 1024.0;
            rig.deployment.each_engine(|engine| {
                engine.encoder.iter_mut().for_each(|encoder| encoder.reserve_bytes = bytes);
            });
        },
    },
    FaultSpec {
        slug: "encoder-retains",
        symptom: "S18",
        cause: "embeddings-retained",
        acts_in: "multimodal encoder",
        doc: "embeddings of images are never freed: memory grows with every new image",
        scene: scene::IMAGES,
        params: &[param("share", "", [0.7, 0.85, 1.0], [0.0, 1.0], "share of the embeddings that stay")],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment.each_engine(|engine| {
                engine.encoder.iter_mut().for_each(|encoder| {
                    encoder.retained_share = share;
                    // Little is kept on purpose, so that what is not freed shows.
                    encoder.cache_tokens = encoder.cache_tokens.min(2304);
                    encoder.cache_bytes_per_token *= 100.0;
                });
            });
        },
    },
    FaultSpec {
        slug: "images-larger",
        symptom: "S18",
        cause: "image-tokens",
        acts_in: "multimodal encoder",
        doc: "images become far more tokens than the engine was set up for: what its start kept free for the largest images \
              that it knew of is too little",
        scene: scene::IMAGES,
        params: &[
            // More would make prompts that no engine takes.
            param("factor", "", [2.5, 4.0, 5.0], [1.0, 1000.0], "what the tokens of an image are multiplied by"),
        ],
        apply: |values, rig| {
            let factor = values.get("factor");
            rig.deployment.each_engine(|engine| engine.encoder.iter_mut().for_each(profile));
            rig.server_renders(move |call, _| {
                if let Some(images) = &mut call.features.images {
                    let more = (f64::from(images.tokens) * factor) as u32;
                    let added = more.saturating_sub(images.tokens).saturating_mul(images.count);
                    images.tokens = more;
                    call.prompt.splice(0..0, firstcheck_workload::text::word_ids(call.tag, added));
                }
            });
        },
    },
    FaultSpec {
        slug: "hang-transport",
        symptom: "S19",
        cause: "transport",
        acts_in: "ranks",
        doc: "all ranks stand in the same collective and no data moves: the network between them does not work",
        scene: scene::PLAIN,
        params: &[RANKS],
        apply: |values, rig| hang(rig, values, HangCause::Transport),
    },
    FaultSpec {
        slug: "hang-desync",
        symptom: "S19",
        cause: "desync",
        acts_in: "ranks",
        doc: "one rank skipped a collective, and each waits for the others in another one",
        scene: scene::PLAIN,
        params: &[RANKS],
        apply: |values, rig| hang(rig, values, HangCause::Skipped),
    },
    FaultSpec {
        slug: "hang-lock",
        symptom: "S19",
        cause: "host-code",
        acts_in: "ranks",
        doc: "one rank waits for a lock in host code and never enters the collective",
        scene: scene::PLAIN,
        params: &[RANKS],
        apply: |values, rig| hang(rig, values, HangCause::Lock),
    },
    FaultSpec {
        slug: "hang-queue",
        symptom: "S19",
        cause: "control-plane",
        acts_in: "ranks",
        doc: "the workers wait for a message that the core believes it has sent",
        scene: scene::PLAIN,
        params: &[RANKS],
        apply: |values, rig| hang(rig, values, HangCause::Queue),
    },
    FaultSpec {
        slug: "first-request-compiles",
        symptom: "S19",
        cause: "slow-not-hung",
        acts_in: "ranks",
        doc: "the first request waits for kernels to be built: it looks like a hang and ends",
        scene: scene::PLAIN,
        params: &[RANKS, param(LASTS, "s", [3.0, 6.0, 12.0], [0.1, 1e5], "time that the build takes")],
        apply: |values, rig| hang(rig, values, HangCause::Compile),
    },
];

/// Sets an encoder up as a start does that knows of images of the scene's size and encodes those of one request: as many
/// tokens are encoded in a step and kept, and beside those kept the peak is kept free.
fn profile(encoder: &mut Encoder) {
    encoder.budget_tokens = scene::IMAGE_TOKENS * scene::IMAGES_A_REQUEST;
    encoder.cache_tokens = encoder.budget_tokens;
    let kept = f64::from(encoder.cache_tokens) * encoder.cache_bytes_per_token;
    encoder.reserve_bytes = kept + f64::from(encoder.budget_tokens) * encoder.peak_bytes_per_token;
}

fn memory(rig: &mut Rig<'_>, change: impl Fn(&mut Memory)) {
    rig.deployment.each_engine(|engine| change(&mut engine.memory));
}

/// Nothing moves any more, and the ranks stand where `cause` left them. Clients give up at last.
fn hang(rig: &mut Rig<'_>, values: &Values, cause: HangCause) {
    let ranks = values.count("ranks").max(2);
    rig.deployment.each_engine(|engine| {
        engine.host.frozen = true;
        engine.hang = Some(Hang { cause, ranks, ..Hang::default() });
    });
    rig.deployment.client.timeout_seconds.get_or_insert(300.0);
}

/// Has an engine expect graphs to take so much more memory that a share of its pool is left, and keep that; returns what it
/// expects, GiB. As who shrinks a pool does, it lowers the longest sequence where that would no longer fit.
fn expect_graphs(engine: &mut EngineConfig, share: f64) -> f64 {
    let pool = f64::from(engine.num_gpu_blocks) * ledger::block_bytes(engine) / GIB;
    let graphs = engine.memory.graphs_gib + pool * (1.0 - share);
    engine.memory.graphs_estimate_gib = Some(graphs);
    engine.memory.estimate_graphs = Some(true);
    // SGLang states its pool itself.
    let pool = &mut engine.sglang.max_total_num_tokens;
    *pool = ((f64::from(*pool) * share) as u32).max(2);
    let tokens = f64::from(engine.num_gpu_blocks) * share * f64::from(engine.block_size);
    engine.max_model_len = engine.max_model_len.min((tokens * 0.9) as u32).max(2);
    graphs
}

/// Leaves a share of an engine's KV pool. An engine does not start with less than one longest sequence: who shrinks the
/// pool lowers that as well.
pub(super) fn shrink_pool(engine: &mut EngineConfig, share: f64) {
    engine.num_gpu_blocks = ((f64::from(engine.num_gpu_blocks) * share) as u32).max(2);
    let tokens = u64::from(engine.num_gpu_blocks - 1) * u64::from(engine.block_size);
    engine.max_model_len = engine.max_model_len.min(u32::try_from(tokens).unwrap_or(u32::MAX)).max(2);
}

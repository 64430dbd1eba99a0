//! Scenes: what a deployment has to have for a fault to act in it.
//!
//! Speculation cannot go wrong where none is. A scene sets up what a fault needs, in good health; the healthy run that a
//! faulty one is held against has the same scene.

use super::Rig;
use crate::{
    config::{Encoder, EngineConfig, EngineKind, Experts, Offload, SchedulePolicy, Speculation},
    deployment::Deployment,
    kv_cache::hash::mix,
    language::sampling::Sampling,
    memory::ledger,
    request::Images,
    router::RoutingPolicy,
    timing::{Preset, StepShape, Timing},
};

/// A healthy deployment of a kind.
#[derive(Clone, Copy)]
pub struct Scene {
    /// Its name.
    pub slug: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    /// Sets it up.
    pub apply: fn(&mut Rig<'_>),
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Scene({})", self.slug)
    }
}

impl PartialEq for Scene {
    fn eq(&self, other: &Self) -> bool {
        self.slug == other.slug
    }
}

/// Seed of the documents that prompts begin with.
const DOCUMENTS: u64 = 0xd0c5 << 32;

/// All scenes.
pub const SCENES: &[&Scene] = &[
    &PLAIN,
    &PROFILED,
    &FLEET,
    &DOCUMENTS_FIT,
    &DOCUMENTS_SPREAD,
    &LONGEST_FILLS_POOL,
    &TENSOR_PARALLEL,
    &DATA_RANKS,
    &EXPERTS,
    &OFFLOAD,
    &SPECULATION,
    &SCHEMAS,
    &IMAGES,
    &SGLANG_LPM,
    &SAMPLED,
    &DISAGGREGATED,
];

/// The scene of that name.
pub fn find(slug: &str) -> Option<&'static Scene> {
    SCENES.iter().copied().find(|scene| scene.slug == slug)
}

/// Whatever the deployment is.
pub const PLAIN: Scene = Scene { slug: "plain", doc: "the deployment as it is", apply: |_| {} };

/// A pool that nobody set.
pub const PROFILED: Scene = Scene {
    slug: "profiled",
    doc: "GPUs of a size at which the KV pool is what the start's profile leaves",
    apply: |rig| {
        rig.deployment.each_engine(|engine| engine.memory.gpu_gib = ledger::fitting_gpu_gib(engine));
    },
};

/// Replicas behind a router that knows their caches.
pub const FLEET: Scene = Scene {
    slug: "fleet",
    doc: "a router that weighs cached prefixes against load, counted by itself",
    apply: |rig| rig.deployment.routing.policy = RoutingPolicy::PrefixAware,
};

/// Tokens of the largest pool of [`LONGEST_FILLS_POOL`]: a prompt of that length takes a few steps and not dozens.
const SMALL_POOL: u32 = 32_768;

/// Documents that are asked about again and again.
const ASKED_AGAIN: u64 = 40;

/// Length of such a document, tokens.
const ASKED_AGAIN_TOKENS: u32 = 768;

/// Has every prompt begin with one of [`ASKED_AGAIN`] documents instead of its first half, requests about one document being
/// turns of a session, and gives each replica a pool that holds what runs at a peak and `share` of the documents.
fn asks_again(rig: &mut Rig<'_>, share: f64) {
    rig.server_renders(|call, _| {
        let number = mix(call.tag) % ASKED_AGAIN;
        let document = firstcheck_workload::text::word_ids(DOCUMENTS ^ number, ASKED_AGAIN_TOKENS);
        call.prompt.splice(0..call.prompt.len() / 2, document);
        call.session = Some(number as u32);
    });
    let documents = ASKED_AGAIN as f64 * f64::from(ASKED_AGAIN_TOKENS);
    let tokens = running_tokens(rig, ASKED_AGAIN_TOKENS).saturating_add((documents * share) as u32);
    rig.deployment.each_engine(|engine| {
        let tokens = tokens.max(engine.max_model_len);
        engine.num_gpu_blocks = tokens.div_ceil(engine.block_size.max(1)) + 1;
        engine.sglang.max_total_num_tokens = tokens;
    });
}

/// A prefix cache with room.
pub const DOCUMENTS_FIT: Scene = Scene {
    slug: "documents-fit",
    doc: "prompts begin with one of forty documents, and every KV pool holds them twice beside what runs",
    apply: |rig| asks_again(rig, 2.0),
};

/// Replicas of which none holds all.
pub const DOCUMENTS_SPREAD: Scene = Scene {
    slug: "documents-spread",
    doc: "prompts begin with one of forty documents, of which a KV pool holds half beside what runs; the router knows where each \
          one is",
    apply: |rig| {
        rig.deployment.routing.policy = RoutingPolicy::PrefixAware;
        asks_again(rig, 0.5);
    },
};

/// A pool that one sequence can fill.
pub const LONGEST_FILLS_POOL: Scene = Scene {
    slug: "longest-fills-pool",
    doc: "a KV pool of 32,768 tokens at most, and sequences that may be as long as it",
    apply: |rig| {
        rig.deployment.each_engine(|engine| {
            engine.num_gpu_blocks = engine.num_gpu_blocks.min(SMALL_POOL / engine.block_size.max(1) + 1);
            engine.sglang.max_total_num_tokens = engine.sglang.max_total_num_tokens.min(SMALL_POOL);
            let pool = u32::try_from(engine.kv_tokens()).unwrap_or(u32::MAX);
            // SGLang does not start without a page beyond its longest sequence.
            engine.max_model_len = match engine.engine {
                EngineKind::Vllm => pool,
                EngineKind::Sglang => pool.saturating_sub(engine.sglang.page_size + 1).max(1),
            };
        });
    },
};

/// A model over several GPUs.
pub const TENSOR_PARALLEL: Scene = Scene {
    slug: "tensor-parallel",
    doc: "Llama 3.1 70B on four GPUs, with an all-reduce in each layer",
    apply: |rig| rig.deployment.each_engine(|engine| engine.timing = Timing::Preset(Preset::H100Llama70bTp4)),
};

/// Attention ranks of [`DATA_RANKS`].
const RANKS: u32 = 4;

/// Tokens of the text that all prompts begin with there: of long contexts a rank reads enough to be the slowest.
const AGENT_TEXT: u32 = 6000;

/// Longest sequence there, tokens.
const LONGEST_OF_RANKS: u32 = 16_384;

/// Attention ranks with requests of their own.
pub const DATA_RANKS: Scene = Scene {
    slug: "data-ranks",
    doc: "one server of four attention ranks with requests of their own, which take every step together; prompts begin with \
          a long text that is the same in all, as agents' do",
    apply: |rig| {
        rig.server_renders(|call, _| {
            call.prompt.splice(0..0, firstcheck_workload::text::word_ids(DOCUMENTS, AGENT_TEXT));
        });
        let deployment = &rig.deployment;
        if let Some(engine) = deployment.replicas.first().map(|replica| replica.engine.clone()) {
            let mut engine = engine;
            engine.max_model_len = engine.max_model_len.max(LONGEST_OF_RANKS);
            let least = engine.max_model_len.div_ceil(engine.block_size.max(1)) + 1;
            // What the text takes is beside what requests had.
            engine.num_gpu_blocks = (engine.num_gpu_blocks + AGENT_TEXT / engine.block_size.max(1)).max(least);
            let tokens = &mut engine.sglang.max_total_num_tokens;
            *tokens = (*tokens + AGENT_TEXT).max(engine.max_model_len + 2 * engine.sglang.page_size);
            let ranks = Deployment::ranks(&engine, RANKS);
            rig.deployment = Deployment { client: deployment.client, scrape: deployment.scrape, ..ranks };
        }
    },
};

/// Experts over several GPUs.
pub const EXPERTS: Scene = Scene {
    slug: "experts",
    doc: "experts over eight ranks, with an all-to-all in each layer",
    apply: |rig| rig.deployment.each_engine(|engine| engine.parallel.experts = Some(Experts::default())),
};

/// Documents that prompts begin with where a second tier keeps them.
const OFFLOADED: u64 = 40;

/// Length of such a document, tokens.
const OFFLOADED_TOKENS: u32 = 768;

/// Seconds of arrivals that run at once at a peak: answers of a hundred tokens take less.
const PEAK_SECONDS: f64 = 1.5;

/// A second KV tier behind a small pool.
pub const OFFLOAD: Scene = Scene {
    slug: "offload",
    doc: "prompts begin with one of forty documents, more than a small KV pool holds beside what runs; host memory is a \
          second tier",
    apply: |rig| {
        rig.server_renders(|call, _| {
            let document = firstcheck_workload::text::word_ids(DOCUMENTS ^ (call.tag % OFFLOADED), OFFLOADED_TOKENS);
            call.prompt.splice(0..0, document);
        });
        let running = running_tokens(rig, OFFLOADED_TOKENS);
        rig.deployment.each_engine(|engine| {
            let needed = engine.max_model_len.max(running).div_ceil(engine.block_size) + 1;
            engine.num_gpu_blocks = (engine.num_gpu_blocks / 4).max(needed);
            engine.offload = Some(Offload::default());
        });
    },
};

/// Tokens of the requests that run at once on a replica at a peak, each longer than the trace says by `more`; 0 where the
/// trace fixes no times.
fn running_tokens(rig: &Rig<'_>, more: u32) -> u32 {
    let items = &rig.trace().items;
    let each = |item: &firstcheck_workload::trace::Offered| {
        item.prompt.prompt_tokens() + u64::from(item.output_tokens.unwrap_or(0)) + u64::from(more)
    };
    let mean = items.iter().map(each).sum::<u64>() as f64 / items.len().max(1) as f64;
    let rate = rig.rate().unwrap_or(0.0) / rig.deployment.replicas.len().max(1) as f64;
    (rate * PEAK_SECONDS * mean) as u32
}

/// Drafts that are verified.
pub const SPECULATION: Scene = Scene {
    slug: "speculation",
    doc: "speculative decoding with three drafts a step; every fourth request is of another class",
    apply: |rig| {
        rig.deployment.each_engine(|engine| engine.speculation = Some(Speculation::default()));
        rig.server_renders(|call, _| call.features.class = u32::from(call.tag % 4 == 0));
    },
};

/// Requests with a schema.
pub const SCHEMAS: Scene = Scene {
    slug: "schemas",
    doc: "every third request asks for a schema: for one of five, or every fifth of them for one that nobody asked for before",
    apply: |rig| {
        rig.server_renders(|call, _| {
            if call.tag % 3 == 0 {
                let of_its_own = call.tag / 3 % 5 == 4;
                call.features.schema = Some(if of_its_own { mix(call.tag) } else { mix(call.tag) % 5 });
            }
        });
    },
};

/// Images of a request that carries any.
pub(super) const IMAGES_A_REQUEST: u32 = 2;

/// Prompt tokens of such an image.
pub(super) const IMAGE_TOKENS: u32 = 576;

/// Requests with images.
pub const IMAGES: Scene = Scene {
    slug: "images",
    doc: "every third request carries two images of 576 tokens each",
    apply: |rig| {
        rig.deployment.each_engine(|engine| engine.encoder = Some(Encoder::default()));
        rig.server_renders(|call, _| {
            if call.tag % 3 == 0 {
                let first = call.tag * u64::from(IMAGES_A_REQUEST);
                let images = Images { count: IMAGES_A_REQUEST, tokens: IMAGE_TOKENS, first };
                let tokens = firstcheck_workload::text::word_ids(mix(call.tag), images.total_tokens());
                call.prompt.splice(0..0, tokens);
                call.features.images = Some(images);
            }
        });
    },
};

/// Documents that SGLang's prompts begin with.
const BEGINNINGS: u64 = 20;

/// What they need together, in KV pools: more than fits beside the requests, so that the order of admission tells.
const WANTED: f64 = 1.4;

/// Longest such document, tokens: computing one must not freeze the streams beside it.
const LONGEST: u32 = 2000;

/// Share of the time that computing each request's document anew would take on one replica: what is found in the cache
/// makes the difference between a deployment that keeps up and one that does not.
const BUSY: f64 = 0.65;

/// Most that GPUs are slowed down for that, as steps freeze streams.
const SLOWEST: f64 = 1.5;

/// SGLang with its cache-aware order.
pub const SGLANG_LPM: Scene = Scene {
    slug: "sglang-lpm",
    doc: "SGLang that admits the longest cached prefix first; prompts begin with one of twenty documents, more than the \
          KV pool holds, and the GPUs are as slow as keeps up only with what is found there",
    apply: |rig| {
        let Some(engine) = rig.deployment.replicas.first().map(|replica| replica.engine.clone()) else { return };
        let pool = |engine: &EngineConfig| {
            engine.num_gpu_blocks.saturating_sub(1).saturating_mul(engine.block_size).max(engine.max_model_len)
        };
        let document = (f64::from(pool(&engine)) * WANTED / BEGINNINGS as f64) as u32;
        let document = document.clamp(1, LONGEST.min(engine.max_model_len / 2));
        rig.server_renders(move |call, _| {
            let text = firstcheck_workload::text::word_ids(DOCUMENTS ^ (mix(call.tag) % BEGINNINGS), document);
            call.prompt.splice(0..0, text);
        });
        let mut shape = StepShape::default();
        shape.add(0, document, true);
        let seconds = engine.timing.prepare().seconds(&shape);
        let slowness = rig.rate().map(|rate| BUSY * rig.deployment.replicas.len() as f64 / (rate * seconds));
        rig.deployment.each_engine(|engine| {
            let wanted = f64::from(document) * BEGINNINGS as f64 / WANTED;
            engine.sglang.max_total_num_tokens = pool(engine).min(wanted as u32).max(engine.max_model_len);
            engine.sglang.schedule_policy = SchedulePolicy::Lpm;
            engine.engine = EngineKind::Sglang;
            engine.gpu_slowness *= slowness.unwrap_or(1.0).clamp(1.0, SLOWEST);
        });
    },
};

/// Requests whose tokens are drawn.
pub const SAMPLED: Scene = Scene {
    slug: "sampled",
    doc: "requests draw their tokens with a seed and end of themselves; every fifth has no seed",
    apply: |rig| {
        rig.server_renders(|call, _| {
            call.ignore_eos = false;
            let seed = (call.tag % 5 != 0).then(|| mix(call.tag));
            call.sampling = Some(Box::new(Sampling { temperature: Some(0.8), seed, ..Sampling::default() }));
        });
    },
};

/// Prefill and decode in pools of their own.
pub const DISAGGREGATED: Scene = Scene {
    slug: "disaggregated",
    doc: "prompts are computed in one pool, answers in another, and KV goes from the first to the second",
    apply: |rig| {
        let deployment = &rig.deployment;
        if let Some(engine) = deployment.replicas.first().map(|replica| replica.engine.clone()) {
            let half = (deployment.replicas.len() as u32 / 2).max(1);
            let pools = Deployment::disaggregated(&engine, half, half);
            rig.deployment = Deployment { client: deployment.client, scrape: deployment.scrape, ..pools };
        }
    },
};

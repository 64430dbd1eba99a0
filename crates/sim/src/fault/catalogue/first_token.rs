//! The first token is late (S01–S06).

use super::LONG;
use crate::{
    config::Offload,
    fault::{
        FaultSpec, Param, Rig, param, scene,
        traffic::{Lengths, burst, every},
    },
    kv_cache::hash::mix,
    router::RoutingPolicy,
};
use firstcheck_workload::text::word_ids;

/// Seed of a text that is the same in all requests.
const FIXED: u64 = 0x5eed_7e47;

/// How often others send.
const PERIOD: Param = param("period_s", "s", [2.0, 1.0, 0.4], [0.001, 1e4], "interval at which others send");

pub(super) const FAULTS: &[FaultSpec] = &[
    FaultSpec {
        slug: "template-deploy",
        symptom: "S01",
        cause: "volatile-text",
        acts_in: "chat template",
        doc: "a new chat template puts text that changes with every request (an id, a time) near the front of the prompt, \
              so that no two requests share what follows",
        scene: scene::PLAIN,
        params: &[
            param(
                "at",
                "tokens",
                [64.0, 16.0, 0.0],
                [0.0, 1e6],
                "tokens of the prompt that stay in front of the volatile text",
            ),
            param("tokens", "tokens", [12.0, 12.0, 12.0], [1.0, 1e5], "length of the volatile text"),
        ],
        apply: |values, rig| {
            let (at, tokens) = (values.count("at") as usize, values.count("tokens"));
            rig.server_renders(move |call, at_ns| {
                let volatile = word_ids(mix(call.tag ^ mix(at_ns as u64)), tokens);
                let place = at.min(call.prompt.len());
                call.prompt.splice(place..place, volatile);
            });
        },
    },
    FaultSpec {
        slug: "template-reworded",
        symptom: "S01",
        cause: "changed-stable-prefix",
        acts_in: "chat template",
        doc: "a new chat template begins with other text, the same in every request: what is cached is of no use until the \
              new beginning is cached",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [32.0, 64.0, 256.0], [1.0, 1e5], "length of the new text in front")],
        apply: |values, rig| {
            let tokens = values.count("tokens");
            rig.server_renders(move |call, _| drop(call.prompt.splice(0..0, word_ids(FIXED, tokens))));
        },
    },
    FaultSpec {
        slug: "template-longer",
        symptom: "S01",
        cause: "longer-prompt",
        acts_in: "chat template",
        doc: "a new chat template adds text of each user's own at the end of the prompt: the cached beginning stays, the rest \
              is longer",
        scene: scene::PLAIN,
        params: &[param("tokens", "tokens", [500.0, 1500.0, 4000.0], [1.0, 1e5], "tokens that are added")],
        apply: |values, rig| {
            let tokens = values.count("tokens");
            rig.server_renders(move |call, _| call.prompt.extend(word_ids(mix(call.tag), tokens)));
        },
    },
    FaultSpec {
        slug: "prefix-below-user",
        symptom: "S01",
        cause: "prefix-moved",
        acts_in: "chat template",
        doc: "a new chat template puts the shared text behind the user's",
        scene: scene::PLAIN,
        params: &[param(
            "tokens",
            "tokens",
            [32.0, 64.0, 512.0],
            [1.0, 1e6],
            "length of the shared text that moves to the end",
        )],
        apply: |values, rig| {
            let tokens = values.count("tokens") as usize;
            rig.server_renders(move |call, _| {
                let moved = tokens.min(call.prompt.len());
                call.prompt.rotate_left(moved);
            });
        },
    },
    FaultSpec {
        slug: "cache-salted",
        symptom: "S01",
        cause: "cache-off-or-salted",
        acts_in: "prefix cache",
        doc: "the gateway gives each tenant a namespace of its own in the prefix cache",
        scene: scene::PLAIN,
        params: &[param("tenants", "", [8.0, 64.0, 100_000.0], [1.0, 1e9], "namespaces that requests are spread over")],
        apply: |values, rig| {
            let tenants = u64::from(values.count("tenants"));
            rig.server_renders(move |call, _| call.features.cache_salt = 1 + mix(call.tag) % tenants);
        },
    },
    FaultSpec {
        slug: "service-variance",
        symptom: "S02",
        cause: "service-time-variance",
        acts_in: "workload",
        doc: "a share of the prompts grows, so that short requests queue behind long ones",
        scene: scene::PLAIN,
        params: &[
            // More would be more than the deployment can serve: a queue of another cause.
            param("share", "", [0.05, 0.1, 0.15], [0.0, 1.0], "share of the requests that grow"),
            param("tokens", "tokens", [2000.0, 4000.0, 5500.0], [1.0, 1e6], "tokens that are added to them"),
        ],
        apply: |values, rig| {
            let (share, tokens) = (values.get("share"), values.count("tokens"));
            rig.server_renders(move |call, _| {
                if draw(call.tag) < share {
                    call.prompt.extend(word_ids(mix(call.tag), tokens));
                }
            });
        },
    },
    FaultSpec {
        slug: "admission-blocked",
        symptom: "S02",
        cause: "admission-rule",
        acts_in: "scheduler",
        doc: "others send prompts that fit the KV pool only once much of it is free: the queue waits behind each",
        scene: scene::LONGEST_FILLS_POOL,
        params: &[
            param("pool_share", "", [0.5, 0.7, 0.99], [0.01, 0.99], "share of the KV pool that such a prompt needs"),
            // Often enough to be seen, and seldom enough for the queue to empty in between.
            param("period_s", "s", [11.0, 7.0, 4.3], [0.001, 1e4], "interval at which others send"),
        ],
        apply: |values, rig| {
            let engine = rig.deployment.replicas.first().map(|replica| &replica.engine);
            let (pool, longest) = engine.map_or((0, 1), |engine| (engine.kv_tokens(), engine.max_model_len));
            let tokens = (pool as f64 * values.get("pool_share")) as u32;
            let prompt_tokens = tokens.min(longest.saturating_sub(8)).max(1);
            every(rig, values.get("period_s"), Lengths { prompt_tokens, output_tokens: 4 });
        },
    },
    FaultSpec {
        slug: "long-partial-prefills",
        symptom: "S02",
        cause: "serialised-partial-prefill",
        acts_in: "scheduler",
        doc: "others send long prompts, and a small token budget cuts each into many steps that short prompts wait for",
        scene: scene::PLAIN,
        params: &[
            LONG,
            PERIOD,
            param("budget", "tokens", [1024.0, 512.0, 256.0], [16.0, 1e6], "token budget of a step"),
        ],
        apply: |values, rig| {
            let budget = values.count("budget");
            rig.deployment.each_engine(|engine| engine.max_num_batched_tokens = budget);
            let lengths = Lengths { prompt_tokens: values.count("prompt_tokens"), output_tokens: 8 };
            every(rig, values.get("period_s"), lengths);
        },
    },
    FaultSpec {
        slug: "tokeniser-slow",
        symptom: "S02",
        cause: "front-end",
        acts_in: "API server",
        doc: "one API process tokenises slowly: requests wait for it while the engine has room",
        scene: scene::PLAIN,
        params: &[param(
            "us_per_token",
            "µs",
            [10.0, 30.0, 90.0],
            [0.0, 1e6],
            "time that a prompt token takes in the API process",
        )],
        apply: |values, rig| {
            let seconds = values.get("us_per_token") * 1e-6;
            rig.deployment.each_engine(|engine| engine.frontend.prompt_token_seconds += seconds);
        },
    },
    FaultSpec {
        slug: "client-gate",
        symptom: "S02",
        cause: "client-gate",
        acts_in: "client",
        doc: "the client lets only a few requests out at once; the others wait within it",
        scene: scene::PLAIN,
        params: &[param("most", "", [3.0, 2.0, 1.0], [1.0, 1e6], "requests in flight")],
        apply: |values, rig| rig.deployment.client.concurrency_gate = Some(values.count("most").max(1)),
    },
    FaultSpec {
        slug: "gpu-saturated",
        symptom: "S02",
        cause: "saturation",
        acts_in: "workload",
        doc: "others offer more than the deployment can serve: the queue grows without end",
        scene: scene::PLAIN,
        params: &[
            param("rate", "1/s", [10.0, 25.0, 60.0], [0.001, 1e5], "requests a second that others send"),
            param("prompt_tokens", "tokens", [1500.0, 2000.0, 2500.0], [1.0, 1e6], "length of their prompts"),
        ],
        apply: |values, rig| {
            let lengths = Lengths { prompt_tokens: values.count("prompt_tokens"), output_tokens: 100 };
            every(rig, 1.0 / values.get("rate"), lengths);
        },
    },
    FaultSpec {
        slug: "cache-displaced",
        symptom: "S03",
        cause: "survival-shorter",
        acts_in: "prefix cache",
        doc: "others send prompts that are never asked again: cached beginnings are evicted before they are used",
        scene: scene::DOCUMENTS_FIT,
        params: &[
            param("prompt_tokens", "tokens", [1500.0, 4000.0, 7000.0], [1.0, 1e6], "length of their prompts"),
            param("period_s", "s", [0.5, 0.2, 0.13], [0.001, 1e4], "interval at which others send"),
        ],
        apply: |values, rig| {
            let lengths = Lengths { prompt_tokens: values.count("prompt_tokens"), output_tokens: 2 };
            every(rig, values.get("period_s"), lengths);
        },
    },
    FaultSpec {
        slug: "routing-spreads",
        symptom: "S03",
        cause: "routing-spread",
        acts_in: "router",
        doc: "the router takes replicas in turn, so that each beginning must be cached by all of them",
        scene: scene::DOCUMENTS_SPREAD,
        params: &[],
        apply: |_, rig| rig.deployment.routing.policy = RoutingPolicy::RoundRobin,
    },
    FaultSpec {
        slug: "lookups-fail",
        symptom: "S03",
        cause: "lookup-failure",
        acts_in: "prefix cache",
        doc: "lookups in the prefix cache fail although the blocks are there",
        scene: scene::PLAIN,
        params: &[param("share", "", [0.3, 0.6, 1.0], [0.0, 1.0], "share of the lookups that fail")],
        apply: |values, rig| {
            let share = values.get("share");
            rig.deployment
                .each_engine(|engine| engine.defects.failed_lookups = share.max(engine.defects.failed_lookups));
        },
    },
    FaultSpec {
        slug: "cold-mix",
        symptom: "S03",
        cause: "mix-change",
        acts_in: "workload",
        doc: "a share of the requests comes with beginnings that were never seen",
        scene: scene::PLAIN,
        params: &[param("share", "", [0.3, 0.6, 0.95], [0.0, 1.0], "share of the requests with a new beginning")],
        apply: |values, rig| {
            let share = values.get("share");
            rig.server_renders(move |call, _| {
                if draw(call.tag) < share {
                    let length = call.prompt.len() as u32;
                    call.prompt = word_ids(mix(call.tag), length).collect();
                }
            });
        },
    },
    FaultSpec {
        slug: "lpm-falls-back",
        symptom: "S04",
        cause: "policy-switch",
        acts_in: "queue order",
        doc: "after a burst the queue stays longer than the limit above which SGLang gives up the order by cached prefix: \
              beginnings evict each other, and the queue does not drain",
        scene: scene::SGLANG_LPM,
        params: &[
            param("requests", "", [350.0, 500.0, 800.0], [1.0, 1e6], "requests of the burst"),
            param(
                "limit",
                "",
                [128.0, 128.0, 128.0],
                [0.0, 1e6],
                "length of the queue above which the order is given up",
            ),
        ],
        apply: |values, rig| {
            let limit = values.count("limit");
            rig.deployment.each_engine(|engine| engine.sglang.cache_aware_waiting_max = limit);
            burst(rig, values.count("requests"), 1.0, Lengths { prompt_tokens: 2000, output_tokens: 60 });
        },
    },
    FaultSpec {
        slug: "retry-storm",
        symptom: "S04",
        cause: "client-retries",
        acts_in: "client",
        doc: "after a burst clients give up and ask again, and a gateway keeps the server from seeing that they have gone, so \
              that what nobody waits for keeps the load above what the deployment can serve",
        scene: scene::PLAIN,
        params: &[
            param("requests", "", [200.0, 400.0, 800.0], [1.0, 1e6], "requests of the burst"),
            param(
                "timeout_s",
                "s",
                [2.0, 1.5, 1.0],
                [0.01, 1e4],
                "time to first token after which a client asks again",
            ),
            param("retries", "", [4.0, 6.0, 8.0], [0.0, 100.0], "how often it asks again"),
        ],
        apply: |values, rig| {
            let client = &mut rig.deployment.client;
            client.first_token_timeout_seconds = Some(values.get("timeout_s"));
            client.retries = values.count("retries");
            client.hidden_hang_ups = true;
            burst(rig, values.count("requests"), 1.0, Lengths { prompt_tokens: 2500, output_tokens: 60 });
        },
    },
    FaultSpec {
        slug: "tier-slow",
        symptom: "S05",
        cause: "break-even-not-met",
        acts_in: "KV offload",
        doc: "the link to the second KV tier is so slow that loading takes longer than computing",
        scene: scene::OFFLOAD,
        params: &[param("gb_per_s", "GB/s", [2.0, 0.8, 0.2], [0.001, 1e6], "rate of the link")],
        apply: |values, rig| offload(rig, |tier| tier.bytes_per_second = values.get("gb_per_s") * 1e9),
    },
    FaultSpec {
        slug: "tier-small-copies",
        symptom: "S05",
        cause: "small-copies",
        acts_in: "KV offload",
        doc: "loads from the second KV tier are cut into many small copies, each with a cost of its own",
        scene: scene::OFFLOAD,
        params: &[param("us_per_copy", "µs", [200.0, 600.0, 2000.0], [0.0, 1e7], "cost of a copy of one block")],
        apply: |values, rig| {
            offload(rig, |tier| {
                tier.operation_tokens = 16;
                tier.operation_seconds = values.get("us_per_copy") * 1e-6;
            });
        },
    },
    FaultSpec {
        slug: "tier-stores-block",
        symptom: "S05",
        cause: "store-contention",
        acts_in: "KV offload",
        doc: "loads from the second KV tier wait behind stores to it, of long prompts of others above all",
        scene: scene::OFFLOAD,
        params: &[
            // Loading by itself pays at that rate: at a lower one the link would be the cause.
            param("gb_per_s", "GB/s", [7.0, 7.0, 7.0], [0.001, 1e6], "rate that both share"),
            param("prompt_tokens", "tokens", [3000.0, 6000.0, 7000.0], [1.0, 1e6], "length of the prompts of others"),
            param("period_s", "s", [0.5, 0.2, 0.13], [0.001, 1e4], "interval at which others send"),
        ],
        apply: |values, rig| {
            offload(rig, |tier| {
                tier.stores_block_loads = true;
                tier.bytes_per_second = values.get("gb_per_s") * 1e9;
            });
            let lengths = Lengths { prompt_tokens: values.count("prompt_tokens"), output_tokens: 2 };
            every(rig, values.get("period_s"), lengths);
        },
    },
    FaultSpec {
        slug: "tier-lookup-slow",
        symptom: "S05",
        cause: "lookup-overhead",
        acts_in: "KV offload",
        doc: "asking the second KV tier what it has takes long",
        scene: scene::OFFLOAD,
        params: &[param("ms", "ms", [30.0, 100.0, 400.0], [0.0, 1e6], "time of a lookup")],
        apply: |values, rig| offload(rig, |tier| tier.lookup_seconds += values.get("ms") * 1e-3),
    },
    FaultSpec {
        slug: "rank-long-prompts",
        symptom: "S06",
        cause: "mixed-phase-step",
        acts_in: "attention ranks",
        doc: "one attention rank gets long prompts of others, and all ranks wait for it in every step",
        scene: scene::DATA_RANKS,
        params: &[LONG, PERIOD],
        apply: |values, rig| {
            let lengths = Lengths { prompt_tokens: values.count("prompt_tokens"), output_tokens: 8 };
            every(rig, values.get("period_s"), lengths);
        },
    },
    FaultSpec {
        slug: "rank-skew",
        symptom: "S06",
        cause: "admission-skew",
        acts_in: "attention ranks",
        doc: "more requests go to one attention rank than to the others",
        scene: scene::DATA_RANKS,
        params: &[param(
            "skew",
            "",
            [0.3, 0.6, 1.0],
            [0.0, 1.0],
            "share of the requests that go to the first rank beyond its own",
        )],
        apply: |values, rig| {
            rig.deployment.routing.skew = values.get("skew");
        },
    },
    FaultSpec {
        slug: "ranks-admitted-by-count",
        symptom: "S06",
        cause: "context-skew",
        acts_in: "attention ranks",
        doc: "requests are spread over the attention ranks by their number, and every fourth, always of the same rank, has a \
              longer session, which is cached, and a longer answer: that rank reads the most context in each step",
        scene: scene::DATA_RANKS,
        params: &[
            param("tokens", "tokens", [3000.0, 5000.0, 7000.0], [1.0, 8000.0], "length of the session in front"),
            param("factor", "", [1.5, 2.0, 3.0], [1.0, 5.0], "what the length of those answers is multiplied by"),
        ],
        apply: |values, rig| {
            let (tokens, factor) = (values.count("tokens"), values.get("factor"));
            let ranks = rig.deployment.replicas.len().max(1) as u64;
            rig.server_renders(move |call, _| {
                if call.tag % ranks == 0 {
                    call.prompt.splice(0..0, word_ids(FIXED, tokens));
                    call.max_tokens = call.max_tokens.map(|tokens| (f64::from(tokens) * factor) as u32);
                }
            });
        },
    },
];

/// A number from 0 to 1 that belongs to a request.
fn draw(tag: u64) -> f64 {
    (mix(tag ^ 0xd1a1) >> 11) as f64 / (1u64 << 53) as f64
}

/// Changes the second KV tier of every replica.
fn offload(rig: &mut Rig<'_>, change: impl Fn(&mut Offload)) {
    rig.deployment.each_engine(|engine| engine.offload.iter_mut().for_each(&change));
}

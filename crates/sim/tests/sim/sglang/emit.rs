//! The metrics page and the log of an SGLang server.

use super::{Named, admission::tight, rules, small_sglang};
use crate::play::prompt;
use firstcheck_sim::{
    EngineConfig, Sglang,
    emit::{
        log::{Death, LogOptions, Notice, ServerLog},
        metrics,
    },
    memory,
};
use std::collections::BTreeMap;

const PROCESS: metrics::Process = metrics::Process { start_unix_seconds: 0.0, resident_bytes: None };

/// Values by family, of series without labels beside the server's own and a mode.
fn page(named: &Named) -> BTreeMap<String, f64> {
    let page = metrics::page(&named.play.engine, &PROCESS);
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').expect("a series and a value");
            let (name, labels) = series.split_once('{').expect("labels");
            let mode = labels.split_once("mode=\"").map(|(_, rest)| rest.split('"').next().unwrap_or_default());
            let key = mode.map_or_else(|| name.to_owned(), |mode| format!("{name} {mode}"));
            (key, value.parse().expect("a number"))
        })
        .collect()
}

fn crowded() -> Named {
    let bold = Sglang { init_new_token_ratio: 0.1, min_new_token_ratio_factor: 1.0, ..rules() };
    let mut named = Named::with(tight(bold));
    for (name, seed, len) in [('a', 1, 10), ('b', 2, 12), ('c', 3, 8)] {
        named.submit(name, prompt(seed, len), 20);
        named.step();
    }
    named
}

#[test]
fn the_page_agrees_with_what_happened() {
    let mut named = crowded();
    named.run();
    named.submit('d', prompt(2, 12), 1);
    named.run();
    let page = page(&named);
    let value = |name: &str| page[&format!("sglang:{name}")];
    // 10 + 12 + 8, 24 of b again, and one token of d, whose other 11 were found; 57 decodes less b's first by prefill.
    assert_eq!(value("realtime_tokens_total prefill_compute"), 30.0 + 24.0 + 1.0);
    assert_eq!(value("realtime_tokens_total prefill_cache"), 11.0);
    assert_eq!(value("realtime_tokens_total decode"), 33.0 + 16.0 + 7.0);
    assert_eq!(value("prefill_effective_tokens_total input"), 31.0, "what is computed again is left out");
    assert_eq!(value("prefill_effective_tokens_total device_hit"), 11.0);
    assert_eq!(value("num_retracted_requests_total"), 1.0);
    assert_eq!(value("num_retracted_input_tokens_total"), 12.0);
    assert_eq!(value("num_retracted_output_tokens_total"), 12.0);
    assert_eq!((value("prompt_tokens_total"), value("generation_tokens_total")), (42.0, 61.0));
    assert_eq!((value("cached_tokens_total"), value("num_requests_total")), (11.0, 4.0));
    assert_eq!(value("evicted_tokens_total"), named.play.engine.sglang().unwrap().tokens().evicted as f64);
    assert_eq!((value("num_running_reqs"), value("num_queue_reqs"), value("token_usage")), (0.0, 0.0, 0.0));
    assert_eq!((value("max_total_num_tokens"), value("context_len")), (64.0, 60.0));
    let life = |name: char| named.play.ended(u64::from(u32::from(name))).life;
    let whole: i64 =
        ['a', 'b', 'c', 'd'].map(|name| life(name).last_token_ns.unwrap() - life(name).arrival_ns).iter().sum();
    assert!((value("e2e_request_latency_seconds_sum") - whole as f64 * 1e-9).abs() < 1e-9);
    assert_eq!(value("inter_token_latency_seconds_count"), 57.0);
}

#[test]
fn levels_stand_still_between_reports() {
    let mut named = Named::new(Sglang { decode_log_interval: 4, ..rules() });
    named.submit('a', prompt(1, 10), 20);
    named.step();
    let used = |named: &Named| (page(named)["sglang:num_used_tokens"], page(named)["sglang:num_running_reqs"]);
    // A prefill batch tells of those that run beside it.
    assert_eq!(used(&named), (10.0, 0.0));
    named.steps(3);
    assert_eq!(used(&named), (10.0, 0.0), "three decodes have not been reported");
    named.step();
    assert_eq!(used(&named), (14.0, 1.0));
    // Four decodes of 11 ms, and the prefill of 20 ms before them.
    assert!((page(&named)["sglang:gen_throughput"] - 4.0 / 0.064).abs() < 1e-9);
}

#[test]
fn tokens_are_counted_when_their_request_ends() {
    let mut named = Named::new(rules());
    named.submit('a', prompt(1, 10), 5);
    named.steps(4);
    assert_eq!(page(&named)["sglang:generation_tokens_total"], 0.0);
    named.step();
    assert_eq!(page(&named)["sglang:generation_tokens_total"], 5.0);
}

#[test]
fn families_come_with_their_release() {
    let families = |version: &str| {
        let named = Named::with(EngineConfig { version: version.into(), ..small_sglang(rules()) });
        let page = metrics::page(&named.play.engine, &PROCESS);
        assert!(page.lines().all(|line| line.contains("sglang:")), "{page}");
        page.lines().filter(|line| line.starts_with("# TYPE")).count()
    };
    let counts = ["0.4.6", "0.5.4", "0.5.8", "0.5.14", "0.5.18", "0.5.23"].map(families);
    assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
}

/// Runs with the log beside it, as whoever drives the engine does.
fn log_of(named: &mut Named, log: &mut ServerLog) {
    while let Some(end) = named.play.engine.begin_step(named.play.now) {
        log.advance(&named.play.engine, end);
        named.play.engine.finish_step(end);
        named.play.now = end;
    }
    log.advance(&named.play.engine, named.play.now);
}

#[test]
fn the_log_tells_of_every_prefill_of_some_decodes_and_of_retractions() {
    let bold = Sglang { init_new_token_ratio: 0.1, min_new_token_ratio_factor: 1.0, decode_log_interval: 8, ..rules() };
    let config = EngineConfig { version: "0.5.23".into(), ..tight(bold) };
    let mut named = Named::with(config.clone());
    let mut log = ServerLog::new(&config, LogOptions::default());
    named.submit('a', prompt(1, 10), 20);
    log_of_steps(&mut named, &mut log, 1);
    named.submit('b', prompt(2, 12), 20);
    log_of_steps(&mut named, &mut log, 1);
    named.submit('c', prompt(3, 8), 20);
    log_of(&mut named, &mut log);
    let text = log.into_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "[2026-01-01 12:00:00] Prefill batch, #new-seq: 1, #new-token: 10, #cached-token: 0, token usage: 0.16, \
         #running-req: 0, #queue-req: 0, #pending-token: 0, cuda graph: False, input throughput (token/s): 500.00"
    );
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    // a, b, c, and b again; 11 + 8 + 7 decodes.
    assert_eq!((count("Prefill batch, "), count("Decode batch, ")), (4, 3), "{text}");
    let retraction = "KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_tokens_gained: 23, \
                      #new_token_ratio: 0.1000 -> 1.0000";
    assert!(text.contains(retraction), "{text}");
    assert!(
        text.contains("Decode batch, #running-req: 3, #token: 54, token usage: 0.84, cuda graph: True, "),
        "{text}"
    );
}

fn log_of_steps(named: &mut Named, log: &mut ServerLog, steps: usize) {
    for _ in 0..steps {
        let end = named.play.engine.begin_step(named.play.now).expect("a step");
        log.advance(&named.play.engine, end);
        named.play.engine.finish_step(end);
        named.play.now = end;
    }
}

#[test]
fn the_log_begins_with_the_arguments_and_the_pool() {
    let start = |version: &str| {
        let config = EngineConfig { version: version.into(), ..EngineConfig::sglang() };
        let mut log = ServerLog::new(&config, LogOptions::default());
        log.start(&memory::start(&config));
        log.into_text()
    };
    let text = start("0.5.23");
    let wanted = [
        "[2026-01-01 11:59:02] server_args={'model_path': 'llama-3.1-8b', ",
        "'schedule_policy': 'fcfs', ",
        "Load weight end. elapsed=",
        "KV Cache is allocated. dtype: torch.bfloat16, #tokens: 432000, K size: 26.37 GB, V size: 26.37 GB",
        "Capture target decode CUDA graph end. ",
        "max_total_num_tokens=432000, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, \
         context_len=131072, available_gpu_mem=",
        "[2026-01-01 12:00:00] The server is fired up and ready to roll!",
    ];
    let mut from = 0;
    for part in wanted {
        let at = text[from..].find(part).unwrap_or_else(|| panic!("no {part:?} in\n{text}"));
        from += at;
    }
    let older = start("0.5.2");
    assert!(older.contains("server_args=ServerArgs(model_path='llama-3.1-8b', "), "{older}");
    assert!(older.contains("Init torch distributed begin."), "{older}");
}

#[test]
fn a_scheduler_that_dies_says_what_it_raised() {
    let config = small_sglang(rules());
    let mut log = ServerLog::new(&config, LogOptions::default());
    log.notice(0, &Notice::Died(Death::Exception("RuntimeError: boom".into())));
    log.notice(1, &Notice::PrefixCacheReset);
    let text = log.into_text();
    assert!(text.contains("Scheduler hit an exception: Traceback (most recent call last):"), "{text}");
    assert!(text.contains("RuntimeError: boom") && !text.contains("Cache flushed"), "{text}");
}

/// What keeps an engine from starting.
type Fault = fn(&mut EngineConfig);

#[test]
fn a_start_that_fails_says_why_and_nothing_after_it() {
    let cases: [(Fault, &str, &str); 4] = [
        (
            |config| config.memory.unknown_argument = Some("--nonsense".into()),
            "unrecognized arguments: --nonsense",
            "server_args",
        ),
        (
            |config| config.memory.model_max_len = Some(1000),
            "context_length (131072) is greater than the derived context_length (1000)",
            "Load weight begin",
        ),
        (
            |config| config.memory.others_gib = vec![70.0],
            "Not enough memory. Please try to increase --mem-fraction-static",
            "Capture",
        ),
        (|config| config.memory.extra_weights_gib = vec![90.0], "torch.OutOfMemoryError", "Load weight end"),
    ];
    for (fault, why, never) in cases {
        let mut config = EngineConfig::sglang();
        fault(&mut config);
        let mut log = ServerLog::new(&config, LogOptions::default());
        let start = memory::start(&config);
        assert!(start.outcome.is_err(), "{why}");
        log.start(&start);
        log.notice(1, &Notice::PrefixCacheReset);
        let text = log.into_text();
        assert!(text.contains(why), "{why} in\n{text}");
        for later in [never, "fired up", "Cache flushed"] {
            assert!(!text.contains(later), "{later} in\n{text}");
        }
    }
}

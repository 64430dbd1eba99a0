//! SGLang's log: its start, its batches, its retractions.

use super::{
    args,
    failure::{Ending, Stage, Told},
};
use crate::{
    config::{EngineConfig, EngineKind},
    emit::{
        calendar::{Civil, WallClock},
        log::{Death, Notice, access_line},
        version::Version,
    },
    engine::Engine,
    memory::{Failure, GIB, Ledger, ledger},
    sglang::{self, Report, Retraction},
};
use std::fmt::Write;

/// Where a server is reached, when it is ready, and how long its start takes until then.
#[derive(Debug, Clone, Copy)]
pub(in crate::emit) struct Opened {
    pub(in crate::emit) port: u16,
    pub(in crate::emit) ready_ns: i64,
    pub(in crate::emit) seconds: f64,
}

/// Whether an engine of that kind logs as SGLang does.
pub(in crate::emit) fn answered_by(config: &EngineConfig) -> bool {
    config.engine == EngineKind::Sglang
}

/// Writes the lines of one server.
#[derive(Debug, Clone)]
pub(in crate::emit) struct Lines {
    version: Version,
    clock: WallClock,
    ranks: u32,
    /// Reports that have been written of each attention rank, by rank.
    seen: Vec<u64>,
}

impl Lines {
    pub(in crate::emit) fn new(config: &EngineConfig, clock: WallClock) -> Self {
        let version = Version::read(&config.version).unwrap_or(Version::new(0, 5, 23));
        Self {
            version,
            clock,
            ranks: ledger::ledgers(config).len() as u32,
            seen: vec![0; config.parallel.data.of as usize],
        }
    }

    /// The start, which lasts `seconds` until the server is ready; whether it comes to an end before that.
    pub(in crate::emit) fn start(
        &self,
        text: &mut String,
        config: &EngineConfig,
        outcome: &Result<u32, Failure>,
        opened: Opened,
    ) -> bool {
        let Opened { port, ready_ns, seconds } = opened;
        let at = |share: f64| ready_ns - (seconds * (1.0 - share) * 1e9) as i64;
        let failure = outcome.as_ref().err().and_then(|failure| Ending::of(config, failure));
        let last = failure.as_ref().map_or(Stage::Ready, |failure| failure.after);
        if last >= Stage::Called {
            self.line(text, at(0.0), None, &args::line(config, self.version, port));
        }
        for (rank, ledger) in ledger::ledgers(config).iter().enumerate() {
            for (stage, share, message) in self.rank(config, rank, ledger, seconds) {
                if stage <= last {
                    self.line(text, at(share), Some(rank as u32), &message);
                }
            }
        }
        match failure {
            Some(failure) => failure.told.iter().for_each(|told| match told {
                Told::Line(rank, message) => self.line(text, ready_ns, *rank, message),
                Told::Bare(message) => text.push_str(message),
            }),
            None => self.line(text, at(1.0), None, "The server is fired up and ready to roll!"),
        }
        last < Stage::Ready
    }

    /// What a rank says of its start: the stage that it is in, the share of the start that is over, the message.
    fn rank(&self, config: &EngineConfig, rank: usize, ledger: &Ledger, seconds: f64) -> Vec<(Stage, f64, String)> {
        let pool = f64::from(config.sglang.kv_tokens()) * ledger::kv_bytes_per_token(config);
        let free = ledger.free_at_start();
        let (loaded, pooled) = (free - ledger.weights, free - ledger.weights - pool);
        let captured = pooled - ledger.graphs;
        let (begins, ends) = if self.since(23) {
            ("Init parallel begin.".to_owned(), format!("Init parallel ends. elapsed={:.2} s", seconds * 0.02))
        } else {
            (
                "Init torch distributed begin.".to_owned(),
                format!(
                    "Init torch distributed ends. elapsed={:.2} s, mem usage={:.2} GB",
                    seconds * 0.02,
                    ledger.context / GIB
                ),
            )
        };
        let kind = format!("type=ForCausalLM, avail mem={:.2} GB", loaded / GIB);
        let used = ledger.weights / GIB;
        let loading = format!("Load weight end. elapsed={:.2} s, {kind}, mem usage={used:.2} GB.", seconds * 0.4);
        let name = if self.since(4) { "target decode CUDA graph" } else { "cuda graph" };
        let begin =
            format!("Capture {name} begin. This can take up to several minutes. avail mem={:.2} GB", pooled / GIB);
        let end = format!(
            "Capture {name} end. Time elapsed: {:.2} s. mem usage={:.2} GB. avail mem={:.2} GB.",
            seconds * 0.3,
            ledger.graphs / GIB,
            captured / GIB
        );
        let mut lines = vec![
            (Stage::Loading, 0.2, begins),
            (Stage::Loading, 0.22, ends),
            (Stage::Loading, 0.22, format!("Load weight begin. avail mem={:.2} GB", free / GIB)),
            (Stage::Loaded, 0.62, loading),
            (Stage::Capturing, 0.64, self.allocated(config, pool)),
            (Stage::Capturing, 0.64, format!("Memory pool end. avail mem={:.2} GB", pooled / GIB)),
            (Stage::Capturing, 0.65, begin),
            (Stage::Captured, 0.95, end),
        ];
        if rank == 0 {
            lines.push((Stage::Captured, 0.96, capacity(config, captured)));
        }
        lines
    }

    fn allocated(&self, config: &EngineConfig, pool: f64) -> String {
        let (tokens, half) = (config.sglang.kv_tokens(), pool / 2.0 / GIB);
        let dtype = if self.since(14) { "dtype: torch.bfloat16, " } else { "" };
        format!("KV Cache is allocated. {dtype}#tokens: {tokens}, K size: {half:.2} GB, V size: {half:.2} GB")
    }

    /// Writes what was reported since it was last asked.
    pub(in crate::emit) fn advance(&mut self, text: &mut String, engine: &Engine) {
        let Some(view) = engine.sglang() else { return };
        let (earlier, latest) = view.reports();
        let place = engine.config().parallel.data.rank as usize;
        let Some(seen) = self.seen.get_mut(place) else { return };
        let known = std::mem::replace(seen, earlier + latest.len() as u64).saturating_sub(earlier) as usize;
        for report in latest.iter().skip(known) {
            let Report { at_ns, told } = report;
            let line = self.told(told);
            self.line(text, *at_ns, Some(place as u32), &line);
        }
    }

    /// Writes what happened, as far as SGLang tells it; whether that ends the log. `access`: answered requests too.
    pub(in crate::emit) fn notice(&self, text: &mut String, at_ns: i64, notice: &Notice, access: bool) -> bool {
        match notice {
            Notice::Answered { path, status } if access => {
                self.line(text, at_ns, None, &access_line(path, *status));
            }
            Notice::Warning { message, .. } | Notice::Info { message, .. } => self.line(text, at_ns, Some(0), message),
            Notice::PrefixCacheReset => self.line(text, at_ns, Some(0), "Cache flushed successfully!"),
            Notice::Died(death) => {
                if let Some(exception) = exception(death) {
                    let traceback = format!(
                        "Scheduler hit an exception: Traceback (most recent call last):\n  File \
                         \"sglang/srt/managers/scheduler.py\", line 4642, in run_scheduler_process\n    \
                         scheduler.run_event_loop()\n{exception}\n"
                    );
                    self.line(text, at_ns, Some(0), &traceback);
                }
                return true;
            }
            _ => {}
        }
        false
    }

    fn told(&self, told: &sglang::Told) -> String {
        let mark = if self.since(4) { "," } else { "." };
        match *told {
            sglang::Told::Prefill { note, usage, queue, pending, throughput } => {
                let pending = if self.since(14) { format!(", #pending-token: {pending}") } else { String::new() };
                format!(
                    "Prefill batch{mark} #new-seq: {}, #new-token: {}, #cached-token: {}, token usage: {usage:.2}, \
                     #running-req: {}, #queue-req: {queue}{pending}, cuda graph: False, input throughput (token/s): \
                     {throughput:.2}",
                    note.new_seqs, note.new_tokens, note.cached_tokens, note.running
                )
            }
            sglang::Told::Decode { running, used, usage, queue, graph, throughput } => {
                let graph = if graph { "True" } else { "False" };
                format!(
                    "Decode batch{mark} #running-req: {running}, #token: {used}, token usage: {usage:.2}, cuda graph: \
                     {graph}, gen throughput (token/s): {throughput:.2}, #queue-req: {queue}"
                )
            }
            sglang::Told::Retraction(Retraction { requests, gained, ratio_before, ratio_after, .. }) => {
                let gained = if self.since(8) { format!("#new_tokens_gained: {gained}, ") } else { String::new() };
                format!(
                    "KV cache pool is full. Retract requests. #retracted_reqs: {requests}, {gained}#new_token_ratio: \
                     {ratio_before:.4} -> {ratio_after:.4}"
                )
            }
            sglang::Told::GaveUp(id) => {
                let id = format!("{:032x}", u64::from(id.slot) << 32 | u64::from(id.generation));
                let reason = "Out of memory even after retracting all other requests in the decode batch. Aborting the \
                              last request.";
                match self.since(23) {
                    true => format!("retract_decode: aborted request {id}: {reason}"),
                    false => format!("retract_decode: aborted last request {id} due to OOM"),
                }
            }
        }
    }

    /// Whether the release is at least 0.5.`patch`.
    fn since(&self, patch: u32) -> bool {
        self.version >= Version::new(0, 5, patch)
    }

    /// A line; ranks are told apart where there are several.
    fn line(&self, text: &mut String, at_ns: i64, rank: Option<u32>, message: &str) {
        let Civil { year, month, day, hour, minute, second } = self.clock.at(at_ns);
        let rank = match rank {
            // An attention rank is a rank of all that is split as well.
            Some(rank) if self.seen.len() > 1 => format!(" DP{rank} TP{rank}"),
            Some(rank) if self.ranks > 1 => format!(" TP{rank}"),
            _ => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{rank}] {message}");
    }
}

/// What the scheduler raised; `None`: it was killed and could not say.
fn exception(death: &Death) -> Option<String> {
    let (tried, free, gpu) = match death {
        Death::Killed => return None,
        Death::OutOfMemory { gpu, tried, free } | Death::EncoderOutOfMemory { gpu, tried, free } => {
            (*tried, *free, *gpu)
        }
        Death::IllegalAccess => {
            return Some("torch.AcceleratorError: CUDA error: an illegal memory access was encountered".into());
        }
        Death::CollectiveTimeout { sequence, operation, elements, seconds } => {
            return Some(format!(
                "torch.distributed.DistBackendError: Watchdog caught collective operation timeout: \
                 WorkNCCL(SeqNum={sequence}, OpType={operation}, NumelIn={elements}) ran for {:.0} milliseconds before \
                 timing out.",
                seconds * 1e3
            ));
        }
        Death::Exception(exception) => return Some(exception.clone()),
    };
    Some(format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {:.2} GiB. GPU {gpu} has {:.2} GiB free.",
        tried / GIB,
        free / GIB
    ))
}

/// The pool as it stands when the server is ready.
fn capacity(config: &EngineConfig, free: f64) -> String {
    let rules = &config.sglang;
    let chunk = rules.chunked_prefill_size.map_or_else(|| "-1".to_owned(), |size| size.to_string());
    format!(
        "max_total_num_tokens={}, chunked_prefill_size={chunk}, max_prefill_tokens={}, max_running_requests={}, \
         context_len={}, available_gpu_mem={:.2} GB",
        rules.kv_tokens(),
        rules.max_prefill_tokens,
        rules.max_running_requests,
        config.max_model_len,
        free / GIB
    )
}

//! The server's log in the format of vLLM, by version: what it says while it starts, every ten seconds, and when
//! something fails.

mod args;
mod died;
mod failure;
mod interval;
mod startup;
mod style;
mod traceback;

use super::{calendar::WallClock, sglang, version::Version};
use crate::{config::EngineConfig, engine::Engine, memory::Start};
use interval::Interval;
use style::{Level, Line, Process, Site, Style};

pub use died::Death;

/// How a server logs.
#[derive(Debug, Clone, PartialEq)]
pub struct LogOptions {
    /// Where the engine's time zero, when the server is ready, stands on the wall clock.
    pub clock: WallClock,
    /// Whether it logs at DEBUG: the memory ledger shows its terms only there.
    pub verbose: bool,
    /// Whether each answered request leaves a line. A server does so unless `--disable-uvicorn-access-log` is given; a
    /// long run would be mostly that.
    pub access: bool,
    /// Process id of the API server; its children's follow.
    pub pid: u32,
    /// Port on which it listens.
    pub port: u16,
    /// How long the start takes, seconds.
    pub start_seconds: f64,
    /// Seconds between two lines of statistics.
    pub interval_seconds: u32,
}

impl Default for LogOptions {
    fn default() -> Self {
        Self {
            clock: WallClock::default(),
            verbose: false,
            access: false,
            pid: 2375,
            port: 8000,
            start_seconds: 58.0,
            interval_seconds: 10,
        }
    }
}

/// Something that a server says beside its statistics.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Notice {
    /// A request was answered with this status (only where requests leave a line).
    Answered {
        /// Which path.
        path: String,
        /// HTTP status.
        status: u16,
    },
    /// A request failed inside the server, HTTP 500.
    RequestFailed {
        /// The server's name for it.
        request: String,
        /// Type and message of the exception.
        error: String,
    },
    /// A client went away and its request was given up (said at DEBUG only, as a server does).
    Aborted {
        /// The server's name for it.
        request: String,
    },
    /// The prefix cache was emptied.
    PrefixCacheReset,
    /// KV that another instance should have sent did not come: its blocks are invalid, and the requests start over.
    KvLoadFailed {
        /// Requests.
        requests: u64,
        /// Their tokens.
        tokens: u64,
    },
    /// Transfers of KV since the last such notice, as the connector sums them up.
    Transfers {
        /// Transfers that succeeded.
        count: u64,
        /// Mean duration, seconds.
        mean_seconds: f64,
        /// 90th percentile of the duration, seconds.
        p90_seconds: f64,
        /// Mean time to post, seconds.
        mean_post_seconds: f64,
        /// Mean size, bytes.
        mean_bytes: f64,
        /// Mean number of descriptors.
        mean_descriptors: f64,
    },
    /// Something that the engine warns of, in its words.
    Warning {
        /// File that warns, as the log names it.
        file: &'static str,
        /// The words.
        message: String,
    },
    /// Something that the engine tells, in its words.
    Info {
        /// File that tells it, as the log names it.
        file: &'static str,
        /// The words.
        message: String,
    },
    /// The engine's core died; every request in it fails.
    Died(Death),
    /// The server was told to stop.
    Shutdown,
}

/// The log of one server.
#[derive(Debug, Clone)]
pub struct ServerLog {
    config: EngineConfig,
    options: LogOptions,
    style: Style,
    text: String,
    /// The statistics of each attention rank, by rank.
    intervals: Vec<Interval>,
    /// When the start fails, for all its lines.
    failing_ns: i64,
    /// The lines of an SGLang server; vLLM's have their style.
    sglang: Option<sglang::Lines>,
    over: bool,
}

impl ServerLog {
    /// An empty log of a server with that configuration, as it was asked for: before memory decides on the pool.
    pub fn new(config: &EngineConfig, options: LogOptions) -> Self {
        let ranks = crate::memory::ledger::ledgers(config).len() as u32;
        // A version that is no number is taken for the newest whose log is known.
        let version = Version::read(&config.version).unwrap_or(Version::new(0, 32, 0));
        let style =
            Style { version, verbose: options.verbose, ranks, data_ranks: config.parallel.data.of, pid: options.pid };
        let intervals = (0..config.parallel.data.of).map(|rank| Interval::new(&options, rank)).collect();
        let sglang = sglang::answered_by(config).then(|| sglang::Lines::new(config, options.clock));
        let config = config.clone();
        Self { config, options, style, text: String::new(), intervals, failing_ns: 0, sglang, over: false }
    }

    /// The start: on success the server is ready at the engine's time zero; a failure ends the log there.
    pub fn start(&mut self, start: &Start) {
        self.start_at(0, start);
    }

    /// Another process in the place of the first, with that configuration: in virtual time it is ready at once, so that
    /// its start overlaps with what came before.
    pub fn start_again(&mut self, ready_ns: i64, config: &EngineConfig, start: &Start) {
        let pid = self.options.pid + 4096;
        self.options.pid = pid;
        let fresh = Self::new(config, self.options.clone());
        (self.config, self.style, self.over) = (fresh.config, fresh.style, false);
        self.sglang = fresh.sglang;
        self.intervals.iter_mut().for_each(Interval::restart);
        self.start_at(ready_ns, start);
    }

    fn start_at(&mut self, ready_ns: i64, start: &Start) {
        if let Some(lines) = &self.sglang {
            let LogOptions { port, start_seconds: seconds, .. } = self.options;
            let opened = sglang::Opened { port, ready_ns, seconds };
            self.over = lines.start(&mut self.text, &self.config, &start.outcome, opened);
            return;
        }
        startup::write(self, ready_ns, start);
        if let Err(failure) = &start.outcome {
            failure::write(self, ready_ns, start, failure);
            self.over = true;
        }
    }

    /// Writes the lines of statistics that are due before `now_ns`, of the state that holds until then: to be called
    /// before the engine changes, rank by rank where the server has several.
    pub fn advance(&mut self, engine: &Engine, now_ns: i64) {
        if let Some(lines) = &mut self.sglang {
            if !self.over {
                lines.advance(&mut self.text, engine);
            }
            return;
        }
        while !self.over
            && let Some(interval) = self.intervals.get_mut(engine.config().parallel.data.rank as usize)
            && let Some((at_ns, lines)) = interval.due(engine, now_ns)
        {
            for line in lines {
                self.line_at(at_ns, &line.text(&self.style));
            }
        }
    }

    /// Something happened.
    pub fn notice(&mut self, at_ns: i64, notice: &Notice) {
        if self.over {
            return;
        }
        if let Some(lines) = &self.sglang {
            self.over = lines.notice(&mut self.text, at_ns, notice, self.options.access);
            return;
        }
        match notice {
            Notice::Died(death) => {
                died::write(self, at_ns, death);
                self.over = true;
            }
            Notice::Answered { path, status } => self.answered(path, *status),
            other => {
                if let Some(line) = plain(other) {
                    self.line_at(at_ns, &line);
                }
            }
        }
    }

    /// What has been written so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// All that was written.
    pub fn into_text(self) -> String {
        self.text
    }

    fn line_at(&mut self, at_ns: i64, line: &Line) {
        self.style.line(&mut self.text, self.options.clock.at(at_ns), line);
    }

    fn answered(&mut self, path: &str, status: u16) {
        if !self.options.access {
            return;
        }
        self.style.bare(&mut self.text, Process::Api, &access_line(path, status));
    }
}

/// What the web server of both engines says of a request that it has answered.
pub(in crate::emit) fn access_line(path: &str, status: u16) -> String {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        422 => "Unprocessable Entity",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    format!("INFO:     127.0.0.1:46846 - \"POST {path} HTTP/1.1\" {status} {reason}")
}

/// The single line of a notice that is one.
fn plain(notice: &Notice) -> Option<Line> {
    let line = |process, level, site, message: String| Some(Line { process, level, site, message });
    match notice {
        Notice::RequestFailed { request, error } => {
            let site = Site("v1/engine/", "async_llm.py", 564, 702);
            line(Process::Api, Level::Error, site, format!("Request {request} failed (engine error): {error}"))
        }
        Notice::Aborted { request } => {
            let site = Site("v1/engine/", "async_llm.py", 548, 684);
            line(Process::Api, Level::Debug, site, format!("Request {request} aborted."))
        }
        Notice::PrefixCacheReset => {
            let site = Site("v1/core/", "block_pool.py", 428, 512);
            line(Process::Core, Level::Info, site, "Successfully reset prefix cache".into())
        }
        Notice::KvLoadFailed { requests, tokens } => {
            let message = format!(
                "Recovered from KV load failure: {requests} request(s) rescheduled ({tokens} tokens affected)."
            );
            line(Process::Core, Level::Warning, Site("v1/core/sched/", "scheduler.py", 1812, 2219), message)
        }
        Notice::Transfers { count, mean_seconds, p90_seconds, mean_post_seconds, mean_bytes, mean_descriptors } => {
            let (total, mebibytes) = (mean_seconds * *count as f64, mean_bytes / 1_048_576.0);
            let rate = if total > 0.0 { mebibytes * *count as f64 / total } else { 0.0 };
            let message = format!(
                "KV Transfer metrics: Num successful transfers={count}, Avg xfer time (ms)={:.3}, P90 xfer time \
                 (ms)={:.3}, Avg post time (ms)={:.3}, Avg MB per transfer={mebibytes:.3}, Throughput \
                 (MB/s)={rate:.3}, \
                 Avg number of descriptors={mean_descriptors:.1}",
                mean_seconds * 1e3,
                p90_seconds * 1e3,
                mean_post_seconds * 1e3,
            );
            line(Process::Api, Level::Info, Site("v1/metrics/", "metrics.py", 103, 125), message)
        }
        Notice::Warning { file, message } => {
            line(Process::Core, Level::Warning, Site("", file, 101, 133), message.clone())
        }
        Notice::Info { file, message } => line(Process::Core, Level::Info, Site("", file, 101, 133), message.clone()),
        Notice::Shutdown => {
            let site = Site("entrypoints/", "launcher.py", 131, 254);
            line(Process::Api, Level::Info, site, "[shutdown] API server: shutdown triggered".into())
        }
        Notice::Answered { .. } | Notice::Died(_) => None,
    }
}

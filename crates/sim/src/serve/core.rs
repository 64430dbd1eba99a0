//! The engine with its answers under way, shared by all connections of the server's one thread.

use super::{
    ServeOptions,
    api::render::Render,
    pace::Pace,
    stream::{Answer, Guard, Stream},
};
use crate::{
    Engine, NewRequest, Refusal, RequestId,
    config::EngineConfig,
    emit::metrics::{self, Process},
    kv_cache::hash::mix,
};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::sync::Notify;

/// A handle to the engine on the server's thread.
#[derive(Debug, Clone)]
pub(super) struct Shared(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    core: RefCell<Core>,
    config: EngineConfig,
    options: ServeOptions,
    pace: Pace,
    /// End of the last step on the engine's clock.
    step_end_ns: Cell<i64>,
    arrived: Notify,
    started_unix: Duration,
    requests: Cell<u64>,
    most_late: Cell<Duration>,
}

#[derive(Debug)]
struct Core {
    engine: Engine,
    answers: HashMap<u64, Rc<RefCell<Answer>>>,
}

impl Shared {
    pub(super) fn new(engine: Engine, options: ServeOptions) -> Self {
        Self(Rc::new(Inner {
            config: engine.config().clone(),
            core: RefCell::new(Core { engine, answers: HashMap::new() }),
            pace: Pace::new(options.time_scale, options.most_behind),
            options,
            step_end_ns: Cell::new(0),
            arrived: Notify::new(),
            started_unix: unix_time(),
            requests: Cell::new(0),
            most_late: Cell::new(Duration::ZERO),
        }))
    }

    pub(super) fn config(&self) -> &EngineConfig {
        &self.0.config
    }

    pub(super) fn options(&self) -> &ServeOptions {
        &self.0.options
    }

    /// Unix seconds now.
    pub(super) fn unix_seconds(&self) -> u64 {
        unix_time().as_secs()
    }

    /// Unix seconds at the server's start.
    pub(super) fn started_unix_seconds(&self) -> u64 {
        self.0.started_unix.as_secs()
    }

    /// A number for the next request and 16 hex digits that name it.
    pub(super) fn next_request(&self) -> (u64, String) {
        let tag = self.0.requests.get();
        self.0.requests.set(tag + 1);
        (tag, format!("{:016x}", mix(mix(self.0.options.seed ^ 0x7265_7173).wrapping_add(tag))))
    }

    /// Hands a request to the engine.
    pub(super) fn submit(&self, request: NewRequest, render: Render) -> Result<Stream, Refusal> {
        let tag = request.tag;
        let now_ns = self.0.pace.now_ns(self.0.step_end_ns.get());
        let mut core = self.0.core.borrow_mut();
        let id = core.engine.submit(now_ns, request)?;
        let answer = Rc::new(RefCell::new(Answer::new(render)));
        core.answers.insert(tag, Rc::clone(&answer));
        drop(core);
        self.0.arrived.notify_one();
        Ok(Stream::new(answer, Guard { shared: self.clone(), id, tag }))
    }

    /// Gives a request up, unless it has ended.
    pub(super) fn forget(&self, id: RequestId, tag: u64) {
        let mut core = self.0.core.borrow_mut();
        if core.answers.remove(&tag).is_some() {
            core.engine.abort(id);
        }
    }

    /// The metrics page, with one series of the simulator's own: how late a step was at worst.
    pub(super) fn page(&self) -> String {
        let process =
            Process { start_unix_seconds: self.0.started_unix.as_secs_f64(), resident_bytes: resident_bytes() };
        let mut page = metrics::page(&self.0.core.borrow().engine, &process);
        page.push_str(
            "# HELP firstcheck_sim:pacing_lag_seconds_max Longest delay of a step's end behind its due time.\n\
             # TYPE firstcheck_sim:pacing_lag_seconds_max gauge\n",
        );
        page.push_str(&format!("firstcheck_sim:pacing_lag_seconds_max {:?}\n", self.0.most_late.get().as_secs_f64()));
        page
    }

    /// Runs steps for ever.
    pub(super) async fn run(self) {
        let inner = &*self.0;
        let mut now_ns = 0;
        loop {
            let step_end = inner.core.borrow_mut().engine.begin_step(now_ns);
            if let Some(end_ns) = step_end {
                let late = inner.pace.until(end_ns).await;
                inner.most_late.set(inner.most_late.get().max(late));
                inner.step_end_ns.set(end_ns);
                inner.core.borrow_mut().deliver(end_ns, inner.options.max_unsent_bytes);
                now_ns = inner.pace.resume_ns(end_ns, late);
                continue;
            }
            let ready = inner.core.borrow().engine.next_ready_ns();
            match ready {
                Some(ready_ns) => {
                    inner.pace.until(ready_ns).await;
                    now_ns = now_ns.max(ready_ns);
                    inner.step_end_ns.set(now_ns);
                }
                None => inner.arrived.notified().await,
            }
        }
    }
}

impl Core {
    fn deliver(&mut self, now_ns: i64, limit: usize) {
        let mut overflown = Vec::new();
        let step = self.engine.finish_step(now_ns);
        for output in step.outputs {
            let Some(answer) = self.answers.get(&output.tag) else { continue };
            if !answer.borrow_mut().push(output, &step, limit) {
                overflown.push((output.tag, output.id));
            } else if output.finish.is_some() {
                self.answers.remove(&output.tag);
            }
        }
        for (tag, id) in overflown {
            self.answers.remove(&tag);
            self.engine.abort(id);
        }
    }
}

fn unix_time() -> Duration {
    // A clock before 1970 cannot be told from 1970.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Resident memory of this process, where the system tells it.
fn resident_bytes() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024.0)
}

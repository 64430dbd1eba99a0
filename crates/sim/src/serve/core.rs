//! The deployment with its answers under way, shared by all connections of the server's one thread.

use super::{
    ServeOptions,
    api::render::Render,
    pace::Pace,
    stream::{Answer, Guard, Stream},
};
use crate::{
    Output, StepResult,
    config::EngineConfig,
    deployment::{
        Call,
        fleet::{Fleet, Happening, Refused, Ticket},
    },
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

/// A handle to the deployment on the server's thread.
#[derive(Debug, Clone)]
pub(super) struct Shared(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    core: RefCell<Core>,
    config: EngineConfig,
    options: ServeOptions,
    pace: Pace,
    /// The deployment's clock: what was done last was due then.
    clock_ns: Cell<i64>,
    arrived: Notify,
    started_unix: Duration,
    requests: Cell<u64>,
    /// Readings of the page that all replicas share.
    readings: Cell<usize>,
    most_late: Cell<Duration>,
}

#[derive(Debug)]
struct Core {
    fleet: Fleet,
    answers: Answers,
}

/// Answers under way, by the tag of their request.
type Answers = HashMap<u64, (Ticket, Rc<RefCell<Answer>>)>;

impl Shared {
    pub(super) fn new(fleet: Fleet, options: ServeOptions) -> Self {
        let config = fleet.members().first().map(|member| member.engine().config().clone()).unwrap_or_default();
        Self(Rc::new(Inner {
            config,
            core: RefCell::new(Core { fleet, answers: HashMap::new() }),
            pace: Pace::new(options.time_scale, options.most_behind),
            options,
            clock_ns: Cell::new(0),
            arrived: Notify::new(),
            started_unix: unix_time(),
            requests: Cell::new(0),
            readings: Cell::new(0),
            most_late: Cell::new(Duration::ZERO),
        }))
    }

    /// What the first replica was when the server started.
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

    fn now_ns(&self) -> i64 {
        self.0.pace.now_ns(self.0.clock_ns.get())
    }

    /// What the server's template makes of a request's prompt.
    pub(super) fn render(&self, call: &mut Call) {
        self.0.core.borrow().fleet.render(self.now_ns(), call);
    }

    /// Hands a rendered request to the deployment.
    pub(super) fn submit(&self, call: Call, render: Render) -> Result<Stream, Refused> {
        let tag = call.tag;
        let mut core = self.0.core.borrow_mut();
        let before = core.fleet.next_work_ns();
        let ticket = core.fleet.submit(self.now_ns(), call)?;
        let sooner = core.fleet.next_work_ns() != before;
        let answer = Rc::new(RefCell::new(Answer::new(render)));
        core.answers.insert(tag, (ticket, Rc::clone(&answer)));
        drop(core);
        if sooner {
            self.0.arrived.notify_one();
        }
        Ok(Stream::new(answer, Guard { shared: self.clone(), tag }))
    }

    /// Gives a request up, unless it has ended.
    pub(super) fn forget(&self, tag: u64) {
        let mut core = self.0.core.borrow_mut();
        if let Some((ticket, _)) = core.answers.remove(&tag) {
            core.fleet.abort(self.now_ns(), ticket);
        }
    }

    /// The metrics page at the deployment's address: of several replicas the next in turn, as behind a load balancer.
    pub(super) fn page(&self) -> String {
        let reading = self.0.readings.get();
        self.0.readings.set(reading.wrapping_add(1));
        let pages = {
            let fleet = &self.0.core.borrow().fleet;
            if fleet.deployment().steps_together() { 1 } else { fleet.members().len() }
        };
        self.page_of(reading % pages).unwrap_or_default()
    }

    /// The metrics page of a replica, if there is one of that number, which is that of all where they are ranks of a server; with one series of the simulator's own: how late
    /// a step was at worst.
    pub(super) fn page_of(&self, replica: usize) -> Option<String> {
        let core = self.0.core.borrow();
        let member = core.fleet.members().get(replica)?;
        let start_unix_seconds = self.0.started_unix.as_secs_f64() + member.started_seconds();
        let process = Process { start_unix_seconds, resident_bytes: resident_bytes() };
        let mut page = if core.fleet.deployment().steps_together() {
            let ranks = core.fleet.members().iter().map(|rank| metrics::families(rank.engine(), &process));
            metrics::render(&metrics::of_server(ranks), &member.engine().config().model_name)
        } else {
            metrics::page(member.engine(), &process)
        };
        page.push_str(
            "# HELP firstcheck_sim:pacing_lag_seconds_max Longest delay of a step's end behind its due time.\n\
             # TYPE firstcheck_sim:pacing_lag_seconds_max gauge\n",
        );
        page.push_str(&format!("firstcheck_sim:pacing_lag_seconds_max {:?}\n", self.0.most_late.get().as_secs_f64()));
        Some(page)
    }

    /// Lets time pass for ever.
    pub(super) async fn run(self) {
        let inner = &*self.0;
        loop {
            let next_ns = {
                let fleet = &inner.core.borrow().fleet;
                // Where only steps move the clock, an idle deployment does not hurry on to its next change.
                if inner.pace.is_virtual() { fleet.next_work_ns() } else { fleet.next_ns() }
            };
            let Some(next_ns) = next_ns else {
                inner.arrived.notified().await;
                continue;
            };
            tokio::select! {
                late = inner.pace.until(next_ns) => inner.pass(next_ns, late),
                // A replica that was idle may have something to do before that.
                () = inner.arrived.notified() => {}
            }
        }
    }
}

impl Inner {
    /// Does what is due at `now_ns`, which has come `late`.
    fn pass(&self, now_ns: i64, late: Duration) {
        let now_ns = now_ns.max(self.clock_ns.get());
        self.most_late.set(self.most_late.get().max(late));
        self.clock_ns.set(now_ns);
        let resume_ns = self.pace.resume_ns(now_ns, late);
        self.core.borrow_mut().pass(now_ns, resume_ns, self.options.max_unsent_bytes);
    }
}

impl Core {
    fn pass(&mut self, now_ns: i64, resume_ns: i64, limit: usize) {
        let Self { fleet, answers } = self;
        fleet.begin_phases(now_ns, |replica, happening| lose(answers, replica, &happening));
        let mut overflown = Vec::new();
        fleet.advance(now_ns, resume_ns, |replica, happening| match happening {
            Happening::Step(step) => {
                step.outputs.iter().for_each(|output| deliver(answers, output, &step, limit, &mut overflown));
                // What ended without a last token has failed.
                for ended in step.finished {
                    if let Some((_, answer)) = answers.remove(&ended.tag) {
                        answer.borrow_mut().lose();
                    }
                }
            }
            other => lose(answers, replica, &other),
        });
        for ticket in overflown {
            fleet.abort(now_ns, ticket);
        }
    }
}

/// Closes the connections of answers that will not be completed.
fn lose(answers: &mut Answers, replica: usize, happening: &Happening<'_>) {
    answers.retain(|tag, (ticket, answer)| {
        let gone = match happening {
            Happening::Restarted => ticket.replica() == replica,
            Happening::Failed(failed, _) => failed == tag,
            Happening::Step(_) | Happening::HandedOver(..) => false,
        };
        if gone {
            answer.borrow_mut().lose();
        }
        !gone
    });
}

fn deliver(answers: &mut Answers, output: &Output, step: &StepResult<'_>, limit: usize, overflown: &mut Vec<Ticket>) {
    let Some((ticket, answer)) = answers.get(&output.tag) else { return };
    if !answer.borrow_mut().push(output, step, limit) {
        overflown.push(*ticket);
        answers.remove(&output.tag);
    } else if output.finish.is_some() {
        answers.remove(&output.tag);
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

//! The client's side of a run: what it sends, gives up and tries again, and what it sees.

use super::{
    SimError, SimulateOptions, Truth, nanoseconds_of,
    plan::{Action, Plan},
    prompts::PromptWatch,
    truth::{RequestTruth, Seen},
};
use crate::{
    deployment::{
        Call, Client, HandedOver, Row,
        fleet::{Fleet, Happening, RESET, Refused, Ticket},
    },
    emit::outputs::Answer,
    engine::{Finished, Spoken, StepResult},
    kv_cache::hash::{ROOT, chain, mix},
    language::asking::Asking,
    request::{Features, FinishReason},
};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    request::{Fate, Finish, Request},
};
use firstcheck_workload::trace::{Offered, Trace};
use std::{borrow::Cow, collections::VecDeque};

/// A client with its requests. Rows behind those of the trace belong to others: they are sent and not recorded.
pub(super) struct Caller<'a> {
    trace: &'a Trace,
    others: &'a [Offered],
    plan: Plan,
    pub(super) requests: Vec<Request>,
    /// Where each row is.
    tickets: Vec<Option<Ticket>>,
    /// Attempts made at each row.
    attempts: Vec<u8>,
    /// How each row came from one pool to the other; empty where there is one only.
    handed_over: Vec<Option<HandedOver>>,
    /// Rows of its own that have not ended.
    open: usize,
    gate: Gate,
    /// The client as the deployment in force says.
    client: Client,
    /// Its [`Client::flush_seconds`], nanoseconds.
    flush_ns: i64,
    seed: u64,
    keep_events: bool,
    pub(super) events: Vec<Event>,
    /// How it samples where outputs are compared.
    asking: Option<Asking>,
    pub(super) answers: Vec<Answer>,
    /// The prompts, where they are kept.
    pub(super) prompts: Option<PromptWatch>,
    pub(super) truth: Truth,
}

/// Where requests wait within the client while too many are in flight.
#[derive(Debug, Default)]
struct Gate {
    in_flight: u32,
    waiting: VecDeque<u32>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(
        trace: &'a Trace,
        others: &'a [Offered],
        pools: bool,
        options: &SimulateOptions,
    ) -> Result<Self, SimError> {
        let rows = trace.items.len();
        let forced: u64 = trace.items.iter().filter_map(|item| item.output_tokens).map(u64::from).sum();
        let expected = if options.events { forced.min(1 << 24) as usize } else { 0 };
        Ok(Self {
            plan: Plan::new(trace, others)?,
            requests: vec![Request::offered(Moment::NEVER); rows],
            tickets: vec![None; rows + others.len()],
            attempts: vec![0; rows + others.len()],
            handed_over: if pools { vec![None; rows] } else { Vec::new() },
            open: rows,
            gate: Gate::default(),
            client: Client::default(),
            flush_ns: 0,
            seed: options.seed,
            keep_events: options.events,
            events: Vec::with_capacity(expected),
            asking: options.asking.clone(),
            answers: Vec::new(),
            prompts: options.artefacts.prompts.then(PromptWatch::default),
            truth: Truth { requests: vec![None; rows], ..Truth::default() },
            trace,
            others,
        })
    }

    /// Whether all its requests have ended.
    pub(super) fn is_done(&self) -> bool {
        self.open == 0
    }

    pub(super) fn next_ns(&self) -> Option<i64> {
        self.plan.queue.next_ns()
    }

    pub(super) fn take_action(&mut self, until_ns: i64) -> Option<(i64, Action)> {
        self.plan.queue.take(until_ns)
    }

    pub(super) fn act(&mut self, fleet: &mut Fleet, now_ns: i64, action: Action) {
        self.client = fleet.deployment().client;
        self.flush_ns = nanoseconds_of(self.client.flush_seconds);
        match action {
            Action::Send(row) if self.is_own(row) => self.take_up(fleet, row, now_ns),
            Action::Send(row) => self.send_for_others(fleet, row, now_ns),
            Action::Dispatch(row) => self.dispatch(fleet, row, now_ns),
            Action::GiveUp { row, attempt, unless_begun } => {
                let begun = self.requests[row as usize].first_token.reached();
                if self.attempts[row as usize] == attempt && !(unless_begun && begun) {
                    self.withdraw(fleet, row, now_ns, Fate::TimedOut, "time limit passed");
                }
            }
            Action::Leave(row) => self.withdraw(fleet, row, now_ns, Fate::Cancelled, "the user went away"),
        }
    }

    fn is_own(&self, row: u32) -> bool {
        (row as usize) < self.requests.len()
    }

    /// The row of its own that still waits for what carries `tag`; `None`: others sent it, or the client has gone.
    fn awaited(&self, tag: u64) -> Option<u32> {
        let (row, attempt) = row_of(tag);
        let waits = self.attempts.get(row as usize) == Some(&attempt);
        (self.is_own(row) && waits && self.tickets[row as usize].is_some()).then_some(row)
    }

    /// A row is due: it is sent, or waits at the gate.
    fn take_up(&mut self, fleet: &mut Fleet, row: u32, now_ns: i64) {
        let request = &mut self.requests[row as usize];
        request.intended = Moment::at(now_ns);
        request.session = self.trace.items[row as usize].session;
        let full = self.client.concurrency_gate.is_some_and(|most| self.gate.in_flight >= most);
        if full {
            self.gate.waiting.push_back(row);
        } else {
            self.gate.in_flight += 1;
            self.dispatch(fleet, row, now_ns);
        }
    }

    fn dispatch(&mut self, fleet: &mut Fleet, row: u32, now_ns: i64) {
        let item = self.as_sent(fleet, row, now_ns);
        let mut call = call(u64::from(row), &item, self.trace.salt.as_deref());
        call.sampling = self.asking.as_ref().map(|asking| Box::new(asking.of_row(row)));
        let sent = self.prompts.is_some().then(|| chain(ROOT, &call.prompt).0);
        fleet.render(now_ns, &mut call);
        if let Some(prompts) = self.prompts.as_mut().filter(|_| self.attempts[row as usize] == 0) {
            prompts.keep(row, &call);
        }
        let client = self.client;
        let request = &mut self.requests[row as usize];
        request.prompt_hash = sent;
        if !request.sent.reached() {
            request.sent = Moment::at(now_ns);
            if client.gate_outside_timer {
                request.intended = request.sent;
            }
        }
        request.prompt_tokens = u32::try_from(call.prompt.len()).ok();
        request.requested_tokens = call.max_tokens;
        request.schema = call.features.schema;
        request.session = call.session;
        self.attempts[row as usize] += 1;
        call.tag = tag_of(row, self.attempts[row as usize]);
        match fleet.submit(now_ns, call) {
            Ok(ticket) => {
                self.tickets[row as usize] = Some(ticket);
                self.set_timers(&client, row, now_ns);
            }
            Err(refused) => self.refused(row, now_ns, refused),
        }
    }

    fn refused(&mut self, row: u32, now_ns: i64, refused: Refused) {
        let Refused { status, message } = refused;
        match status {
            None => self.fail(row, now_ns, Fate::Failed, &message),
            Some(status @ (429 | 503)) => self.fail(row, now_ns, Fate::Rejected, &format!("http {status}: {message}")),
            Some(status @ 500..) => self.fail(row, now_ns, Fate::Failed, &format!("http {status}: {message}")),
            // What was asked wrongly stays wrong.
            Some(status) => self.end(row, now_ns, Fate::Rejected, Some(format!("http {status}: {message}"))),
        }
    }

    /// The row as the client sends it: as the trace has it, unless something changes what clients send.
    fn as_sent(&self, fleet: &Fleet, row: u32, now_ns: i64) -> Cow<'a, Offered> {
        let item = &self.trace.items[row as usize];
        let offers = &fleet.phase().offers;
        if offers.is_empty() {
            return Cow::Borrowed(item);
        }
        let mut row = Row { number: row, at_ns: now_ns, offered: item.clone() };
        offers.iter().for_each(|offer| (offer.0)(&mut row));
        Cow::Owned(row.offered)
    }

    fn set_timers(&mut self, client: &Client, row: u32, now_ns: i64) {
        let attempt = self.attempts[row as usize];
        let limits = [(client.timeout_seconds, false), (client.first_token_timeout_seconds, true)];
        for (limit, unless_begun) in limits {
            if let Some(seconds) = limit {
                let at_ns = now_ns.saturating_add(nanoseconds_of(seconds));
                self.plan.queue.set(at_ns, Action::GiveUp { row, attempt, unless_begun });
            }
        }
        if attempt == 1 && client.abort_share > 0.0 && self.draw(row, 0) < client.abort_share {
            let at_ns = now_ns.saturating_add(nanoseconds_of(client.abort_after_seconds));
            self.plan.queue.set(at_ns, Action::Leave(row));
        }
    }

    fn send_for_others(&mut self, fleet: &mut Fleet, row: u32, now_ns: i64) {
        if self.is_done() {
            return;
        }
        if let Some(item) = self.others.get(row as usize - self.requests.len()) {
            let mut call = call(u64::from(row), item, None);
            fleet.render(now_ns, &mut call);
            // What is refused is theirs to know.
            let _ = fleet.submit(now_ns, call);
        }
    }

    fn withdraw(&mut self, fleet: &mut Fleet, row: u32, now_ns: i64, fate: Fate, why: &str) {
        let Some(ticket) = self.tickets[row as usize].take() else { return };
        if !self.client.hidden_hang_ups {
            fleet.abort(now_ns, ticket);
        }
        match fate {
            Fate::TimedOut => self.fail(row, now_ns, fate, why),
            _ => self.end(row, now_ns, fate, Some(why.into())),
        }
    }

    /// An attempt failed: the row is tried again, if the client does that and nothing of the answer has been seen.
    fn fail(&mut self, row: u32, now_ns: i64, fate: Fate, why: &str) {
        let made = self.attempts[row as usize];
        if u32::from(made) > self.client.retries || self.requests[row as usize].first_token.reached() {
            self.end(row, now_ns, fate, Some(why.into()));
            return;
        }
        let wait = self.client.backoff.seconds(u32::from(made) - 1, self.draw(row, made));
        self.plan.queue.set(now_ns.saturating_add(nanoseconds_of(wait)), Action::Dispatch(row));
    }

    fn end(&mut self, row: u32, now_ns: i64, fate: Fate, error: Option<String>) {
        let request = &mut self.requests[row as usize];
        request.fate = fate;
        request.error = error;
        request.done = Moment::at(now_ns);
        self.after_end(row, now_ns);
    }

    fn after_end(&mut self, row: u32, now_ns: i64) {
        self.open -= 1;
        self.gate.in_flight -= 1;
        if let Some(next) = self.gate.waiting.pop_front() {
            self.gate.in_flight += 1;
            self.plan.queue.set(now_ns, Action::Dispatch(next));
        }
        self.plan.ended(row, now_ns, self.client.think_factor);
    }

    /// The run is over: what was sent and has not ended is given up.
    pub(super) fn close(&mut self, now_ns: i64) {
        for request in &mut self.requests {
            if request.sent.reached() && !request.done.reached() {
                request.fate = Fate::Cancelled;
                request.error = Some("no answer by the end of the run".into());
                request.done = Moment::at(now_ns);
            }
        }
    }

    /// A replica says what happened.
    pub(super) fn hear(&mut self, now_ns: i64, replica: usize, happening: Happening<'_>) {
        match happening {
            Happening::Step(result) => self.see(now_ns, replica, &result),
            Happening::Restarted => self.lose(now_ns, replica),
            Happening::HandedOver(tag, handed_over) => {
                let known = self.awaited(tag).and_then(|row| self.handed_over.get_mut(row as usize));
                if let Some(known) = known {
                    *known = Some(handed_over);
                }
            }
            Happening::Failed(tag, why) => {
                if let Some(row) = self.awaited(tag) {
                    self.tickets[row as usize] = None;
                    self.fail(row, now_ns, Fate::Failed, why);
                }
            }
        }
    }

    fn see(&mut self, now_ns: i64, replica: usize, result: &StepResult<'_>) {
        let mut tokens = 0;
        for output in result.outputs {
            let Some(row) = self.awaited(output.tag) else { continue };
            let request = &mut self.requests[row as usize];
            tokens += 1;
            if !output.ends_event {
                continue;
            }
            let seen = Moment::at(passed_on_ns(output.at_ns, self.flush_ns));
            if !request.first_token.reached() {
                request.first_byte = seen;
                request.first_token = seen;
            }
            request.last_token = seen;
            request.output_tokens = Some(output.position + 1);
            if self.keep_events {
                let since_sent_ns = seen.ns_since(request.sent).unwrap_or(0);
                self.events.push(Event { request: row, since_sent_ns, tokens: Some(tokens), kernel_ns: None });
            }
            tokens = 0;
        }
        for ended in result.finished {
            self.complete(now_ns, replica, ended);
        }
        if self.asking.is_some() {
            result.spoken.iter().for_each(|spoken| self.keep(now_ns, spoken));
        }
    }

    /// Keeps an answer to one of its own rows.
    fn keep(&mut self, end_ns: i64, spoken: &Spoken) {
        let (row, attempt) = row_of(spoken.tag);
        let answers =
            |request: &&Request| request.fate == Fate::Completed && self.attempts.get(row as usize) == Some(&attempt);
        if let Some(request) = self.requests.get(row as usize).filter(answers) {
            let cached_tokens = request.cached_tokens.unwrap_or(0);
            self.answers.push(Answer { request: row, end_ns, cached_tokens, spoken: spoken.clone() });
        }
    }

    fn complete(&mut self, now_ns: i64, replica: usize, ended: &Finished) {
        let Some(row) = self.awaited(ended.tag).map(|row| row as usize) else { return };
        self.tickets[row] = None;
        let request = &mut self.requests[row];
        // The answer ends with its last token, which may take its time to get here.
        let seen_ns = request.last_token.get().map_or(now_ns, |last_ns| last_ns.max(now_ns));
        let finish = match ended.reason {
            FinishReason::Stop => Finish::Stop,
            FinishReason::Length => Finish::Length,
            FinishReason::Error => return self.fail(row as u32, seen_ns, Fate::Failed, "http 500: the engine failed"),
        };
        request.fate = Fate::Completed;
        request.done = Moment::at(seen_ns);
        request.prompt_tokens = Some(ended.prompt_tokens);
        request.cached_tokens = Some(ended.life.cached_tokens);
        request.finish = Some(finish);
        let at_ns = |moment: Moment| moment.get().unwrap_or(seen_ns);
        let seen = Seen {
            intended_ns: at_ns(request.intended),
            sent_ns: at_ns(request.sent),
            first_token_ns: at_ns(request.first_token),
            last_token_ns: at_ns(request.last_token),
        };
        self.truth.recomputed_tokens += ended.life.recomputed_tokens;
        self.truth.requests[row] = Some(RequestTruth {
            replica: replica as u32,
            attempts: self.attempts[row],
            prompt_tokens: ended.prompt_tokens,
            output_tokens: ended.output_tokens,
            seen,
            life: ended.life,
            handed_over: self.handed_over.get(row).copied().flatten(),
        });
        self.after_end(row as u32, seen_ns);
    }

    /// A replica's process was started again: its connections are gone.
    fn lose(&mut self, now_ns: i64, replica: usize) {
        for row in 0..self.tickets.len() {
            if self.tickets[row].is_none_or(|ticket| ticket.replica() != replica) {
                continue;
            }
            self.tickets[row] = None;
            if row < self.requests.len() {
                self.fail(row as u32, now_ns, Fate::Failed, RESET);
            }
        }
    }

    /// A uniform draw from 0 to 1 of a row, by its use.
    fn draw(&self, row: u32, r#use: u8) -> f64 {
        let bits = mix(mix(self.seed ^ 0x636c_6e74) ^ (u64::from(row) << 8 | u64::from(r#use)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// The tag of an attempt (from 1) at a row: the first has the row's number.
fn tag_of(row: u32, attempt: u8) -> u64 {
    u64::from(row) | u64::from(attempt.saturating_sub(1)) << 32
}

/// The row and the attempt (from 1) of a tag.
fn row_of(tag: u64) -> (u32, u8) {
    (tag as u32, ((tag >> 32) as u8).saturating_add(1))
}

/// When what a replica sends at `at_ns` reaches the client through something that passes on every `flush_ns`; 0: at once.
fn passed_on_ns(at_ns: i64, flush_ns: i64) -> i64 {
    match flush_ns {
        0 => at_ns,
        _ => at_ns.saturating_add(flush_ns - 1).div_euclid(flush_ns).saturating_mul(flush_ns),
    }
}

/// The request that `item` becomes at the server.
fn call(tag: u64, item: &Offered, salt: Option<&str>) -> Call {
    Call {
        tag,
        session: item.session,
        prompt: item.prompt.token_ids(salt),
        max_tokens: item.max_tokens(),
        min_tokens: 0,
        ignore_eos: item.output_tokens.is_some(),
        features: Features::default(),
        sampling: None,
    }
}

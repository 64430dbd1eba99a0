//! The loop of virtual time.

use super::{
    SimError, SimulateOptions, Truth,
    client::{Action, Plan},
    nanoseconds,
    scrape::Scraper,
    truth::RequestTruth,
};
use crate::{
    config::EngineConfig,
    engine::{Engine, StepResult},
    request::{Features, FinishReason, NewRequest, RequestId},
};
use firstcheck_model::{
    event::Event,
    moment::Moment,
    request::{Fate, Finish, Request, Requests},
};
use firstcheck_workload::trace::Trace;

/// A run that has come to its end.
pub(super) struct Finished {
    pub(super) requests: Requests,
    pub(super) events: Vec<Event>,
    pub(super) scraper: Scraper,
    pub(super) truth: Truth,
}

/// A run in virtual time.
pub(super) struct Drive<'a> {
    engine: Engine,
    trace: &'a Trace,
    plan: Plan,
    scraper: Scraper,
    timeout_ns: Option<i64>,
    requests: Vec<Request>,
    in_engine: Vec<Option<RequestId>>,
    events: Vec<Event>,
    truth: Truth,
}

impl<'a> Drive<'a> {
    pub(super) fn new(config: &EngineConfig, trace: &'a Trace, options: &SimulateOptions) -> Result<Self, SimError> {
        let engine = Engine::new(config.clone(), options.seed)?;
        let rows = trace.items.len();
        let forced: u64 = trace.items.iter().filter_map(|item| item.output_tokens).map(u64::from).sum();
        Ok(Self {
            plan: Plan::new(trace)?,
            scraper: Scraper::new(&engine, trace, options),
            engine,
            trace,
            timeout_ns: options.request_timeout.map(nanoseconds),
            requests: vec![Request::offered(Moment::NEVER); rows],
            in_engine: vec![None; rows],
            events: Vec::with_capacity(forced.min(1 << 24) as usize),
            truth: Truth { requests: vec![None; rows], ..Truth::default() },
        })
    }

    pub(super) fn run(mut self) -> Finished {
        let mut now_ns = 0;
        loop {
            let step_end = self.engine.begin_step(now_ns);
            let Some(next_ns) = step_end.or_else(|| self.next_ns()) else { break };
            let client_until = if step_end.is_some() { next_ns } else { next_ns.max(now_ns) };
            while let Some((at_ns, action)) = self.plan.queue.take(client_until) {
                self.act(at_ns.max(now_ns), action);
            }
            now_ns = client_until;
            self.scraper.before(&self.engine, now_ns);
            if step_end.is_some() {
                self.deliver(now_ns);
            }
        }
        self.scraper.end(&self.engine, now_ns);
        let stats = self.engine.stats();
        self.truth.steps = stats.steps;
        self.truth.busy_ns = stats.busy_ns;
        self.truth.preemptions = stats.preemptions;
        self.truth.generation_tokens = stats.generation_tokens;
        self.truth.peak_kv_usage = stats.peak_kv_usage;
        self.truth.end_ns = now_ns;
        let Self { requests, events, scraper, truth, .. } = self;
        Finished { requests: Requests(requests), events, scraper, truth }
    }

    /// When something happens next while no step is in hand.
    fn next_ns(&self) -> Option<i64> {
        match (self.plan.queue.next_ns(), self.engine.next_ready_ns()) {
            (Some(client), Some(engine)) => Some(client.min(engine)),
            (client, engine) => client.or(engine),
        }
    }

    fn act(&mut self, now_ns: i64, action: Action) {
        match action {
            Action::Send(row) => self.send(row, now_ns),
            Action::GiveUp(row) => {
                let Some(id) = self.in_engine[row as usize].take() else { return };
                self.engine.abort(id);
                self.end(row, now_ns, Fate::TimedOut, Some("time limit passed".into()));
            }
        }
    }

    fn send(&mut self, row: u32, now_ns: i64) {
        let item = &self.trace.items[row as usize];
        let prompt = item.prompt.token_ids(self.trace.salt.as_deref());
        let max_tokens = item.max_tokens();
        let request = &mut self.requests[row as usize];
        request.intended = Moment::at(now_ns);
        request.sent = Moment::at(now_ns);
        request.prompt_tokens = u32::try_from(prompt.len()).ok();
        request.requested_tokens = max_tokens;
        request.session = item.session;
        let new = NewRequest {
            tag: u64::from(row),
            prompt: prompt.into(),
            max_tokens,
            min_tokens: 0,
            ignore_eos: item.output_tokens.is_some(),
            features: Features::default(),
            sampling: None,
        };
        match self.engine.submit(now_ns, new) {
            Ok(id) => {
                self.in_engine[row as usize] = Some(id);
                if let Some(limit) = self.timeout_ns {
                    self.plan.queue.set(now_ns.saturating_add(limit), Action::GiveUp(row));
                }
            }
            Err(refusal) => self.end(row, now_ns, Fate::Rejected, Some(format!("http 400: {refusal}"))),
        }
    }

    fn end(&mut self, row: u32, now_ns: i64, fate: Fate, error: Option<String>) {
        let request = &mut self.requests[row as usize];
        request.fate = fate;
        request.error = error;
        request.done = Moment::at(now_ns);
        self.plan.ended(row, now_ns);
    }

    fn deliver(&mut self, now_ns: i64) {
        let StepResult { outputs, finished, .. } = self.engine.finish_step(now_ns);
        let now = Moment::at(now_ns);
        for output in outputs {
            let request = &mut self.requests[output.tag as usize];
            if !request.first_token.reached() {
                request.first_byte = now;
                request.first_token = now;
            }
            request.last_token = now;
            request.output_tokens = Some(output.position + 1);
            let since_sent_ns = now.ns_since(request.sent).unwrap_or(0);
            self.events.push(Event { request: output.tag as u32, since_sent_ns, tokens: Some(1), kernel_ns: None });
        }
        for ended in finished {
            let row = ended.tag as usize;
            self.in_engine[row] = None;
            let request = &mut self.requests[row];
            let failed = ended.reason == FinishReason::Error;
            request.fate = if failed { Fate::Failed } else { Fate::Completed };
            request.error = failed.then(|| "the engine failed".into());
            request.done = now;
            request.cached_tokens = Some(ended.life.cached_tokens);
            request.finish = match ended.reason {
                FinishReason::Stop => Some(Finish::Stop),
                FinishReason::Length => Some(Finish::Length),
                FinishReason::Error => None,
            };
            self.truth.recomputed_tokens += ended.life.recomputed_tokens;
            self.truth.requests[row] = Some(RequestTruth {
                prompt_tokens: ended.prompt_tokens,
                output_tokens: ended.output_tokens,
                life: ended.life,
            });
            self.plan.ended(row as u32, now_ns);
        }
    }
}

//! One request from its intended send to its end, whatever that is.

mod conversation;
mod patience;
mod reading;
mod slots;

pub(crate) use patience::Patience;
pub(crate) use slots::Slots;

use crate::{
    failure::Failure,
    schedule::offer::Ready,
    shard::{Common, Shard},
};
use firstcheck_model::{
    moment::Moment,
    request::{Fate, Request},
};
use reading::Reading;

/// A request in flight. What each event needs stands here, what only its beginning and its end need apart.
#[repr(C)]
struct Exchange {
    rest: Box<Rest>,
    row: u32,
    /// When the request was sent, or its connection begun; nanoseconds on the run's clock.
    since_ns: i64,
    /// When it was last heard of.
    heard_ns: i64,
    reading: Reading,
}

struct Rest {
    request: Request,
    ready: Ready,
    /// Bytes of the request that are written.
    written: usize,
    forced: Option<u32>,
    retried: bool,
}

impl Exchange {
    fn new(common: &Common, ready: Ready) -> Self {
        let mut request = Request::offered(Moment::at(ready.due_ns));
        let offered = common.trace.items.get(ready.row as usize);
        request.requested_tokens = offered.and_then(|o| o.max_tokens());
        request.session = offered.and_then(|o| o.session);
        request.prompt_hash = Some(ready.rendered.prompt_hash);
        request.schema = ready.rendered.schema;
        request.trace_id = Some(ready.rendered.trace_id.clone());
        let forced = offered.and_then(|o| o.output_tokens);
        let row = ready.row;
        let reading = Reading::new(&common.options.bounds, common.streaming);
        let rest = Box::new(Rest { request, ready, written: 0, forced, retried: false });
        Self { reading, row, since_ns: 0, heard_ns: 0, rest }
    }

    /// Its row as that of a request that has ended.
    fn closed(self, fate: Fate, error: Option<String>, done: Moment) -> Request {
        let (reading, mut request) = (&self.reading, self.rest.request);
        let usage = reading.answer.usage();
        request.fate = fate;
        request.error = error;
        request.done = done;
        request.first_byte = reading.first_byte;
        request.first_token = reading.tokens_at.first;
        request.last_token = reading.tokens_at.last;
        request.finish = reading.answer.finish();
        request.prompt_tokens = usage.prompt_tokens;
        request.output_tokens = usage.completion_tokens;
        request.cached_tokens = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        request
    }
}

impl Shard {
    /// Notes that `request` is sent now, and writes its row as that of a request in flight; gives the time.
    fn note_send(&mut self, exchange: &mut Exchange) {
        let request = &mut exchange.rest.request;
        let first = !request.sent.reached();
        exchange.since_ns = self.clock.now_ns();
        exchange.heard_ns = exchange.since_ns;
        request.sent = Moment::at(exchange.since_ns);
        self.columns.request(exchange.row, request.clone());
        if !first {
            return;
        }
        self.count_sent();
        let inside = request.intended >= Moment::at(self.window_start_ns);
        if let Some(lag_ns) = request.sent.ns_since(request.intended).filter(|_| inside) {
            self.watch.send_lag.add_ns(lag_ns, 1);
        }
    }

    /// Records the end of a request, and goes on with what follows it.
    fn end(&mut self, exchange: Exchange, failure: Option<&Failure>) {
        let (intended, first) = (exchange.rest.request.intended, exchange.reading.tokens_at.first);
        if let (None, Some(intended_ns), Some(ttft_ns)) = (failure, intended.get(), first.ns_since(intended)) {
            self.watch.first_tokens.push((intended_ns, ttft_ns));
            self.note_answer(&exchange, ttft_ns);
        }
        let error = failure.map(|failure| self.common.secrets.conceal(failure.text()));
        let fate = failure.map_or(Fate::Completed, |failure| failure.fate);
        let (row, stream, done_ns) = (exchange.row, exchange.rest.ready.stream, self.clock.now_ns());
        self.columns.request(row, exchange.closed(fate, error, Moment::at(done_ns)));
        self.count_done(failure);
        self.go_on(row, stream, done_ns);
    }

    /// Adds an answer to what the run's progress shows.
    fn note_answer(&mut self, exchange: &Exchange, ttft_ns: i64) {
        let (reading, answers) = (&exchange.reading, &mut self.answers);
        answers.answered += 1;
        answers.ttft_ns += u64::try_from(ttft_ns).unwrap_or(0);
        let gaps = reading.answer.usage().completion_tokens.and_then(|tokens| tokens.checked_sub(1));
        let span_ns = reading.tokens_at.last.ns_since(reading.tokens_at.first);
        if let (Some(gaps), Some(span_ns)) = (gaps.filter(|gaps| *gaps > 0), span_ns) {
            answers.gaps += u64::from(gaps);
            answers.gaps_ns += u64::try_from(span_ns).unwrap_or(0);
        }
    }

    /// Records all requests in flight as cancelled, and closes all connections.
    pub fn cancel_all(&mut self) {
        for exchange in self.slots.close_all() {
            let (row, now) = (exchange.row, self.clock.now());
            self.columns.request(row, exchange.closed(Fate::Cancelled, Some("cancelled".to_owned()), now));
            self.count_done(None);
        }
    }
}

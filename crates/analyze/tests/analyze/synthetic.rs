//! Runs made from a seed: a single server with a queue, lognormal service, and a run's own effect.

use firstcheck_model::{
    event::Event,
    evidence::RunEvidence,
    moment::{Moment, Window},
    recording::Recording,
    request::{Fate, Finish, Request, Requests},
    run::{
        Arrivals, CacheState, Clock, ClockKind, Detail, Origin, PairPlace, Reported, Role, RunId, RunInfo, WorkloadInfo,
    },
    signal::{Labels, Part, Series, SeriesKind, Signal},
    slo::Slo,
};

/// SplitMix64: enough for tests, and the same everywhere.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let (u, v) = (self.next().max(1e-300), self.next());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// What a synthetic run is like.
#[derive(Clone)]
pub struct Spec {
    pub requests: usize,
    /// Seed of arrivals and service demands: the trace.
    pub trace: u64,
    /// Seed of the run's own noise.
    pub noise: u64,
    /// Standard deviation of the run's own effect, in log points.
    pub run_sd: f64,
    /// All times are this much longer.
    pub slow: f64,
    /// Load of the single server.
    pub load: f64,
    /// Every n-th request is rejected (0: none).
    pub reject_every: usize,
    /// Tokens of each answer.
    pub tokens: u32,
    /// Prompt tokens of each request.
    pub prompt: u32,
    /// Whether the run knows its load.
    pub load_known: bool,
    /// Bounds of goodput.
    pub slo: Option<Slo>,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            requests: 250,
            trace: 1,
            noise: 1,
            run_sd: 0.01,
            slow: 1.0,
            load: 0.5,
            reject_every: 0,
            tokens: 12,
            prompt: 100,
            load_known: true,
            slo: None,
        }
    }
}

/// Seconds of service of the typical request.
const SERVICE: f64 = 0.05;
/// Seconds a token.
const TOKEN: f64 = 0.02;

impl Spec {
    /// The run.
    pub fn run(&self) -> RunEvidence {
        let (mut trace, mut noise) = (Rng(self.trace), Rng(self.noise ^ 0xABCD_EF01));
        let effect = (self.run_sd * noise.normal()).exp() * self.slow;
        let (mut now, mut free) = (0.0, 0.0_f64);
        let (mut requests, mut events) = (Vec::new(), Vec::new());
        for row in 0..self.requests {
            now += -trace.next().max(1e-12).ln() * SERVICE * 1.13 / self.load;
            let demand = SERVICE * (0.5 * trace.normal()).exp() * effect;
            let mut request = Request::offered(Moment::from_seconds(now));
            request.sent = request.intended;
            request.requested_tokens = Some(self.tokens);
            request.prompt_tokens = Some(self.prompt);
            if self.reject_every > 0 && row % self.reject_every == 0 {
                request.fate = Fate::Rejected;
                request.error = Some("http 429".into());
                request.done = Moment::from_seconds(now + 0.001);
                requests.push(request);
                continue;
            }
            let start = free.max(now);
            free = start + demand;
            let mut at = free;
            request.first_byte = Moment::from_seconds(at);
            request.first_token = request.first_byte;
            for token in 0..self.tokens {
                if token > 0 {
                    at += TOKEN * effect * (0.1 * noise.normal()).exp();
                }
                let since_sent_ns = ((at - now) * 1e9) as i64;
                events.push(Event { request: row as u32, since_sent_ns, tokens: Some(1), kernel_ns: None });
            }
            request.last_token = Moment::from_seconds(at);
            request.done = request.last_token;
            request.output_tokens = Some(self.tokens);
            request.finish = Some(Finish::Length);
            request.fate = Fate::Completed;
            requests.push(request);
        }
        let end = Moment::from_seconds(now + 0.001);
        let mut info = info(&format!("{}-{}", self.trace, self.noise));
        info.workload.arrivals = Arrivals::Open { rate: self.load / SERVICE, cv: Some(1.0) };
        info.workload.trace_hash = Some(format!("trace {}", self.trace));
        info.window = Some(Window { start: Moment::at(0), end });
        info.load = self.load_known.then_some(self.load);
        info.slo = self.slo;
        let label = info.id.0.clone();
        let requests = Requests(requests);
        Recording { info, requests, events, signals: Vec::new(), spans: Vec::new() }.into_evidence(label)
    }
}

/// The description of a run that measured itself.
pub fn info(id: &str) -> RunInfo {
    let workload = WorkloadInfo {
        description: "synthetic".into(),
        arrivals: Arrivals::Unknown,
        trace_hash: None,
        salt: None,
        streaming: Some(true),
        warm_up: None,
        cache: CacheState::Cold,
    };
    let clock = Clock { started_unix_ns: None, kind: ClockKind::Virtual };
    RunInfo::new(RunId(id.into()), "test", Origin::Simulated, clock, workload)
}

/// A counter of a page that was read before and after the window.
pub fn counter(signal: Signal, part: Part, growth: f64) -> Series {
    Series {
        name: signal.name().into(),
        labels: Labels::default(),
        page: "main".into(),
        kind: SeriesKind::Counter,
        part,
        signal: Some(signal),
        at: vec![Moment::at(-1), Moment::at(i64::MAX / 2)],
        value: vec![1000.0, 1000.0 + growth],
    }
}

/// A run of which only printed figures are known.
pub fn summary(id: &str, reported: Vec<Reported>) -> RunEvidence {
    let mut info = info(id);
    info.detail = Detail::Summary;
    info.reported = reported;
    Recording { info, requests: Requests::default(), events: Vec::new(), signals: Vec::new(), spans: Vec::new() }
        .into_evidence(id)
}

/// The run at its place in an experiment.
pub fn placed(mut run: RunEvidence, role: Role, pair: u32) -> RunEvidence {
    let first = pair.is_multiple_of(2);
    let order = u8::from(first == (role == Role::Candidate));
    run.info.place =
        Some(PairPlace { experiment: "x".into(), pair, role, order, device: None, cell: None, looks: Vec::new() });
    run
}

/// `pairs` pairs of one trace; `candidate` changes the candidate's spec.
pub fn pairs(
    pairs: u32,
    base: &Spec,
    seed: u64,
    candidate: impl Fn(Spec) -> Spec,
) -> (Vec<RunEvidence>, Vec<RunEvidence>) {
    let side = |role: Role| {
        (0..pairs)
            .map(|pair| {
                let noise = seed.wrapping_mul(1_000_003) + u64::from(pair) * 2 + u64::from(role == Role::Candidate);
                let spec = Spec { noise, ..base.clone() };
                let spec = if role == Role::Candidate { candidate(spec) } else { spec };
                placed(spec.run(), role, pair)
            })
            .collect()
    };
    (side(Role::Base), side(Role::Candidate))
}

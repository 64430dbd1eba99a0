//! The deployments and the traffic that experiments are made on.

use crate::error::Error;
use firstcheck_model::{moment::Moment, slo::Slo, unit::Seconds};
use firstcheck_sim::{
    Deployment, EngineConfig, Noise, Scenario, SimulateOptions, router::RoutingPolicy, simulate_scenario,
};
use firstcheck_workload::{
    arrivals::ArrivalProcess,
    distribution::Distribution,
    prefix::SharedPrefix,
    spec::Spec,
    trace::{Due, Trace},
};

/// Requests that a deployment's capacity is measured with.
const CAPACITY_REQUESTS: u32 = 2_000;
/// Of these, the middle part counts: at the start nobody decodes, at the end nobody follows.
const CAPACITY_MIDDLE: (f64, f64) = (0.2, 0.8);
/// Standard deviation of a run's factor on step times.
const RUN_SD: f64 = 0.02;

/// What is offered.
#[derive(Debug, Clone, PartialEq)]
pub struct Traffic {
    /// Prompt lengths, tokens.
    pub input: Distribution,
    /// Answer lengths, tokens.
    pub output: Distribution,
    /// Prefixes that requests share.
    pub prefix: Option<SharedPrefix>,
    /// Coefficient of variation of the gaps between arrivals.
    pub cv: f64,
}

/// A deployment at a load.
#[derive(Debug, Clone, PartialEq)]
pub struct Regime {
    /// Its name in tables.
    pub name: &'static str,
    /// What is special about it.
    pub what: &'static str,
    /// One engine.
    pub engine: EngineConfig,
    /// Engines behind the address.
    pub replicas: u32,
    /// What is offered.
    pub traffic: Traffic,
    /// Offered rate over the highest rate without a growing queue.
    pub load: f64,
    /// Requests of a run's window, about: some more than a p95 takes, or a p99.
    pub requests: u32,
    /// Whether pairs alternate between two devices of which one is slower.
    pub two_devices: bool,
}

impl Regime {
    /// All regimes of the document: three loads of a plain deployment, then preemption, prefix caching and replicas at a
    /// load in between, and runs long enough for a p99.
    pub fn all() -> Vec<Self> {
        let plain = Self::plain();
        let at = |name, load| Self { name, load, ..plain.clone() };
        vec![
            Self { what: "plain", ..at("plain, load 0.3", 0.3) },
            Self { what: "plain, two devices", two_devices: true, ..at("two devices, load 0.7", 0.7) },
            Self { what: "plain", ..at("plain, load 0.9", 0.9) },
            Self {
                what: "a KV pool so small that the engine preempts all the time",
                engine: EngineConfig { num_gpu_blocks: 500, ..plain.engine.clone() },
                ..at("preemption, load 0.7", 0.7)
            },
            Self {
                what: "most prompts share one of 8 long prefixes, and bursts",
                traffic: Traffic {
                    prefix: Some(SharedPrefix { groups: 8, tokens: 1024, share: 0.8 }),
                    cv: 2.0,
                    ..plain.traffic.clone()
                },
                ..at("prefix caching, load 0.7", 0.7)
            },
            Self { what: "three replicas, least load first", replicas: 3, ..at("replicas, load 0.7", 0.7) },
            Self { what: "1,000 requests a run", requests: 1_060, ..at("long runs, load 0.5", 0.5) },
        ]
    }

    /// One engine of 16 seats with short answers.
    pub fn plain() -> Self {
        Self {
            name: "plain, load 0.7",
            what: "plain",
            engine: EngineConfig {
                max_num_seqs: 16,
                max_model_len: 5120,
                noise: Noise { run_sd: RUN_SD, ..Noise::default() },
                ..EngineConfig::default()
            },
            replicas: 1,
            traffic: Traffic {
                input: Distribution::lognormal(400.0, 0.8, 16, 4_000),
                output: Distribution::lognormal(60.0, 0.7, 4, 400),
                prefix: None,
                cv: 1.0,
            },
            load: 0.7,
            requests: 230,
            two_devices: false,
        }
    }

    /// Highest rate without a growing queue, requests a second: what the deployment completes while there is always
    /// somebody waiting.
    ///
    /// # Errors
    /// A deployment or traffic that the simulator refuses.
    pub fn capacity(&self) -> Result<f64, Error> {
        let mut trace = self.trace(1.0, CAPACITY_REQUESTS, 0)?;
        trace.items.iter_mut().for_each(|item| item.due = Due::At(Moment::from_seconds(0.0)));
        let options = SimulateOptions { events: false, patience: Seconds(1e6), ..SimulateOptions::new(0, "capacity") };
        let recording = simulate_scenario(&Scenario::steady(self.deployment(1.0)), &trace, &options)?.recording;
        let mut ends: Vec<f64> = recording.requests.0.iter().filter_map(|row| row.done.seconds()).collect();
        ends.sort_by(f64::total_cmp);
        let at = |share: f64| ends.get((share * ends.len() as f64) as usize).copied();
        let (from, to) = (at(CAPACITY_MIDDLE.0), at(CAPACITY_MIDDLE.1));
        let middle = (CAPACITY_MIDDLE.1 - CAPACITY_MIDDLE.0) * ends.len() as f64;
        Ok(from.zip(to).map_or(f64::NAN, |(from, to)| middle / (to - from)))
    }

    /// The deployment with all time on its GPUs and hosts multiplied by `slowness`.
    pub fn deployment(&self, slowness: f64) -> Deployment {
        let mut deployment = Deployment::uniform(self.engine.clone(), self.replicas);
        deployment.routing.policy = RoutingPolicy::LeastLoaded;
        deployment.each_engine(|engine| {
            engine.gpu_slowness *= slowness;
            engine.host.slowness *= slowness;
        });
        deployment
    }

    /// `requests` requests at `rate` a second.
    ///
    /// # Errors
    /// Traffic that the workload refuses.
    pub fn trace(&self, rate: f64, requests: u32, seed: u64) -> Result<Trace, Error> {
        let burstiness = 1.0 / (self.traffic.cv * self.traffic.cv);
        let spec = Spec {
            arrivals: Some(ArrivalProcess::Gamma { rate, burstiness }),
            requests: Some(requests),
            input: Some(self.traffic.input.clone()),
            output: Some(self.traffic.output.clone()),
            prefix: self.traffic.prefix,
            ..Spec::default()
        };
        Ok(spec.generate(seed, None)?.trace)
    }

    /// The objective: hardly a request misses it at the lowest load, one in ten or more at the others.
    pub fn slo(&self) -> Slo {
        Slo { ttft: Some(Seconds(0.1)), tpot: Some(Seconds(0.011)), e2e: None, gap: None }
    }
}

//! S08: gaps of streams spike on a regular period.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters::runs_of,
        episodes::{Episode, Episodes},
        event_pacing::EventPacing,
        held_by_prompts::{Held, held_by_prompts},
        live_streams::LiveStreams,
        replicas::replicas,
        server_gaps::ServerGaps,
        spike_clocks::{Clock, SpikeClocks},
        stalls::Stalls,
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    evidence::RunEvidence,
    finding::{FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    moment::Moment,
    signal::{Part, Series, Signal},
    unit::Seconds,
};
use firstcheck_stats::{period::Period, rank::spearman};

declare_check! {
    /// ## What it means
    ///
    /// Gaps spike at regular intervals. Something with a clock of its own takes the engine's time: a timer on the host, a
    /// counter of steps or of allocations inside it, or a client that sends in time.
    ///
    /// ## How it is decided
    ///
    /// A spike is a gap above {apart} usual ones; those of several streams at once are one. Spikes are placed on four
    /// clocks: seconds, engine steps, requests that arrived, tokens of the request. On each the period is sought on which
    /// their phases agree best (Rayleigh's test, its chance corrected for all periods, clocks and heights tried). The
    /// symptom is a chance below {p} and a spread of at most {jitter} of the period. The clock with the smallest spread
    /// names the cause; one within a factor {clear} leaves both open. What was only delivered late does not count (S12).
    ///
    /// - Requests: Python's collector, which runs after so many allocations; log lines that tell of its pauses say so too.
    /// - Steps: something the engine does every so many steps (expert rebalancing, a sweep of a cache).
    /// - Seconds: prompts first, those that take as long, to a factor {factor}; then scrapes, firstcheck's own by their
    ///   moments, statistics lines by their interval to {same}; then clocks of the GPU, which slow many steps and not
    ///   one; what is left is a job of the host. Others' scrapes every 5, 10, 15, 30 or 60 s cannot be told from one.
    /// - Tokens: a block's or a bucket's border, in streams that do not spike together.
    ///
    /// ## What to do
    ///
    /// Disable the matched agent for five periods. Collector: freeze objects after start (`gc.freeze`), `SGLANG_LOG_GC=1`
    /// shows pauses; one that grows is a leak. Looks like: a stutter (S07), freezes at no interval (S09), a slow host.
    pub static PERIODIC_SPIKES = {
        code: "S08", slug: "periodic-spikes", family: Stream, severity: Major,
        symptom: "gaps of streams spike on a regular period",
        needs: all_of[Events],
        params: {
            apart: 5.0 ["1"] = "usual gaps from which a gap is a spike",
            p: 0.001 ["1"] = "chance at which spikes without a period would show one as clear",
            jitter: 0.1 ["1"] = "spread of the spikes around their period, as a share of it, that is still regular",
            clear: 2.0 ["1"] = "factor by which a clock must be more regular than another to exclude it",
            factor: 2.0 ["1"] = "factor between a spike and the time of a prompt that explains it",
            same: 0.03 ["1"] = "relative difference at which two intervals are the same",
        },
        causes: {
            GarbageCollection: "garbage-collection" = "the collector of Python walks all objects after so many allocations",
            ScrapeOrLogging: "scrape-or-logging" = "a scrape of the metrics page, or a line of statistics, holds the engine up",
            HostAgent: "host-agent" = "a job, an agent or a probe on the host stops the engine",
            PeriodicPrompts: "periodic-prompts" = "a client sends prompts at an interval",
            EveryNSteps: "every-n-steps" = "the engine rearranges something every so many steps",
            ClockOrPower: "clock-or-power" = "the GPU's clock falls and rises again",
            TokensOfRequest: "tokens-of-request" = "something happens every so many tokens of a request",
        },
        consequence_of: {
            PeriodicPrompts: "S07",
            PeriodicPrompts: "S01",
            PeriodicPrompts: "S02",
        },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let stalls = case.side.measure::<Stalls>()?;
    let limit = Seconds(params.apart * stalls.usual.0);
    let Some(clocks) = SpikeClocks::of(case.side, limit)? else {
        return Ok(Outcome::Absent { why: vec![none(case.side, limit, stalls.longest.len())] });
    };
    if replicas(&case.side.evidence.runs) > 1 && !case.side.measure::<LiveStreams>()?.tells_replicas() {
        return Err(Missing::not_exposed(
            "which replica served which request: spikes of several on one clock are regular or not by chance",
            "start the engines with their OpenTelemetry exporters on, or run against one replica",
        ));
    }
    let mut facts = vec![spikes(case.side, &clocks)];
    facts.extend(
        [Clock::Wall, Clock::Steps, Clock::Requests, Clock::Tokens]
            .iter()
            .filter_map(|clock| clocks.period(*clock).map(|period| on_clock(case.side, *clock, period))),
    );
    let Some(best) = regular(&clocks, params) else { return Ok(Outcome::Absent { why: facts }) };
    let server = ServerGaps::above(case.side, limit);
    if case.side.measure::<EventPacing>()?.coalesced() {
        let server = server?;
        facts.push(server.fact());
        if !server.confirms() {
            return Ok(Outcome::Absent { why: facts });
        }
    }
    let ticks = Ticks { side: case.side, clocks: &clocks, best, params };
    let held = held_by_prompts(case, &Episodes(clocks.spikes.clone()), params.factor);
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::GarbageCollection, ticks.collector());
    verdict.weigh(Cause::EveryNSteps, ticks.set_by(Clock::Steps));
    verdict.weigh(Cause::TokensOfRequest, ticks.set_by(Clock::Tokens));
    verdict.weigh(Cause::PeriodicPrompts, held.clone().map(prompts));
    let scrape = ticks.scrape();
    let gpu = ticks.gpu(&held);
    verdict.weigh(Cause::HostAgent, ticks.host(&held, &scrape, &gpu));
    verdict.weigh(Cause::ScrapeOrLogging, scrape);
    verdict.weigh(Cause::ClockOrPower, gpu);
    Ok(verdict.present(facts, None, follow_up))
}

fn none(side: &Side<'_>, limit: Seconds, streams: usize) -> Fact {
    let source = Source::Derived { by: "gaps of streams".into(), from: runs_of(&side.evidence.runs) };
    let text =
        format!("fewer than three times did any of {streams} streams wait for more than {:.0} ms", limit.0 * 1e3);
    Fact { text, value: Some(limit.0), unit: Some("s".into()), interval: None, n: Some(streams as u64), source }
}

fn spikes(side: &Side<'_>, clocks: &SpikeClocks) -> Fact {
    let n = clocks.spikes.len() as u64;
    let lengths: Vec<f64> = clocks.spikes.iter().map(|spike| spike.length.0).collect();
    let order: Vec<f64> = (0..lengths.len()).map(|at| at as f64).collect();
    let grows = spearman(&order, &lengths).ok().flatten().is_some_and(|rho| rho > GROWS);
    let median = Episodes(clocks.spikes.clone()).median().map_or(0.0, |median| median.0);
    let source = Source::Derived { by: "gaps of streams above the limit".into(), from: runs_of(&side.evidence.runs) };
    let growth = match (grows, lengths.first(), lengths.last()) {
        (true, Some(first), Some(last)) => format!(", growing from {:.0} to {:.0} ms", first * 1e3, last * 1e3),
        _ => String::new(),
    };
    let text = format!("{n} spikes of {:.0} ms{growth}", median * 1e3);
    Fact { text, value: Some(median), unit: Some("s".into()), interval: None, n: Some(n), source }
}

/// Rank correlation of length and time from which spikes grow.
const GROWS: f64 = 0.8;

fn on_clock(side: &Side<'_>, clock: Clock, period: &Period) -> Fact {
    let (unit, what) = match clock {
        Clock::Wall => ("s", "seconds"),
        Clock::Steps => ("count", "engine steps"),
        Clock::Requests => ("count", "requests"),
        Clock::Tokens => ("tokens", "tokens of a request"),
    };
    let value = period.period;
    let digits = if clock == Clock::Wall { 2 } else { 0 };
    let text = format!(
        "every {value:.digits$} {what}, give or take {:.1} %; chance {}",
        period.jitter() * 100.0,
        chance(period.p)
    );
    let source = Source::Derived { by: "phases of spikes on a clock".into(), from: runs_of(&side.evidence.runs) };
    Fact { text, value: Some(value), unit: Some(unit.into()), interval: None, n: Some(period.tried as u64), source }
}

/// A chance as people read it: in percent, a small one as one in so many.
fn chance(p: f64) -> String {
    match p {
        p if p < 1e-6 => "below one in a million".into(),
        p if p < 0.01 => {
            // Two digits: the rest is not known.
            let unit = 10f64.powf((1.0 / p).log10().floor() - 1.0);
            format!("1 in {:.0}", (1.0 / p / unit).round() * unit)
        }
        p => format!("{:.0} %", p * 100.0),
    }
}

/// The clock on which spikes are most regular, if they are on any.
fn regular(clocks: &SpikeClocks, params: &Params) -> Option<Clock> {
    let all = [Clock::Wall, Clock::Steps, Clock::Requests, Clock::Tokens];
    let known = all.into_iter().filter_map(|clock| Some((clock, clocks.period(clock)?)));
    let regular = known.filter(|(clock, period)| {
        // Tokens are counted exactly: a border has no spread.
        let most = if *clock == Clock::Tokens { SHARP } else { params.jitter };
        period.p < params.p && period.jitter() <= most
    });
    regular.min_by(|a, b| a.1.jitter().total_cmp(&b.1.jitter())).map(|(clock, _)| clock)
}

/// What the regular spikes are set by.
struct Ticks<'c> {
    side: &'c Side<'c>,
    clocks: &'c SpikeClocks,
    best: Clock,
    params: &'c Params,
}

impl Ticks<'_> {
    /// Whether spikes are set by that clock and no other.
    fn set_by(&self, clock: Clock) -> Result<Weighed, Missing> {
        let Some(best) = self.clocks.period(self.best) else {
            return Err(Missing::not_exposed("a period", "firstcheck run --url URL --duration 10m"));
        };
        let winner = on_clock(self.side, self.best, best);
        if clock != self.best {
            return match (self.clocks.period(clock), self.clocks.unknown.iter().find(|(known, _)| *known == clock)) {
                // As regular as the best: the two clocks ran alike.
                (Some(own), _) if self.rivals(own, best) => Err(self.alike(clock)),
                (None, Some((_, missing))) => Err(missing.clone()),
                _ => Ok(Weighed::Excludes(vec![winner])),
            };
        }
        let all = [Clock::Wall, Clock::Steps, Clock::Requests, Clock::Tokens];
        let rival = all
            .into_iter()
            .filter(|other| *other != self.best)
            .find(|other| self.clocks.period(*other).is_some_and(|period| self.rivals(period, best)));
        match (rival, self.clocks.unknown.iter().find(|(known, _)| *known != Clock::Tokens)) {
            (Some(other), _) => Err(self.alike(other)),
            (None, Some((_, missing))) if best.jitter() > SHARP => Err(missing.clone()),
            (None, _) => Ok(Weighed::Supports(vec![winner])),
        }
    }

    fn rivals(&self, other: &Period, best: &Period) -> bool {
        other.p < self.params.p && other.jitter() <= self.params.clear * best.jitter()
    }

    fn alike(&self, clock: Clock) -> Missing {
        let what = match clock {
            Clock::Requests => "arrivals that vary: spikes are as regular in requests as in seconds or steps",
            Clock::Steps => "steps that vary: spikes are as regular in engine steps as in seconds or requests",
            Clock::Wall | Clock::Tokens => "a load that varies: spikes are as regular on two clocks",
        };
        Missing::not_exposed(
            what,
            "repeat at twice the rate: firstcheck run --url URL --rate 2R; a timer's period stays, a counter's halves",
        )
    }

    /// Pauses of Python's collector: told by the log, else by the clock of requests.
    fn collector(&self) -> Result<Weighed, Missing> {
        let mut pauses = Vec::new();
        for log in &self.side.evidence.logs {
            let lines = log.series.iter().filter(|series| series.name == "log:gc seconds");
            pauses.extend(lines.flat_map(|series| series.value.iter().map(|value| (*value, &log.label))));
        }
        let spike = Episodes(self.clocks.spikes.clone()).median().map_or(0.0, |median| median.0);
        let near = |pause: f64| (1.0 / self.params.factor..=self.params.factor).contains(&(pause / spike));
        let matching: Vec<_> = pauses.iter().filter(|(pause, _)| near(*pause)).collect();
        if 2 * matching.len() >= self.clocks.spikes.len()
            && let Some((_, label)) = matching.first()
        {
            let text = format!("the log tells of {} collections about as long as a spike", matching.len());
            let source = Source::Derived { by: format!("collections in {label}"), from: Vec::new() };
            let (value, unit) = (Some(matching.len() as f64), Some("count".into()));
            return Ok(Weighed::Supports(vec![Fact {
                text,
                value,
                unit,
                interval: None,
                n: value.map(|n| n as u64),
                source,
            }]));
        }
        self.set_by(Clock::Requests)
    }

    /// Scrapes and statistics lines.
    fn scrape(&self) -> Result<Weighed, Missing> {
        let wall = match self.set_by(Clock::Wall)? {
            Weighed::Supports(facts) => facts,
            other => return Ok(other),
        };
        let Some(period) = self.clocks.period(Clock::Wall).map(|period| period.period) else {
            return Ok(Weighed::Excludes(wall));
        };
        let own = self.own_scrapes();
        if let Some((fact, true)) = &own {
            return Ok(Weighed::Supports(vec![fact.clone()]));
        }
        let same = |interval: f64| (period / interval - 1.0).abs() <= self.params.same;
        let logged = self.side.evidence.logs.iter().find_map(|log| {
            let series = log.series.iter().find(|series| series.signal == Some(Signal::Running))?;
            interval_of(&series.at).filter(|interval| same(*interval)).map(|interval| (interval, log.label.clone()))
        });
        if let Some((interval, label)) = logged {
            let text = format!("the log's statistics lines come every {interval:.1} s as well");
            let source = Source::Derived { by: format!("statistics lines of {label}"), from: Vec::new() };
            let fact = Fact { text, value: Some(interval), unit: Some("s".into()), interval: None, n: None, source };
            return Ok(Weighed::Supports(vec![fact]));
        }
        if CUSTOMARY.into_iter().any(same) {
            return Err(Missing::not_given(
                format!("who else reads /metrics, and how often: {period:.1} s is a customary scrape interval"),
                "grep scrape_interval in the Prometheus configuration, or the server's access log",
            ));
        }
        let mut facts = wall;
        facts.extend(own.map(|(fact, _)| fact));
        Ok(Weighed::Excludes(facts))
    }

    /// How many spikes hold one of our own scrapes, and whether that is no chance.
    fn own_scrapes(&self) -> Option<(Fact, bool)> {
        /// Share of the spikes that scrapes must explain, and the share that chance may.
        const MOST: f64 = 0.8;
        const BY_CHANCE: f64 = 0.4;
        let run = self.side.evidence.runs.get(self.clocks.spikes.first()?.run)?;
        let scrapes = scrapes(run);
        let interval = interval_of(&scrapes)?;
        let margin_ns = (self.side.measure::<Stalls>().ok()?.usual.0 * 1e9) as i64;
        let holds = |spike: &&Episode| {
            let after = scrapes.partition_point(|at| *at < spike.start.plus_ns(-margin_ns));
            scrapes.get(after).is_some_and(|at| *at <= spike.end)
        };
        let (n, held) = (self.clocks.spikes.len() as f64, self.clocks.spikes.iter().filter(holds).count() as f64);
        let length = Episodes(self.clocks.spikes.clone()).median()?.0 + margin_ns as f64 * 1e-9;
        let fact = Fact {
            text: format!("{held:.0} of {n:.0} spikes hold a scrape of our own, which come every {interval:.1} s"),
            value: Some(held / n),
            unit: Some("1".into()),
            interval: None,
            n: Some(n as u64),
            source: Source::Run { run: run.info.id.clone(), field: "samples of signals".into() },
        };
        Some((fact, held >= MOST * n && length < BY_CHANCE * interval))
    }

    /// Clocks of the GPU: they slow many steps.
    fn gpu(&self, held: &Result<Held, Missing>) -> Result<Weighed, Missing> {
        match (self.set_by(Clock::Wall)?, held) {
            (Weighed::Supports(_), Ok(Held::ByChunks(fact) | Held::ByWholes(fact))) => {
                return Ok(Weighed::Excludes(vec![fact.clone()]));
            }
            (Weighed::Supports(_), _) => {}
            (other, _) => return Ok(other),
        }
        let series = self.side.evidence.runs.iter().flat_map(|run| run.series(Signal::GpuSmClock, Part::Value));
        let clocks: Vec<&Series> = series.filter(|series| series.value.len() > 2).collect();
        let (several, fact) = self.several_steps();
        if !several {
            return Ok(Weighed::Excludes(vec![fact]));
        }
        let Some(series) = clocks.first() else {
            return Err(Missing::not_given(
                "the clocks of the GPUs over the window",
                "scrape the DCGM exporter: firstcheck run --url URL --scrape dcgm=EXPORTER",
            ));
        };
        let (low, high) = series.value.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(*v), h.max(*v)));
        let moved = Fact {
            text: format!("the GPU's clock goes from {low:.0} to {high:.0} MHz"),
            value: Some(low / high),
            unit: Some("1".into()),
            interval: None,
            n: Some(series.value.len() as u64),
            source: fact.source.clone(),
        };
        let falls = low < FALLS * high;
        Ok(if falls { Weighed::Supports(vec![moved, fact]) } else { Weighed::Excludes(vec![moved]) })
    }

    /// Whether most spikes are of several slow steps.
    fn several_steps(&self) -> (bool, Fact) {
        let all = self.clocks.spikes.len() as u64;
        let several = self.clocks.steps_each.iter().filter(|steps| **steps >= SEVERAL).count() as u64;
        let fact = Fact {
            text: format!("{several} of {all} spikes are of {SEVERAL} slow steps or more"),
            value: Some(several as f64 / all.max(1) as f64),
            unit: Some("1".into()),
            interval: None,
            n: Some(all),
            source: Source::Derived { by: "gaps of streams".into(), from: runs_of(&self.side.evidence.runs) },
        };
        (2 * several > all, fact)
    }

    /// A job of the host is what nothing else with that clock is.
    fn host(
        &self,
        held: &Result<Held, Missing>,
        scrape: &Result<Weighed, Missing>,
        gpu: &Result<Weighed, Missing>,
    ) -> Result<Weighed, Missing> {
        let mut facts = match self.set_by(Clock::Wall)? {
            Weighed::Supports(facts) => facts,
            other => return Ok(other),
        };
        let prompts = held.as_ref().map_err(Clone::clone).map(|held| prompts(held.clone()));
        for other in [&prompts, scrape, gpu] {
            match other {
                Ok(Weighed::Supports(why)) => return Ok(Weighed::Excludes(why.clone())),
                Ok(Weighed::Excludes(why)) => facts.extend(why.clone()),
                Ok(Weighed::Open(missing)) => return Ok(Weighed::Open(missing.clone())),
                Err(missing) => return Err(missing.clone()),
            }
        }
        let mut seen = Vec::new();
        facts.retain(|fact| {
            let new = !seen.contains(&fact.text);
            seen.push(fact.text.clone());
            new
        });
        Ok(Weighed::Supports(facts))
    }
}

/// Spread below which a period needs no other clock beside it: no counter runs as evenly by chance.
const SHARP: f64 = 0.02;

/// Intervals at which metrics pages are usually read, seconds.
const CUSTOMARY: [f64; 5] = [5.0, 10.0, 15.0, 30.0, 60.0];

/// Slow steps from which a spike is not one pause.
const SEVERAL: u32 = 3;

/// Share of its highest to which a clock must fall.
const FALLS: f64 = 0.9;

fn prompts(held: Held) -> Weighed {
    match held {
        Held::ByChunks(fact) | Held::ByWholes(fact) => Weighed::Supports(vec![fact]),
        Held::Not(fact) => Weighed::Excludes(vec![fact]),
    }
}

/// Moments at which a run's pages were read.
fn scrapes(run: &RunEvidence) -> Vec<Moment> {
    let mut all: Vec<Moment> = run.signals.iter().flat_map(|series| series.at.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Median interval between moments.
fn interval_of(at: &[Moment]) -> Option<f64> {
    let mut apart: Vec<f64> =
        at.windows(2).filter_map(|pair| Some(pair[1].since(pair[0])?.0)).filter(|s| *s > 0.0).collect();
    apart.sort_by(f64::total_cmp);
    apart.get(apart.len() / 2).copied()
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, requests, mitigation) = match cause {
        Cause::GarbageCollection => (
            "let the collector tell of its pauses: they must match the spikes",
            "SGLANG_LOG_GC=1, VLLM_GC_DEBUG=1, or gc.callbacks in the engine's core",
            0,
            Some("freeze objects after start (gc.freeze), or collect between batches"),
        ),
        Cause::ScrapeOrLogging => (
            "measure for five periods without it: the spikes must vanish",
            "firstcheck run --url URL --scrape-interval 60s",
            200,
            Some("scrape less often"),
        ),
        Cause::HostAgent => (
            "see what starts on the host with that period",
            "systemctl list-timers; crontab -l; pidstat 1; kubectl get pod -o yaml | grep periodSeconds",
            0,
            Some("disable the matched job for five periods"),
        ),
        Cause::PeriodicPrompts => (
            "find the client that sends with that period",
            "grep the server's access log for POST lines at the spikes",
            0,
            Some("move that client to a replica of its own, or lower --max-num-batched-tokens"),
        ),
        Cause::EveryNSteps => (
            "compare the period with intervals in the configuration (--eplb-config step_interval, cache sweeps)",
            "grep -iE 'interval|eplb' server.log",
            0,
            Some("raise that interval"),
        ),
        Cause::ClockOrPower => (
            "sample clocks and the reasons that hold them down during spikes",
            "nvidia-smi --query-gpu=clocks.sm,clocks_event_reasons.active --format=csv -lms 100",
            0,
            None,
        ),
        Cause::TokensOfRequest => (
            "compare the period with the KV block, the graph sizes and the page of a hybrid cache",
            "firstcheck run --url URL --output-tokens fixed:512",
            50,
            None,
        ),
    };
    FollowUp { measure: measure.into(), command: command.into(), requests, mitigation: mitigation.map(str::to_owned) }
}

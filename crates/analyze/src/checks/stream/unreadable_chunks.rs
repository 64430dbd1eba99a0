//! S12: chunks make token latency unreadable.

use crate::{
    case::Case,
    declare_check,
    measure::{
        counters::{growth, runs_of},
        event_pacing::EventPacing,
        event_tokens::EventTokens,
        gap_timer::GapTimer,
        served::Served,
        step_wait::StepWait,
        ttft_ledger::TtftLedger,
    },
    side::Side,
    verdict::{Verdict, Weighed},
};
use firstcheck_model::{
    evidence::RunEvidence,
    finding::{FollowUp, Outcome},
    measurement::{Fact, Missing, Source},
    run::Origin,
    signal::{Part, Signal},
    span::Stage,
    unit::Seconds,
};

declare_check! {
    /// ## What it means
    ///
    /// A chunk of a stream is not a token: it may carry several, or arrive together with others. Gaps between chunks are
    /// then no inter-token latencies, and a tool that reads them as such reports a stutter that no user sees, or hides one.
    /// This check is the gate before every other one that reads gaps.
    ///
    /// ## How it is decided
    ///
    /// By two figures of the client's own events: tokens an event (above {tokens}), and the share of gaps below 50 µs,
    /// which no server paces (above 0.05, `[check.events] coalesced`). A ratio of median ITL to throughput is no test.
    ///
    /// - Tokens an event are split by a line over streams, `tokens = held + steady × events`: a steady part above
    ///   {tokens} is a server that puts several tokens into an event; more than {held} held tokens are a parser (tool
    ///   calls, reasoning, stop strings) that waits before the first. Answers of one length give no line; then the
    ///   server's own inter-token mean tells the steady part.
    /// - Zero gaps are split by the gaps between the bursts: lengths on a common interval above the server's pace (mean
    ///   phase vector above {timer}) are a proxy's flush; else by the client's own account of itself: kernel receive to read above
    ///   {delay} at p99 is a client that reads late, below it the bursts came in like this. Where requests spend longer in
    ///   the API process than a token takes, by the server's own means, that process gathers the events of other streams.
    /// - The client's token counts differ from the server's by more than {recount}: it tokenises chunks by itself.
    /// - The first gap of most streams equals their time to first token: the tool counted it in.
    ///
    /// Where an event carries what a round of speculation yields, by the server's counters, it is chunky by design and
    /// this symptom is absent: read TPOT all the same. Without those counters it cannot be told.
    ///
    /// ## What to do
    ///
    /// Do not compare P99 ITL of these runs. Read TPOT, (last − first token) / (tokens − 1), which bursts do not bend, or
    /// set the server's stream interval to 1. Measure once from the server's own host, past every proxy: `curl -N`.
    ///
    /// Looks like: a stutter (S07), whose gaps are not followed by bursts.
    pub static UNREADABLE_CHUNKS = {
        code: "S12", slug: "unreadable-chunks", family: Stream, severity: Minor,
        symptom: "gaps between chunks of a stream are not latencies of tokens",
        needs: all_of[Events],
        params: {
            tokens: 1.1 ["1"] = "tokens an event from which gaps of events are not those of tokens",
            held: 3.0 ["tokens"] = "tokens held back before the first event that count as a parser's",
            timer: 0.9 ["1"] = "length of the mean phase vector from which bursts come on a timer",
            delay: 0.005 ["s"] = "99th percentile of the time from the kernel to the client's read that counts as late",
            recount: 0.02 ["1"] = "relative difference of the client's token count from the server's that counts",
        },
        causes: {
            MultiTokenEvents: "multi-token-events" = "the server puts several tokens into an event",
            ParserHolds: "parser-holds" = "a parser holds output back and lets it go at once",
            ProxyCoalesces: "proxy-coalesces" = "something between server and client gathers events and passes them on together",
            SlowClient: "slow-client" = "the client reads late, and several events at a time",
            ApiProcess: "api-process-busy" = "the API process is busy, and sends several events of a stream at once",
            ClientRecounts: "client-recounts" = "the client counts tokens by itself, and wrongly",
            FirstInGaps: "first-token-in-gaps" = "the client's list of gaps holds the time to first token",
        },
        consequence_of: { ApiProcess: "S02" },
        run: check,
    }
}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {
    let pacing = case.side.measure::<EventPacing>()?;
    let zeros = pacing.zero_share.value.0;
    let mut facts = vec![pacing.zero_share.fact(format!("{:.1} % of the gaps between events are zero", zeros * 100.0))];
    let many = match &pacing.tokens_per_event {
        Ok(tokens) => {
            facts.push(tokens.fact(format!("{:.2} tokens an event", tokens.value.0)));
            Some(tokens.value.0 > params.tokens)
        }
        Err(_) => None,
    };
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::ClientRecounts, recounts(case.side, params));
    verdict.weigh(Cause::FirstInGaps, Ok(first_in_gaps(case.side)));
    let foreign_list = verdict.supports(Cause::ClientRecounts) || verdict.supports(Cause::FirstInGaps);
    let gathered = match many {
        Some(many) => many || holds(case.side, params),
        None => false,
    };
    let by_design = speculation(case.side, &pacing, params);
    let gathered = gathered && by_design.is_none();
    facts.extend(by_design);
    if !gathered && !pacing.coalesced() && !foreign_list {
        return match (many, &pacing.tokens_per_event) {
            // Zero gaps alone would not show events of several tokens.
            (None, Err(missing)) => Err(missing.clone()),
            _ => Ok(Outcome::Absent { why: facts }),
        };
    }
    if many == Some(true) && !pacing.coalesced() && !foreign_list {
        drafts_are_told(case.side)?;
    }
    facts.push(pacing.pace.fact(format!(
        "mean gap of a stream (median over streams) {:.1} ms: that and TPOT can be read, quantiles of gaps cannot",
        pacing.pace.value.0 * 1e3
    )));
    verdict.weigh(Cause::MultiTokenEvents, gathered_tokens(case.side, &pacing, params));
    verdict.weigh(Cause::ParserHolds, parser(case.side, &pacing, params));
    let busy = api_process(case.side, &pacing);
    verdict.weigh(Cause::ProxyCoalesces, proxy(case.side, &pacing, &busy, params));
    verdict.weigh(Cause::SlowClient, slow_client(case.side, &pacing, params));
    verdict.weigh(Cause::ApiProcess, busy);
    Ok(verdict.present(facts, None, follow_up))
}

/// Whether tokens are held back before the first event although few in relation to the answer.
fn holds(side: &Side<'_>, params: &Params) -> bool {
    side.measure::<EventTokens>().is_ok_and(|line| line.held.value.0 > params.held)
}

/// What shows that tokens an event are no more than a round of speculation yields: chunky by design.
fn speculation(side: &Side<'_>, pacing: &EventPacing, params: &Params) -> Option<Fact> {
    let tokens = pacing.tokens_per_event.as_ref().ok()?.value.0;
    let accepted = growth(side, Signal::AcceptedTokens, Part::Value).ok()?;
    let drafts = growth(side, Signal::Drafts, Part::Value).ok().filter(|drafts| drafts.value > 0.0)?;
    let round = 1.0 + accepted.value / drafts.value;
    let text = format!("a round of speculation yields {round:.2} tokens, and an event carries those of a round");
    (tokens <= round * params.tokens).then(|| Fact {
        text,
        value: Some(round),
        unit: Some("tokens".into()),
        interval: None,
        n: Some(drafts.value.round() as u64),
        source: Source::Derived {
            by: "1 + accepted tokens / rounds".into(),
            from: vec![accepted.source, drafts.source],
        },
    })
}

/// Whether the server's counters tell how much was drafted. A page that counts tokens and no drafts shows that none were.
fn drafts_are_told(side: &Side<'_>) -> Result<(), Missing> {
    let drafts = growth(side, Signal::Drafts, Part::Value);
    let tokens = || growth(side, Signal::GenerationTokens, Part::Value);
    if drafts.is_ok() || tokens().is_ok() {
        return Ok(());
    }
    Err(Missing::not_given(
        "the server's counters of drafts: whether a round of speculation yields the tokens of an event",
        "firstcheck run --url URL (it reads /metrics)",
    ))
}

fn one_token(pacing: &EventPacing, params: &Params) -> Option<Weighed> {
    let tokens = pacing.tokens_per_event.as_ref().ok()?;
    let text = format!("{:.2} tokens an event", tokens.value.0);
    (tokens.value.0 <= params.tokens).then(|| Weighed::Excludes(vec![tokens.fact(text)]))
}

fn gathered_tokens(side: &Side<'_>, pacing: &EventPacing, params: &Params) -> Result<Weighed, Missing> {
    if let Some(excluded) = one_token(pacing, params) {
        return Ok(excluded);
    }
    let line = side.measure::<EventTokens>()?;
    let steady = line.steady.value.0;
    let fact = line.steady.fact(format!("once a stream runs, an event carries {steady:.2} tokens"));
    Ok(Weighed::by(steady > params.tokens, vec![fact]))
}

fn parser(side: &Side<'_>, pacing: &EventPacing, params: &Params) -> Result<Weighed, Missing> {
    let line = match (side.measure::<EventTokens>(), one_token(pacing, params)) {
        (Ok(line), _) => line,
        (Err(_), Some(excluded)) => return Ok(excluded),
        (Err(missing), None) => return Err(missing),
    };
    // A first event may carry what every other one does.
    let held = line.held.value.0;
    let fact = line.held.fact(format!("{held:.1} tokens of a stream came with its first event beyond the usual"));
    let counts = held > params.held.max(line.steady.value.0);
    Ok(Weighed::by(counts, vec![fact]))
}

fn no_bursts(pacing: &EventPacing) -> Option<Weighed> {
    let share = pacing.zero_share.value.0 * 100.0;
    let fact = pacing.zero_share.fact(format!("events do not come in bursts: {share:.1} % of the gaps are zero"));
    (!pacing.coalesced()).then(|| Weighed::Excludes(vec![fact]))
}

/// Whether requests hold the API process up for longer than a token takes, so that events of all streams wait in it.
fn api_process(side: &Side<'_>, pacing: &EventPacing) -> Result<Weighed, Missing> {
    if let Some(excluded) = no_bursts(pacing) {
        return Ok(excluded);
    }
    let ledger = side.measure::<TtftLedger>()?;
    let Some(front) = ledger.server.term(Stage::FrontEnd) else {
        return Err(ledger.server.missing.first().cloned().unwrap_or_else(|| {
            Missing::not_exposed("queue and prefill time of the engine", "firstcheck run --url URL")
        }));
    };
    // What arrives waits for the step in hand before the core takes it in: that is the engine's.
    let step = side.measure::<StepWait>()?.mean.value.0;
    let (held, pace) = (front.value.0 - step, pacing.pace.value.0);
    let text = format!(
        "a request spends {:.1} ms in the API process beyond its wait for a step; a token takes {:.1} ms",
        held.max(0.0) * 1e3,
        pace * 1e3
    );
    Ok(Weighed::by(held > pace, vec![front.fact(text)]))
}

fn proxy(
    side: &Side<'_>,
    pacing: &EventPacing,
    busy: &Result<Weighed, Missing>,
    params: &Params,
) -> Result<Weighed, Missing> {
    if let Some(excluded) = no_bursts(pacing) {
        return Ok(excluded);
    }
    if let Ok(timer) = side.measure::<GapTimer>()
        && flushes(&timer, params)
    {
        let ms = timer.interval.value.0 * 1e3;
        return Ok(Weighed::Supports(vec![
            timer.interval.fact(format!("bursts come every {ms:.1} ms, as a timer flushes")),
        ]));
    }
    let (late, fact) = read_late(side, params)?;
    if let Ok(Weighed::Supports(facts)) = busy {
        return Ok(Weighed::Excludes(facts.clone()));
    }
    Ok(if late { Weighed::Excludes(vec![fact]) } else { Weighed::Supports(vec![fact]) })
}

fn flushes(timer: &GapTimer, params: &Params) -> bool {
    timer.resultant > params.timer && timer.above_pace
}

fn slow_client(side: &Side<'_>, pacing: &EventPacing, params: &Params) -> Result<Weighed, Missing> {
    if let Some(excluded) = no_bursts(pacing) {
        return Ok(excluded);
    }
    let told = read_late(side, params);
    match (told, side.measure::<GapTimer>()) {
        (Ok((true, fact)), _) => Ok(Weighed::Supports(vec![fact])),
        (Ok((false, fact)), _) => Ok(Weighed::Excludes(vec![fact])),
        (Err(_), Ok(timer)) if flushes(&timer, params) => {
            let ms = timer.interval.value.0 * 1e3;
            Ok(Weighed::Excludes(vec![timer.interval.fact(format!("a busy client keeps no interval of {ms:.1} ms"))]))
        }
        (Err(missing), _) => Err(missing),
    }
}

/// Whether the client read late, by its own account.
fn read_late(side: &Side<'_>, params: &Params) -> Result<(bool, Fact), Missing> {
    let delay = |run: &RunEvidence| {
        let delay: Seconds = run.info.client.as_ref()?.delay_p99?;
        Some((delay, run.info.id.clone()))
    };
    let worst = side.evidence.runs.iter().filter_map(delay).max_by(|a, b| a.0.0.total_cmp(&b.0.0));
    let Some((delay, run)) = worst else {
        return Err(Missing::not_exposed(
            "when events reached the client's kernel: a busy client and a proxy look alike in its own times",
            "firstcheck run --url URL (it records the kernel's receive times)",
        ));
    };
    let fact = Fact {
        text: format!("from the kernel to the client's read {:.1} ms at p99", delay.0 * 1e3),
        value: Some(delay.0),
        unit: Some("s".into()),
        interval: None,
        n: None,
        source: Source::Run { run, field: "client.delay_p99".into() },
    };
    Ok((delay.0 > params.delay, fact))
}

/// Tokens as the client and as the server count them.
fn recounts(side: &Side<'_>, params: &Params) -> Result<Weighed, Missing> {
    let runs = &side.evidence.runs;
    let of_firstcheck =
        |run: &&RunEvidence| !run.requests.is_empty() && !matches!(run.info.origin, Origin::Imported { .. });
    if let Some(own) = runs.iter().find(of_firstcheck) {
        let source = Source::Run { run: own.info.id.clone(), field: "origin".into() };
        let text = "tokens are those that the server states in its usage".into();
        return Ok(Weighed::Excludes(vec![Fact { text, value: None, unit: None, interval: None, n: None, source }]));
    }
    let server = growth(side, Signal::GenerationTokens, Part::Value)?;
    side.measure::<Served>()?.are_the_clients()?;
    let tokens = runs.iter().flat_map(RunEvidence::window).filter_map(|(_, request)| request.output_tokens);
    let client: f64 = tokens.map(f64::from).sum();
    let ratio = client / server.value;
    let fact = Fact {
        text: format!("the client counts {client:.0} tokens, the server {:.0}", server.value),
        value: Some(ratio),
        unit: Some("1".into()),
        interval: None,
        n: None,
        source: server.source,
    };
    let off = (ratio - 1.0).abs() > params.recount;
    Ok(Weighed::by(off, vec![fact]))
}

/// Whether the first gap of most streams is their time to first token: no engine repeats it to the microsecond.
fn first_in_gaps(side: &Side<'_>) -> Weighed {
    let (mut same, mut all) = (0, 0);
    for run in side.evidence.runs.iter().filter(|run| matches!(run.info.origin, Origin::Imported { .. })) {
        let gaps = run.streams.iter().flat_map(|streams| &streams.long_gaps.gaps);
        for gap in gaps.filter(|gap| gap.after_events == 1) {
            all += 1;
            same += u64::from((gap.length_ns - gap.since_sent_ns).abs() < 1_000);
        }
    }
    let fact = Fact {
        text: format!("{same} of {all} first gaps in other tools' lists equal the time to first token"),
        value: Some(same as f64),
        unit: Some("count".into()),
        interval: None,
        n: Some(all),
        source: Source::Derived { by: "first gaps of streams".into(), from: runs_of(&side.evidence.runs) },
    };
    Weighed::by(2 * same > all, vec![fact])
}

fn follow_up(cause: Cause) -> FollowUp {
    let (measure, command, mitigation) = match cause {
        Cause::MultiTokenEvents => (
            "repeat with one token an event; TPOT must stay as it is",
            "vllm serve … --stream-interval 1 (and without speculation), then firstcheck run --url URL",
            Some("set the stream interval to 1, or read TPOT"),
        ),
        Cause::ParserHolds => (
            "repeat with the tool-call and reasoning parsers off: the first event must carry one token",
            "vllm serve … without --enable-auto-tool-choice and --reasoning-parser, then firstcheck run --url URL",
            None,
        ),
        Cause::ProxyCoalesces => (
            "read one stream on the server's own host, past every proxy: its chunks must come one by one",
            "curl -N http://127.0.0.1:8000/v1/completions -d '{\"model\": \"M\", \"prompt\": \"x\", \"stream\": true}'",
            Some("switch the proxy's response buffering off (nginx: proxy_buffering off; X-Accel-Buffering: no)"),
        ),
        Cause::SlowClient => (
            "measure from an idle host; the share of zero gaps must fall below the gate",
            "firstcheck run --url URL",
            None,
        ),
        Cause::ApiProcess => (
            "watch the API process: one core at its limit is the cause",
            "top -H -p PID; time curl -s URL/tokenize -d @PROMPT.json",
            Some("start more API processes: --api-server-count"),
        ),
        Cause::ClientRecounts => ("take the server's usage as the count of tokens", "firstcheck run --url URL", None),
        Cause::FirstInGaps => (
            "compare the number of gaps with the number of chunks: it must be one less",
            "firstcheck run --url URL",
            None,
        ),
    };
    FollowUp {
        measure: measure.into(),
        command: command.into(),
        requests: 0,
        mitigation: mitigation.map(str::to_owned),
    }
}

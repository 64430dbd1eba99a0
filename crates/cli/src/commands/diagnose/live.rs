//! What is asked of addresses: series of a Prometheus, pages of an engine.

use super::probe;
use crate::{
    args::{LiveArgs, ProbeArgs, When},
    commands::fingerprint,
    progress::Progress,
};
use anyhow::{Context as _, bail};
use firstcheck_ingest::Fetched;
use firstcheck_model::run::Role;
use firstcheck_observe::{
    Address, Error, Headers, HttpClient, Identity, Settings, Source, Watch,
    prometheus::{Ask, Bounds, PrometheusApi, Span},
    recognise, watch,
};
use jiff::Timestamp;
use std::{path::PathBuf, time::Duration};

/// The span asked of a Prometheus without --since.
const SINCE: Duration = Duration::from_secs(30 * 60);
/// Longest wait for an answer; a query over a long span takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest wait for a whole page of an engine.
const PAGE_PATIENCE: Duration = Duration::from_secs(10);
/// Largest answer: what is larger is asked for in halves.
const LARGEST: usize = 32 << 20;

/// What is asked.
pub(super) struct Asked<'a> {
    /// Addresses of the deployment in question.
    pub(super) addresses: &'a [String],
    /// Addresses of what it is compared with.
    pub(super) base: &'a [String],
    /// Start of the span to compare with, where it is one of the same series.
    pub(super) span: Option<When>,
    /// How addresses are asked.
    pub(super) args: &'a LiveArgs,
    /// What may be sent to an engine.
    pub(super) probe: &'a ProbeArgs,
}

/// From where an address is asked.
struct Seat<'a> {
    client: &'a HttpClient,
    headers: &'a Headers,
    /// How long pages are watched.
    window: Duration,
    /// The side that it speaks of.
    role: Role,
    tell: &'a dyn Fn(String),
}

/// What live sources answered.
#[derive(Default)]
pub(super) struct Live {
    /// Of now, or of the span in question.
    pub(super) candidate: Vec<Fetched>,
    /// Of the span to compare with.
    pub(super) base: Vec<Fetched>,
    /// Bundles of probes.
    pub(super) probed: Vec<PathBuf>,
    /// What a reader should know of it.
    pub(super) notes: Vec<String>,
}

impl Live {
    fn of(&mut self, role: Role) -> &mut Vec<Fetched> {
        match role {
            Role::Base => &mut self.base,
            Role::Candidate => &mut self.candidate,
        }
    }
}

/// Asks all addresses.
///
/// # Errors
/// An address that does not answer or is none of a known source; options that do not fit what was found.
pub(super) fn ask(asked: &Asked<'_>, progress: &Progress, tell: &dyn Fn(String)) -> anyhow::Result<Live> {
    let (mut live, args) = (Live::default(), asked.args);
    if asked.span.is_some() && args.select.is_empty() {
        bail!(
            "a time in --base names a span of a Prometheus: give its series with --select, or a file, folder or address"
        );
    }
    if asked.probe.probe.is_some() && asked.addresses.is_empty() {
        bail!("--probe asks an engine: give its address, as --live http://127.0.0.1:8000");
    }
    if asked.addresses.is_empty() && asked.base.is_empty() {
        if !args.select.is_empty() {
            bail!("--select names series of a Prometheus: give its address, as http://prometheus:9090");
        }
        return Ok(live);
    }
    let headers = headers(args)?;
    let settings = Settings { total: PATIENCE, body_limit: LARGEST, extra_ca: args.ca.clone(), ..Settings::default() };
    let client = HttpClient::new(&settings)?;
    // A page that trickles is not waited for as long as a query over a long span may take.
    let pages = HttpClient::new(&Settings { total: PAGE_PATIENCE, ..settings })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut found = Vec::new();
    let of = |addresses: &[String], role: Role| addresses.iter().cloned().map(move |text| (text, role)).collect();
    let all: [Vec<(String, Role)>; 2] = [of(asked.addresses, Role::Candidate), of(asked.base, Role::Base)];
    for (text, role) in all.concat() {
        let address: Address = text.parse()?;
        if address.has_query() {
            bail!("{address} has a query, which would not be sent: leave it out");
        }
        tell(format!("asking {address}"));
        let source = runtime.block_on(recognise(&pages, &address, &headers));
        found.push((source.map_err(|error| explained(error, &address))?, address, role));
    }
    let any_api = found.iter().any(|(source, ..)| matches!(source, Source::Prometheus(_)));
    if !any_api && !args.select.is_empty() {
        let names: Vec<String> = found.iter().map(|(_, address, _)| address.to_string()).collect();
        bail!("--select names series of a Prometheus, and {} is none: leave it out", names.join(", "));
    }
    let is_engine = |source: &Source| matches!(source, Source::Engine(_));
    let engines = found.iter().filter(|(source, _, role)| is_engine(source) && *role == Role::Candidate).count();
    if asked.probe.probe.is_some() && engines == 0 {
        bail!("--probe asks an engine, and none of the addresses is one: give that of its API");
    }
    for (source, address, role) in found {
        let seat = Seat { client: &pages, headers: &headers, window: args.watched, role, tell };
        let span = asked.span.filter(|_| role == Role::Candidate);
        let answered = match source {
            Source::Prometheus(api) => {
                runtime.block_on(series(&api.asked_with(client.clone()), args, span, &seat, &mut live))
            }
            Source::Engine(identity) => {
                let metrics = stated(&address, identity, role, &mut live);
                if let (Role::Candidate, Some(requests)) = (role, asked.probe.probe) {
                    live.probed.push(probe::send(&address, asked.probe, args, requests, progress)?);
                    continue;
                }
                runtime.block_on(watched(&metrics, &seat, &mut live))
            }
            Source::Page => runtime.block_on(page(&address, &seat, &mut live)),
        };
        answered.map_err(|error| explained(error, &address))?;
    }
    Ok(live)
}

fn headers(args: &LiveArgs) -> anyhow::Result<Headers> {
    let mut headers = fingerprint::headers(args.key_env.as_deref())?;
    if let Some(name) = &args.user_env {
        let user = std::env::var(name);
        let user = user.with_context(|| format!("the environment variable {name} holds no USER:PASSWORD"))?;
        headers = headers.basic(user.trim())?;
    }
    for (name, value) in &args.header {
        headers = headers.add(name, value)?;
    }
    Ok(headers)
}

/// How to mend it, where that is known.
fn explained(error: Error, address: &Address) -> anyhow::Error {
    let denied = error.is_denied();
    let error = anyhow::Error::new(error);
    match denied {
        true => error.context(format!(
            "{address} wants a key, or another one: --key-env NAME, --user-env NAME or --header NAME:VALUE"
        )),
        false => error,
    }
}

/// The spans that are asked of a server: the one in question, and the one to compare with.
fn spans(args: &LiveArgs, base: Option<When>, now_ms: i64) -> Result<(Span, Option<Span>), String> {
    let to_ms = args.until.map_or(now_ms, |until| until.unix_ms(now_ms));
    let from_ms = args.since.unwrap_or(When::Ago(SINCE)).unix_ms(to_ms);
    let span = Span { from_ms, to_ms };
    let Some(length_ms) = span.length_ms() else { return Err("--since is not before --until".into()) };
    let base = base.map(|base| {
        let from_ms = base.unix_ms(from_ms);
        Span { from_ms, to_ms: from_ms.saturating_add(length_ms) }
    });
    match base {
        Some(base) if base.to_ms > from_ms && base.from_ms < to_ms => {
            Err("--base overlaps the span from --since to --until: take an earlier one".into())
        }
        base => Ok((span, base)),
    }
}

async fn series(
    api: &PrometheusApi,
    args: &LiveArgs,
    base: Option<When>,
    seat: &Seat<'_>,
    live: &mut Live,
) -> Result<(), Error> {
    let refuse = |why: String| Error::Address { address: api.address().to_string(), why };
    let (span, base) = spans(args, base, api.now_ms()).map_err(refuse)?;
    if args.select.is_empty() {
        let jobs = api.jobs(span).await;
        return Err(refuse(format!("it is a Prometheus: name the series with --select, as 'job=\"vllm\"'{jobs}")));
    }
    for (role, span) in [(seat.role, Some(span)), (Role::Base, base)] {
        let Some(span) = span else { continue };
        (seat.tell)(format!("asking {} for the series {}", api.address(), words(span)));
        let ask = Ask { select: args.select.clone(), span, step: args.step, bounds: Bounds::default() };
        live.of(role).push(api.fetch(&ask).await?.fetched);
    }
    if let Some(base) = base {
        live.notes.push(format!(
            "base is the span {}, the candidate that {}: what was asked of the deployment may differ, so effects are \
             shown and none is judged",
            words(base),
            words(span)
        ));
    }
    Ok(())
}

fn words(span: Span) -> String {
    let time = |ms: i64| Timestamp::from_second(ms.div_euclid(1000)).map_or_else(|_| ms.to_string(), |t| t.to_string());
    format!("from {} to {}", time(span.from_ms), time(span.to_ms))
}

/// Keeps what an engine states of itself; where its metrics are.
fn stated(address: &Address, identity: Identity, role: Role, live: &mut Live) -> Address {
    let metrics = address.metrics();
    let base = metrics.parent("/metrics").unwrap_or_else(|| address.clone());
    let page = |page: firstcheck_observe::RawPage| Fetched {
        name: base.join(&format!("/{}", page.name)).to_string(),
        source: base.to_string().into(),
        bytes: page.bytes,
        ..Fetched::default()
    };
    live.notes.extend(identity.notes);
    // Its metrics are read over the window.
    let pages = identity.pages.into_iter().filter(|page| page.name != "metrics.prom");
    live.of(role).extend(pages.map(page));
    metrics
}

/// Watches the metrics of an engine, where it has them.
async fn watched(metrics: &Address, seat: &Seat<'_>, live: &mut Live) -> Result<(), Error> {
    match page(metrics, seat, live).await {
        Err(error @ Error::NoScrape { .. }) => live.notes.push(format!("{error}: what it states is all that is known")),
        other => other?,
    }
    Ok(())
}

async fn page(address: &Address, seat: &Seat<'_>, live: &mut Live) -> Result<(), Error> {
    let seconds = seat.window.as_secs_f64();
    (seat.tell)(format!("watching {address} for {seconds} s (--for)"));
    let watched = watch(seat.client, address, seat.headers, Watch::over(seat.window)).await?;
    live.of(seat.role).push(watched);
    live.notes.push(format!("{address} was watched for {seconds} s: --for takes a longer window"));
    Ok(())
}

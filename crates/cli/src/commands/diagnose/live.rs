//! What is asked of addresses: series of a Prometheus, pages of an engine.

use crate::{
    args::{LiveArgs, When},
    commands::fingerprint,
};
use anyhow::{Context as _, bail};
use firstcheck_ingest::Fetched;
use firstcheck_observe::{
    Address, Error, Headers, HttpClient, Identity, Settings, Source, Watch,
    prometheus::{Ask, Bounds, PrometheusApi, Span},
    recognise, watch,
};
use jiff::Timestamp;
use std::time::Duration;

/// The span asked of a Prometheus without --since.
const SINCE: Duration = Duration::from_secs(30 * 60);
/// Longest wait for an answer; a query over a long span takes its time.
const PATIENCE: Duration = Duration::from_secs(60);
/// Largest answer: what is larger is asked for in halves.
const LARGEST: usize = 32 << 20;

/// What live sources answered.
#[derive(Default)]
pub(super) struct Live {
    /// Of now, or of the span in question.
    pub(super) candidate: Vec<Fetched>,
    /// Of the span to compare with.
    pub(super) base: Vec<Fetched>,
    /// What a reader should know of it.
    pub(super) notes: Vec<String>,
}

/// Asks all addresses.
///
/// # Errors
/// An address that does not answer or is none of a known source; options that do not fit what was found.
pub(super) fn ask(addresses: &[String], args: &LiveArgs, tell: &dyn Fn(String)) -> anyhow::Result<Live> {
    let mut live = Live::default();
    if addresses.is_empty() {
        if !args.select.is_empty() {
            bail!("--select names series of a Prometheus: give its address, as http://prometheus:9090");
        }
        return Ok(live);
    }
    let headers = headers(args)?;
    let settings = Settings { total: PATIENCE, body_limit: LARGEST, extra_ca: args.ca.clone(), ..Settings::default() };
    let client = HttpClient::new(&settings)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut found = Vec::new();
    for text in addresses {
        let address: Address = text.parse()?;
        if address.has_query() {
            bail!("{address} has a query, which would not be sent: leave it out");
        }
        tell(format!("asking {address}"));
        let source = runtime.block_on(recognise(&client, &address, &headers));
        found.push((source.map_err(|error| explained(error, &address))?, address));
    }
    let any_api = found.iter().any(|(source, _)| matches!(source, Source::Prometheus(_)));
    if !any_api && !args.select.is_empty() {
        let names: Vec<String> = found.iter().map(|(_, address)| address.to_string()).collect();
        bail!("--select names series of a Prometheus, and {} is none: leave it out", names.join(", "));
    }
    for (source, address) in found {
        let asked = match source {
            Source::Prometheus(api) => runtime.block_on(series(&api, args, &mut live, tell)),
            Source::Engine(identity) => {
                runtime.block_on(engine(&client, &address, &headers, identity, args.watched, &mut live, tell))
            }
            Source::Page => runtime.block_on(page(&client, &address, &headers, args.watched, &mut live, tell)),
        };
        asked.map_err(|error| explained(error, &address))?;
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
fn spans(args: &LiveArgs, now_ms: i64) -> Result<(Span, Option<Span>), String> {
    let to_ms = args.until.map_or(now_ms, |until| until.unix_ms(now_ms));
    let from_ms = args.since.unwrap_or(When::Ago(SINCE)).unix_ms(to_ms);
    let span = Span { from_ms, to_ms };
    let Some(length_ms) = span.length_ms() else { return Err("--since is not before --until".into()) };
    let base = args.base.map(|base| {
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

async fn series(api: &PrometheusApi, args: &LiveArgs, live: &mut Live, tell: &dyn Fn(String)) -> Result<(), Error> {
    let refuse = |why: String| Error::Address { address: api.address().to_string(), why };
    let (span, base) = spans(args, api.now_ms()).map_err(refuse)?;
    if args.select.is_empty() {
        let jobs = api.jobs(span).await;
        return Err(refuse(format!("it is a Prometheus: name the series with --select, as 'job=\"vllm\"'{jobs}")));
    }
    for (which, span) in [(&mut live.candidate, Some(span)), (&mut live.base, base)] {
        let Some(span) = span else { continue };
        tell(format!("asking {} for the series {}", api.address(), words(span)));
        let ask = Ask { select: args.select.clone(), span, step: args.step, bounds: Bounds::default() };
        which.push(api.fetch(&ask).await?.fetched);
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

async fn engine(
    client: &HttpClient,
    address: &Address,
    headers: &Headers,
    identity: Identity,
    window: Duration,
    live: &mut Live,
    tell: &dyn Fn(String),
) -> Result<(), Error> {
    live.notes.extend(identity.notes);
    let metrics = address.metrics();
    let base = metrics.parent("/metrics").unwrap_or_else(|| address.clone());
    let page = |page: firstcheck_observe::RawPage| Fetched {
        name: base.join(&format!("/{}", page.name)).to_string(),
        source: base.to_string().into(),
        bytes: page.bytes,
        ..Fetched::default()
    };
    // Its metrics are read over the window.
    let pages = identity.pages.into_iter().filter(|page| page.name != "metrics.prom");
    live.candidate.extend(pages.map(page));
    match self::page(client, &metrics, headers, window, live, tell).await {
        Err(error @ Error::NoScrape { .. }) => live.notes.push(format!("{error}: what it states is all that is known")),
        other => other?,
    }
    Ok(())
}

async fn page(
    client: &HttpClient,
    address: &Address,
    headers: &Headers,
    window: Duration,
    live: &mut Live,
    tell: &dyn Fn(String),
) -> Result<(), Error> {
    tell(format!("watching {address} for {} s (--for)", window.as_secs_f64()));
    live.candidate.push(watch(client, address, headers, Watch::over(window)).await?);
    live.notes.push(format!("{address} was watched for {} s: --for takes a longer window", window.as_secs_f64()));
    Ok(())
}

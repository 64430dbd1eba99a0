//! Values of arguments that have a notation of their own.

use firstcheck_model::{
    slo::{SloError, parse_duration, parse_duration_or_zero},
    unit::Seconds,
};
use firstcheck_workload::{arrivals::ArrivalProcess, spec::Source};
use serde_json::{Map, Value};
use std::{
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

/// A JSON object.
pub type Object = Map<String, Value>;

/// `60s`, `500ms`, `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    real_time(text, parse_duration(text))
}

/// The same, or zero: `0`, `0s`.
pub fn duration_or_zero(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" { Ok(Duration::ZERO) } else { real_time(text, parse_duration_or_zero(text)) }
}

fn real_time(text: &str, read: Result<Seconds, SloError>) -> Result<Duration, String> {
    let seconds = read.map_err(|error| error.to_string())?;
    Duration::try_from_secs_f64(seconds.0).map_err(|_| format!("`{text}` is too long"))
}

/// A moment: so long ago, or at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// `40m`, `40m-ago`, `now`.
    Ago(Duration),
    /// An RFC 3339 time or seconds of Unix time, here in milliseconds.
    At(i64),
}

impl When {
    /// Milliseconds of Unix time, where it is `now_ms`.
    pub fn unix_ms(self, now_ms: i64) -> i64 {
        match self {
            Self::Ago(ago) => now_ms.saturating_sub(i64::try_from(ago.as_millis()).unwrap_or(i64::MAX)),
            Self::At(ms) => ms,
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let ago = text.strip_suffix("ago").map_or(text, |rest| rest.trim_end_matches([' ', '-']));
        if text == "now" {
            return Ok(Self::Ago(Duration::ZERO));
        }
        if let Ok(ago) = duration(ago) {
            return Ok(Self::Ago(ago));
        }
        if let Ok(time) = text.parse::<jiff::Timestamp>() {
            return Ok(Self::At(time.as_millisecond()));
        }
        match text.parse::<f64>() {
            Ok(seconds) if (1e8..1e11).contains(&seconds) => Ok(Self::At((seconds * 1e3).round() as i64)),
            _ => {
                Err(format!("`{text}` is no moment: write 40m, 24h-ago, 2026-01-31T09:30:00Z or seconds of Unix time"))
            }
        }
    }
}

/// What a diagnosis compares with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BaseArg {
    /// Another span of the same series: it begins then.
    Span(When),
    /// A file, a folder or an address.
    Source(PathBuf),
}

impl FromStr for BaseArg {
    type Err = Infallible;

    /// A moment, unless a file has that name; anything else is a source.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        let path = PathBuf::from(text);
        Ok(match text.parse() {
            Ok(when) if !path.exists() => Self::Span(when),
            _ => Self::Source(path),
        })
    }
}

/// `NAME:VALUE`.
pub fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        // Not repeated: it may hold a key.
        _ => Err("expected NAME:VALUE".into()),
    }
}

/// `NAME=URL`.
pub fn page(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && url.contains("://") => Ok((name.to_owned(), url.to_owned())),
        _ => Err("expected NAME=URL, as dcgm=http://127.0.0.1:9400/metrics".into()),
    }
}

/// `ADDR:PORT`, or a port of this machine alone.
pub fn listening(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => text.parse().map_err(|_| "expected a port, or an address as 127.0.0.1:4318".into()),
    }
}

/// A JSON object.
pub fn object(text: &str) -> Result<Object, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("expected a JSON object, as {\"temperature\": 0}".into()),
        Err(error) => Err(format!("no JSON: {error}")),
    }
}

/// Bytes that make a token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BytesPerToken {
    /// Of requests.
    pub prompt: f64,
    /// Of responses, where it is given.
    pub output: Option<f64>,
}

/// `4` or `4,180`.
pub fn bytes_per_token(text: &str) -> Result<BytesPerToken, String> {
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(bytes) if bytes.is_finite() && bytes > 0.0 => Ok(bytes),
        _ => Err("expected bytes of a prompt's token, and of an answer's, as 4,180".to_owned()),
    };
    let (prompt, output) = text.split_once(',').map_or((text, None), |(prompt, output)| (prompt, Some(output)));
    Ok(BytesPerToken { prompt: number(prompt)?, output: output.map(number).transpose()? })
}

/// A source of requests with its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceArg {
    /// Which format.
    pub source: Source,
    /// Its file; none for a synthetic workload.
    pub file: Option<PathBuf>,
}

/// `synthetic`, or `FORMAT:FILE`.
pub fn source(text: &str) -> Result<SourceArg, String> {
    let (name, file) = match text.split_once(':') {
        Some((name, file)) if !file.is_empty() => (name, Some(PathBuf::from(file))),
        Some((name, _)) => (name, None),
        None => (text, None),
    };
    let source = Source::from_str(name).map_err(|error| error.to_string())?;
    match (source, &file) {
        (Source::Synthetic, Some(_)) => Err("a synthetic workload reads no file".into()),
        (Source::Synthetic, None) => Ok(SourceArg { source, file }),
        (_, None) => Err(format!("expected {name}:FILE")),
        (_, Some(_)) => Ok(SourceArg { source, file }),
    }
}

/// What stands in front of each prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SaltArg {
    /// A new one for each run.
    Auto,
    /// Nothing.
    None,
    /// This text.
    Text(String),
}

impl FromStr for SaltArg {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "auto" => Self::Auto,
            "none" => Self::None,
            text => Self::Text(text.to_owned()),
        })
    }
}

/// An arrival process whose rate is an argument of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ArrivalsArg {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
    /// Gamma gaps with this coefficient of variation.
    Gamma(f64),
    /// The file's own times, multiplied by this.
    Trace(f64),
}

impl ArrivalsArg {
    /// The process at `rate`; `None` where a trace has its own times.
    pub fn at(self, rate: f64) -> Option<ArrivalProcess> {
        match self {
            Self::Poisson => Some(ArrivalProcess::Poisson { rate }),
            Self::Constant => Some(ArrivalProcess::Constant { rate }),
            // CV = 1 / √shape of the gamma distribution.
            Self::Gamma(cv) => Some(ArrivalProcess::Gamma { rate, burstiness: 1.0 / (cv * cv) }),
            Self::Trace(_) => None,
        }
    }
}

impl FromStr for ArrivalsArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let positive = |value: &str| match value.parse::<f64>() {
            Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
            _ => Err(format!("`{value}` is no positive number")),
        };
        match (name, value) {
            ("poisson", None) => Ok(Self::Poisson),
            ("constant", None) => Ok(Self::Constant),
            ("gamma", Some(cv)) => positive(cv).map(Self::Gamma),
            ("trace", None) => Ok(Self::Trace(1.0)),
            ("trace", Some(scale)) => positive(scale).map(Self::Trace),
            ("poisson" | "constant", Some(_)) => Err(format!("the rate is --rate: write --arrivals {name} --rate R")),
            _ => Err("expected poisson, constant, gamma:CV, trace or trace:SCALE".into()),
        }
    }
}

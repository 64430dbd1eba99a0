//! `firstcheck.toml`: each section's type lies beside its user; here they are composed, and errors get a line and a
//! suggestion.

use anyhow::{Context as _, anyhow};
use firstcheck_analyze::{
    compare::Policy,
    settings::{Settings, UnknownSetting, nearest},
};
use firstcheck_experiment::{ab::AbSection, isolate::IsolateSection};
use firstcheck_model::{
    slo::{Slo, parse_duration},
    unit::Seconds,
};
use firstcheck_workload::spec::Spec;
use serde::{Deserialize, Deserializer, de};
use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

/// The file that is read where no other is named.
pub const FILE: &str = "firstcheck.toml";

/// Most bytes of it.
const LARGEST: u64 = 1 << 20;

/// The whole file. Every section may be absent; an unknown key is an error.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Gates, margins and every other threshold of a comparison.
    pub compare: Policy,
    /// What `run` offers where its arguments do not say.
    pub workload: Spec,
    /// What `ab` compares, and how, where its arguments do not say.
    pub ab: AbSection,
    /// What `isolate` takes apart, where its arguments do not say.
    pub isolate: IsolateSection,
    /// The objective where `--slo` is not given.
    slo: SloSection,
    /// Parameters of checks.
    pub check: Settings,
}

/// `[slo]`: durations as on the command line (`"50ms"`), or numbers of seconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SloSection {
    ttft: Option<Duration>,
    #[serde(alias = "tpot")]
    itl: Option<Duration>,
    e2e: Option<Duration>,
    gap: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Duration(Seconds);

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Duration;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"50ms\", or a positive number of seconds")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
                parse_duration(text).map(Duration).map_err(E::custom)
            }

            fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Duration, E> {
                if seconds.is_finite() && seconds > 0.0 {
                    Ok(Duration(Seconds(seconds)))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(seconds), &self))
                }
            }

            fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Duration, E> {
                self.visit_f64(seconds as f64)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Config {
    /// The file at `path`, or [`FILE`] in the current directory if there is one, or the defaults.
    ///
    /// # Errors
    /// A file that cannot be read, is no TOML, has a key that does not exist or a value out of range, with its line.
    pub fn find(path: Option<&Path>) -> anyhow::Result<Self> {
        let (path, text) = match path {
            Some(path) => (path, read(path)),
            None => match read(Path::new(FILE)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
                text => (Path::new(FILE), text),
            },
        };
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).map_err(|Located { line, reason }| match line {
            Some(line) => anyhow!("{}:{line}: {reason}", path.display()),
            None => anyhow!("{}: {reason}", path.display()),
        })
    }

    fn parse(text: &str) -> Result<Self, Located> {
        let config: Self = toml::from_str(text).map_err(|error| Located {
            line: error.span().map(|span| line_of(text, span.start)),
            reason: reason(error.message()),
        })?;
        config.check.validate().map_err(|unknown| Located {
            line: key_of(&unknown).and_then(|path| line_of_key(text, &path)),
            reason: unknown.to_string(),
        })?;
        config
            .compare
            .check()
            .map_err(|error| Located { line: line_of_key(text, &["compare"]), reason: error.to_string() })?;
        Ok(config)
    }

    /// The objective: the argument's, else that of `[slo]`, else the policy's own.
    pub fn objective(&self, argument: Option<Slo>) -> Option<Slo> {
        argument.or_else(|| self.slo()).or(self.compare.slo)
    }

    /// The objective of `[slo]`, if it sets any bound.
    fn slo(&self) -> Option<Slo> {
        let seconds = |duration: Option<Duration>| duration.map(|d| d.0);
        let SloSection { ttft, itl, e2e, gap } = self.slo;
        let slo = Slo { ttft: seconds(ttft), tpot: seconds(itl), e2e: seconds(e2e), gap: seconds(gap) };
        (slo != Slo::default()).then_some(slo)
    }

    /// The policy under [`Config::objective`]; where there is none, under that of the runs.
    pub fn policy(&self, argument: Option<Slo>) -> Policy {
        Policy { slo: self.objective(argument), ..self.compare.clone() }
    }
}

/// The text of a configuration, of bounded length: the path may name a device that never ends.
fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB, which no configuration is"));
    }
    Ok(text)
}

/// What is wrong, and on which line.
struct Located {
    line: Option<usize>,
    reason: String,
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// The line of a key, given its path.
fn line_of_key(text: &str, path: &[&str]) -> Option<usize> {
    let (last, parents) = path.split_last()?;
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.into_inner();
    for parent in parents {
        let (_, value) = table.into_iter().find(|(key, _)| key.get_ref() == parent)?;
        table = match value.into_inner() {
            toml::de::DeValue::Table(table) => table,
            _ => return None,
        };
    }
    let key = table.keys().find(|key| key.get_ref() == last)?;
    Some(line_of(text, key.span().start))
}

fn key_of(unknown: &UnknownSetting) -> Option<Vec<&str>> {
    match unknown {
        UnknownSetting::Check { slug, .. } => Some(vec!["check", slug]),
        UnknownSetting::Parameter { slug, parameter, .. } | UnknownSetting::NotFinite { slug, parameter } => {
            Some(vec!["check", slug, parameter])
        }
    }
}

/// serde's message; for an unknown key or one of several values with the nearest key that exists, or all that do.
fn reason(message: &str) -> String {
    let unknown = [("unknown field `", "key"), ("unknown variant `", "value")];
    let found = unknown.iter().find_map(|(start, what)| Some((message.strip_prefix(start)?, *what)));
    let Some((rest, what)) = found else { return message.to_owned() };
    let Some((key, expected)) = rest.split_once('`') else { return message.to_owned() };
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    match nearest(key, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{key}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{key}`; known: {}", known.join(", ")),
    }
}

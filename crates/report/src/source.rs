//! Where a number comes from, in a few words.

use crate::number;
use firstcheck_model::measurement::{Fact, Source};

/// A source in a few words; the JSON report holds all of it.
pub(crate) fn short(source: &Source) -> String {
    match source {
        Source::Lines { path, lines } if lines.end <= lines.start + 1 => format!("{path}:{}", lines.start),
        Source::Lines { path, lines } => format!("{path}:{}–{}", lines.start, lines.end - 1),
        Source::Series { run, name, .. } => format!("{name} of {}", run.0),
        Source::Requests { run, count: 1, .. } => format!("1 request of {}", run.0),
        Source::Requests { run, count, .. } => format!("{} of {}", number::counted(*count, "request"), run.0),
        Source::Run { run, field } => format!("{field} in run.json of {}", run.0),
        Source::Derived { by, .. } => by.clone(),
    }
}

/// A fact as a sentence. Its text says its number; where it holds none, the number is appended.
pub(crate) fn sentence(fact: &Fact) -> String {
    let unit = fact.unit.as_deref().unwrap_or("");
    let mut out = fact.text.clone();
    if let Some(value) = fact.value
        && !fact.text.contains(|c: char| c.is_ascii_digit())
    {
        out = format!("{out}: {}", number::value(value, unit));
    }
    let mut aside = Vec::new();
    if let Some((low, high)) = fact.interval {
        aside.push(format!("{} … {}", number::value(low, unit), number::value(high, unit)));
    }
    if let Some(n) = fact.n {
        aside.push(format!("n = {}", number::count(n)));
    }
    if aside.is_empty() { out } else { format!("{out} ({})", aside.join(", ")) }
}

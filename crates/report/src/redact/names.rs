//! Names that are taken out, and what stands for each.

use std::collections::BTreeMap;

/// What a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Address,
    File,
    Host,
    Model,
    Replica,
    Run,
    User,
    Value,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::File => "file",
            Self::Host => "host",
            Self::Model => "model",
            Self::Replica => "replica",
            Self::Run => "run",
            Self::User => "user",
            Self::Value => "value",
        }
    }
}

/// Names of folders and runs that say nothing of whose they are, and stand in sentences.
const HARMLESS: [&str; 22] = [
    "base",
    "candidate",
    "before",
    "after",
    "old",
    "new",
    "run",
    "runs",
    "pairs",
    "good",
    "bad",
    "sick",
    "well",
    "main",
    "default",
    "incident",
    "healthy",
    "auto",
    "stop",
    "length",
    "true",
    "false",
];

/// Shortest name that is taken out of sentences; a shorter one would take words apart.
const SHORTEST: usize = 3;

/// Names with their placeholders.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: BTreeMap<String, String>,
    /// Names that are looked for in sentences, the longest first.
    sought: Vec<String>,
    counts: BTreeMap<Kind, u32>,
}

impl Names {
    /// Takes `name` out wherever it stands from now on.
    pub(super) fn learn(&mut self, kind: Kind, name: &str) {
        let number = name.parse::<f64>().is_ok();
        if !number && name.chars().count() >= SHORTEST && !HARMLESS.contains(&name) {
            self.placeholder(kind, name);
        }
    }

    /// What stands for `name`, which is taken out of sentences as well.
    pub(super) fn placeholder(&mut self, kind: Kind, name: &str) -> String {
        let stands = self.quiet(kind, name);
        let sought = name.chars().count() >= SHORTEST && !HARMLESS.contains(&name);
        if sought && !self.sought.iter().any(|known| known == name) {
            let at = self.sought.partition_point(|known| known.len() >= name.len());
            self.sought.insert(at, name.to_owned());
        }
        stands
    }

    /// What stands for `name` in this place alone.
    pub(super) fn quiet(&mut self, kind: Kind, name: &str) -> String {
        if self.known.values().any(|stands| stands == name) {
            return name.to_owned();
        }
        let count = &mut self.counts;
        let next = || {
            let count = count.entry(kind).or_default();
            *count += 1;
            format!("{}-{count}", kind.name())
        };
        self.known.entry(name.to_owned()).or_insert_with(next).clone()
    }

    /// `text` with every known name replaced, whatever its case, where it stands by itself.
    pub(super) fn replace(&self, text: &str) -> String {
        self.sought.iter().fold(text.to_owned(), |text, name| match self.known.get(name) {
            Some(stands) => replaced(&text, name, stands),
            None => text,
        })
    }
}

/// `text` with each `name` that no letter or digit touches replaced.
fn replaced(text: &str, name: &str, stands: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    // Lower case of ASCII alone keeps every byte in its place.
    while let Some(at) = rest.to_ascii_lowercase().find(&name.to_ascii_lowercase()) {
        let end = at + name.len();
        let before = rest[..at].chars().next_back().or(out.chars().next_back());
        let after = rest[end..].chars().next();
        let alone = ![before, after].into_iter().flatten().any(char::is_alphanumeric);
        out += &rest[..at];
        out += if alone { stands } else { &rest[at..end] };
        rest = &rest[end..];
    }
    out + rest
}

//! `declare_check!`: one static a check; page, parameters, causes and code from one place.

use crate::{case::Case, settings::Settings};
use firstcheck_model::{
    evidence::Kind,
    finding::{Family, Outcome, Severity},
    measurement::Missing,
};

/// A check: plain data and one function.
pub struct Check {
    /// Its code (`S15`); never reused.
    pub code: &'static str,
    /// Its slug: file, cases folder and configuration section.
    pub slug: &'static str,
    /// Family of symptoms.
    pub family: Family,
    /// How bad the symptom is when present.
    pub severity: Severity,
    /// The symptom in words.
    pub symptom: &'static str,
    /// Evidence that can tell the symptom.
    pub needs: Needs,
    /// Thresholds.
    pub params: &'static [Param],
    /// What it can support or exclude.
    pub causes: &'static [CauseInfo],
    /// Causes of it that are another check's symptom: where the evidence speaks for the cause and that symptom is there,
    /// this finding is a consequence and is shown under it. (Own cause, code of the other check.)
    pub consequences: &'static [(&'static str, &'static str)],
    /// Codes of symptoms that bring this one about in a way that is none of its own causes: where the evidence speaks for
    /// none of these and one of those is there, this finding is shown under it.
    pub unexplained_under: &'static [&'static str],
    /// Its page's text, one line an entry, as written in the doc comment.
    pub doc: &'static [&'static str],
    /// Runs it; missing evidence for the symptom itself becomes Undecided.
    pub run: fn(&Case<'_>) -> Outcome,
}

/// Evidence that can tell a symptom.
#[derive(Debug, Clone, Copy)]
pub enum Needs {
    /// One of these is enough.
    AnyOf(&'static [Kind]),
    /// All of these are needed.
    AllOf(&'static [Kind]),
}

/// A threshold.
#[derive(Debug, Clone, Copy)]
pub struct Param {
    /// Name in the page and in `firstcheck.toml`.
    pub name: &'static str,
    /// Value unless configured.
    pub default: f64,
    /// Unit.
    pub unit: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

/// A cause that a check knows.
#[derive(Debug, Clone, Copy)]
pub struct CauseInfo {
    /// Its name within the check.
    pub id: &'static str,
    /// What it means.
    pub means: &'static str,
}

/// The closed set of a check's causes.
pub trait CauseId: Copy + PartialEq + 'static {
    /// All of them, in the order of the page.
    const ALL: &'static [Self];

    /// Its name within the check.
    fn id(self) -> &'static str;

    /// What it means.
    fn means(self) -> &'static str;
}

impl Needs {
    /// What is missing for the symptom to be told; empty when it can be.
    pub fn missing(self, case: &Case<'_>) -> Vec<Missing> {
        let lacks = |kinds: &[Kind]| kinds.iter().filter_map(|k| case.side.evidence.lacks(*k)).collect::<Vec<_>>();
        match self {
            Self::AllOf(kinds) => lacks(kinds),
            Self::AnyOf(kinds) => {
                let missing = lacks(kinds);
                if missing.len() < kinds.len() { Vec::new() } else { missing }
            }
        }
    }

    /// In words: which kinds tell the symptom.
    fn in_words(self) -> String {
        let names: Vec<&str> = self.kinds().iter().map(|kind| kind.name()).collect();
        match (self, names.as_slice()) {
            (_, [one]) => format!("The symptom is told from {one}."),
            (Self::AnyOf(_), several) => format!("The symptom is told from any of: {}.", several.join("; ")),
            (Self::AllOf(_), several) => format!("The symptom is told from all of: {}.", several.join("; ")),
        }
    }

    /// The kinds it names.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Self::AnyOf(kinds) | Self::AllOf(kinds) => kinds,
        }
    }
}

impl Check {
    /// The page: the doc comment with `{parameter}` replaced by the value in force, then what the declaration adds.
    pub fn page(&self, settings: &Settings) -> String {
        let lines: Vec<&str> = self.doc.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
        let mut text = lines.join("\n").trim().to_owned();
        for p in self.params {
            let value = with_unit(settings.value(self.slug, p.name, p.default), p.unit);
            text = text.replace(&format!("{{{}}}", p.name), &value);
        }
        let causes: String = self.causes.iter().map(|c| format!("- `{}`: {}\n", c.id, c.means)).collect();
        format!(
            "# {} {}\n\n> {}\n\n{text}\n\n## Causes\n\n{causes}\n## Evidence\n\n{}\n\n\
             ## Parameters (`[check.{}]` in firstcheck.toml)\n\n{}",
            self.code,
            self.slug,
            self.symptom,
            self.needs.in_words(),
            self.slug,
            self.parameters(settings)
        )
    }

    fn parameters(&self, settings: &Settings) -> String {
        let row = |p: &Param| {
            let value = settings.value(self.slug, p.name, p.default);
            let default =
                if value == p.default { String::new() } else { format!(", default {}", with_unit(p.default, p.unit)) };
            format!("- `{}` ({}{default}): {}\n", p.name, with_unit(value, p.unit), p.meaning)
        };
        self.params.iter().map(row).collect()
    }
}

/// A value with its unit, as pages print it (`1` is the unit of shares and is not written).
fn with_unit(value: f64, unit: &str) -> String {
    /// Units of bytes, the largest first.
    const SIZES: [(f64, &str); 4] =
        [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1_000_000.0, "MB"), (1024.0, "KiB")];
    match unit {
        "1" => format!("{value}"),
        // Only what a larger unit says without a digit lost.
        "B" => match SIZES.iter().find(|(size, _)| value >= *size && value % size == 0.0) {
            Some((size, larger)) => format!("{} {larger}", value / size),
            None => format!("{value} B"),
        },
        _ => format!("{value} {unit}"),
    }
}

/// Declares a check: its static, its `Params` and its closed `Cause` enum. One check a module.
#[macro_export]
macro_rules! declare_check {
    ( $(#[doc = $doc:literal])+
      pub static $NAME:ident = {
        code: $code:literal, slug: $slug:literal, family: $family:ident, severity: $severity:ident,
        symptom: $symptom:literal,
        needs: $needs:ident[$($need:ident),* $(,)?],
        params: { $($param:ident : $default:literal [$unit:literal] = $meaning:literal),* $(,)? },
        causes: { $($cause:ident : $id:literal = $means:literal),+ $(,)? },
        $(consequence_of: { $($own:ident : $of:literal),+ $(,)? },)?
        $(unexplained_under: [$($under:literal),+ $(,)?],)?
        run: $run:path $(,)?
    } ) => {
        /// Thresholds in force; the fields are the names in the page and in `firstcheck.toml`.
        #[derive(Debug, Clone, Copy)]
        pub struct Params { $(#[doc = $meaning] pub $param: f64),* }

        /// What this check can support or exclude.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Cause { $(#[doc = $means] $cause),+ }

        impl Cause {
            /// Its name within the check.
            pub const fn name(self) -> &'static str { match self { $(Self::$cause => $id),+ } }
        }

        impl $crate::declare::CauseId for Cause {
            const ALL: &'static [Self] = &[$(Self::$cause),+];
            fn id(self) -> &'static str { self.name() }
            fn means(self) -> &'static str { match self { $(Self::$cause => $means),+ } }
        }

        $(#[doc = $doc])+
        pub static $NAME: $crate::declare::Check = $crate::declare::Check {
            code: $code, slug: $slug,
            family: ::firstcheck_model::finding::Family::$family,
            severity: ::firstcheck_model::finding::Severity::$severity,
            symptom: $symptom,
            needs: $crate::declare_check!(@needs $needs [$($need),*]),
            params: &[$($crate::declare::Param {
                name: stringify!($param), default: $default, unit: $unit, meaning: $meaning,
            }),*],
            causes: &[$($crate::declare::CauseInfo { id: $id, means: $means }),+],
            consequences: &[$($((Cause::$own.name(), $of)),+)?],
            unexplained_under: &[$($($under),+)?],
            doc: &[$($doc),+],
            run: |case| {
                let params = Params { $($param: case.settings.value($slug, stringify!($param), $default)),* };
                // Needs are looked at once and together, so that everything missing is named; `?` inside the check
                // reports only what lies deeper.
                let missing = $NAME.needs.missing(case);
                if !missing.is_empty() {
                    return ::firstcheck_model::finding::Outcome::Undecided { missing };
                }
                $run(case, &params).unwrap_or_else(|missing| {
                    ::firstcheck_model::finding::Outcome::Undecided { missing: vec![missing] }
                })
            },
        };
    };
    (@needs any_of [$($need:ident),*]) => {
        $crate::declare::Needs::AnyOf(&[$(::firstcheck_model::evidence::Kind::$need),*])
    };
    (@needs all_of [$($need:ident),*]) => {
        $crate::declare::Needs::AllOf(&[$(::firstcheck_model::evidence::Kind::$need),*])
    };
}

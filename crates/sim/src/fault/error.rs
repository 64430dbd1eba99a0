//! What is wrong with a fault's text.

/// Why a text is no fault.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FaultError {
    /// No such fault.
    #[error("there is no fault `{slug}`{}", hint(.suggestion.as_deref()))]
    Unknown {
        /// The name given.
        slug: String,
        /// The nearest that there is.
        suggestion: Option<String>,
    },
    /// A fault without that parameter.
    #[error(
        "fault `{slug}` has no parameter `{name}`{}; it has {}", hint(.suggestion.as_deref()), list(.known)
    )]
    UnknownParam {
        /// The fault.
        slug: &'static str,
        /// The name given.
        name: String,
        /// The nearest that there is.
        suggestion: Option<String>,
        /// All that there are.
        known: Vec<&'static str>,
    },
    /// A value that is no number.
    #[error("`{name}` of fault `{slug}` is `{text}`: expected a number")]
    Number {
        /// The fault.
        slug: &'static str,
        /// The parameter.
        name: &'static str,
        /// The text given.
        text: String,
    },
    /// A value outside its range.
    #[error("`{name}` of fault `{slug}` is {value}, but must be {least} to {most}")]
    OutOfRange {
        /// The fault.
        slug: &'static str,
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: f64,
        /// Least value.
        least: f64,
        /// Greatest value.
        most: f64,
    },
    /// A parameter without a value.
    #[error("`{text}` in fault `{slug}` is no KEY=VALUE")]
    Pair {
        /// The fault.
        slug: &'static str,
        /// The text given.
        text: String,
    },
    /// Times that are none.
    #[error("`@{text}` of fault `{slug}` is no period: {reason}; write @START..END, as @30s..90s, @30s.. or @..90s")]
    Period {
        /// The fault.
        slug: &'static str,
        /// The text given.
        text: String,
        /// What is wrong.
        reason: String,
    },
    /// No such severity.
    #[error("there is no severity `{text}`: it is mild, moderate or severe")]
    Severity {
        /// The name given.
        text: String,
    },
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn list(names: &[&str]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

//! Numbers as people read them: three significant digits, units that fit, signs that are signs.

use firstcheck_model::report::Quantity;

/// What is printed for a value that is missing; never a zero.
pub const MISSING: &str = "–";
/// What is printed for a quantile that reaches unanswered requests.
pub const UNBOUNDED: &str = "∞ (unanswered)";
/// From this ratio on a change is printed as a factor (`× 20`): `+1,900 %` takes longer to read.
const FACTOR_FROM: f64 = 5.0;

/// `value` with thousands separators and `decimals` digits; the sign of a negative number is a minus sign (U+2212).
pub fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    if value < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('−');
    }
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + fraction
}

/// A count with thousands separators.
pub fn count(n: u64) -> String {
    grouped(n as f64, 0)
}

/// So many of something, the noun in the number that fits: `1 file`, `1,200 files`.
///
/// # Example
/// ```
/// use firstcheck_report::number::counted;
/// assert_eq!((counted(1, "file"), counted(0, "file")), ("1 file".into(), "0 files".into()));
/// ```
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// `value` with three significant digits, whole numbers whole.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 || size >= 99.95 => 0,
        _ if size >= 9.995 => 1,
        _ if size >= 0.9995 => 2,
        // Below one: as many digits as it takes to show three that are not zero, at most nine.
        _ => (2.0 - size.log10().floor()).clamp(0.0, 9.0) as usize,
    };
    grouped(value, decimals)
}

/// `value` of `unit` in a unit that fits its size.
///
/// # Example
/// ```
/// use firstcheck_report::number::value;
/// assert_eq!(value(0.8, "s"), "800 ms");
/// assert_eq!(value(1.2, "s"), "1.20 s");
/// assert_eq!(value(0.931, "1"), "93.1 %");
/// assert_eq!(value(28_800.0, "tokens"), "28,800 tokens");
/// ```
pub fn value(value: f64, unit: &str) -> String {
    let size = value.abs();
    let (scaled, unit) = match unit {
        "s" if size == 0.0 => (value, "ms"),
        // The borders are where three digits would round up to the next unit.
        "s" if size < 0.9995e-3 => (value * 1e6, "µs"),
        "s" if size < 0.9995 => (value * 1e3, "ms"),
        "1" => (value * 100.0, "%"),
        "B" if size >= 1024.0 * 1024.0 * 1024.0 => (value / (1024.0 * 1024.0 * 1024.0), "GiB"),
        "B" if size >= 1024.0 * 1024.0 => (value / (1024.0 * 1024.0), "MiB"),
        "tokens/s" => (value, "tok/s"),
        "requests/s" => (value, "req/s"),
        other => (value, other),
    };
    let number = if scaled.fract() == 0.0 && matches!(unit, "count" | "tokens") {
        grouped(scaled, 0)
    } else {
        three_digits(scaled)
    };
    if unit == "count" || unit.is_empty() { number } else { format!("{number} {unit}") }
}

/// A value, [`UNBOUNDED`] or [`MISSING`].
pub fn quantity(quantity: Option<Quantity>, unit: &str) -> String {
    match quantity {
        Some(Quantity::Finite(finite)) => value(finite, unit),
        Some(Quantity::Unbounded) => UNBOUNDED.into(),
        None => MISSING.into(),
    }
}

/// A difference with its sign, in a unit that fits.
pub fn signed(difference: f64, unit: &str) -> String {
    let text = value(difference, unit);
    if difference > 0.0 { format!("+{text}") } else { text }
}

/// A relative change: 0.5 is `+50 %`.
fn percent(change: f64) -> String {
    let percent = change * 100.0;
    let decimals = if percent.abs() < 9.95 && (percent - percent.round()).abs() > 0.05 { 1 } else { 0 };
    let text = grouped(percent, decimals);
    match text.as_str() {
        "0" | "0.0" => "±0".into(),
        _ if percent > 0.0 => format!("+{text}"),
        _ => text,
    }
}

/// The change that a ratio candidate / base means: 1.5 is `+50 %`, 0.75 is `−25 %`, 20 is `× 20`.
///
/// # Example
/// ```
/// use firstcheck_report::number::change;
/// assert_eq!(change(1200.0 / 800.0), "+50 %");
/// assert_eq!(change(9.0 / 12.0), "−25 %");
/// ```
pub fn change(ratio: f64) -> String {
    if ratio >= FACTOR_FROM {
        format!("× {}", grouped(ratio, usize::from(ratio < 10.0)))
    } else {
        format!("{} %", percent(ratio - 1.0))
    }
}

/// The change of a ratio that may be unbounded or missing.
pub fn change_of(ratio: Option<Quantity>) -> String {
    match ratio {
        Some(Quantity::Finite(ratio)) => change(ratio),
        Some(Quantity::Unbounded) => "∞".into(),
        None => MISSING.into(),
    }
}

/// The interval of a ratio, as changes.
pub fn change_interval([low, high]: [Quantity; 2]) -> String {
    match (low, high) {
        (Quantity::Finite(low), Quantity::Finite(high)) if high < FACTOR_FROM => {
            format!("{} … {} %", percent(low - 1.0), percent(high - 1.0))
        }
        _ => format!("{} … {}", change_of(Some(low)), change_of(Some(high))),
    }
}

/// A share of a whole, in percent: 0.82 is `82 %`.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent != 0.0 && percent.abs() < 0.95 { 2 } else { usize::from(percent.abs() < 9.95) };
    let text = grouped(percent, decimals);
    format!("{} %", if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text })
}

/// A relative size without a sign (a margin, a smallest detectable difference): 0.05 is `5 %`.
pub fn relative(size: f64) -> String {
    let percent = size * 100.0;
    let decimals = usize::from(percent.abs() < 9.95 && (percent - percent.round()).abs() > 0.05);
    format!("{} %", grouped(percent, decimals))
}

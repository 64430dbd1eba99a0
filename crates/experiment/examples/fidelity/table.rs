//! Markdown tables and numbers in them.

/// A Markdown table; columns after the first are aligned to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &mut dyn Iterator<Item = &str>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let rule = header.iter().enumerate().map(|(column, _)| if column == 0 { "---" } else { "---:" });
    let mut text = line(&mut header.iter().copied());
    text.push_str(&format!("|{}|\n", rule.collect::<Vec<_>>().join("|")));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// Milliseconds of a duration in seconds, with three digits.
pub fn ms(seconds: f64) -> String {
    let ms = seconds * 1e3;
    let digits = if ms >= 1000.0 {
        0
    } else if ms >= 10.0 {
        1
    } else {
        2
    };
    format!("{ms:.digits$}")
}

/// A signed percentage.
pub fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

/// A percentage without sign.
pub fn size(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

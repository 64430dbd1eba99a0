//! `firstcheck sim faults`: what can be made to go wrong.

use crate::{
    args::{FaultFormat, FaultsArgs},
    output,
};
use anyhow::bail;
use firstcheck_model::exit_code::FINE;
use firstcheck_sim::fault::{FaultSpec, Param, Severity, catalogue};
use serde_json::{Value, json};
use std::fmt::Write;

/// Schema of the list as JSON.
const SCHEMA: &str = "firstcheck.faults/1";

/// Prints the list.
///
/// # Errors
/// A symptom or fault that there is not.
pub(super) fn run(args: &FaultsArgs) -> anyhow::Result<u8> {
    let asked = |spec: &&FaultSpec| {
        args.only.as_deref().is_none_or(|only| spec.slug == only || spec.symptom.eq_ignore_ascii_case(only))
    };
    let faults: Vec<&FaultSpec> = catalogue().filter(asked).collect();
    if let (true, Some(only)) = (faults.is_empty(), &args.only) {
        bail!("no fault is called `{only}` or brings it about: firstcheck sim faults lists all");
    }
    let text = match args.format {
        FaultFormat::Terminal if args.only.is_some() => details(&faults),
        FaultFormat::Terminal => table(&faults),
        FaultFormat::Json => format!("{:#}\n", json(&faults)),
        FaultFormat::Markdown => markdown(&faults),
    };
    output::print(&text)?;
    Ok(FINE)
}

fn table(faults: &[&FaultSpec]) -> String {
    let wide = |of: fn(&FaultSpec) -> &str| faults.iter().map(|spec| of(spec).len()).max().unwrap_or(0);
    let (slug, cause, place) = (wide(|spec| spec.slug), wide(|spec| spec.cause), wide(|spec| spec.acts_in));
    let row = |symptom: &str, own: &str, why: &str, acts_in: &str, params: &str| {
        let row = format!("{symptom:<7}  {own:<slug$}  {why:<cause$}  {acts_in:<place$}  {params}");
        format!("{}\n", row.trim_end())
    };
    let mut text = row("symptom", "fault", "cause", "acts in", "parameters");
    for spec in faults {
        let params: Vec<&str> = spec.params.iter().map(|param| param.name).collect();
        text += &row(spec.symptom, spec.slug, spec.cause, spec.acts_in, &params.join(", "));
    }
    text
}

fn details(faults: &[&FaultSpec]) -> String {
    let mut text = String::new();
    for spec in faults {
        let _ = writeln!(text, "{}: {}", spec.slug, spec.doc);
        let _ = writeln!(text, "  symptom {}, cause {}, acts in {}", spec.symptom, spec.cause, spec.acts_in);
        let _ = writeln!(text, "  scene {}: {}", spec.scene.slug, spec.scene.doc);
        for param in spec.params {
            let _ = writeln!(text, "  {}: {}; {}", param.name, param.doc, defaults(param));
        }
        text.push('\n');
    }
    text
}

/// `64, 16, 0 tokens (0 to 1000000)`.
fn defaults(param: &Param) -> String {
    let values = Severity::ALL.map(|severity| param.default_at(severity).to_string()).join(", ");
    let unit = if param.unit.is_empty() { String::new() } else { format!(" {}", param.unit) };
    format!("{values}{unit} ({} to {})", param.range[0], param.range[1])
}

fn json(faults: &[&FaultSpec]) -> Value {
    let param = |param: &Param| {
        json!({
            "name": param.name,
            "unit": param.unit,
            "mild": param.default_at(Severity::Mild),
            "moderate": param.default_at(Severity::Moderate),
            "severe": param.default_at(Severity::Severe),
            "least": param.range[0],
            "most": param.range[1],
            "doc": param.doc,
        })
    };
    let fault = |spec: &&FaultSpec| {
        json!({
            "slug": spec.slug,
            "symptom": spec.symptom,
            "cause": spec.cause,
            "scene": spec.scene.slug,
            "acts_in": spec.acts_in,
            "doc": spec.doc,
            "params": spec.params.iter().map(param).collect::<Vec<_>>(),
        })
    };
    json!({ "schema": SCHEMA, "faults": faults.iter().map(fault).collect::<Vec<_>>() })
}

fn markdown(faults: &[&FaultSpec]) -> String {
    let mut text = String::from(
        "| symptom | fault | cause | acts in | what goes wrong | parameters: mild, moderate, severe (range) |\n",
    );
    text += "|---|---|---|---|---|---|\n";
    for spec in faults {
        let param = |param: &Param| format!("`{}` {}: {}", param.name, param.doc, defaults(param));
        let params: Vec<String> = spec.params.iter().map(param).collect();
        let _ = writeln!(
            text,
            "| {} | `{}` | `{}` | {} | {} | {} |",
            spec.symptom,
            spec.slug,
            spec.cause,
            spec.acts_in,
            spec.doc,
            params.join("<br>")
        );
    }
    text
}

//! `firstcheck explain`: a check's page, or the table of checks.

use crate::{
    app::Context,
    args::{ExplainArgs, ExplainFormat},
    output,
};
use anyhow::bail;
use firstcheck_analyze::{
    declare::Check,
    planned::planned,
    registry::{CHECKS, by_code_or_slug},
    settings::{Settings, nearest},
    symptom,
};
use firstcheck_model::exit_code::FINE;
use serde_json::{Value, json};
use std::fmt::Write;

/// Schema of checks as JSON.
const SCHEMA: &str = "firstcheck.checks/1";

/// Prints a page or the table.
///
/// # Errors
/// A check that does not exist, with the nearest that does.
pub fn run(args: &ExplainArgs, context: &Context) -> anyhow::Result<u8> {
    let settings = &context.config.check;
    let named = args.check.as_deref().map(check).transpose()?;
    let of: &[&Check] = named.as_ref().map_or(CHECKS, std::slice::from_ref);
    let text = match (args.format, &named) {
        (ExplainFormat::Json, _) => format!("{:#}\n", json(of, settings)),
        // A page is Markdown, and reads as it is at a terminal.
        (_, Some(check)) => check.page(settings),
        (ExplainFormat::Terminal, None) => table(),
        (ExplainFormat::Markdown, None) => markdown(),
    };
    output::print(&text)?;
    Ok(FINE)
}

/// The check of that code or name, or the one that is meant by a symptom in somebody's own words.
fn check(name: &str) -> anyhow::Result<&'static Check> {
    if let Some(check) = by_code_or_slug(name) {
        return Ok(check);
    }
    if let Some((code, about)) = planned(name) {
        bail!("{code} ({about}) has no check yet: `firstcheck explain` lists those that are built");
    }
    if let Some(near) = nearest(name, CHECKS.iter().flat_map(|check| [check.code, check.slug])) {
        bail!("no check `{name}`; did you mean `{near}`?");
    }
    match symptom::meant(name).as_slice() {
        [] => bail!("no check `{name}`: `firstcheck explain` lists them"),
        [one] => {
            output::tell(&format!("taking `{name}` to mean {} ({}): {}", one.code, one.slug, one.symptom));
            Ok(one)
        }
        several => {
            let codes: Vec<String> = several.iter().map(|check| format!("{} ({})", check.code, check.slug)).collect();
            bail!("no check `{name}`; several know the symptom: {}", codes.join(", "))
        }
    }
}

fn table() -> String {
    let wide = CHECKS.iter().map(|check| check.slug.len()).max().unwrap_or(0);
    CHECKS.iter().map(|check| format!("{}  {:<wide$}  {}\n", check.code, check.slug, check.symptom)).collect()
}

fn markdown() -> String {
    let mut text = String::from("| code | check | symptom | causes |\n|---|---|---|---|\n");
    for check in CHECKS {
        let causes: Vec<String> = check.causes.iter().map(|cause| format!("`{}`", cause.id)).collect();
        let _ = writeln!(text, "| {} | `{}` | {} | {} |", check.code, check.slug, check.symptom, causes.join(", "));
    }
    text
}

fn json(checks: &[&Check], settings: &Settings) -> Value {
    let check = |check: &&Check| {
        let causes = check.causes.iter().map(|cause| json!({ "id": cause.id, "means": cause.means }));
        let parameters = check.params.iter().map(|param| {
            json!({
                "name": param.name,
                "value": settings.value(check.slug, param.name, param.default),
                "default": param.default,
                "unit": param.unit,
                "meaning": param.meaning,
            })
        });
        json!({
            "code": check.code,
            "slug": check.slug,
            "family": check.family,
            "severity": check.severity,
            "symptom": check.symptom,
            "needs": check.needs.kinds(),
            "causes": causes.collect::<Vec<_>>(),
            "parameters": parameters.collect::<Vec<_>>(),
        })
    };
    json!({ "schema": SCHEMA, "checks": checks.iter().map(check).collect::<Vec<_>>() })
}

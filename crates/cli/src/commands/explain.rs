//! `firstcheck explain`: a check's page, or the table of checks.

use crate::{app::Context, args::ExplainArgs, output};
use anyhow::bail;
use firstcheck_analyze::{
    registry::{CHECKS, by_code_or_slug},
    settings::nearest,
};
use firstcheck_model::exit_code::FINE;

/// Prints a page or the table.
///
/// # Errors
/// A check that does not exist, with the nearest that does.
pub fn run(args: &ExplainArgs, context: &Context) -> anyhow::Result<u8> {
    let text = match &args.check {
        None => table(),
        Some(name) => match by_code_or_slug(name) {
            Some(check) => check.page(&context.config.check),
            None => {
                let near = nearest(name, CHECKS.iter().flat_map(|check| [check.code, check.slug]));
                match near {
                    Some(near) => bail!("no check `{name}`; did you mean `{near}`?"),
                    None => bail!("no check `{name}`: `firstcheck explain` lists them"),
                }
            }
        },
    };
    output::print(&text)?;
    Ok(FINE)
}

fn table() -> String {
    let wide = CHECKS.iter().map(|check| check.slug.len()).max().unwrap_or(0);
    CHECKS.iter().map(|check| format!("{}  {:<wide$}  {}\n", check.code, check.slug, check.symptom)).collect()
}

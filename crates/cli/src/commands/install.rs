//! `firstcheck completions` and `firstcheck man`.

use crate::args::{CompletionsArgs, ManArgs, command};
use anyhow::Context as _;
use std::{fs, io::Write};

/// Prints the completions.
///
/// # Errors
/// Standard output that is closed.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "firstcheck", &mut script);
    std::io::stdout().write_all(&script).context("cannot write to standard output")?;
    Ok(0)
}

/// Writes the pages.
///
/// # Errors
/// A folder or a page that cannot be written.
pub fn man(args: &ManArgs) -> anyhow::Result<u8> {
    let folder = args.out.display();
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make {folder}"))?;
    clap_mangen::generate_to(command(), &args.out).with_context(|| format!("cannot write into {folder}"))?;
    writeln!(std::io::stdout(), "manual pages written to {folder}").context("cannot write to standard output")?;
    Ok(0)
}

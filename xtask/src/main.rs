//! `cargo xtask`: scaffolding of the project's own sources.

use anyhow::{Context, bail};
use firstcheck_xtask::new_check::{NewCheck, scaffold};
use std::path::Path;

const USAGE: &str = "usage: cargo xtask new-check CODE SLUG FAMILY (such as: new-check S07 stream-stutter stream)";

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["new-check", code, slug, family] => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace has a folder")?;
            for path in scaffold(root, &NewCheck::new(code, slug, family)?)? {
                println!("{}", path.display());
            }
            Ok(())
        }
        _ => bail!(USAGE),
    }
}

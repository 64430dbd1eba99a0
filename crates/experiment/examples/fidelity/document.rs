//! Parts of a document that are computed: between `<!-- NAME -->` and `<!-- /NAME -->`.

use std::{error::Error, fs, path::Path};

/// Replaces what stands between the markers of part `name`.
pub fn replace(path: &Path, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let old = fs::read_to_string(path)?;
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- /{name} -->"));
    let missing = || format!("{}: no {begin} … {end}", path.display());
    let from = old.find(&begin).ok_or_else(missing)? + begin.len();
    let to = from + old[from..].find(&end).ok_or_else(missing)?;
    let new = format!("{}\n\n{}\n\n{}", &old[..from], text.trim(), &old[to..]);
    Ok(fs::write(path, new)?)
}

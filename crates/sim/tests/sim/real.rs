//! Real artefacts to compare with.

use std::path::Path;

/// The text of a real artefact; `None`, and a line that says so, where the folder of artefacts is not named.
pub fn artefact(file: impl AsRef<Path>) -> Option<String> {
    let file = file.as_ref();
    let Some(root) = std::env::var_os("FIRSTCHECK_ARTEFACTS") else {
        eprintln!("SKIPPED: FIRSTCHECK_ARTEFACTS is not set, no {} to compare with", file.display());
        return None;
    };
    Some(std::fs::read_to_string(Path::new(&root).join(file)).unwrap())
}

//! Files that are kept with a run byte for byte.

/// Folder of attached files inside a bundle.
pub(crate) const FOLDER: &str = "attached";

/// Longest name of an attached file.
const LONGEST: usize = 120;

/// A file that is kept with a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Its name under `attached/`.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// `name` made fit for a file: letters, digits, `.`, `-` and `_`, everything else `_`; no leading dot.
pub(crate) fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let mut safe: String = name.chars().map(plain).take(LONGEST).collect();
    if safe.starts_with('.') {
        safe.replace_range(..1, "_");
    }
    if safe.is_empty() { "_".into() } else { safe }
}

/// `name`, or with a number before its extension when `taken` says so.
pub(crate) fn free_name(name: &str, taken: impl Fn(&str) -> bool) -> String {
    if !taken(name) {
        return name.into();
    }
    let (stem, extension) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, ext)| (stem, format!(".{ext}")));
    let mut number = 2u64;
    loop {
        let numbered = format!("{stem}-{number}{extension}");
        if !taken(&numbered) {
            return numbered;
        }
        number += 1;
    }
}

/// The path of an attached file inside a bundle, as run.json lists it.
pub(crate) fn listed_name(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// Whether `path` is that of an attached file: it leads nowhere else.
pub(crate) fn is_listed_name(path: &str) -> bool {
    path.strip_prefix(FOLDER)
        .and_then(|rest| rest.strip_prefix('/'))
        .is_some_and(|name| !name.is_empty() && file_name(name) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        let cases = [
            ("server.log", "server.log"),
            ("../../etc/passwd", "_._.._etc_passwd"),
            ("/v1/models", "_v1_models"),
            (".hidden", "_hidden"),
            ("", "_"),
            ("größe.json", "gr__e.json"),
            ("..", "_."),
        ];
        for (given, expected) in cases {
            assert_eq!(file_name(given), expected, "{given}");
            assert!(is_listed_name(&listed_name(&file_name(given))), "{given}");
        }
        for hostile in
            ["attached/../x", "attached/", "attached", "/etc/passwd", "attached/a/b", "attached\\x", "journal/events"]
        {
            assert!(!is_listed_name(hostile), "{hostile}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let taken = ["a.log", "a-2.log", "b"];
        let free = |name| free_name(name, |name| taken.contains(&name));
        assert_eq!((free("a.log"), free("b"), free("c")), ("a-3.log".into(), "b-2".into(), "c".into()));
    }
}

//! `cargo xtask new-check`: the files of a check, and the lines that make it known.

use anyhow::{Context, bail, ensure};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Families of checks: the folder, and the variant of `Family`.
const FAMILIES: [(&str, &str); 6] = [
    ("first_token", "FirstToken"),
    ("stream", "Stream"),
    ("memory", "Memory"),
    ("arithmetic", "Arithmetic"),
    ("outputs", "Outputs"),
    ("numbers", "Numbers"),
];

const CASES: [(&str, &str); 4] = [
    ("present", "The symptom, by a cause (one such case for each cause)"),
    ("absent", "The evidence is whole and the symptom is not there"),
    ("undecided", "What would tell the symptom is missing"),
    ("look-alike", "A neighbour of the symptom that must not fire"),
];

/// A check to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCheck {
    code: String,
    slug: String,
    folder: &'static str,
    family: &'static str,
}

impl NewCheck {
    /// A check by its code (`S07`), slug (`stream-stutter`) and family (`stream`).
    ///
    /// # Errors
    /// A name that is none, with the form that is expected.
    pub fn new(code: &str, slug: &str, family: &str) -> anyhow::Result<Self> {
        let digits = code.strip_prefix('S').filter(|rest| rest.len() == 2 && rest.bytes().all(|b| b.is_ascii_digit()));
        ensure!(digits.is_some(), "`{code}` is no code: S and two digits");
        let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        ensure!(slug.split('-').all(word), "`{slug}` is no slug: lower-case words joined by hyphens");
        let Some((folder, family)) = FAMILIES.into_iter().find(|(folder, _)| *folder == family) else {
            bail!("no family `{family}`: {}", FAMILIES.map(|(folder, _)| folder).join(", "));
        };
        Ok(Self { code: code.into(), slug: slug.into(), folder, family })
    }

    /// Name of its module.
    fn module(&self) -> String {
        self.slug.replace('-', "_")
    }

    /// Name of its static.
    fn constant(&self) -> String {
        self.module().to_uppercase()
    }

    fn source(&self) -> String {
        let (code, slug, family, constant) = (&self.code, &self.slug, self.family, self.constant());
        format!(
            r#"//! {code}: in a sentence.

use crate::{{
    case::Case,
    declare_check,
    verdict::{{Verdict, Weighed}},
}};
use firstcheck_model::{{
    finding::{{FollowUp, Outcome}},
    measurement::Missing,
}};

declare_check! {{
    /// ## What it means
    ///
    /// What users see, and why.
    ///
    /// ## How it is decided
    ///
    /// The symptom: above {{threshold}}. Each cause: the measurement that splits it from the others.
    ///
    /// ## What to do
    ///
    /// The reversible mitigation first. Looks like: the neighbours, and how they differ.
    pub static {constant} = {{
        code: "{code}", slug: "{slug}", family: {family}, severity: Major,
        symptom: "what a user sees",
        needs: any_of[Requests, EngineMetrics],
        params: {{
            threshold: 1.0 ["1"] = "what it decides",
        }},
        causes: {{
            First: "first" = "a cause in words",
        }},
        run: check,
    }}
}}

fn check(case: &Case<'_>, params: &Params) -> Result<Outcome, Missing> {{
    let mut verdict = Verdict::<Cause>::new();
    verdict.weigh(Cause::First, first(case, params));
    Ok(verdict.present(Vec::new(), None, follow_up))
}}

fn first(case: &Case<'_>, _params: &Params) -> Result<Weighed, Missing> {{
    case.base_for("what differs")?;
    Ok(Weighed::Open(Vec::new()))
}}

fn follow_up(cause: Cause) -> FollowUp {{
    let (measure, command) = match cause {{
        Cause::First => ("what to measure next, and what its outcome would mean", "firstcheck run --url URL"),
    }};
    FollowUp {{ measure: measure.into(), command: command.into(), requests: 0, mitigation: None }}
}}
"#
        )
    }

    fn registry_line(&self) -> String {
        format!("    &checks::{}::{}::{}, // {}", self.folder, self.module(), self.constant(), self.code)
    }
}

/// Writes the files of a check into the workspace at `root` and makes it known; the paths that were written.
///
/// # Errors
/// A check of that code or slug that is there already, or a file that cannot be read or written.
pub fn scaffold(root: &Path, check: &NewCheck) -> anyhow::Result<Vec<PathBuf>> {
    let analyze = root.join("crates/analyze");
    let (source, cases) = (analyze.join("src/checks"), analyze.join("cases").join(&check.slug));
    let (registry, families) = (analyze.join("src/registry.rs"), source.join("mod.rs"));
    let (family, file) = (source.join(check.folder), format!("{}.rs", check.module()));
    let known = read(&registry)?;
    ensure!(!known.contains(&format!("// {}\n", check.code)), "there is a check {} already", check.code);
    ensure!(!family.join(&file).exists() && !cases.exists(), "there is a check {} already", check.slug);
    let mut written = Vec::new();
    let mut write = |path: PathBuf, text: String| -> anyhow::Result<()> {
        fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(path);
        Ok(())
    };
    write(registry, with_registry_line(&known, check)?)?;
    write(families.clone(), with_module(&read(&families)?, check.folder))?;
    let of_family = family.join("mod.rs");
    let modules =
        if of_family.exists() { read(&of_family)? } else { format!("//! Checks of a family: {}.\n\n", check.folder) };
    write(of_family, with_module(&modules, &check.module()))?;
    write(family.join(file), check.source())?;
    for (kind, about) in CASES {
        write(cases.join(format!("{kind}.md")), format!("# {about}\n\n```findings\n```\n"))?;
    }
    Ok(written)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The registry with a line more, in the order of the codes.
fn with_registry_line(text: &str, check: &NewCheck) -> anyhow::Result<String> {
    let code = |line: &str| {
        line.trim_start().starts_with("&checks::").then(|| line.rsplit_once("// ").map(|(_, c)| c.to_owned()))
    };
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let open = lines.iter().position(|line| line.ends_with("&[&Check] = &[")).context("the registry has its list")?;
    let later = lines.iter().position(|line| code(line).flatten().is_some_and(|code| code > check.code));
    let end = lines.iter().skip(open).position(|line| line == "];").context("the registry's list has its end")? + open;
    lines.insert(later.unwrap_or(end), check.registry_line());
    Ok(lines.join("\n") + "\n")
}

/// A file of modules with one more, in the order of their names.
fn with_module(text: &str, module: &str) -> String {
    let line = format!("pub mod {module};");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.contains(&line) {
        return text.to_owned();
    }
    let later = lines.iter().position(|other| other.starts_with("pub mod ") && *other > line);
    lines.insert(later.unwrap_or(lines.len()), line);
    lines.join("\n") + "\n"
}

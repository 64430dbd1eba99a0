//! The conventions of checks, tested.

use firstcheck_analyze::{
    declare::Check,
    registry::{CHECKS, by_code_or_slug},
    settings::{Settings, UnknownSetting},
    shared::SHARED,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

#[test]
fn checks_are_sorted_and_unique() {
    let codes: Vec<&str> = CHECKS.iter().map(|c| c.code).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(codes, sorted);
}

#[test]
fn the_registry_holds_every_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/checks");
    let families = std::fs::read_dir(&root).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir());
    let files = families.flat_map(|family| std::fs::read_dir(family).unwrap().map(|e| e.unwrap().path()));
    let mut slugs: Vec<String> =
        files.filter_map(|p| Some(p.file_stem()?.to_str()?.replace('_', "-"))).filter(|slug| slug != "mod").collect();
    slugs.sort_unstable();
    let mut registered: Vec<&str> = CHECKS.iter().map(|c| c.slug).collect();
    registered.sort_unstable();
    assert_eq!(slugs, registered);
}

/// Lines of a page at a width of 120, so that it can be read at a glance.
const SCREEN: usize = 60;

#[test]
fn a_page_has_its_headings_in_order_and_fits_a_screen() {
    for check in CHECKS {
        let page = check.page(&Settings::default());
        let headings =
            ["## What it means", "## How it is decided", "## What to do", "## Causes", "## Evidence", "## Parameters"];
        let found: Vec<&str> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(found.len(), headings.len(), "{}: {found:?}", check.slug);
        for (found, heading) in found.iter().zip(headings) {
            assert!(found.starts_with(heading), "{}: {found}, not {heading}", check.slug);
        }
        let lines: usize = page.lines().map(|line| line.chars().count().div_ceil(120).max(1)).sum();
        assert!(lines <= SCREEN, "{}: {lines} lines", check.slug);
    }
}

/// Every `{x}` in a page is a parameter, and each parameter stands in its page.
#[test]
fn a_page_and_its_parameters_belong_together() {
    for check in CHECKS {
        let text = check.doc.join("\n");
        let named: Vec<&str> = text.split('{').skip(1).map(|rest| rest.split_once('}').expect("closed").0).collect();
        for name in &named {
            assert!(check.params.iter().any(|param| param.name == *name), "{}: no parameter {name}", check.slug);
        }
        for param in check.params {
            assert!(named.contains(&param.name), "{}: {} is not in the page", check.slug, param.name);
        }
    }
}

/// Sentences of the declaration go into lists and behind colons.
#[test]
fn what_a_declaration_says_begins_small_and_has_no_full_stop() {
    for check in CHECKS {
        let causes = check.causes.iter().map(|cause| cause.means);
        for text in causes.chain(check.params.iter().map(|param| param.meaning)).chain([check.symptom]) {
            let word: String = text.chars().take_while(|c| c.is_alphanumeric()).collect();
            let name = word.chars().count() > 1 && word.chars().skip(1).any(|c| c.is_uppercase());
            assert!(
                name || text.starts_with(|c: char| c.is_lowercase() || !c.is_alphabetic()),
                "{}: {text}",
                check.slug
            );
            assert!(!text.ends_with('.'), "{}: {text}", check.slug);
        }
        let ids: BTreeSet<&str> = check.causes.iter().map(|cause| cause.id).collect();
        assert_eq!(ids.len(), check.causes.len(), "{}: a cause twice", check.slug);
    }
}

#[test]
fn a_consequence_names_another_check() {
    for check in CHECKS {
        for (cause, code) in check.consequences {
            assert!(by_code_or_slug(code).is_some() && *code != check.code, "{}: {cause} under {code}", check.slug);
        }
        for code in check.unexplained_under {
            assert!(by_code_or_slug(code).is_some() && *code != check.code, "{}: under {code}", check.slug);
        }
    }
}

/// Sections of shared thresholds must not hide those of a check.
#[test]
fn no_shared_section_is_named_like_a_check() {
    assert!(SHARED.iter().all(|shared| by_code_or_slug(shared.section).is_none()));
}

/// A parameter brings its unit into the text: one that stands behind it as well is said twice.
#[test]
fn a_page_says_no_unit_twice() {
    for check in CHECKS {
        let page = check.page(&Settings::default());
        let words: Vec<&str> = page.split_whitespace().collect();
        let units: BTreeSet<&str> = check.params.iter().map(|param| param.unit).filter(|unit| *unit != "1").collect();
        for pair in words.windows(2) {
            assert!(pair[0] != pair[1] || !units.contains(pair[0]), "{}: {pair:?}", check.slug);
        }
    }
}

/// The pages in the documentation are those of `explain`. With `UPDATE=1` they are written.
#[test]
fn the_documentation_holds_every_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let folder = docs.join("checks");
    let mut pages: BTreeMap<String, String> = CHECKS
        .iter()
        .map(|check| (format!("{}-{}.md", check.code, check.slug), check.page(&Settings::default())))
        .collect();
    pages.insert("README.md".into(), index());
    let contents = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let listed = with_checks(&contents);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(docs.join("SUMMARY.md"), &listed).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(name, page)| std::fs::write(folder.join(name), page).unwrap());
    }
    assert_eq!(std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap(), listed, "SUMMARY.md (UPDATE=1 writes it)");
    let there: BTreeSet<String> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, pages.keys().cloned().collect::<BTreeSet<_>>(), "files of {}", folder.display());
    for (name, page) in pages {
        assert_eq!(std::fs::read_to_string(folder.join(&name)).unwrap(), page, "{name} (UPDATE=1 writes it)");
    }
}

/// The guide's contents with every check below the line of their index.
fn with_checks(contents: &str) -> String {
    let index = "- [Checks](checks/README.md)\n";
    let (before, after) = contents.split_once(index).expect("the contents name the index of checks");
    let (_, rest) = after.split_once("\n\n").expect("a blank line ends their list");
    let line =
        |check: &&Check| format!("  - [{} {}](checks/{}-{}.md)\n", check.code, check.slug, check.code, check.slug);
    format!("{before}{index}{}\n{rest}", CHECKS.iter().map(line).collect::<String>())
}

fn index() -> String {
    let row = |check: &&Check| {
        format!("| [{}]({}-{}.md) | `{}` | {} |\n", check.code, check.code, check.slug, check.slug, check.symptom)
    };
    let rows: String = CHECKS.iter().map(row).collect();
    let shared: String = SHARED
        .iter()
        .map(|s| {
            format!(
                "| `[check.{}] {}` | {} {} | {} |\n",
                s.section, s.param.name, s.param.default, s.param.unit, s.param.meaning
            )
        })
        .collect();
    format!(
        "# Checks\n\nA check stands for one symptom. `firstcheck explain CODE` prints its page.\n\n\
         | code | slug | symptom |\n|---|---|---|\n{rows}\n\
         ## Thresholds that measurements share\n\n| parameter | default | meaning |\n|---|---|---|\n{shared}"
    )
}

#[test]
fn a_page_shows_the_value_in_force() {
    let section = BTreeMap::from([("rate".to_owned(), 0.125)]);
    let settings = Settings(BTreeMap::from([("constant-preemption".to_owned(), section)]));
    settings.validate().unwrap();
    let page = by_code_or_slug("s15").unwrap().page(&settings);
    assert!(page.contains("more than 0.125 preemptions"), "{page}");
    assert!(page.contains("`rate` (0.125, default 0.05)"), "{page}");
}

#[test]
fn an_unknown_setting_is_an_error_with_a_suggestion() {
    let settings = |slug: &str, parameter: &str| {
        Settings(BTreeMap::from([(slug.to_owned(), BTreeMap::from([(parameter.to_owned(), 1.0)]))]))
    };
    let wrong = settings("constant-preemptions", "rate").validate().unwrap_err();
    assert_eq!(wrong.to_string(), "no check `constant-preemptions`; did you mean `constant-preemption`?");
    let wrong = settings("constant-preemption", "rates").validate().unwrap_err();
    assert_eq!(wrong.to_string(), "check `constant-preemption` has no parameter `rates`; did you mean `rate`?");
    assert!(matches!(settings("x", "y").validate(), Err(UnknownSetting::Check { suggestion: None, .. })));
    let settings = settings("window", "shortest");
    settings.validate().unwrap();
    assert_eq!(settings.shared(&firstcheck_analyze::shared::SHORTEST), 1.0);
}

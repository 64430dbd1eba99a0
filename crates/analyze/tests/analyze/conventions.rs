//! The conventions of checks, tested.

use firstcheck_analyze::{
    registry::{CHECKS, by_code_or_slug},
    settings::{Settings, UnknownSetting},
};
use std::{collections::BTreeMap, path::Path};

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

#[test]
fn a_page_names_every_parameter_and_has_its_headings_in_order() {
    for check in CHECKS {
        let text = check.doc.join("\n");
        for param in check.params {
            assert!(text.contains(&format!("{{{}}}", param.name)), "{}: {} is not in the page", check.slug, param.name);
        }
        let page = check.page(&Settings::default());
        assert!(!page.contains('{'), "{}: a placeholder stayed:\n{page}", check.slug);
        let places: Vec<usize> =
            ["## What it means", "## How it is decided", "## Looks like", "## Causes", "## Evidence", "## Parameters"]
                .iter()
                .map(|heading| page.find(heading).unwrap_or_else(|| panic!("{}: no {heading}", check.slug)))
                .collect();
        assert!(places.is_sorted(), "{}: headings out of order", check.slug);
    }
}

#[test]
fn a_page_shows_the_value_in_force() {
    let section = BTreeMap::from([("rate".to_owned(), 0.125)]);
    let settings = Settings(BTreeMap::from([("constant-preemption".to_owned(), section)]));
    settings.validate().unwrap();
    let page = by_code_or_slug("s15").unwrap().page(&settings);
    assert!(page.contains("more than 0.125 preemptions"), "{page}");
    assert!(page.contains("`rate` = 0.125 (default 0.05)"), "{page}");
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
}

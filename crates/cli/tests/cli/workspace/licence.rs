//! Licences of everything that is compiled, against the list in `deny.toml`.

use super::{metadata, text};
use std::process::Command;

/// Whether an SPDX expression can be met with licences of `allowed` alone. `/` is the `OR` of old manifests.
fn is_allowed(expression: &str, allowed: &[String]) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (met, rest) = any(&words, allowed)?;
    if rest.is_empty() { Ok(met) } else { Err(format!("`{}` is left over in `{expression}`", rest.join(" "))) }
}

type Read<'w> = Result<(bool, &'w [&'w str]), String>;

/// Terms with `OR` between them.
fn any<'w>(words: &'w [&'w str], allowed: &[String]) -> Read<'w> {
    let (mut met, mut rest) = every(words, allowed)?;
    while let ["OR", after @ ..] = rest {
        let (right, after) = every(after, allowed)?;
        (met, rest) = (met || right, after);
    }
    Ok((met, rest))
}

/// Terms with `AND` between them, which binds closer.
fn every<'w>(words: &'w [&'w str], allowed: &[String]) -> Read<'w> {
    let (mut met, mut rest) = one(words, allowed)?;
    while let ["AND", after @ ..] = rest {
        let (right, after) = one(after, allowed)?;
        (met, rest) = (met && right, after);
    }
    Ok((met, rest))
}

/// A licence, one with its exception, or an expression in parentheses.
fn one<'w>(words: &'w [&'w str], allowed: &[String]) -> Read<'w> {
    match words {
        ["(", inner @ ..] => match any(inner, allowed)? {
            (met, [")", rest @ ..]) => Ok((met, rest)),
            _ => Err("a parenthesis is not closed".into()),
        },
        [name, "WITH", exception, rest @ ..] => Ok((allowed.contains(&format!("{name} WITH {exception}")), rest)),
        [name, rest @ ..] if !["OR", "AND", "WITH", ")"].contains(name) => {
            Ok((allowed.iter().any(|known| known == name), rest))
        }
        _ => Err("a licence is missing".into()),
    }
}

#[test]
fn expressions_are_read_as_spdx_says() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned);
    for (expression, expected) in [
        ("MIT", Ok(true)),
        ("GPL-3.0-only", Ok(false)),
        ("GPL-3.0-only OR MIT", Ok(true)),
        ("MIT/GPL-2.0", Ok(true)),
        ("MIT AND GPL-2.0", Ok(false)),
        ("GPL-2.0 OR MIT AND Zlib", Ok(true)),
        ("(GPL-2.0 OR MIT) AND GPL-3.0", Ok(false)),
        ("(GPL-2.0 OR MIT) AND Zlib", Ok(true)),
        ("Apache-2.0", Ok(false)),
        ("Apache-2.0 WITH LLVM-exception", Ok(true)),
        ("(MIT", Err(())),
        ("MIT OR", Err(())),
        ("MIT Zlib", Err(())),
        ("", Err(())),
    ] {
        assert_eq!(is_allowed(expression, &allowed).map_err(|_| ()), expected, "{expression}");
    }
}

/// The list `allow` of `deny.toml`.
fn allowed() -> Vec<String> {
    let deny: toml::Table = toml::from_str(&text("deny.toml")).unwrap();
    deny["licenses"]["allow"].as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect()
}

/// The platform that compiles: packages of others need not be here.
fn host() -> String {
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())).arg("-vV").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed() {
    let allowed = allowed();
    let all = metadata(&["--filter-platform", &host()]);
    let mut refused = Vec::new();
    for package in all["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        match package["license"].as_str().map(|expression| (expression, is_allowed(expression, &allowed))) {
            Some((_, Ok(true))) => {}
            Some((expression, why)) => refused.push(format!("{name}: {expression} ({why:?})")),
            None => refused.push(format!("{name}: states no licence")),
        }
    }
    assert!(refused.is_empty(), "not in deny.toml:\n{}", refused.join("\n"));
}

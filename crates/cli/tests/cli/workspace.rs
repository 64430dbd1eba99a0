//! The workspace as a whole: what `docs/design/README.md` says of its crates, licences, and limits of size.

mod licence;
mod limits;
mod table;

use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap().to_owned()
}

/// A text of the workspace.
pub fn text(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A crate of the workspace as `cargo metadata` tells it.
pub struct Member {
    /// Package name without the project's prefix.
    pub name: String,
    /// Every dependency with its kind: `normal`, `dev` or `build`.
    pub dependencies: Vec<(String, String)>,
    /// Source files of its integration tests.
    pub tests: Vec<PathBuf>,
}

/// Crates by their short name; the binary's package is `cli`.
pub static MEMBERS: LazyLock<BTreeMap<String, Member>> = LazyLock::new(|| {
    let packages = metadata(&["--no-deps"])["packages"].as_array().unwrap().iter().map(member).collect::<Vec<_>>();
    packages.into_iter().map(|member| (member.name.clone(), member)).collect()
});

/// Short name of a crate of this workspace; `None` for any other.
pub fn short(package: &str) -> Option<&str> {
    match package {
        "firstcheck" => Some("cli"),
        _ => package.strip_prefix("firstcheck-"),
    }
}

fn member(package: &Value) -> Member {
    let string = |value: &Value| value.as_str().map(str::to_owned);
    let dependencies = package["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (string(&one["name"]).unwrap(), string(&one["kind"]).unwrap_or_else(|| "normal".into())));
    let is_test = |target: &&Value| target["kind"].as_array().unwrap().iter().any(|kind| kind == "test");
    let tests = package["targets"].as_array().unwrap().iter().filter(is_test);
    Member {
        name: short(package["name"].as_str().unwrap()).expect("a crate of the workspace has its prefix").to_owned(),
        dependencies: dependencies.collect(),
        tests: tests.map(|target| PathBuf::from(target["src_path"].as_str().unwrap())).collect(),
    }
}

/// `cargo metadata`, which never asks the network here.
pub fn metadata(args: &[&str]) -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| env!("CARGO").into());
    let output = Command::new(cargo)
        .args(["metadata", "--offline", "--format-version", "1"])
        .args(args)
        .current_dir(root())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata {args:?} (packages are fetched by `cargo fetch`): {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

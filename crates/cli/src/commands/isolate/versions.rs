//! Versions, from arguments, a file or `[isolate]`.

use super::{Common, common, deployment, template};
use crate::{
    args::{IsolateArgs, WhatArgs},
    config::Config,
};
use anyhow::{Context as _, bail};
use firstcheck_experiment::{
    isolate::{IsolateSection, LOOKS, Value, VersionsOptions},
    ledger::Begun,
    plan::Plan,
};
use firstcheck_load::Stop;
use std::collections::BTreeSet;

/// The versions that are asked for; none: factors are.
///
/// # Errors
/// A file that cannot be read, or a version that is there twice.
pub(super) fn listed(args: &WhatArgs, section: &IsolateSection) -> anyhow::Result<Vec<String>> {
    let versions: Vec<String> = match &args.versions_from {
        Some(file) => {
            let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
        }
        None if !args.versions.is_empty() => args.versions.clone(),
        None if args.factor.is_empty() => section.versions.clone(),
        None => Vec::new(),
    };
    let mut seen = BTreeSet::new();
    if let Some(twice) = versions.iter().find(|version| !seen.insert(*version)) {
        bail!("the version {twice} is listed twice");
    }
    if args.versions_from.is_some() && versions.is_empty() {
        bail!("the file of versions is empty");
    }
    Ok(versions)
}

/// What is bisected.
///
/// # Errors
/// As the verb.
pub(super) fn options(
    args: IsolateArgs,
    versions: Vec<String>,
    config: &Config,
    stop: Stop,
) -> anyhow::Result<VersionsOptions> {
    let template = template(&args, config)?;
    let target = |version: &String| {
        let value = Value { name: "version".into(), value: version.clone(), ..Value::default() };
        deployment(&template, &[value], &args)
    };
    let targets = versions.iter().map(target).collect::<anyhow::Result<Vec<_>>>()?;
    let looks = if args.what.looks.is_empty() { LOOKS.to_vec() } else { args.what.looks.clone() };
    let Common { out, prepared, key, stop } = common(args, &targets, config, stop)?;
    let mut subject = prepared.subject;
    subject.insert("versions".into(), versions.join(", "));
    subject.insert("first".into(), targets.first().map_or(String::new(), ToString::to_string));
    let pairs = looks.last().copied().unwrap_or_default();
    let plan = Plan { looks, warm_up: prepared.warm_up, ..Plan::of_pairs(pairs, prepared.seed) };
    plan.check()?;
    let begun = Begun { plan, subject, nonce: prepared.nonce };
    Ok(VersionsOptions {
        begun,
        versions,
        targets,
        offer: prepared.offer,
        policy: prepared.policy,
        key,
        settings: config.check.clone(),
        out,
        stop,
    })
}

//! The probe: requests of one's own, where the user allows them.

use crate::{
    args::{LiveArgs, ProbeArgs},
    commands::{
        new_folder,
        run::{interrupt, workload::random},
    },
    output,
    progress::{self, Progress},
};
use anyhow::{Context as _, bail};
use firstcheck_experiment::probe::{self, Budget};
use firstcheck_load::{Control, Key, Target};
use firstcheck_observe::Address;
use firstcheck_report::number;
use std::{path::PathBuf, sync::Arc};

/// Sends it to an engine while the engine's metrics are read, and tells its cost before. The bundle stays: it is evidence.
///
/// # Errors
/// A deployment that is not there, options that a client cannot send, a bundle that cannot be written.
pub(super) fn send(
    address: &Address,
    args: &ProbeArgs,
    live: &LiveArgs,
    requests: u32,
    progress: &Progress,
) -> anyhow::Result<PathBuf> {
    if live.user_env.is_some() {
        bail!("a probe sends a key (--key-env) or headers (--header), no user and password: leave out --user-env");
    }
    let mut target = Target::new(address.root());
    target.api = args.endpoint.into();
    target.model = args.model.clone();
    target.headers = live.header.clone();
    target.key = live.key_env.as_deref().map(Key::from_env).transpose()?;
    target.authorities = live.ca.clone();
    let budget = Budget::new(requests, live.watched);
    let (prompts, answers) = budget.tokens();
    let seed = random();
    output::tell(&format!(
        "probing {address}: {} requests over {} s, {} tokens of prompts and at most {} of answers (seed {seed})",
        number::count(u64::from(requests)),
        live.watched.as_secs_f64(),
        number::count(prompts),
        number::count(answers)
    ));
    let folder = new_folder(None, "firstcheck-probe")?;
    let shown = Arc::new(progress::Run::new(progress, None));
    let watched = Arc::clone(&shown);
    let control = Control::default().on_progress(move |progress| watched.tell(progress));
    interrupt::watch(control.stop.clone());
    let sent = probe::run(&target, &budget, seed, &folder, &control);
    shown.finish();
    Ok(sent.with_context(|| format!("cannot probe {address}"))?.dir)
}

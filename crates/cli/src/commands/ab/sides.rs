//! The two sides, from arguments and `firstcheck.toml`.

use crate::{
    args::{AskArgs, SidesArgs, SimTargetArgs},
    commands::{
        run::settings,
        sim::deployment::{deployment, faults},
    },
};
use anyhow::{Context as _, anyhow, bail};
use firstcheck_experiment::{
    ab::{AbSection, SideSection},
    target::{DEVICE, Hooks, ServerTarget, SimulatedTarget, Target},
};
use firstcheck_model::run::Role;
use firstcheck_observe::Address;
use std::time::Duration;

/// How long a started server may take to be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(600);
/// How long its processes may take to end before they are killed.
const GRACE: Duration = Duration::from_secs(10);

/// Base and candidate, and the devices that they swap. With `aa` both are base.
///
/// # Errors
/// A side that nothing names, or that is named in a way that cannot be read.
pub(in crate::commands) fn sides(
    args: SidesArgs,
    asked: AskArgs,
    aa: bool,
    configured: &AbSection,
) -> anyhow::Result<(Target, Target, Vec<String>)> {
    let SidesArgs { base, candidate, base_start, candidate_start, ready_timeout, devices } = args;
    let devices = if devices.is_empty() { configured.devices.clone() } else { devices };
    let side = |role: Role, target, start: Option<String>, section: &SideSection, asked| {
        let section = SideSection {
            start: start.map_or(Ok(section.start.clone()), |start| words(&start))?,
            ready_timeout_s: ready_timeout.map(|time| time.as_secs_f64()).or(section.ready_timeout_s),
            ..section.clone()
        };
        let name = role.name();
        one(Named { option: name, section: &format!("ab.{name}") }, target, section, asked, &devices)
    };
    let base = side(Role::Base, base, base_start, &configured.base, asked.clone())?;
    let candidate = if aa {
        base.clone()
    } else {
        side(Role::Candidate, candidate, candidate_start, &configured.candidate, asked)?
    };
    Ok((base, candidate, devices))
}

/// What a deployment is called where it is asked for.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) struct Named<'n> {
    /// The option, without its dashes.
    pub option: &'n str,
    /// The section of `firstcheck.toml`.
    pub section: &'n str,
}

/// One deployment.
///
/// # Errors
/// One that nothing names, or that is named in a way that cannot be read.
pub(in crate::commands) fn one(
    named: Named<'_>,
    target: Option<String>,
    section: SideSection,
    mut asked: AskArgs,
    devices: &[String],
) -> anyhow::Result<Target> {
    let Named { option: name, section: at } = named;
    let Some(text) = target.or_else(|| section.target.clone()) else {
        bail!("no {name}: give --{name} an address or sim:, or write target in [{at}] of firstcheck.toml");
    };
    if let Some(words) = text.trim().strip_prefix("sim:") {
        return simulated(words).with_context(|| format!("cannot simulate {name}"));
    }
    asked.model = asked.model.or_else(|| section.model.clone());
    let mentions = |text: &str| text.contains(DEVICE);
    let anywhere = mentions(&text) || section.start.iter().any(|word| mentions(word));
    if devices.is_empty() && anywhere {
        bail!("{name} names {DEVICE}, and no devices are given: add --devices A,B");
    }
    if !devices.is_empty() && !anywhere && section.start.is_empty() {
        bail!("{name} is one address on both devices: write {DEVICE} where they differ, or leave out --devices");
    }
    let first = devices.first().map_or(DEVICE, String::as_str);
    let address: Result<Address, _> = text.replace(DEVICE, first).parse();
    // The address may hold a password: the error says which, redacted.
    let address = address.with_context(|| format!("--{name} is no address, as http://127.0.0.1:8000, and not sim:"))?;
    let target = settings::target(address, asked)?;
    let hooks = hooks(at, section)?;
    Ok(Target::Server(Box::new(ServerTarget { target, address: text, hooks })))
}

fn simulated(words: &str) -> anyhow::Result<Target> {
    let args = SimTargetArgs::parse_words(words).map_err(|error| anyhow!(error))?;
    let text = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let (deployment, faults) = (deployment(&args.deployment)?, faults(&args.faults())?);
    Ok(Target::Simulated(Box::new(SimulatedTarget { text, deployment, faults })))
}

fn hooks(at: &str, section: SideSection) -> anyhow::Result<Option<Hooks>> {
    let SideSection { start, stop, ready_url: ready, ready_timeout_s, grace_s, env, .. } = section;
    if start.is_empty() {
        if !stop.is_empty() || ready.is_some() {
            bail!("[{at}] has stop or ready_url and no start: what is not started here is not stopped here");
        }
        return Ok(None);
    }
    let time = |key: &str, seconds: Option<f64>, default: Duration| match seconds {
        None => Ok(default),
        Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|error| anyhow!("[{at}] {key}: {error}")),
    };
    Ok(Some(Hooks {
        start,
        stop: (!stop.is_empty()).then_some(stop),
        ready,
        ready_timeout: time("ready_timeout_s", ready_timeout_s, READY_TIMEOUT)?,
        grace: time("grace_s", grace_s, GRACE)?,
        environment: env,
    }))
}

/// A command split at blanks. Quotes would promise a shell that there is not.
///
/// # Errors
/// A command that looks as if it were for a shell.
pub(in crate::commands) fn words(command: &str) -> anyhow::Result<Vec<String>> {
    if command.contains(['\'', '"', '\\', '$', '|', ';', '&', '>', '<']) {
        bail!(
            "`{command}` looks as if it were for a shell, and there is none: write it as a list of words in \
             firstcheck.toml, start = [\"…\", \"…\"], with [\"sh\", \"-c\", \"…\"] where you want one"
        );
    }
    Ok(command.split_whitespace().map(ToOwned::to_owned).collect())
}

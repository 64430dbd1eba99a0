//! A real deployment: at an address, or started there by a command for each run.

use super::process::{PAUSE, Running, end_left, run_hook};
use crate::{error::Error, ledger::Process};
use firstcheck_load::{Stop, Target};
use firstcheck_observe::{Address, Headers, HttpClient, Settings};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fmt,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use xxhash_rust::xxh3::xxh3_64;

/// How long a machine may take to answer whether something listens on a port.
const PROBE: Duration = Duration::from_millis(500);

/// Where the name of a device stands in addresses and commands.
pub const DEVICE: &str = "{device}";

/// A deployment behind HTTP.
#[derive(Debug, Clone)]
pub struct ServerTarget {
    /// How it is asked. Its address is that on the first device.
    pub target: Target,
    /// The address as written, with [`DEVICE`] where the device's name goes.
    pub address: String,
    /// How it is started and stopped, where that is ours to do.
    pub hooks: Option<Hooks>,
}

/// Commands that start and stop a deployment: argument vectors, no shell.
#[derive(Debug, Clone, PartialEq)]
pub struct Hooks {
    /// Starts it, in the foreground.
    pub start: Vec<String>,
    /// Stops it; without one its processes are told to end. They are ended for sure in either case.
    pub stop: Option<Vec<String>>,
    /// Answers with success once it is ready; without one any answer of `/health` will do.
    pub ready: Option<String>,
    /// How long it may take to be ready.
    pub ready_timeout: Duration,
    /// How long its processes may take to end before they are killed.
    pub grace: Duration,
    /// Environment variables of its commands, beside those that this process has.
    pub environment: BTreeMap<String, String>,
}

impl ServerTarget {
    /// The same on a device.
    ///
    /// # Errors
    /// An address that is none with that name in it.
    pub fn on(&self, device: Option<&str>) -> Result<Self, Error> {
        let Some(device) = device else { return Ok(self.clone()) };
        let named = |text: &String| text.replace(DEVICE, device);
        let mut here = self.clone();
        here.target.address = named(&self.address).parse().map_err(Error::Address)?;
        here.hooks = self.hooks.as_ref().map(|hooks| Hooks {
            start: hooks.start.iter().map(named).collect(),
            stop: hooks.stop.as_ref().map(|stop| stop.iter().map(named).collect()),
            ready: hooks.ready.as_ref().map(named),
            environment: hooks.environment.iter().map(|(name, value)| (name.clone(), named(value))).collect(),
            ..*hooks
        });
        Ok(here)
    }

    /// Whether `other` is at the same address and neither is started by a command: then both sides are one server.
    pub fn is_one_with(&self, other: &Self) -> bool {
        let sockets = |address: &Address| -> Vec<SocketAddr> {
            (address.host(), address.port()).to_socket_addrs().map_or_else(|_| Vec::new(), Iterator::collect)
        };
        // A gateway may lead to several deployments by their paths.
        let path = |address: &Address| {
            let text = address.root().to_string();
            text.splitn(4, '/').nth(3).map(ToOwned::to_owned)
        };
        let (ours, theirs) = (&self.target.address, &other.target.address);
        let there = sockets(theirs);
        let same = path(ours) == path(theirs) && sockets(ours).iter().any(|socket| there.contains(socket));
        same && self.hooks.is_none() && other.hooks.is_none()
    }
}

impl fmt::Display for ServerTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hooks {
            // A command may hold a key: its hash tells it from another as well.
            Some(hooks) => {
                let program = hooks.start.first().map_or("", String::as_str);
                let given = hooks.environment.iter().map(|(name, value)| format!("\0{name}={value}"));
                let hash = xxh3_64((hooks.start.join("\0") + &given.collect::<String>()).as_bytes());
                write!(f, "{} started by {program} ({hash:016x})", self.target.address)
            }
            None => write!(f, "{}", self.target.address),
        }
    }
}

/// A deployment that a run is made on, from its start to its end.
#[derive(Debug)]
pub struct Served {
    at: ServerTarget,
    running: Option<Running>,
    log: PathBuf,
    role: String,
    device: Option<String>,
}

impl Served {
    /// Starts it, where that is ours; what it says goes to `log`.
    ///
    /// # Errors
    /// Another server at its address, or a command that cannot be started.
    pub fn start(at: ServerTarget, role: &str, device: Option<&str>, log: &Path) -> Result<Self, Error> {
        let mut served = Self {
            at,
            running: None,
            log: log.to_owned(),
            role: role.to_owned(),
            device: device.map(ToOwned::to_owned),
        };
        if let Some(hooks) = &served.at.hooks {
            port_must_be_free(&served.at.target.address)?;
            if log.exists() {
                std::fs::remove_file(log).map_err(|source| Error::File {
                    action: "remove",
                    path: log.to_owned(),
                    source,
                })?;
            }
            served.running = Some(Running::start(&hooks.start, log, &served.environment())?);
        }
        Ok(served)
    }

    /// Its process, where it is ours.
    pub fn process(&self) -> Option<Process> {
        self.running.as_ref().map(Running::noted)
    }

    /// How it is asked.
    pub fn target(&self) -> &Target {
        &self.at.target
    }

    /// Its log, where it is ours.
    pub fn log(&self) -> Option<&Path> {
        self.running.as_ref().map(|_| self.log.as_path())
    }

    /// Waits until it answers, and sees that it serves the model that is asked for.
    ///
    /// # Errors
    /// It ends or does not get ready, with its last words; it serves another model; `stop` was told.
    pub fn wait_until_ready(&mut self, stop: &Stop) -> Result<(), Error> {
        if let Some(hooks) = self.at.hooks.clone() {
            self.wait(&hooks, stop)?;
        }
        let Some(asked) = &self.at.target.model else { return Ok(()) };
        let served = served_models(&self.at.target)?;
        if !served.is_empty() && !served.contains(asked) {
            let (address, asked) = (self.at.target.address.to_string(), asked.clone());
            return Err(Error::OtherModel { address, asked, served: served.join(", ") });
        }
        Ok(())
    }

    fn wait(&mut self, hooks: &Hooks, stop: &Stop) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let settings = Settings { extra_ca: self.at.target.authorities.clone(), ..Settings::default() };
        let client = HttpClient::new(&settings).map_err(Error::Address)?;
        let address = match &hooks.ready {
            Some(url) => url.parse().map_err(Error::Address)?,
            None => self.at.target.address.root().join("/health"),
        };
        let begun = Instant::now();
        loop {
            if let Some(reason) = stop.reason() {
                return Err(Error::Interrupted { reason });
            }
            let Some(running) = &mut self.running else { return Ok(()) };
            if let Some(status) = running.ended() {
                return Err(Error::ServerEnded { role: self.role.clone(), status, log: running.last_words() });
            }
            let last = match runtime.block_on(client.get(&address, &Headers::default(), "*/*")) {
                Ok(_) => return Ok(()),
                // A server that has no such page, or wants a key for it, is up.
                Err(error) if hooks.ready.is_none() && error.status().is_some_and(|status| status < 500) => {
                    return Ok(());
                }
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > hooks.ready_timeout {
                let (seconds, log) = (hooks.ready_timeout.as_secs(), running.last_words());
                return Err(Error::NotReady { role: self.role.clone(), seconds, last, log });
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Stops it, where it is ours.
    ///
    /// # Errors
    /// A stop command that fails; its processes are ended all the same.
    pub fn stop(mut self) -> Result<(), Error> {
        let (Some(running), Some(hooks)) = (self.running.take(), self.at.hooks.as_ref()) else { return Ok(()) };
        let stopped = match &hooks.stop {
            Some(command) => run_hook(command, &self.log, &self.environment(), hooks.grace),
            None => Ok(()),
        };
        running.stop(hooks.grace);
        stopped
    }

    /// What its commands are told of the run.
    fn environment(&self) -> Vec<(&str, &str)> {
        let device = self.device.as_deref().map(|device| ("FIRSTCHECK_DEVICE", device));
        let given = self.at.hooks.iter().flat_map(|hooks| &hooks.environment);
        let given = given.map(|(name, value)| (name.as_str(), value.as_str()));
        [("FIRSTCHECK_ROLE", self.role.as_str())].into_iter().chain(device).chain(given).collect()
    }
}

/// Ends what an interrupted experiment has left running of a side.
pub fn end_abandoned(process: Process, hooks: &Hooks) {
    end_left(process, hooks.grace);
}

/// Names under which a deployment serves; empty where it does not say.
fn served_models(target: &Target) -> Result<Vec<String>, Error> {
    let identity = firstcheck_load::identify(target)?;
    let page = identity.pages.iter().find(|page| page.name == "models.json");
    let models = page.and_then(|page| serde_json::from_slice::<Value>(&page.bytes).ok());
    let list = models.as_ref().and_then(|models| models["data"].as_array());
    let names = list.into_iter().flatten().filter_map(|model| model["id"].as_str());
    Ok(names.map(ToOwned::to_owned).collect())
}

/// A server that is already there would be measured instead of the one that is started.
fn port_must_be_free(address: &Address) -> Result<(), Error> {
    let sockets = (address.host(), address.port()).to_socket_addrs();
    let sockets = sockets.map_err(|source| Error::Resolve { address: address.to_string(), source })?;
    for socket in sockets {
        if TcpStream::connect_timeout(&socket, PROBE).is_ok() {
            return Err(Error::PortTaken { address: address.to_string() });
        }
    }
    Ok(())
}

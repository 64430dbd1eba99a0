//! A deployment behind HTTP: OpenAI endpoints with SSE, metrics pages, and a clock.
//!
//! **Time.** With a finite [`ServeOptions::time_scale`] a step ends at an absolute moment of real time, so that lateness
//! of the process does not add up: the next step begins where the last one was due to end. Tokens reach the client up
//! to about 1 ms later, the resolution of the runtime's timer. With a scale above 1 everything, the stated times of the
//! metrics page too, is that much faster for a client. With an infinite scale steps take no real time at all: the
//! engine's clock moves by steps alone, its metrics page states that virtual time, and a client's own times mean
//! nothing. Use it to try protocols; a run in virtual time with real arrivals is [`crate::simulate()`].
//!
//! **Several replicas** stand behind one address and the deployment's router. `/metrics` shows another replica at each
//! reading, as a load balancer would; `/replicas/N/metrics` is the page of one.
//!
//! **What is simplified.** A word of the prompt is a token, and so is each generated word. Tokenising takes
//! `frontend_seconds` on the engine's clock whatever it really takes. One choice a request; stop
//! strings are read over.

mod api;
mod connection;
mod core;
mod pace;
mod stream;

use crate::{
    config::EngineConfig,
    deployment::{Deployment, DeploymentError, Phase, fleet::Fleet},
    fault::{self, Fault},
};
use firstcheck_model::run::Arrivals;
use firstcheck_workload::trace::Trace;
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    thread::JoinHandle,
    time::Duration,
};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::oneshot,
};

/// How a simulated engine is served.
#[derive(Debug, Clone, PartialEq)]
pub struct ServeOptions {
    /// Address to listen on. Port 0 takes a free one; [`Server::addr`] tells which.
    pub addr: SocketAddr,
    /// Draws the spread of step times, and request ids.
    pub seed: u64,
    /// Engine seconds a real second; infinite: steps take no real time.
    pub time_scale: f64,
    /// Largest request body, bytes; a larger one is answered with 413.
    pub max_body_bytes: usize,
    /// Most connections at a time; further ones wait to be accepted.
    pub max_connections: usize,
    /// Most bytes of one answer that wait for a slow client; beyond it the request is aborted and its connection
    /// closed.
    pub max_unsent_bytes: usize,
    /// A server that falls further behind its due times than this, in real time, goes on from the present instead of
    /// catching up.
    pub most_behind: Duration,
    /// Whether usage states the cached prompt tokens, as vLLM does with `--enable-prompt-tokens-details`.
    pub prompt_tokens_details: bool,
    /// Whether what the faults need is set up and none of them acts.
    pub healthy: bool,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            seed: 0,
            time_scale: 1.0,
            max_body_bytes: 16 << 20,
            max_connections: 4096,
            max_unsent_bytes: 1 << 20,
            most_behind: Duration::from_millis(100),
            prompt_tokens_details: false,
            healthy: false,
        }
    }
}

/// Why a server cannot start, or did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The deployment would not start.
    #[error(transparent)]
    Deployment(#[from] DeploymentError),
    /// A fault of those who call, whom a server does not have.
    #[error(
        "fault `{fault}` would not act behind HTTP, where whoever calls is somebody else: it needs a whole run in virtual \
         time, with its callers"
    )]
    Callers {
        /// Its name.
        fault: &'static str,
    },
    /// A time scale that is not one.
    #[error("time_scale is {0}, but must be above zero (`inf`: steps take no real time)")]
    TimeScale(f64),
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The thread or its runtime cannot start.
    #[error("cannot start the server's thread: {0}")]
    Start(io::Error),
    /// The thread ended by a panic.
    #[error("the server's thread panicked")]
    Panicked,
}

/// A running server, on a thread of its own. Dropping it shuts it down.
#[derive(Debug)]
pub struct Server {
    addr: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts an engine at rest and listens. Once this returns, connections are accepted.
    ///
    /// # Errors
    /// As [`Self::start_deployment`].
    pub fn start(config: EngineConfig, options: ServeOptions) -> Result<Self, ServeError> {
        Self::start_deployment(&Deployment::single(config), &[], options)
    }

    /// Starts a deployment at rest, with faults that come and go on its clock, and listens. Once this returns,
    /// connections are accepted. What faults do to clients is left out: clients are somebody else.
    ///
    /// # Errors
    /// A deployment that would not start, a fault that others' requests or the client alone bring about, an address that cannot be listened on, a system without another thread to
    /// give.
    pub fn start_deployment(healthy: &Deployment, faults: &[Fault], options: ServeOptions) -> Result<Self, ServeError> {
        if options.time_scale.is_nan() || options.time_scale <= 0.0 {
            return Err(ServeError::TimeScale(options.time_scale));
        }
        let unknown =
            Trace { description: "whoever calls".into(), arrivals: Arrivals::Unknown, items: Vec::new(), salt: None };
        if !options.healthy {
            for fault in faults {
                if !acts_on_server(fault, healthy, &unknown)? {
                    return Err(ServeError::Callers { fault: fault.spec.slug });
                }
            }
        }
        let set_up = if options.healthy { fault::healthy } else { fault::scenario };
        let fleet = Fleet::new(&set_up(healthy, &unknown, faults)?, options.seed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ServeError::Start)?;
        let listen = |source| ServeError::Listen { addr: options.addr, source };
        // The listener registers with the runtime that will poll it.
        let entered = runtime.enter();
        let listener = listen_on(options.addr).map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        drop(entered);
        // Port 0 has become one that the server can tell.
        let options = ServeOptions { addr, ..options };
        let (stop, stopped) = oneshot::channel();
        let serve = move || {
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, connection::serve(fleet, options, listener, stopped));
        };
        let thread = std::thread::Builder::new().name("sim-serve".into()).spawn(serve).map_err(ServeError::Start)?;
        Ok(Self { addr, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Closes all connections and ends the thread.
    ///
    /// # Errors
    /// [`ServeError::Panicked`] if the thread had ended by a panic.
    pub fn shutdown(mut self) -> Result<(), ServeError> {
        self.signal();
        self.join()
    }

    /// Blocks until the server ends, which it does of itself only by a fault.
    ///
    /// # Errors
    /// [`ServeError::Panicked`] if the thread ended by a panic.
    pub fn wait(mut self) -> Result<(), ServeError> {
        self.join()
    }

    fn signal(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error means that the thread has ended already.
            let _ = stop.send(());
        }
    }

    fn join(&mut self) -> Result<(), ServeError> {
        match self.thread.take() {
            Some(thread) => thread.join().map_err(|_| ServeError::Panicked),
            None => Ok(()),
        }
    }
}

/// Whether all that a fault needs happens in the server: it changes the deployment behind the address or what is made of
/// prompts, and nobody else has to send requests for it.
fn acts_on_server(fault: &Fault, healthy: &Deployment, nobody: &Trace) -> Result<bool, DeploymentError> {
    let alone = std::slice::from_ref(fault);
    let (well, sick) = (fault::healthy(healthy, nobody, alone)?, fault::scenario(healthy, nobody, alone)?);
    let renders = |phase: &Phase| phase.renders.len();
    let untouched = well.phases().first().map_or(0, renders);
    let changed = |phase: &Phase| {
        let client = well.deployment().client;
        renders(phase) != untouched || Deployment { client, ..phase.deployment.clone() } != *well.deployment()
    };
    Ok(sick.others().is_empty() && sick.phases().iter().any(changed))
}

/// Connections that the system completes before they are accepted: clients that start all streams at once must not
/// wait for a second SYN.
const BACKLOG: u32 = 4096;

fn listen_on(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    socket.listen(BACKLOG)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal();
        // A panic of the thread has been printed; a destructor cannot pass it on.
        let _ = self.join();
    }
}

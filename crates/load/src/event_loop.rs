//! The thread of one shard, from its first connection to its last row.

use crate::{
    clock::RunClock,
    record::{columns::Columns, journal::Inlet},
    schedule::offer,
    shard::{Common, Shard},
    watch_self::{Watch, heartbeat},
    wire::connection::Connection,
};
use std::{
    collections::BTreeMap,
    io,
    rc::Rc,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, Sender},
    },
};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

/// Connections that an open loop opens before its first send, in all shards together.
const OPEN_LOOP_CONNECTIONS: usize = 16;

/// What a shard leaves behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub watch: Watch,
    pub failures: BTreeMap<String, u64>,
    /// When it had offered all that it would, or was told to stop; nanoseconds on the run's clock.
    pub offered_ns: i64,
}

/// Runs shard `number`: opens connections, says so on `ready`, and begins when `start` brings the clock.
///
/// Without a clock (the run was given up) nothing is offered.
pub(crate) fn run(
    common: Arc<Common>,
    number: usize,
    inlet: Inlet,
    ready: Sender<()>,
    start: &Receiver<RunClock>,
) -> io::Result<Option<Ended>> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let connections = runtime.block_on(connect(&common, number));
    // The run waits for every shard; if it is gone there is nothing to start.
    if ready.send(()).is_err() {
        return Ok(None);
    }
    drop(ready);
    let Ok(clock) = start.recv() else { return Ok(None) };
    begin(runtime, common, number, clock, Columns::new(inlet), connections).map(Some)
}

/// Opens the connections that the first requests will want. One that cannot be opened is the affair of the request that
/// wants it.
async fn connect(common: &Common, number: usize) -> Vec<Connection> {
    let shards = common.options.shards.max(1);
    let wanted = if common.plan.streams > 0 { common.plan.streams } else { OPEN_LOOP_CONNECTIONS };
    let wanted = wanted.min(common.options.limits.in_flight);
    let mut connections = Vec::new();
    for _ in (number..wanted).step_by(shards) {
        match common.peer.connect().await {
            Ok(connection) => connections.push(connection),
            Err(_refused) => break,
        }
    }
    connections
}

fn begin(
    runtime: LocalRuntime,
    common: Arc<Common>,
    number: usize,
    clock: RunClock,
    columns: Columns,
    connections: Vec<Connection>,
) -> io::Result<Ended> {
    let shard = runtime.block_on(async { Shard::new(common, number, clock, columns) })?;
    let shard = Rc::new(shard);
    shard.idle.borrow_mut().extend(connections);
    let offered_ns = runtime.block_on(live(&shard));
    // What is still in flight ends with the runtime, and records itself as cancelled.
    drop(runtime);
    shard.columns.borrow_mut().flush();
    shard.publish();
    Ok(Ended { watch: shard.watch.take(), failures: shard.failures.take(), offered_ns: offered_ns? })
}

/// Offers, measures and waits; gives the moment at which the last request had been offered.
async fn live(shard: &Rc<Shard>) -> io::Result<i64> {
    tokio::select! {
        biased;
        () = shard.common.stop.interrupted() => {}
        error = shard.alarm.drive() => return Err(error),
        () = heartbeat::beat(shard) => {}
        ended = offer_all(shard) => return Ok(ended),
    }
    heartbeat::close_window(shard);
    shard.common.counters.drained.fetch_add(1, Ordering::Relaxed);
    Ok(shard.clock.now_ns())
}

async fn offer_all(shard: &Rc<Shard>) -> i64 {
    shard.alarm.until(0).await;
    let exhausted = offer::offer(shard).await;
    let end_ns = offering_end_ns(shard);
    match end_ns {
        Some(end_ns) => tokio::select! {
            () = shard.alarm.until(end_ns) => {}
            () = offer::quiet(shard), if exhausted => {}
        },
        None => offer::quiet(shard).await,
    }
    let ended_ns = shard.clock.now_ns();
    let ended_ns = end_ns.map_or(ended_ns, |end_ns| ended_ns.min(end_ns));
    heartbeat::close_window(shard);
    shard.common.counters.drained.fetch_add(1, Ordering::Relaxed);
    let drain_ns = i64::try_from(shard.common.options.drain.as_nanos()).unwrap_or(i64::MAX);
    tokio::select! {
        () = shard.alarm.until(ended_ns.saturating_add(drain_ns)) => {}
        () = offer::quiet(shard) => {}
    }
    ended_ns
}

/// When the offering ends by the clock: with the run's duration, or just after the last timed row where there is nothing
/// else. `None`: with the last answer.
fn offering_end_ns(shard: &Shard) -> Option<i64> {
    let last_due = shard.common.plan.last_due().and_then(|due| due.get()).map(|due| due.saturating_add(1));
    let duration = (shard.end_ns != i64::MAX).then_some(shard.end_ns);
    match (duration, last_due) {
        (Some(end), Some(last)) => Some(end.min(last)),
        (end, last) => end.or(last),
    }
}

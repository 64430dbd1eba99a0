//! Offering a plan: the open loop by the clock, the closed loop by its streams, sessions turn by turn.

use crate::{exchange, protocol::request::Rendered, shard::Shard};
use std::{future::Future, pin::Pin, rc::Rc};

/// Offers this shard's part of the plan; returns when no timed row is left (true) or when the next one is due after the
/// run's end (false). Streams and sessions go on as tasks, counted in [`Shard::live`].
///
/// Shard *s* of *n* takes every *n*-th timed row and every *n*-th stream. The followers of a row are offered by the
/// shard that offered the row.
pub(crate) async fn offer(shard: &Rc<Shard>) -> bool {
    let plan = &shard.common.plan;
    let shards = shard.common.options.shards.max(1);
    for stream in (shard.number..plan.streams).step_by(shards) {
        spawn(shard, closed_stream(Rc::clone(shard), stream));
    }
    for (due_ns, row) in plan.timed.iter().copied().skip(shard.number).step_by(shards) {
        if due_ns >= shard.end_ns {
            return false;
        }
        // Rendered ahead of its time, so that the send does not wait for it.
        let Some(rendered) = render(shard, row) else { continue };
        shard.alarm.until(due_ns).await;
        let place = Place::take(shard).await;
        if shard.clock.now_ns() >= shard.end_ns {
            return false;
        }
        spawn(shard, chain(Rc::clone(shard), row, due_ns, Some((rendered, place))));
    }
    true
}

/// One stream of the closed loop: its next request when the last one, with all its turns, has ended.
async fn closed_stream(shard: Rc<Shard>, number: usize) {
    let share = number as f64 / shard.common.plan.streams as f64;
    let mut free_ns = (shard.ramp_ns as f64 * share) as i64;
    shard.alarm.until(free_ns).await;
    while free_ns < shard.end_ns {
        let Some(row) = shard.take_when_free() else { return };
        let Some(rendered) = render(&shard, row) else { continue };
        let place = Place::take(&shard).await;
        chain(Rc::clone(&shard), row, free_ns, Some((rendered, place))).await;
        free_ns = shard.clock.now_ns();
    }
}

/// Performs `row` at `due_ns` and then what follows it, turn by turn. Boxed, because a chain can start others.
fn chain(
    shard: Rc<Shard>,
    row: u32,
    due_ns: i64,
    mut ready: Option<(Rendered, Place)>,
) -> Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(async move {
        let mut next = Some((row, due_ns));
        while let Some((row, due_ns)) = next.take() {
            let (rendered, place) = match ready.take() {
                Some(ready) => ready,
                None if due_ns >= shard.end_ns => return,
                None => {
                    let thinking = Thinking::start(&shard);
                    let Some(rendered) = render(&shard, row) else { return };
                    shard.alarm.until(due_ns).await;
                    drop(thinking);
                    (rendered, Place::take(&shard).await)
                }
            };
            exchange::perform(&shard, row, due_ns, rendered).await;
            drop(place);
            let ended_ns = shard.clock.now_ns();
            for (follower, think_ns) in shard.common.plan.followers(row) {
                let due_ns = ended_ns.saturating_add(think_ns);
                if next.is_none() {
                    next = Some((follower, due_ns));
                } else {
                    spawn(&shard, chain(Rc::clone(&shard), follower, due_ns, None));
                }
            }
        }
    })
}

fn render(shard: &Shard, row: u32) -> Option<Rendered> {
    let common = &shard.common;
    common.trace.items.get(row as usize).map(|offered| common.renderer.render(row, offered))
}

/// Runs `task` on this shard and counts it as live until it ends or is dropped.
fn spawn(shard: &Rc<Shard>, task: impl Future<Output = ()> + 'static) {
    shard.live.set(shard.live.get() + 1);
    let live = Live(Rc::clone(shard));
    tokio::task::spawn_local(async move {
        task.await;
        drop(live);
    });
}

/// Waits until no task of the shard offers or awaits a request.
pub(crate) async fn quiet(shard: &Shard) {
    while shard.live.get() > 0 {
        shard.quiet.notified().await;
    }
}

struct Live(Rc<Shard>);

impl Drop for Live {
    fn drop(&mut self) {
        self.0.live.set(self.0.live.get() - 1);
        if self.0.live.get() == 0 {
            self.0.quiet.notify_one();
        }
    }
}

/// A place among the requests that may be in flight.
struct Place(Rc<Shard>);

impl Place {
    async fn take(shard: &Rc<Shard>) -> Self {
        if let Ok(permit) = shard.permits.acquire().await {
            permit.forget();
        }
        Self(Rc::clone(shard))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.permits.add_permits(1);
    }
}

/// A stream whose user thinks: it is driven although nothing is in flight.
struct Thinking(Rc<Shard>);

impl Thinking {
    fn start(shard: &Rc<Shard>) -> Self {
        shard.thinking.set(shard.thinking.get() + 1);
        Self(Rc::clone(shard))
    }
}

impl Drop for Thinking {
    fn drop(&mut self) {
        self.0.thinking.set(self.0.thinking.get() - 1);
    }
}

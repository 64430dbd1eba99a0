//! Pauses of the engine's process, on three clocks.

use crate::{
    config::{Pause, PauseClock},
    kv_cache::hash::mix,
};

/// Pauses to come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pauses {
    clocks: Vec<Clock>,
}

#[derive(Debug, Clone)]
struct Clock {
    pause: Pause,
    /// When the next one is due, on its clock: nanoseconds, steps, or requests.
    next: f64,
    /// How many there have been.
    count: u64,
}

/// How far the three clocks have come.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clocks {
    pub(crate) now_ns: i64,
    pub(crate) steps: u64,
    pub(crate) requests: u64,
}

impl Pauses {
    /// Pauses that begin to come one period from now.
    pub(crate) fn new(pauses: &[Pause], clocks: Clocks) -> Self {
        let start = |pause: &Pause| match pause.clock {
            PauseClock::Wall(_) => clocks.now_ns as f64,
            PauseClock::Steps(_) => clocks.steps as f64,
            PauseClock::Requests(_) => clocks.requests as f64,
        };
        let clock = |pause: &Pause| {
            let mut clock = Clock { pause: *pause, next: start(pause), count: 0 };
            clock.next += clock.interval();
            clock
        };
        Self { clocks: pauses.iter().map(clock).collect() }
    }

    /// Nanoseconds by which pauses lengthen a step that begins now and would end `length_ns` later. A pause on the wall
    /// that passed while nothing ran held nobody up.
    pub(crate) fn within(&mut self, clocks: Clocks, length_ns: i64) -> i64 {
        let mut paused_ns = 0;
        for clock in &mut self.clocks {
            let reached = match clock.pause.clock {
                PauseClock::Wall(_) => (clocks.now_ns + length_ns) as f64,
                PauseClock::Steps(_) => clocks.steps as f64,
                PauseClock::Requests(_) => clocks.requests as f64,
            };
            while clock.next <= reached {
                let lasts_ns = clock.lasts_ns();
                paused_ns += match clock.pause.clock {
                    PauseClock::Wall(_) => (clock.next as i64 + lasts_ns - clocks.now_ns).clamp(0, lasts_ns),
                    PauseClock::Steps(_) | PauseClock::Requests(_) => lasts_ns,
                };
                clock.count += 1;
                clock.next += clock.interval();
            }
        }
        paused_ns
    }
}

impl Clock {
    fn lasts_ns(&self) -> i64 {
        let seconds = self.pause.seconds + self.pause.growth_seconds * self.count as f64;
        (seconds * 1e9).round() as i64
    }

    /// Distance to the next pause, in the clock's unit.
    fn interval(&self) -> f64 {
        let period = match self.pause.clock {
            PauseClock::Wall(seconds) => seconds * 1e9,
            PauseClock::Steps(every) | PauseClock::Requests(every) => f64::from(every),
        };
        let uniform = (mix(self.count ^ 0x7061_7573) >> 11) as f64 / (1u64 << 53) as f64;
        period * (1.0 + self.pause.jitter * (2.0 * uniform - 1.0)).max(1e-3)
    }
}

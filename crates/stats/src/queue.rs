//! A queue with one server, by its first two moments.

/// Utilisation and spread of a server's work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    /// Arrivals a second.
    pub rate: f64,
    /// Mean service, seconds.
    pub mean: f64,
    /// Mean square of the service, seconds squared.
    pub square: f64,
}

impl Load {
    /// Of `count` services over `seconds`, with their sum and the sum of their squares; `None` without any.
    pub fn of(count: f64, sum: f64, squares: f64, seconds: f64) -> Option<Self> {
        let load = Self { rate: count / seconds, mean: sum / count, square: squares / count };
        let valid = count > 0.0 && seconds > 0.0 && sum > 0.0 && squares.is_finite();
        valid.then_some(load)
    }

    /// Share of time in which the server works: `ρ = λ E[s]`.
    pub fn utilisation(&self) -> f64 {
        self.rate * self.mean
    }

    /// Squared coefficient of variation of the service: 0 where all are alike, 1 for an exponential one.
    pub fn variation(&self) -> f64 {
        (self.square / (self.mean * self.mean) - 1.0).max(0.0)
    }

    /// Mean wait in the queue, for arrivals at random: `W = λ E[s²] / (2 (1 − ρ))` (Pollaczek and Khinchine); `None` from
    /// ρ = 1 on, where the queue has no steady state.
    ///
    /// # Example: half of the time busy, exponential service of 100 ms
    /// ```
    /// use firstcheck_stats::queue::Load;
    /// let load = Load { rate: 5.0, mean: 0.1, square: 0.02 };
    /// assert!((load.mean_wait().unwrap() - 0.1).abs() < 1e-12);
    /// ```
    pub fn mean_wait(&self) -> Option<f64> {
        let idle = 1.0 - self.utilisation();
        (idle > 0.0).then(|| self.rate * self.square / (2.0 * idle))
    }

    /// The utilisation at which a queue of this service would wait `wait` seconds on average, the inverse of
    /// [`Load::mean_wait`] in ρ: near ρ = 1 a small error of ρ is a large one of the wait, so compare these.
    ///
    /// # Example
    /// ```
    /// use firstcheck_stats::queue::Load;
    /// let load = Load { rate: 5.0, mean: 0.1, square: 0.02 };
    /// assert!((load.utilisation_for(0.1) - 0.5).abs() < 1e-12);
    /// ```
    pub fn utilisation_for(&self, wait: f64) -> f64 {
        // W = ρ m / (1 − ρ) with m the mean residual service E[s²] / (2 E[s]).
        let residual = self.square / (2.0 * self.mean);
        wait / (wait + residual)
    }
}

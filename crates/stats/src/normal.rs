//! Standard normal variates by the polar method of Marsaglia.

use rand::{Rng, RngExt};

pub(crate) struct Normal<R> {
    source: R,
    /// The method makes two variates at a time.
    spare: Option<f64>,
}

impl<R: Rng> Normal<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, spare: None }
    }

    pub(crate) fn next(&mut self) -> f64 {
        if let Some(value) = self.spare.take() {
            return value;
        }
        loop {
            let x = 2.0 * self.source.random::<f64>() - 1.0;
            let y = 2.0 * self.source.random::<f64>() - 1.0;
            let r = x * x + y * y;
            if r > 0.0 && r < 1.0 {
                let scale = (-2.0 * r.ln() / r).sqrt();
                self.spare = Some(y * scale);
                return x * scale;
            }
        }
    }
}

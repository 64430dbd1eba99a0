//! The page ledger: what requests that run together will have asked of the KV pool when they end.

use super::{final_pages::FinalPages, kv_pool::KvPool, running::Running};
use crate::side::{Measure, Side};
use firstcheck_model::{
    measurement::{Measurement, Missing, Source},
    unit::{Count, Ratio},
};

/// Running requests at the peak times their final pages, against the pool.
///
/// `over_peak = running at the peak × mean final pages / usable blocks`. Above 1 the pool must overflow if requests of the
/// peak end together; preemptions imply it. The peak is that of the scraped gauge, so a lower bound.
#[derive(Debug, Clone, PartialEq)]
pub struct PageDemand {
    /// Largest number of running requests seen on one replica.
    pub running_peak: Measurement<Count>,
    /// Mean final pages of a request.
    pub pages: f64,
    /// Demand at the peak over the pool.
    pub over_peak: Measurement<Ratio>,
}

impl PageDemand {
    /// Demand at this side's peak over a pool of `blocks` usable blocks.
    pub fn over(&self, blocks: f64) -> f64 {
        self.running_peak.value.0 * self.pages / blocks
    }
}

impl Measure for PageDemand {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let (pool, pages) = (side.measure::<KvPool>()?, side.measure::<FinalPages>()?);
        let running_peak = side.measure::<Running>()?.peak.clone();
        let over = running_peak.value.0 * pages.mean.value.0 / pool.blocks.value.0;
        let source = Source::Derived {
            by: "running at peak × pages at the end / usable blocks".into(),
            from: vec![running_peak.source.clone(), pages.mean.source.clone(), pool.blocks.source.clone()],
        };
        let over_peak = Measurement { value: Ratio(over), interval: None, n: pages.mean.n, source };
        Ok(Self { running_peak, pages: pages.mean.value.0, over_peak })
    }
}

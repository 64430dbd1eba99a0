//! The KV pool of one replica.

use crate::side::{Measure, Side};
use firstcheck_model::{
    evidence::RunEvidence,
    fingerprint::field,
    measurement::{Measurement, Missing, Source},
    moment::Moment,
    signal::{Part, Signal},
    unit::{Count, Tokens},
};

/// Blocks that requests can hold, and their size. Block 0 of vLLM's pool is the null block and holds nothing, so
/// usable = `num_gpu_blocks` − 1 (vllm/v1/core/block_pool.py).
#[derive(Debug, Clone, PartialEq)]
pub struct KvPool {
    /// Usable blocks of one replica.
    pub blocks: Measurement<Count>,
    /// Tokens a block.
    pub block_size: f64,
    /// Tokens that fit.
    pub tokens: Measurement<Tokens>,
}

impl Measure for KvPool {
    fn take(side: &Side<'_>) -> Result<Self, Missing> {
        let stated: Vec<(f64, f64, Source)> = side.evidence.runs.iter().filter_map(stated).collect();
        let Some((total, block_size, source)) = stated.first().cloned() else {
            return Err(Missing::not_exposed(
                "number and size of KV blocks",
                "a page with vllm:cache_config_info, or the start-up log line `GPU KV cache size`",
            ));
        };
        if let Some((other, ..)) = stated.iter().find(|(blocks, size, _)| *blocks != total || *size != block_size) {
            return Err(Missing::not_exposed(
                format!("one KV pool: runs of this side state {total} and {other} blocks"),
                "give runs of one deployment a side",
            ));
        }
        let n = stated.len() as u64;
        let usable = total - 1.0;
        Ok(Self {
            blocks: Measurement { value: Count(usable), interval: None, n, source: source.clone() },
            block_size,
            tokens: Measurement { value: Tokens(usable * block_size), interval: None, n, source },
        })
    }
}

fn stated(run: &RunEvidence) -> Option<(f64, f64, Source)> {
    let print = &run.info.fingerprint;
    if let (Some(blocks), Some(size)) = (print.number(field::KV_BLOCKS), print.number(field::KV_BLOCK_SIZE)) {
        let source = Source::Run { run: run.info.id.clone(), field: format!("fingerprint.{}", field::KV_BLOCKS) };
        return valid(blocks, size).map(|(b, s)| (b, s, source));
    }
    run.series(Signal::CacheConfig, Part::Value).find_map(|series| {
        let blocks = series.labels.get("num_gpu_blocks")?.parse().ok()?;
        let size = series.labels.get("block_size")?.parse().ok()?;
        let source = Source::Series {
            run: run.info.id.clone(),
            name: series.name.clone(),
            labels: series.labels.render(),
            from_ns: series.at.first().copied().unwrap_or(Moment::NEVER),
            to_ns: series.at.last().copied().unwrap_or(Moment::NEVER),
        };
        valid(blocks, size).map(|(b, s)| (b, s, source))
    })
}

fn valid(blocks: f64, size: f64) -> Option<(f64, f64)> {
    (blocks > 1.0 && size >= 1.0).then_some((blocks, size))
}

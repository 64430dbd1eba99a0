//! LMCache inside an engine, to 0.5.
//!
//! Where the engine counts look-ups behind its own cache itself, LMCache's counters of the same give way to the engine's.
//! Left out: times of a backend in milliseconds that other names give in seconds, and hit rates of the last interval.

use super::{Entry, counter, histogram, old};
use firstcheck_model::signal::Signal;

pub(super) const FAMILIES: &[Entry] = &[
    old(counter("lmcache:num_lookup_tokens_total", Signal::ExternalQueries)),
    old(counter("lmcache:num_lookup_hits_total", Signal::ExternalHits)),
    counter("lmcache:num_hit_tokens_total", Signal::KvLoadedTokens),
    counter("lmcache:num_stored_tokens_total", Signal::KvStoredTokens),
    counter("lmcache:num_remote_read_bytes_total", Signal::KvLoadedBytes),
    counter("lmcache:num_remote_write_bytes_total", Signal::KvStoredBytes),
    histogram("lmcache:time_to_retrieve", Signal::KvLoadTime),
    histogram("lmcache:time_to_store", Signal::KvStoreTime),
];

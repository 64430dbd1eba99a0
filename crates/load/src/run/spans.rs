//! Spans that services export to a run while it goes on.

use crate::{
    options::Spans,
    record::journal::{Batch, Inlet},
    stop::Stop,
};
use firstcheck_observe::otlp::{Receiver, Tally};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Rows that may wait for the disk before exporters are told to come back later.
const WAITING: usize = 1 << 18;
/// Between two looks at whether the run was told to end.
const LOOK: Duration = Duration::from_millis(50);

/// A run that listens. Dropping it ends that, so that no inlet outlives the journal.
pub(super) struct Hearing {
    receiver: Arc<Receiver>,
    late: Duration,
}

impl Hearing {
    /// Has the spans of every export written.
    pub fn start(spans: &Spans, inlet: Inlet) -> Self {
        spans.receiver.listen(move |traces| {
            let room = inlet.waiting() < WAITING;
            if room {
                inlet.send(Batch { traces, ..Batch::default() });
            }
            room
        });
        Self { receiver: Arc::clone(&spans.receiver), late: spans.late }
    }

    /// Waits for late exports, unless the run was told to end, and tells what came.
    pub fn end(self, stop: &Stop) -> Tally {
        let began = Instant::now();
        while !stop.is_told()
            && let Some(left) = self.late.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
        {
            std::thread::sleep(left.min(LOOK));
        }
        self.receiver.pause()
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        // What came has been told by `end`, or the run failed.
        drop(self.receiver.pause());
    }
}

/// What a reader of the run should know of its spans.
pub(super) fn warnings(spans: &Spans, tally: &Tally) -> Vec<String> {
    let mut said = Vec::new();
    if tally.exports == 0 {
        said.push(format!(
            "no span was exported to {}: start the engine with --otlp-traces-endpoint and \
             OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf",
            spans.receiver.url()
        ));
    }
    if tally.refused > 0 {
        let why = tally.last_refusal.as_deref().unwrap_or("no reason is known");
        said.push(format!("{} exports of spans were refused, the last because: {why}", tally.refused));
    }
    if tally.beyond_limit > 0 {
        said.push(format!("{} spans were not kept: too many for one run", tally.beyond_limit));
    }
    said
}

//! How much an input may expand to.
//!
//! A compressed gigabyte of repeated pages is a few hundred kilobytes, so a high ratio alone is no attack: up to
//! [`Limits::expanded_free_bytes`] nothing is asked, beyond it the ratio counts, and there is a bound in any case. The
//! bounds hold for all layers and entries of an input together.

use crate::{Limits, guarded::caught};
use std::{
    cell::Cell,
    io::{self, Read},
    path::Path,
    rc::Rc,
    sync::Arc,
};

/// Bytes that an input had, and bytes that its layers made of them.
#[derive(Clone)]
pub(crate) struct Budget {
    taken: Rc<Cell<u64>>,
    expanded: Rc<Cell<u64>>,
    limits: Limits,
    watched: Option<Watched>,
}

/// Called while an input is read: which one, and how many bytes of it were taken.
/// Files of a folder are read side by side, so calls may come from several threads.
pub type Watch = Arc<dyn Fn(&Path, u64) + Send + Sync>;

/// An input with who watches it.
#[derive(Clone)]
struct Watched {
    path: Rc<Path>,
    watch: Watch,
    /// Bytes at which the watcher is told again.
    next: Rc<Cell<u64>>,
}

/// Bytes between two calls of the watcher.
const STEP: u64 = 4 << 20;

impl Budget {
    /// That of one input.
    pub(crate) fn new(limits: &Limits, path: &Path, watch: Option<&Watch>) -> Self {
        let watched = watch.map(|watch| Watched { path: path.into(), watch: Arc::clone(watch), next: Rc::default() });
        Self { taken: Rc::default(), expanded: Rc::default(), limits: *limits, watched }
    }

    /// The input itself, counted.
    pub(crate) fn input<R: Read>(&self, source: R) -> Input<R> {
        Input { source, budget: self.clone() }
    }

    /// What a layer makes of it, bounded.
    pub(crate) fn expanded<R: Read>(&self, source: R) -> Expanded<R> {
        Expanded { source, budget: self.clone() }
    }

    /// Counts bytes of an input that is not read through [`Budget::input`].
    pub(crate) fn take(&self, bytes: u64) {
        let taken = self.taken.get().saturating_add(bytes);
        self.taken.set(taken);
        if let Some(watched) = &self.watched
            && taken >= watched.next.get()
        {
            watched.next.set(taken.saturating_add(STEP));
            (watched.watch)(&watched.path, taken);
        }
    }

    fn check(&self) -> io::Result<()> {
        let (expanded, taken, limits) = (self.expanded.get(), self.taken.get().max(1), &self.limits);
        if expanded > limits.expanded_bytes {
            let limit = limits.expanded_bytes;
            return Err(io::Error::other(format!(
                "it expands to more than {limit} bytes: unpack what is needed of it"
            )));
        }
        if expanded > limits.expanded_free_bytes && expanded / taken > limits.expansion {
            return Err(io::Error::other(format!(
                "it expands more than {} times (to {expanded} bytes so far): if that is meant, unpack it and give what \
                 is in it",
                limits.expansion
            )));
        }
        Ok(())
    }
}

/// An input whose bytes are counted.
pub(crate) struct Input<R> {
    source: R,
    budget: Budget,
}

impl<R: Read> Read for Input<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into)?;
        self.budget.take(read as u64);
        Ok(read)
    }
}

/// What a layer makes of its input.
pub(crate) struct Expanded<R> {
    source: R,
    budget: Budget,
}

impl<R: Read> Read for Expanded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.budget.check()?;
        let read = caught(|| self.source.read(into)).map_err(io::Error::other)??;
        self.budget.expanded.set(self.budget.expanded.get().saturating_add(read as u64));
        Ok(read)
    }
}

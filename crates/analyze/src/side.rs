//! One side with its measurements, each taken once whoever asks.

use crate::{settings::Settings, shared::Shared};
use firstcheck_model::{evidence::Evidence, measurement::Missing};
use std::{
    any::{Any, TypeId},
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A measurement is a type: it says how it is taken from a side.
pub trait Measure: Sized + Send + Sync + 'static {
    /// Takes the measurement.
    ///
    /// # Errors
    /// [`Missing`] names what the evidence lacks.
    fn take(side: &Side<'_>) -> Result<Self, Missing>;
}

type Taken = Result<Arc<dyn Any + Send + Sync>, Missing>;

/// Evidence of one side and the measurements taken of it so far.
///
/// # Example: a measurement is taken once
/// ```
/// use firstcheck_analyze::side::{Measure, Side};
/// use firstcheck_model::{evidence::Evidence, measurement::Missing};
///
/// struct Runs(usize);
/// impl Measure for Runs {
///     fn take(side: &Side<'_>) -> Result<Self, Missing> {
///         Ok(Self(side.evidence.runs.len()))
///     }
/// }
///
/// let evidence = Evidence::default();
/// let side = Side::new(&evidence);
/// assert_eq!(side.measure::<Runs>().unwrap().0, 0);
/// assert!(std::sync::Arc::ptr_eq(&side.measure::<Runs>().unwrap(), &side.measure::<Runs>().unwrap()));
/// ```
pub struct Side<'e> {
    /// What is known of it.
    pub evidence: &'e Evidence,
    /// Shared thresholds as configured.
    settings: Cow<'e, Settings>,
    memo: Mutex<HashMap<TypeId, Taken>>,
}

impl<'e> Side<'e> {
    /// A side of which nothing was measured yet, with every shared threshold at its default.
    pub fn new(evidence: &'e Evidence) -> Self {
        Self { evidence, settings: Cow::default(), memo: Mutex::default() }
    }

    /// The same with thresholds as configured.
    pub fn with(evidence: &'e Evidence, settings: &'e Settings) -> Self {
        Self { evidence, settings: Cow::Borrowed(settings), memo: Mutex::default() }
    }

    /// The value in force of a shared threshold.
    pub fn threshold(&self, shared: &Shared) -> f64 {
        self.settings.shared(shared)
    }

    /// The measurement `M`, taken now or earlier.
    ///
    /// # Errors
    /// What the evidence lacks for it.
    pub fn measure<M: Measure>(&self) -> Result<Arc<M>, Missing> {
        let known = self.lock().get(&TypeId::of::<M>()).cloned();
        let taken = match known {
            Some(taken) => taken,
            None => {
                // Taken unlocked, since a measurement may ask for others; of two that race, the first stays.
                let taken = M::take(self).map(|m| Arc::new(m) as Arc<dyn Any + Send + Sync>);
                self.lock().entry(TypeId::of::<M>()).or_insert(taken).clone()
            }
        };
        taken.and_then(|any| any.downcast::<M>().map_err(|_| unreachable_type::<M>()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TypeId, Taken>> {
        self.memo.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memo stores each value under its own type, so this is never built; it stands in for a panic.
fn unreachable_type<M>() -> Missing {
    Missing::not_exposed(std::any::type_name::<M>(), "report this: a measurement was stored under another's type")
}

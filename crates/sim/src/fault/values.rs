//! How much of a fault.

use super::{FaultError, FaultSpec, Severity};

/// The parameters of a fault with their values, in the order of its declaration.
#[derive(Debug, Clone, PartialEq)]
pub struct Values(Vec<(&'static str, f64)>);

impl Values {
    /// The defaults at a severity.
    pub fn of(spec: &FaultSpec, severity: Severity) -> Self {
        Self(spec.params.iter().map(|param| (param.name, param.default_at(severity))).collect())
    }

    /// The value of a parameter that the fault declares.
    ///
    /// Asked for a name that it does not declare, this is 0 in a release build, and fails where debug assertions are
    /// on: the names are constants of the catalogue, whose test applies every fault.
    pub fn get(&self, name: &str) -> f64 {
        let value = self.0.iter().find(|(own, _)| *own == name).map(|(_, value)| *value);
        debug_assert!(value.is_some(), "the fault declares no parameter `{name}`");
        value.unwrap_or(0.0)
    }

    /// A value as a whole number.
    pub fn count(&self, name: &str) -> u32 {
        self.get(name).round().clamp(0.0, f64::from(u32::MAX)) as u32
    }

    /// Sets a value.
    ///
    /// # Errors
    /// A parameter that `spec` does not declare, or a value outside its range.
    pub fn set(&mut self, spec: &'static FaultSpec, name: &str, value: f64) -> Result<(), FaultError> {
        let place = spec.params.iter().position(|param| param.name == name);
        let (Some(param), Some(slot)) =
            (place.and_then(|at| spec.params.get(at)), place.and_then(|at| self.0.get_mut(at)))
        else {
            return Err(FaultError::unknown_param(spec, name));
        };
        let [least, most] = param.range;
        // A value that is not a number lies in no range.
        if !(least..=most).contains(&value) {
            return Err(FaultError::OutOfRange { slug: spec.slug, name: param.name, value, least, most });
        }
        slot.1 = value;
        Ok(())
    }

    /// Names with their values.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.0.iter().copied()
    }
}

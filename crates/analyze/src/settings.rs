//! Parameters of checks as configured: `[check.<slug>]` sections of `firstcheck.toml`.

use crate::{
    declare::Param,
    registry,
    shared::{SHARED, Shared},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Configured parameters: slug → parameter → value. What is not configured has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(pub BTreeMap<String, BTreeMap<String, f64>>);

/// A section or parameter that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownSetting {
    /// No check has that slug.
    #[error("no check `{slug}`{}", did_you_mean(.suggestion))]
    Check {
        /// As written.
        slug: String,
        /// The nearest slug that exists.
        suggestion: Option<String>,
    },
    /// The check has no such parameter.
    #[error("check `{slug}` has no parameter `{parameter}`{}", did_you_mean(.suggestion))]
    Parameter {
        /// The check.
        slug: String,
        /// As written.
        parameter: String,
        /// The nearest parameter that exists.
        suggestion: Option<String>,
    },
    /// A value that is no finite number.
    #[error("`{parameter}` of check `{slug}` is not a finite number")]
    NotFinite {
        /// The check.
        slug: String,
        /// The parameter.
        parameter: String,
    },
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|s| format!("; did you mean `{s}`?")).unwrap_or_default()
}

impl Settings {
    /// The value in force of a parameter.
    pub fn value(&self, slug: &str, parameter: &str, default: f64) -> f64 {
        self.0.get(slug).and_then(|section| section.get(parameter)).copied().unwrap_or(default)
    }

    /// The value in force of a shared threshold.
    pub fn shared(&self, shared: &Shared) -> f64 {
        self.value(shared.section, shared.param.name, shared.param.default)
    }

    /// Checks that every section and parameter exists.
    ///
    /// # Errors
    /// The first that does not, with the nearest that does.
    pub fn validate(&self) -> Result<(), UnknownSetting> {
        for (slug, section) in &self.0 {
            let params: Vec<&Param> = parameters().filter(|(of, _)| of == slug).map(|(_, param)| param).collect();
            if params.is_empty() && registry::by_slug(slug).is_none() {
                let suggestion = nearest(slug, parameters().map(|(section, _)| section));
                return Err(UnknownSetting::Check { slug: slug.clone(), suggestion });
            }
            for (parameter, value) in section {
                if !params.iter().any(|p| p.name == parameter) {
                    let suggestion = nearest(parameter, params.iter().map(|p| p.name));
                    return Err(UnknownSetting::Parameter {
                        slug: slug.clone(),
                        parameter: parameter.clone(),
                        suggestion,
                    });
                }
                if !value.is_finite() {
                    return Err(UnknownSetting::NotFinite { slug: slug.clone(), parameter: parameter.clone() });
                }
            }
        }
        Ok(())
    }
}

/// Every parameter there is, with its section: those of the checks, then the shared ones.
pub fn parameters() -> impl Iterator<Item = (&'static str, &'static Param)> {
    let checks = registry::CHECKS.iter().flat_map(|check| check.params.iter().map(|param| (check.slug, param)));
    checks.chain(SHARED.iter().map(|shared| (shared.section, &shared.param)))
}

/// The name nearest to `word`, if any is near: at most a third of it to change, two letters in each other's place counting
/// as one change.
pub fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let best = names.map(|name| (strsim::osa_distance(word, name), name)).min()?;
    (best.0 <= (word.chars().count() / 3).max(1)).then(|| best.1.to_owned())
}

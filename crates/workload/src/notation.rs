//! The small notation that distributions, arrivals and prefixes share: `name:value,key=value`.

use crate::error::ParseError;

/// Arguments after the colon; each is taken once, and what is left over is an error.
pub(crate) struct Arguments<'a> {
    /// The whole text, for errors.
    text: &'a str,
    /// Key, if named, and value of those not yet taken.
    left: Vec<(Option<&'a str>, &'a str)>,
}

impl<'a> Arguments<'a> {
    /// Splits `arguments` (of `text`) at commas and equal signs.
    pub(crate) fn parse(text: &'a str, arguments: &'a str) -> Self {
        let left = arguments
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(|part| match part.split_once('=') {
                Some((key, value)) => (Some(key.trim()), value.trim()),
                None => (None, part),
            })
            .collect();
        Self { text, left }
    }

    /// Takes the argument of that name.
    pub(crate) fn named(&mut self, name: &str) -> Option<&'a str> {
        let at = self.left.iter().position(|(key, _)| *key == Some(name))?;
        Some(self.left.remove(at).1)
    }

    /// Takes the argument of that name, or else the first without a name.
    pub(crate) fn named_or_next(&mut self, name: &str) -> Option<&'a str> {
        self.named(name).or_else(|| {
            let at = self.left.iter().position(|(key, _)| key.is_none())?;
            Some(self.left.remove(at).1)
        })
    }

    /// Fails when an argument was not taken.
    pub(crate) fn finish(self, expected: &str) -> Result<(), ParseError> {
        match self.left.first() {
            None => Ok(()),
            Some((Some(key), value)) => {
                Err(ParseError::new(self.text, format!("`{key}={value}` does not belong here: expected {expected}")))
            }
            Some((None, value)) => {
                Err(ParseError::new(self.text, format!("`{value}` is one too many: expected {expected}")))
            }
        }
    }
}

/// Reads a finite number that `fits`; `what` says what was expected.
pub(crate) fn number(
    text: &str,
    value: Option<&str>,
    what: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<f64, ParseError> {
    let value = value.ok_or_else(|| ParseError::new(text, format!("{what} is missing")))?;
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() && fits(number) => Ok(number),
        _ => Err(ParseError::new(text, format!("`{value}` is no {what}"))),
    }
}

/// Reads a whole number within `from..=to`; `what` says what was expected.
pub(crate) fn whole(text: &str, value: Option<&str>, what: &str, from: u32, to: u32) -> Result<u32, ParseError> {
    let value = value.ok_or_else(|| ParseError::new(text, format!("{what} is missing")))?;
    match value.parse::<u32>() {
        Ok(number) if (from..=to).contains(&number) => Ok(number),
        _ => Err(ParseError::new(text, format!("`{value}` is no {what}: a whole number from {from} to {to}"))),
    }
}

/// Serialises a type as its text form and reads it back through `FromStr`.
macro_rules! as_text {
    ($type:ty) => {
        impl TryFrom<String> for $type {
            type Error = crate::error::ParseError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> Self {
                value.to_string()
            }
        }
    };
}
pub(crate) use as_text;

//! Headers of the caller, keys among them.

use crate::error::{Error, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use std::fmt;

/// Headers to send to one address. Their values are never shown.
#[derive(Clone, Default)]
pub struct Headers(HeaderMap);

impl Headers {
    /// Adds `name: value`.
    ///
    /// # Errors
    /// [`Error::Header`] when HTTP has no such name or value.
    pub fn add(mut self, name: &str, value: &str) -> Result<Self> {
        let refuse = |why| Error::Header { name: name.into(), why };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse("it is no header name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| refuse("its value holds a control character"))?;
        value.set_sensitive(true);
        self.0.append(parsed, value);
        Ok(self)
    }

    /// Adds a header written as `Name: value`.
    ///
    /// # Errors
    /// [`Error::Header`]; the line itself is not quoted, for it may hold a key.
    pub fn parse(self, line: &str) -> Result<Self> {
        let Some((name, value)) = line.split_once(':') else {
            return Err(Error::Header { name: "…".into(), why: "write it as `Name: value`" });
        };
        self.add(name.trim(), value.trim())
    }

    /// Adds `Authorization: Bearer key`.
    ///
    /// # Errors
    /// [`Error::Header`] when the key holds a control character.
    pub fn bearer(self, key: &str) -> Result<Self> {
        self.add(AUTHORIZATION.as_str(), &format!("Bearer {key}"))
    }

    /// Adds `Authorization: Basic …` of `user:password`.
    ///
    /// # Errors
    /// [`Error::Header`] when no colon stands between them.
    pub fn basic(self, user_and_password: &str) -> Result<Self> {
        if !user_and_password.contains(':') {
            return Err(Error::Header {
                name: AUTHORIZATION.to_string(),
                why: "write user and password as `USER:PASSWORD`",
            });
        }
        self.add(AUTHORIZATION.as_str(), &format!("Basic {}", STANDARD.encode(user_and_password)))
    }

    pub(crate) fn map(&self) -> &HeaderMap {
        &self.0
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

//! Releases of an engine, and what changed with them.

use std::fmt;

/// A release: the first three numbers of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version([u32; 3]);

impl Version {
    /// The release of those numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self([major, minor, patch])
    }

    /// Reads `0.32.0`, `v0.10.1.1`, `0.6.6.post1`, `0.29.1rc1.dev339`: what follows the third number is ignored, a
    /// number that is missing is 0. `None` when it does not start with a number.
    pub fn read(text: &str) -> Option<Self> {
        let mut numbers = [0; 3];
        let mut parts = text.strip_prefix('v').unwrap_or(text).split('.');
        for (place, number) in numbers.iter_mut().enumerate() {
            let part = parts.next().unwrap_or_default();
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            match part.get(..digits).and_then(|digits| digits.parse().ok()) {
                Some(read) => *number = read,
                None if place == 0 => return None,
                None => break,
            }
        }
        Some(Self(numbers))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

//! A file beside a recording.

/// A file as an engine, a tool or a client would have written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name, as `server-replica-0.log`.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

impl Attachment {
    /// A file of text.
    pub fn text(name: impl Into<String>, text: String) -> Self {
        Self { name: name.into(), content: text.into_bytes() }
    }
}

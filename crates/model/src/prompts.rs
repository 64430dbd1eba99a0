//! Prompts as a user hands them over, to be compared with each other. They never enter a report as they are.

/// Prompts of one side, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompts {
    /// As text: what the client wrote, or what the server's template made of it.
    Text(Vec<String>),
    /// As ids of tokens: what the engine saw.
    Tokens(Vec<Vec<u32>>),
}

impl Prompts {
    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(texts) => texts.len(),
            Self::Tokens(lists) => lists.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

//! What some requests ask for besides tokens.

/// What a request asks for besides tokens. Its default asks for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Features {
    /// Kind of content, as far as drafts guess it differently well; 0 where it does not matter.
    pub class: u32,
    /// Rank in the queue under the priority policy: the smallest first.
    pub priority: i32,
    /// The schema to which the answer is held.
    pub schema: Option<u64>,
    /// Images at the start of the prompt, whose tokens are among the prompt's.
    pub images: Option<Images>,
    /// Salt of the prefix cache: only requests with the same salt find one another's blocks. 0: none.
    pub cache_salt: u64,
    /// Leading tokens of the prompt whose KV another engine has computed and sent; 0: none.
    pub transferred_tokens: u32,
}

/// Images of one size at the start of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Images {
    /// How many.
    pub count: u32,
    /// Prompt tokens each.
    pub tokens: u32,
    /// Identity of the first; those that follow count up from it. Equal identities are encoded once.
    pub first: u64,
}

impl Images {
    /// Prompt tokens of all.
    pub fn total_tokens(&self) -> u32 {
        self.count.saturating_mul(self.tokens)
    }
}

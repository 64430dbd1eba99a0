//! Prompts as a user hands them over, to be compared with each other. They never enter a report as they are.

/// Prompts of one side, in the order in which they were sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    /// The prompts.
    pub content: Content,
    /// Namespace of the prefix cache (`cache_salt`) in which each is looked up, numbered as they come; `None` in it: that
    /// of all. `None`: not told.
    pub namespaces: Option<Vec<Option<u32>>>,
    /// Row of the run that each belongs to. `None`: not told.
    pub requests: Option<Vec<u32>>,
}

/// What prompts consist of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Text: what the client wrote, or what the server's template made of it.
    Text(Vec<String>),
    /// Ids of tokens: what the engine saw.
    Tokens(Vec<Vec<u32>>),
}

impl From<Content> for Prompts {
    fn from(content: Content) -> Self {
        Self { content, namespaces: None, requests: None }
    }
}

impl Prompts {
    /// How many.
    pub fn len(&self) -> usize {
        match &self.content {
            Content::Text(texts) => texts.len(),
            Content::Tokens(lists) => lists.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Those whose row is `kept`; none where rows are not told.
    pub fn of_requests(&self, kept: impl Fn(u32) -> bool) -> Self {
        let of = |at: usize| self.requests.as_ref().and_then(|rows| rows.get(at)).is_some_and(|row| kept(*row));
        let content = match &self.content {
            Content::Text(texts) => Content::Text(those(texts, &of)),
            Content::Tokens(lists) => Content::Tokens(those(lists, &of)),
        };
        let namespaces = self.namespaces.as_ref().map(|all| those(all, &of));
        Self { content, namespaces, requests: self.requests.as_ref().map(|all| those(all, &of)) }
    }
}

fn those<T: Clone>(all: &[T], of: &impl Fn(usize) -> bool) -> Vec<T> {
    all.iter().enumerate().filter(|(at, _)| of(*at)).map(|(_, one)| one.clone()).collect()
}

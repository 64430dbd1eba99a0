//! What the client sent in confidence, taken out of what a server says before it is recorded.

use crate::options::Target;

/// Header values shorter than this are words (`true`, `eu-1`), not secrets, and would make error texts unreadable.
const SHORTEST_VALUE: usize = 8;

/// The key and the values of the extra headers.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Those of `target`, longest first: one may be a part of another (`Bearer KEY`).
    pub fn of(target: &Target) -> Self {
        let key = target.key.iter().map(|key| key.reveal().to_owned());
        let values = target.headers.iter().map(|(_, value)| value.trim().to_owned());
        let mut secrets: Vec<String> = key.chain(values.filter(|value| value.len() >= SHORTEST_VALUE)).collect();
        let bare: Vec<String> = secrets.iter().filter_map(|s| Some(s.split_once(' ')?.1.trim().to_owned())).collect();
        secrets.extend(bare.into_iter().filter(|value| value.len() >= SHORTEST_VALUE));
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self(secrets)
    }

    /// `text` without them: a server may repeat a key in its error.
    pub fn conceal(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), "(redacted)") } else { text }
        })
    }
}

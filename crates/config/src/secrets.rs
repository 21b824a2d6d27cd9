//! Known keys, found in text that no process or user is to see them in.

use contract::secret::Secret;

/// A shorter value is not a key, and could be in any text.
const SHORTEST: usize = 8;
/// A value of at least this length is also found inside of other text.
const UNMISTAKABLE: usize = 16;

pub struct Secrets {
    variables: Vec<Secret<String>>,
    /// From the configuration, credentials files and server descriptions.
    configured: Vec<Secret<String>>,
}

impl Secrets {
    /// The values of environment variables, and values that are configured elsewhere.
    pub fn new(
        variables: impl Iterator<Item = String>,
        configured: impl Iterator<Item = String>,
    ) -> Self {
        // The key alone is redacted as well as `Bearer key`.
        let configured = configured.flat_map(|value| {
            let last = value.rsplit_once(' ').map(|(_, last)| last.to_owned());
            last.into_iter().chain([value])
        });
        let is_key = |value: &String| value.len() >= SHORTEST;
        Self {
            variables: variables.filter(is_key).map(Secret::new).collect(),
            configured: configured.filter(is_key).map(Secret::new).collect(),
        }
    }

    pub fn redacted(&self, text: &str) -> String {
        let keys = self.variables.iter().chain(&self.configured).map(Secret::expose);
        keys.fold(text.to_owned(), |text, key| text.replace(key.as_str(), "[REDACTED]"))
    }

    /// Returns true if a text has one of them.
    pub fn are_in(&self, text: &str) -> bool {
        let is_word = |key: &str| {
            text == key || text.split([' ', ':', ';', ',', '=']).any(|word| word == key)
        };
        self.variables.iter().any(|key| text.contains(key.expose().as_str()))
            || self.configured.iter().map(Secret::expose).any(|key| {
                is_word(key) || (key.len() >= UNMISTAKABLE && text.contains(key.as_str()))
            })
    }
}

//! All known keys, so that no process gets one by accident.

use config::redact;
use contract::secret::Secret;
use providers::key;

use crate::assemble::assembly::Assembly;
use crate::assemble::mcp;

/// A shorter value is not a key, and could be in any text.
const SHORTEST: usize = 8;
/// A value of at least this length is also found inside of other text.
const UNMISTAKABLE: usize = 16;

pub(crate) struct Secrets {
    variables: Vec<Secret<String>>,
    /// From the configuration, credentials files and server descriptions.
    configured: Vec<Secret<String>>,
}

impl Secrets {
    pub(crate) fn of(assembly: &Assembly) -> Self {
        let own = assembly.environment.variables.iter();
        let own = own.filter(|(name, _)| redact::is_secret(name)).map(|(_, value)| value.clone());
        let files = assembly.loaded.env_file_variables.iter();
        let files = files.filter(|(name, _)| redact::is_secret(name));
        let files = files.map(|(_, value)| value.expose().clone());
        let stored = assembly.stored_keys.values().map(|key| key.expose().clone());
        let instances = assembly.config().providers.instances.values();
        let credentials = instances.filter_map(|instance| instance.credentials_path.as_deref());
        // An unreadable file is reported when its key is needed.
        let credentials = credentials.filter_map(|path| key::in_file(path).ok());
        let servers = mcp::own_sources(assembly).into_iter();
        let servers = servers.flat_map(|source| redact::secrets_in(source.document));
        let configured = assembly.loaded.secrets().into_iter().chain(credentials).chain(servers);
        // The key alone is redacted as well as `Bearer key`.
        let mut configured = configured.flat_map(|value| {
            let last = value.rsplit_once(' ').map(|(_, last)| last.to_owned());
            last.into_iter().chain([value])
        });
        let keys = |values: &mut dyn Iterator<Item = String>| {
            values.filter(|value| value.len() >= SHORTEST).map(Secret::new).collect()
        };
        Self {
            variables: keys(&mut own.chain(files).chain(stored)),
            configured: keys(&mut configured),
        }
    }

    pub(crate) fn redacted(&self, text: &str) -> String {
        let keys = self.variables.iter().chain(&self.configured).map(Secret::expose);
        keys.fold(text.to_owned(), |text, key| text.replace(key.as_str(), "[REDACTED]"))
    }

    /// Returns true if a text has one of them.
    pub(crate) fn are_in(&self, text: &str) -> bool {
        let is_word = |key: &str| {
            text == key || text.split([' ', ':', ';', ',', '=']).any(|word| word == key)
        };
        self.variables.iter().any(|key| text.contains(key.expose().as_str()))
            || self.configured.iter().map(Secret::expose).any(|key| {
                is_word(key) || (key.len() >= UNMISTAKABLE && text.contains(key.as_str()))
            })
    }
}

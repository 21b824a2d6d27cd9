//! Every key that is known here, wherever it stands, so that no process is handed one by chance.

use config::redact;
use contract::secret::Secret;

use crate::assemble::assembly::Assembly;
use crate::assemble::mcp;
use crate::assemble::provider_choice;

/// What is shorter is no key, and could stand in anything.
const SHORTEST: usize = 8;
/// What is at least this long is a key also where more stands around it.
const UNMISTAKABLE: usize = 16;

/// The keys.
pub(crate) struct Secrets {
    /// Values of variables that hold keys.
    variables: Vec<Secret<String>>,
    /// What the configuration, files of credentials and descriptions of servers hold.
    configured: Vec<Secret<String>>,
}

impl Secrets {
    /// Gathers them.
    pub(crate) fn of(assembly: &Assembly) -> Self {
        let own = assembly.environment.variables.iter();
        let own = own.filter(|(name, _)| redact::is_secret(name)).map(|(_, value)| value.clone());
        let files = assembly.loaded.env_file_variables.iter();
        let files = files.filter(|(name, _)| redact::is_secret(name));
        let files = files.map(|(_, value)| value.expose().clone());
        let instances = assembly.config().providers.instances.values();
        let credentials = instances.filter_map(|instance| instance.credentials_path.as_deref());
        // A file that cannot be read is complained about where its key is needed.
        let credentials = credentials.filter_map(|path| provider_choice::credentials(path).ok());
        let servers = mcp::own_sources(assembly).into_iter();
        let servers = servers.flat_map(|source| redact::secrets_in(source.document));
        let configured = assembly.loaded.secrets().into_iter().chain(credentials).chain(servers);
        // Of `Bearer key` the key alone is one too.
        let mut configured = configured.flat_map(|value| {
            let last = value.rsplit_once(' ').map(|(_, last)| last.to_owned());
            last.into_iter().chain([value])
        });
        let keys = |values: &mut dyn Iterator<Item = String>| {
            values.filter(|value| value.len() >= SHORTEST).map(Secret::new).collect()
        };
        Self { variables: keys(&mut own.chain(files)), configured: keys(&mut configured) }
    }

    /// Whether a text holds one of them.
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

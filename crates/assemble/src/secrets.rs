//! All known keys, so that no process gets one by accident.

use config::redact;
use config::secrets::Secrets;
use contract::secret::Secret;
use providers::key;

use crate::assembly::Assembly;
use crate::mcp;

impl Assembly {
    pub(crate) fn secrets(&self) -> &Secrets {
        self.parts.secrets.get_or_init(|| secrets(self))
    }
}

fn secrets(assembly: &Assembly) -> Secrets {
    let own = assembly.environment.variables.iter();
    let own = own.filter(|(name, _)| redact::is_secret(name)).map(|(_, value)| value.clone());
    let files = assembly.loaded.env_file_variables.iter();
    let files = files.filter(|(name, _)| redact::is_secret(name)).map(|(_, value)| value);
    let stored = files.chain(assembly.stored_keys.values()).map(Secret::expose).cloned();
    let instances = assembly.config().providers.instances.values();
    let credentials = instances.filter_map(|instance| instance.credentials_path.as_deref());
    // An unreadable file is reported when its key is needed.
    let credentials = credentials.filter_map(|path| key::in_file(path).ok());
    let servers = mcp::own_sources(assembly).into_iter();
    let servers = servers.flat_map(|source| redact::secrets_in(source.document));
    let configured = assembly.loaded.secrets().into_iter().chain(credentials).chain(servers);
    Secrets::new(own.chain(stored), configured)
}

//! The settings that all servers share.

use std::path::PathBuf;
use std::sync::Arc;

use contract::sandbox::Sandbox;

use crate::client_registry::ClientRegistry;
use crate::frontend::Frontend;
use crate::http_client::Resolver;
use crate::launch::LaunchSettings;
use crate::oauth::Credentials;
use crate::user_prompt::UserPrompt;

/// The settings that all servers share.
pub struct Settings {
    /// The directory for the catalogs of servers.
    pub cache: PathBuf,
    /// The directory for what the user agreed to.
    pub pins: PathBuf,
    /// The keys for servers that the user signed in to.
    pub credentials: Credentials,
    /// Starts the programs of servers.
    pub sandbox: Arc<dyn Sandbox>,
    /// The settings for these programs.
    pub launch: LaunchSettings,
    /// Shows messages.
    pub frontend: Arc<dyn Frontend>,
    /// Answers questions of servers.
    pub user: Arc<UserPrompt>,
    /// The clients that are served (`mcp serve`). Results then keep what a model cannot see.
    pub clients: Option<Arc<ClientRegistry>>,
    /// Looks up the hosts of servers, if not every address is permitted.
    pub resolver: Option<Resolver>,
}

//! The flags of `mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::GrantArgs;

#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Add a server: a command after `--`, or a URL with `--url`
    Add(McpAddArgs),
    /// List servers without starting them
    List,
    /// Remove a server
    Remove {
        /// The name
        name: String,
        /// The configuration to change (default: your own)
        #[arg(long)]
        scope: Option<McpScope>,
    },
    /// Start a server and list its tools, resources and prompts
    Test {
        /// The name
        name: String,
    },
    /// Review and accept the changed tools of a server
    Approve {
        /// The name
        name: String,
    },
    /// Grant access to a server's program
    Grant(GrantArgs),
    /// Import servers from the configuration of another client (JSON, YAML or TOML)
    Import {
        /// The file
        file: PathBuf,
        /// The configuration to add them to
        #[arg(long, default_value = "user")]
        scope: McpScope,
        /// Use the newest version of their packages at every start
        #[arg(long)]
        unpinned: bool,
    },
    /// Log in to a remote server
    Login(McpLoginArgs),
    /// Log out of a server
    Logout {
        /// The name
        name: String,
    },
    /// Serve tools over MCP, with permissions and sandbox
    Serve {
        /// Listen on this local address instead of standard input and output
        #[arg(long, value_name = "ADDRESS")]
        http: Option<SocketAddr>,
        /// The environment variable with the token for clients (default: a generated token)
        #[arg(long, value_name = "VARIABLE", requires = "http")]
        token_env: Option<String>,
        /// Accept every process of every user on this machine
        #[arg(long, requires = "http", conflicts_with = "token_env")]
        no_token: bool,
        /// Serve only the tools of this role
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
pub struct McpLoginArgs {
    /// The name
    pub name: String,
    /// The client ID, if the server does not support registration
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// The environment variable with the client secret
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    pub client_secret_env: Option<String>,
    /// A PEM file with the private key of the client, used instead of a secret
    #[arg(long, value_name = "FILE", requires = "client_id", conflicts_with = "client_secret_env")]
    pub private_key: Option<PathBuf>,
    /// Log in with the client secret or key only, without a browser
    #[arg(long, requires = "client_id")]
    pub client_credentials: bool,
    /// The URL of a client metadata document
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    pub client_metadata_url: Option<String>,
    /// The identity provider of your organization, used instead of a browser
    #[arg(
        long,
        value_name = "URL",
        requires_all = ["client_id", "idp_client_id", "idp_id_token_env"],
        conflicts_with = "client_credentials"
    )]
    pub idp_issuer: Option<String>,
    /// The client ID at the identity provider
    #[arg(long, value_name = "ID", requires = "idp_issuer")]
    pub idp_client_id: Option<String>,
    /// The environment variable with the client secret for the identity provider
    #[arg(long, value_name = "VARIABLE", requires = "idp_issuer")]
    pub idp_client_secret_env: Option<String>,
    /// The environment variable with the ID token from the identity provider
    #[arg(long, value_name = "VARIABLE", requires = "idp_issuer")]
    pub idp_id_token_env: Option<String>,
}

#[derive(Args, Debug)]
pub struct McpAddArgs {
    /// The name
    pub name: String,
    /// The URL
    #[arg(long, conflicts_with_all = ["command", "env"])]
    pub url: Option<String>,
    /// A header for every request; `${NAME}` is replaced by a variable
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url")]
    pub headers: Vec<String>,
    /// An environment variable for the program; `${NAME}` is replaced by one of yours
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// The configuration to add it to
    #[arg(long, default_value = "user")]
    pub scope: McpScope,
    /// Allow network access
    #[arg(long, conflicts_with = "url")]
    pub allow_network: bool,
    /// Allow reading this path (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub allow_read: Vec<PathBuf>,
    /// Allow writing this path (repeatable)
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub allow_write: Vec<PathBuf>,
    /// Use the newest version of its package at every start
    #[arg(long, conflicts_with = "url")]
    pub unpinned: bool,
    /// Replace an existing server
    #[arg(long)]
    pub force: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "url")]
    pub command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum McpScope {
    /// Your own configuration, for all projects
    User,
    /// `.mcp.json` in the project
    Project,
}

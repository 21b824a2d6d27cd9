//! The flags of `mcp`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::GrantArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server: a program after `--`, or an address with `--url`
    Add(McpAddArgs),
    /// List servers, with what is known of them; starts none
    List,
    /// Remove a server
    Remove {
        /// Its name
        name: String,
        /// Whose file; the user's own where it stands in both
        #[arg(long)]
        scope: Option<McpScope>,
    },
    /// Start a server and print what it offers
    Test {
        /// Its name
        name: String,
    },
    /// Show what a server has changed since you agreed to it, and agree
    Approve {
        /// Its name
        name: String,
    },
    /// Grant a server's program what the flags name, in your configuration
    Grant(GrantArgs),
    /// Take over the servers of another client's file (JSON, YAML or TOML)
    Import {
        /// The file
        file: PathBuf,
        /// Where they go
        #[arg(long, default_value = "user")]
        scope: McpScope,
        /// Take whatever version of their packages is newest, at every start
        #[arg(long)]
        unpinned: bool,
    },
    /// Sign in to a server behind an address
    Login(McpLoginArgs),
    /// Forget the key of a server
    Logout {
        /// Its name
        name: String,
    },
    /// Offer our tools to other agents over MCP, through our rules and sandbox
    Serve {
        /// Listen at this address of this machine, in place of standard input and output
        #[arg(long, value_name = "ADDRESS")]
        http: Option<SocketAddr>,
        /// The variable that holds the token which clients must send, in place of one that is made
        #[arg(long, value_name = "VARIABLE", requires = "http")]
        token_env: Option<String>,
        /// Let every process on this machine in, of every user
        #[arg(long, requires = "http", conflicts_with = "token_env")]
        no_token: bool,
        /// Offer the tools of this role, and no others
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
pub(crate) struct McpLoginArgs {
    /// Its name
    pub(crate) name: String,
    /// The client's id, where the server knows no registration
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The variable that holds the client's secret, where it has one
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,
    /// The file of the client's private key (PEM), with which it signs in place of a secret
    #[arg(long, value_name = "FILE", requires = "client_id", conflicts_with = "client_secret_env")]
    pub(crate) private_key: Option<PathBuf>,
    /// Sign in by the client's secret or key alone, without a page: for machines
    #[arg(long, requires = "client_id")]
    pub(crate) client_credentials: bool,
    /// The address of a document that describes this client, for servers that read such
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    pub(crate) client_metadata_url: Option<String>,
    /// The identity provider of your organization, which vouches for you in place of a page
    #[arg(
        long,
        value_name = "URL",
        requires_all = ["client_id", "idp_client_id", "idp_id_token_env"],
        conflicts_with = "client_credentials"
    )]
    pub(crate) idp_issuer: Option<String>,
    /// The client's id at the identity provider
    #[arg(long, value_name = "ID", requires = "idp_issuer")]
    pub(crate) idp_client_id: Option<String>,
    /// The variable that holds the client's secret at the identity provider, where it has one
    #[arg(long, value_name = "VARIABLE", requires = "idp_issuer")]
    pub(crate) idp_client_secret_env: Option<String>,
    /// The variable that holds the ID token which the identity provider gave you
    #[arg(long, value_name = "VARIABLE", requires = "idp_issuer")]
    pub(crate) idp_id_token_env: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct McpAddArgs {
    /// Its name
    pub(crate) name: String,
    /// Its address
    #[arg(long, conflicts_with_all = ["command", "env"])]
    pub(crate) url: Option<String>,
    /// A header of every request; `${NAME}` stands for a variable
    #[arg(long = "header", value_name = "NAME=VALUE", requires = "url")]
    pub(crate) headers: Vec<String>,
    /// A variable of its program; `${NAME}` stands for one of yours
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Whose file it goes to
    #[arg(long, default_value = "user")]
    pub(crate) scope: McpScope,
    /// Let its program use the network
    #[arg(long, conflicts_with = "url")]
    pub(crate) allow_network: bool,
    /// Let its program read this path; may be given more than once
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub(crate) allow_read: Vec<PathBuf>,
    /// Let its program write this path; may be given more than once
    #[arg(long, value_name = "PATH", conflicts_with = "url")]
    pub(crate) allow_write: Vec<PathBuf>,
    /// Take whatever version of its package is newest, at every start
    #[arg(long, conflicts_with = "url")]
    pub(crate) unpinned: bool,
    /// Replace a server of that name
    #[arg(long)]
    pub(crate) force: bool,
    /// Its program and arguments
    #[arg(last = true, required_unless_present = "url")]
    pub(crate) command: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpScope {
    /// Your own, in every project
    User,
    /// The project's `.mcp.json`
    Project,
}

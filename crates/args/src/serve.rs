//! The options of `serve`.

use std::path::PathBuf;

use clap::Args;

/// The usual address.
const ADDRESS: &str = "127.0.0.1:4117";
/// The usual number of seconds that a question waits.
const QUESTION_TIMEOUT: u64 = 1800;

#[derive(Args, Debug)]
pub struct ServeArgs {
    /// The address: `127.0.0.1:PORT`, or `unix:PATH` for a socket that only you can use
    #[arg(long, value_name = "ADDRESS", default_value = ADDRESS)]
    pub listen: String,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Accept the token in this variable, with `read`, `prompt`, `approve` or `approve-always` (default)
    #[arg(long, value_name = "NAME[:SCOPE]")]
    pub token_env: Vec<String>,
    /// Offer only sessions in this directory
    #[arg(long, value_name = "DIR")]
    pub project: Vec<PathBuf>,
    /// The name of a proxy in front, which adds TLS; needs `--token-env`
    #[arg(long, value_name = "HOST", requires = "token_env")]
    pub behind_proxy: Option<String>,
    /// Seconds that a question waits if no client is connected
    #[arg(long, value_name = "SECONDS", default_value_t = QUESTION_TIMEOUT)]
    pub question_timeout: u64,
}

impl ServeArgs {
    /// The arguments of a server at an address, or at the usual one.
    pub fn at(address: Option<String>) -> Self {
        Self {
            listen: address.unwrap_or_else(|| ADDRESS.to_owned()),
            open: false,
            token_env: Vec::new(),
            project: Vec::new(),
            behind_proxy: None,
            question_timeout: QUESTION_TIMEOUT,
        }
    }
}

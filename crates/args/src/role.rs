//! The flags of `run`, `flow`, `test`, `memory` and `approve`.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

use crate::Command;

#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct RunArgs {
    /// A role, team, flow or group: the file or its directory
    pub role: PathBuf,
    /// The prompt (default: standard input)
    pub prompt: Vec<String>,
    /// Same as the positional prompt
    #[arg(long = "prompt", value_name = "PROMPT")]
    pub prompt_option: Option<String>,
    /// Continue as a conversation, line by line
    #[arg(short = 'i', long)]
    pub interactive: bool,
    /// Work autonomously until the task is done or a limit is reached
    #[arg(short = 'a', long, conflicts_with = "interactive")]
    pub autonomous: bool,
    /// Maximum number of iterations
    #[arg(long, value_name = "N", requires = "autonomous", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_iterations: Option<u32>,
    /// Stop when the run and its delegates have taken this many tokens, both ways
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub token_budget: Option<u64>,
    /// Check the role without asking a model
    #[arg(long)]
    pub dry_run: bool,
    /// A value for `{{NAME}}` in the role's prompt
    #[arg(long, value_name = "NAME=VALUE")]
    pub var: Vec<String>,
    /// Record the run in this database
    #[arg(long, value_name = "FILE", conflicts_with = "no_audit")]
    pub audit_db: Option<PathBuf>,
    /// Do not record the run; it cannot be paused for approval
    #[arg(long)]
    pub no_audit: bool,
    /// Run this agent of a group
    #[arg(long, value_name = "NAME", conflicts_with = "sense")]
    pub agent: Option<String>,
    /// Choose the agent of a group by the prompt
    #[arg(long)]
    pub sense: bool,
    /// The output format
    #[arg(short = 'f', long, value_name = "FORMAT")]
    pub format: Option<RunFormat>,
    /// Serve the role, or each agent of a group, as a model over HTTP
    #[arg(long, conflicts_with_all = ["interactive", "autonomous", "sense", "dry_run", "prompt", "resume", "continue_last", "session"])]
    pub serve: bool,
    #[command(flatten)]
    pub server: RoleServerArgs,
    /// Serve by A2A (`a2a serve`), at another address if one is named.
    #[arg(skip)]
    pub a2a: Option<Option<String>>,
    /// The run of a flow that is resumed (`flow resume`).
    #[arg(skip)]
    pub flow_run: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum A2aCommand {
    /// Serve a role to other agents over HTTP, by A2A 1.0
    Serve {
        /// The role: the file or its directory
        role: PathBuf,
        /// Serve this agent of a group
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// The address that the agent's card names, if it is another one
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        #[command(flatten)]
        server: RoleServerArgs,
    },
}

impl A2aCommand {
    /// The command that does the work.
    pub fn into_command(self) -> Command {
        let Self::Serve { role, agent, url, server } = self;
        let a2a = Some(url);
        Command::Run(RunArgs { role, agent, serve: true, a2a, server, ..RunArgs::default() })
    }
}

/// The options of a server of roles.
#[derive(Args, Clone, Debug, Default)]
pub struct RoleServerArgs {
    /// The address to serve at (default: `127.0.0.1`)
    #[arg(long, value_name = "ADDRESS", value_parser = ip_address, help_heading = SERVER)]
    pub host: Option<IpAddr>,
    /// The port to serve at
    #[arg(long, value_name = "PORT", default_value_t = 8000, help_heading = SERVER)]
    pub port: u16,
    /// The key that clients must send (default: `INITRUNNER_API_KEY`)
    #[arg(long, value_name = "KEY", help_heading = SERVER)]
    pub api_key: Option<String>,
    /// Accept requests of pages of this origin, such as `https://example.com`
    #[arg(long, value_name = "ORIGIN", help_heading = SERVER)]
    pub cors_origin: Vec<String>,
}

const SERVER: &str = "Server";

fn ip_address(text: &str) -> Result<IpAddr, &'static str> {
    let text = if text == "localhost" { "127.0.0.1" } else { text };
    let address = text.trim_matches(['[', ']']).parse();
    address.map_err(|_| "no IP address: `127.0.0.1` is for this machine, `0.0.0.0` for all")
}

#[derive(Debug, Subcommand)]
pub enum FlowCommand {
    /// Check a flow, like `validate`
    Validate {
        /// The flow file or its directory
        flow: PathBuf,
    },
    /// Resume a flow with `durability` that failed; finished agents do not run again
    Resume {
        /// The flow file or its directory
        flow: PathBuf,
        /// The run ID that the failed run printed
        run_id: String,
        /// Another prompt than that of the failed run
        prompt: Option<String>,
        /// The database that recorded the run
        #[arg(long, value_name = "FILE")]
        audit_db: Option<PathBuf>,
    },
}

impl FlowCommand {
    /// The command that does the work.
    pub fn into_command(self) -> Command {
        match self {
            Self::Validate { flow: role } => Command::Validate { role },
            Self::Resume { flow: role, run_id, prompt, audit_db } => Command::Run(RunArgs {
                role,
                prompt: prompt.into_iter().collect(),
                audit_db,
                flow_run: Some(run_id),
                ..RunArgs::default()
            }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    /// Formatted text
    Auto,
    /// One JSON object
    Json,
    /// Formatted text
    Text,
    /// Formatted text
    Rich,
}

#[derive(Args, Clone, Debug)]
pub struct TestArgs {
    /// The role file or directory, or a suite with a `role` key
    pub role: PathBuf,
    /// The suite file (`kind: TestSuite`)
    #[arg(short = 's', long, value_name = "SUITE")]
    pub suite: Option<PathBuf>,
    /// Check the role and the suite without asking a model
    #[arg(long)]
    pub dry_run: bool,
    /// Run only the cases with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// Number of cases to run in parallel
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1)]
    pub jobs: usize,
    /// Write the results to a JSON file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// List memories, newest first
    List {
        /// The role file or its directory
        role: PathBuf,
        /// Only memories of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<MemoryKind>,
        /// Only memories of this category
        #[arg(long)]
        category: Option<String>,
        /// Maximum number of entries
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Remove memories and session prompts
    Clear {
        /// The role file or its directory
        role: PathBuf,
        /// The part to remove
        #[arg(long, value_enum, default_value = "all")]
        what: ClearedPart,
        /// Only memories of this type; sessions stay
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<MemoryKind>,
        /// Do not ask for confirmation
        #[arg(long)]
        force: bool,
    },
    /// Export memories to a JSON file
    Export {
        /// The role file or its directory
        role: PathBuf,
        /// The file
        #[arg(short, long, value_name = "FILE", default_value = "memories.json")]
        output: PathBuf,
    },
    /// Import memories from a JSON file
    Import {
        /// The role file or its directory
        role: PathBuf,
        /// A file written by `memory export`
        file: PathBuf,
    },
    /// Extract facts from recorded episodes with the model
    Consolidate {
        /// The role file or its directory
        role: PathBuf,
    },
}

impl MemoryCommand {
    pub fn role(&self) -> &Path {
        match self {
            Self::List { role, .. }
            | Self::Clear { role, .. }
            | Self::Export { role, .. }
            | Self::Import { role, .. }
            | Self::Consolidate { role } => role,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryKind {
    Semantic,
    Episodic,
    Procedural,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClearedPart {
    Sessions,
    Memories,
    All,
}

/// The database that records the runs of roles.
#[derive(Clone, Debug, Default)]
pub enum RunAudit {
    /// `audit.db` in InitRunner's home directory.
    #[default]
    Usual,
    File(PathBuf),
    Off,
}

impl RunArgs {
    pub fn run_audit(&self) -> RunAudit {
        match &self.audit_db {
            _ if self.no_audit => RunAudit::Off,
            Some(file) => RunAudit::File(file.clone()),
            None => RunAudit::Usual,
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("calls").required(true))]
pub struct ApproveArgs {
    /// The run ID from `pending`
    pub run_id: String,
    /// Decide all waiting calls
    #[arg(long, group = "calls")]
    pub all: bool,
    /// Decide this call; the others of the run are denied
    #[arg(long, value_name = "ID", group = "calls")]
    pub tool_call_id: Option<String>,
    /// Deny instead of approving
    #[arg(long)]
    pub deny: bool,
    /// The name to record with the decision
    #[arg(long, value_name = "NAME", default_value = "cli")]
    pub resolved_by: String,
}

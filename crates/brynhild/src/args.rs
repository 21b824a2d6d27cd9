//! The command line. Parsing does nothing but parse; `commands` acts on it.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod chat;
mod extend;
mod look;
mod manage;
mod mcp;
mod role;

pub(crate) use chat::ChatArgs;
pub(crate) use extend::{
    AgentsCommand, CommandCommand, GrantArgs, HooksCommand, MarketplaceCommand, PluginCommand,
    PluginDevArgs, PluginInstallArgs, PluginNewArgs, PluginTestArgs,
};
pub(crate) use look::{
    ApiCommand, ConfigCommand, Direction, Indexes, LogsCommand, ModelOrder, ModelsCommand,
    ToolsCommand,
};
pub(crate) use manage::{
    AuditCommand, AuditExportArgs, ExportFormat, PermissionsCommand, PolicyCommand, ProfileCommand,
    RulesCommand, SandboxCommand, SandboxProfile, SessionCommand, SkillCommand, StatsArgs,
    StatsOrder, ThinkingStyle, TrustArgs,
};
pub(crate) use mcp::{McpAddArgs, McpCommand, McpLoginArgs, McpScope};
pub(crate) use role::{
    ApproveArgs, ClearedPart, MemoryCommand, MemoryKind, RunArgs, RunAudit, RunFormat, TestArgs,
};

/// An AI coding assistant for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "brynhild",
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = false,
    after_help = "No model yet? `brynhild demo` runs a whole task with a model that is built in."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Flags that every command takes, before or after its name.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Global {
    /// Print the version
    #[arg(short = 'v', long)]
    pub(crate) version: bool,
    /// Use this provider or configured instance
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Use this model or alias
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Set the permission mode
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) mode: Option<ModeName>,
    /// Answer yes to questions; destructive commands also need an allow rule
    #[arg(short = 'y', long, global = true)]
    pub(crate) yes: bool,
    /// Print the answer as one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Set the output format
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Load the plugins of this directory for this run, and trust them
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,
    // The role file that the command names, which trusts its directory for this run.
    #[arg(skip)]
    pub(crate) role_file: Option<PathBuf>,
    // The database of a role's runs.
    #[arg(skip)]
    pub(crate) run_audit: RunAudit,
    /// Use this model profile
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Print tool calls and timing to stderr
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    /// Use the line-by-line interface instead of the full screen
    #[arg(long, global = true)]
    pub(crate) plain: bool,
    /// Print the answer to one prompt and exit, like `chat`
    #[arg(short = 'p', long, global = true)]
    pub(crate) print: bool,
    /// Resume a session by ID; `last` is the newest in this directory
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Resume the newest session in this directory
    #[arg(short = 'c', long = "continue", global = true, conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// Name the session, or resume the session with this name
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["resume", "continue_last"])]
    pub(crate) session: Option<String>,
    /// Continue in a copy of the resumed session
    #[arg(long, global = true)]
    pub(crate) fork: bool,
    /// Show the model's reasoning
    #[arg(long, global = true)]
    pub(crate) show_thinking: bool,
    /// Show tokens and cost
    #[arg(long, global = true)]
    pub(crate) show_cost: bool,
    /// Disable colors
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Record raw requests and replies; `brynhild logs raw` prints them
    #[arg(long, global = true)]
    pub(crate) raw_log: bool,
    /// Stop when the run has cost this many US dollars
    #[arg(long, global = true, value_name = "USD", value_parser = amount)]
    pub(crate) max_cost: Option<f64>,
    /// Stop after this many input and output tokens
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Stop a turn after this many requests to the model
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Stop after this many seconds
    #[arg(long, global = true, value_name = "SECONDS", value_parser = amount)]
    pub(crate) timeout: Option<f64>,
    /// Same as `--mode yolo`
    #[arg(long, global = true, hide = true)]
    pub(crate) dangerously_skip_permissions: bool,
    /// Exit with code 3 if the project contains untrusted plugins, hooks or configuration
    #[arg(long, global = true)]
    pub(crate) require_trust: bool,
    /// Read-only mode without plugins, hooks, MCP servers or project configuration; overrides all
    /// other flags
    #[arg(long, global = true)]
    pub(crate) safe: bool,
    /// Run tools without a sandbox
    #[arg(long, global = true)]
    pub(crate) dangerously_skip_sandbox: bool,
}

/// A positive number, with a fraction or not.
fn amount(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if amount > 0.0 && amount < 1e9 { Ok(amount) } else { Err("must be above 0".to_owned()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// Plain text
    Text,
    /// One JSON object at the end
    Json,
    /// The event stream, one JSON object per line
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// No changes; commands run in a read-only sandbox
    ReadOnly,
    /// Ask before edits and commands that are not read-only
    Ask,
    /// Run edits and sandboxed commands; ask before leaving the sandbox and destructive commands
    Normal,
    /// Also allow network access; ask before host processes, outside paths, destructive commands
    Yolo,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer one prompt
    Chat(ChatArgs),
    /// Run an InitRunner role, team, flow or group
    Run(RunArgs),
    /// Check a role file
    Validate {
        /// The role file or its directory
        role: PathBuf,
    },
    /// Run a test suite against a role
    Test(TestArgs),
    /// Manage the memory of a role
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// List tool calls that are waiting for approval
    Pending {
        /// Maximum number of entries
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Approve or deny the calls of a paused run, then continue it
    Approve(ApproveArgs),
    /// Index the documents of a role
    Ingest {
        /// The role file or its directory
        role: PathBuf,
        /// Index unchanged files and pages again
        #[arg(long)]
        force: bool,
    },
    /// Watch a complete task with a built-in model, without a key
    Demo,
    /// Show the configuration
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// List and test providers
    #[command(subcommand)]
    Api(ApiCommand),
    /// List and compare models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// List, search, export and undo sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Show token usage, cost and tool calls
    Stats(StatsArgs),
    /// List tools, or run one
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// List and print conversation logs
    #[command(subcommand)]
    Logs(LogsCommand),
    /// Create, test, install and manage plugins
    #[command(visible_alias = "plugins")]
    Plugin {
        #[command(subcommand)]
        command: Option<PluginCommand>,
    },
    /// Write the Python packages that plugins import, for testing without Brynhild
    Stubs {
        /// The target directory; add it to `PYTHONPATH`
        #[arg(long, value_name = "DIR")]
        install: PathBuf,
    },
    /// List slash commands
    #[command(subcommand, name = "command")]
    Typed(CommandCommand),
    /// Manage MCP servers, or serve tools over MCP
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List, check and test hooks
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// List sub-agents
    #[command(subcommand, visible_alias = "agent")]
    Agents(AgentsCommand),
    /// List and check skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Print the rules in the system prompt
    #[command(subcommand)]
    Rules(RulesCommand),
    /// List model profiles
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Show how a call would be decided, without running it
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// List and remove remembered permissions
    Permissions {
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
    },
    /// Show recorded decisions and role runs
    Audit {
        #[command(subcommand)]
        command: Option<AuditCommand>,
    },
    /// Review and trust the plugins, hooks and configuration of a project
    Trust(TrustArgs),
    /// Remove trust from a project
    Untrust {
        /// The project (default: the one in this directory)
        path: Option<PathBuf>,
    },
    /// Check the sandbox, or run a command in it
    #[command(subcommand)]
    Sandbox(SandboxCommand),
    /// Print the JSON Schema of the event stream
    Schema,
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

impl Global {
    pub(crate) fn format(&self) -> Option<OutputFormat> {
        if self.json { Some(OutputFormat::Json) } else { self.output_format }
    }
}

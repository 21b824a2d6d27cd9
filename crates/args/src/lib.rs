//! The command line as types. Parsing does nothing but parse; `commands` in the binary acts on it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};
use contract::policy::Mode;

mod chat;
mod extend;
mod guides;
mod look;
mod manage;
mod mcp;
mod role;
mod serve;

pub use chat::{ChatArgs, InputFormat};
pub use extend::{
    AgentsCommand, CommandCommand, GrantArgs, HooksCommand, MarketplaceCommand, PLUGIN_KINDS,
    PluginCommand, PluginDevArgs, PluginInstallArgs, PluginNewArgs, PluginTestArgs,
};
pub use guides::guide;
pub use look::{
    ApiCommand, ConfigCommand, Direction, Indexes, LogsCommand, ModelOrder, ModelsCommand,
    ToolsCommand,
};
pub use manage::{
    AuditCommand, AuditExportArgs, ExportFormat, PermissionsCommand, PolicyCommand, ProfileCommand,
    RulesCommand, SandboxCommand, SandboxProfile, SessionCommand, SkillCommand, StatsArgs,
    StatsOrder, ThinkingStyle, TrustArgs,
};
pub use mcp::{McpAddArgs, McpCommand, McpLoginArgs, McpScope};
pub use role::{
    A2aCommand, ApproveArgs, ClearedPart, FlowCommand, MemoryCommand, MemoryKind, RunArgs,
    RunAudit, RunFormat, TestArgs,
};
pub use serve::ServeArgs;

/// An AI coding assistant for the terminal.
#[derive(Debug, Parser)]
#[command(
    name = "brynhild",
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = false,
    after_help = guides::AFTER_HELP
)]
pub struct Cli {
    // Without a command: the prompt and the options of `chat`.
    #[command(flatten, next_help_heading = "Options of `chat`, for one answer")]
    pub chat: ChatArgs,
    #[command(flatten, next_help_heading = None)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags that every command takes, before or after its name.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct Global {
    /// Print the version
    #[arg(short = 'v', long)]
    pub version: bool,
    /// Print the answer to one prompt and exit, like `chat`
    #[arg(short = 'p', long, global = true)]
    pub print: bool,
    /// Work in this directory
    #[arg(long, global = true, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Use the line-by-line interface instead of the full screen; each line of piped text is a prompt
    #[arg(long, global = true)]
    pub plain: bool,
    /// Use this provider or configured instance
    #[arg(long, global = true, value_name = "NAME", help_heading = MODEL)]
    pub provider: Option<String>,
    /// Use this model or alias
    #[arg(long, global = true, value_name = "MODEL", help_heading = MODEL)]
    pub model: Option<String>,
    /// Use this model profile
    #[arg(long, global = true, value_name = "NAME", help_heading = MODEL)]
    pub profile: Option<String>,
    /// Replace the system prompt
    #[arg(long, global = true, value_name = "TEXT", help_heading = MODEL)]
    pub system_prompt: Option<String>,
    /// Add text to the end of the system prompt
    #[arg(long, global = true, value_name = "TEXT", help_heading = MODEL)]
    pub append_system_prompt: Option<String>,
    /// Add MCP servers for this run: a file like `.mcp.json`, or its JSON
    #[arg(long, global = true, value_name = "FILE|JSON", help_heading = MODEL)]
    pub mcp_config: Vec<String>,
    /// Resume a session by ID; `last` is the newest in this directory; without a value, choose
    #[arg(long, global = true, value_name = "ID", num_args = 0..=1, default_missing_value = "", help_heading = SESSION)]
    pub resume: Option<String>,
    /// Resume the newest session in this directory
    #[arg(short = 'c', long = "continue", global = true, conflicts_with = "resume", help_heading = SESSION)]
    pub continue_last: bool,
    /// Name the session, or resume the session with this name
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["resume", "continue_last"], help_heading = SESSION)]
    pub session: Option<String>,
    /// Continue in a copy of the resumed session
    #[arg(long, global = true, help_heading = SESSION)]
    pub fork: bool,
    /// Set the permission mode
    #[arg(long, global = true, value_name = "MODE", help_heading = PERMISSIONS)]
    pub mode: Option<ModeName>,
    /// Allow these tools without asking, such as `Edit` or `Bash(git commit:*)`
    #[arg(long, global = true, value_name = "RULES", help_heading = PERMISSIONS)]
    pub allowed_tools: Vec<String>,
    /// Answer yes to questions; destructive commands also need an allow rule
    #[arg(short = 'y', long, global = true, help_heading = PERMISSIONS)]
    pub yes: bool,
    /// Exit with code 3 if the project contains untrusted plugins, hooks or configuration
    #[arg(long, global = true, help_heading = PERMISSIONS)]
    pub require_trust: bool,
    /// Read-only mode without plugins, hooks, MCP servers or project configuration; overrides all
    /// other flags
    #[arg(long, global = true, help_heading = PERMISSIONS)]
    pub safe: bool,
    /// Load the plugins of this directory for this run, and trust them
    #[arg(long, global = true, value_name = "DIR", help_heading = PERMISSIONS)]
    pub plugin_dir: Vec<PathBuf>,
    /// Run tools without a sandbox
    #[arg(long, global = true, help_heading = PERMISSIONS)]
    pub dangerously_skip_sandbox: bool,
    /// Same as `--mode yolo`
    #[arg(long, global = true, hide = true)]
    pub dangerously_skip_permissions: bool,
    /// Print the answer as one JSON object
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub json: bool,
    /// Set the output format
    #[arg(long, global = true, value_name = "FORMAT", help_heading = OUTPUT)]
    pub output_format: Option<OutputFormat>,
    /// Print tool calls and timing to stderr
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub verbose: bool,
    /// Show the model's reasoning
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub show_thinking: bool,
    /// Show tokens and cost
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub show_cost: bool,
    /// Disable colors
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub no_color: bool,
    /// Record raw requests and replies; `brynhild logs raw` prints them
    #[arg(long, global = true, help_heading = OUTPUT)]
    pub raw_log: bool,
    /// Stop when the run has cost this many US dollars
    #[arg(long, global = true, value_name = "USD", value_parser = amount, help_heading = LIMITS)]
    pub max_cost: Option<f64>,
    /// Stop after this many input and output tokens
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = LIMITS)]
    pub max_tokens: Option<u64>,
    /// Stop a turn after this many requests to the model
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), help_heading = LIMITS)]
    pub max_turns: Option<u32>,
    /// Stop after this many seconds
    #[arg(long, global = true, value_name = "SECONDS", value_parser = amount, help_heading = LIMITS)]
    pub timeout: Option<f64>,
    // The MCP servers of `--mcp-config`, by name.
    #[arg(skip)]
    pub mcp_servers: serde_json::Map<String, serde_json::Value>,
    // The role file that the command names, which trusts its directory for this run.
    #[arg(skip)]
    pub role_file: Option<PathBuf>,
    // The database of a role's runs.
    #[arg(skip)]
    pub run_audit: RunAudit,
    // True if the user agreed to work in a directory that is too wide for a project.
    #[arg(skip)]
    pub allows_wide_root: bool,
}

const MODEL: &str = "Model";
const SESSION: &str = "Session";
const PERMISSIONS: &str = "Permissions";
const OUTPUT: &str = "Output";
const LIMITS: &str = "Limits";

/// A positive number, with a fraction or not.
fn amount(text: &str) -> Result<f64, String> {
    let amount: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if amount > 0.0 && amount < 1e9 { Ok(amount) } else { Err("must be above 0".to_owned()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Plain text
    Text,
    /// One JSON object at the end
    Json,
    /// The event stream, one JSON object per line
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
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
pub enum Command {
    /// Answer one prompt
    Chat(ChatArgs),
    /// Run an InitRunner role, team, flow or group
    Run(RunArgs),
    /// Resume or check a flow
    #[command(subcommand)]
    Flow(FlowCommand),
    /// Serve roles to other agents
    #[command(subcommand)]
    A2a(A2aCommand),
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
    /// Set up a provider and a model, or store the key of a provider
    Login {
        /// The provider; its key is read from the terminal, or from standard input
        #[arg(id = "login_provider", value_name = "PROVIDER")]
        provider: Option<String>,
    },
    /// Remove the stored key of a provider
    Logout {
        /// The provider; not needed if one key is stored
        #[arg(id = "logout_provider", value_name = "PROVIDER")]
        provider: Option<String>,
    },
    /// Check the sandbox, keys, provider, Python, git, configuration and terminal
    Doctor,
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
    /// Converse with an editor over the Agent Client Protocol
    Acp {
        /// Set up a provider and a model instead
        #[arg(long)]
        login: bool,
    },
    /// Hold conversations with browsers and programs over HTTP
    Serve(ServeArgs),
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
    Schema {
        /// Print the JSON Schema of `--input-format stream-json` instead
        #[arg(long)]
        inputs: bool,
    },
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

impl Cli {
    /// The command line with help that lists shared options only for the program itself.
    pub fn documented() -> clap::Command {
        fn hide_shared(command: &mut clap::Command) {
            for subcommand in command.get_subcommands_mut() {
                let hidden =
                    |arg: clap::Arg| if arg.is_global_set() { arg.hide(true) } else { arg };
                *subcommand = std::mem::take(subcommand).mut_args(hidden);
                hide_shared(subcommand);
            }
        }
        let mut command = Self::command();
        command.build();
        hide_shared(&mut command);
        command
    }

    /// Rewrites `help COMMAND` to `COMMAND --help`.
    ///
    /// # Errors
    ///
    /// There is no such command.
    pub fn rewrite_help(words: &mut Vec<OsString>) -> Result<(), clap::Error> {
        if words.get(1).is_none_or(|word| word != "help") {
            return Ok(());
        }
        words.remove(1);
        let topic = words.get(1).map(|word| word.to_string_lossy().into_owned());
        let topic = topic.unwrap_or_default();
        let mut command = Self::command();
        let is_known = topic.is_empty() || topic.starts_with('-');
        if !is_known && command.find_subcommand(&topic).is_none() {
            let text =
                format!("there is no command or guide `{topic}`; `brynhild help` lists both");
            return Err(command.error(ErrorKind::InvalidSubcommand, text));
        }
        words.push("--help".into());
        Ok(())
    }
}

impl Global {
    pub fn format(&self) -> Option<OutputFormat> {
        if self.json { Some(OutputFormat::Json) } else { self.output_format }
    }
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::ReadOnly => Self::ReadOnly,
            ModeName::Ask => Self::Ask,
            ModeName::Normal => Self::Normal,
            ModeName::Yolo => Self::Yolo,
        }
    }
}

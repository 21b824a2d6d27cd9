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
    /// Which provider or configured instance answers
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Which model answers; an alias is expanded
    #[arg(long, global = true, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How much freedom tools have
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) mode: Option<ModeName>,
    /// Answer questions with yes; a destructive command also needs an allow rule that names it
    #[arg(short = 'y', long, global = true)]
    pub(crate) yes: bool,
    /// Answer as one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The form of the answer
    #[arg(long, global = true, value_name = "FORMAT")]
    pub(crate) output_format: Option<OutputFormat>,
    /// A plugin directory for this run; naming it trusts it
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<PathBuf>,
    // The role file that the command names, which trusts its directory for this run.
    #[arg(skip)]
    pub(crate) role_file: Option<PathBuf>,
    // The database of a role's runs.
    #[arg(skip)]
    pub(crate) run_audit: RunAudit,
    /// The model profile to use
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Say more on stderr: tools, timing
    #[arg(long, global = true)]
    pub(crate) verbose: bool,
    /// Talk line by line where there is no command, not on the whole screen
    #[arg(long, global = true)]
    pub(crate) plain: bool,
    /// Answer once and exit (what `chat` does)
    #[arg(short = 'p', long, global = true)]
    pub(crate) print: bool,
    /// Continue the session ID; `last` is the newest of this directory
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) resume: Option<String>,
    /// Continue the newest session of this directory
    #[arg(short = 'c', long = "continue", global = true, conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// Name the session, or continue the one of that name
    #[arg(long, global = true, value_name = "NAME", conflicts_with_all = ["resume", "continue_last"])]
    pub(crate) session: Option<String>,
    /// Leave the resumed session as it is and go on in a copy
    #[arg(long, global = true)]
    pub(crate) fork: bool,
    /// Show the model's reasoning
    #[arg(long, global = true)]
    pub(crate) show_thinking: bool,
    /// Show tokens and cost
    #[arg(long, global = true)]
    pub(crate) show_cost: bool,
    /// No colors
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
    /// Also write down what goes over the wire; `brynhild logs raw` shows it
    #[arg(long, global = true)]
    pub(crate) raw_log: bool,
    /// Stop when the run has cost this much, in US dollars
    #[arg(long, global = true, value_name = "USD", value_parser = amount)]
    pub(crate) max_cost: Option<f64>,
    /// Stop when the run has taken this many tokens, both ways
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// Stop a turn after this many requests to the model
    #[arg(long, global = true, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// Stop after this many seconds
    #[arg(long, global = true, value_name = "SECONDS", value_parser = amount)]
    pub(crate) timeout: Option<f64>,
    /// Ask nothing; the same as `--mode yolo`
    #[arg(long, global = true, hide = true)]
    pub(crate) dangerously_skip_permissions: bool,
    /// Stop (exit code 3) where the project brings something that is not trusted
    #[arg(long, global = true)]
    pub(crate) require_trust: bool,
    /// Only look: no plugins, hooks or servers, nothing of the project's configuration, nothing
    /// broken of your own; stronger than every other flag
    #[arg(long, global = true)]
    pub(crate) safe: bool,
    /// Run tools without any sandbox
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
    /// The answer as text
    Text,
    /// One JSON object at the end
    Json,
    /// The event stream, one JSON object a line
    StreamJson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeName {
    /// Nothing is changed; commands run in a read-only sandbox
    ReadOnly,
    /// Edits and commands ask first, unless they only read
    Ask,
    /// Edits and sandboxed commands run; leaving the sandbox and destructive commands ask
    Normal,
    /// Network access runs too; host processes, paths outside and destructive commands ask
    Yolo,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer one prompt
    Chat(ChatArgs),
    /// Play a role: its prompt, its model, its tools and its limits
    Run(RunArgs),
    /// Check a role's file
    Validate {
        /// The file, or its directory
        role: PathBuf,
    },
    /// Run the cases of a test suite with a role, and check what it did
    Test(TestArgs),
    /// Look at and manage the memory of a role
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// List the calls of paused runs that wait for approval
    Pending {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Decide the calls of a paused run, and continue it
    Approve(ApproveArgs),
    /// Read the documents of a role into its store
    Ingest {
        /// The role's file, or its directory
        role: PathBuf,
        /// Read unchanged files and pages again
        #[arg(long)]
        force: bool,
    },
    /// Watch a whole task with the built-in model, on a copy of a small project
    Demo,
    /// Show the configuration
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Look at providers
    #[command(subcommand)]
    Api(ApiCommand),
    /// Look at models
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Look at and manage sessions
    #[command(subcommand)]
    Session(SessionCommand),
    /// Say what sessions took: tokens, money, calls
    Stats(StatsArgs),
    /// Look at tools and run one
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Look at conversation logs
    #[command(subcommand)]
    Logs(LogsCommand),
    /// Write, test and look at plugins, and switch them on and off
    #[command(visible_alias = "plugins")]
    Plugin {
        #[command(subcommand)]
        command: Option<PluginCommand>,
    },
    /// Write the Python packages that plugins import, to test a plugin without Brynhild
    Stubs {
        /// The directory to write them to; put it on `PYTHONPATH`
        #[arg(long, value_name = "DIR")]
        install: PathBuf,
    },
    /// Look at the commands that can be typed after `/`
    #[command(subcommand, name = "command")]
    Typed(CommandCommand),
    /// Look at MCP servers, add them, and offer our tools to others
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Look at hooks, and try them
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// Look at the agents that the model can hand work to
    #[command(subcommand, visible_alias = "agent")]
    Agents(AgentsCommand),
    /// Look at skills
    #[command(subcommand)]
    Skill(SkillCommand),
    /// Look at the rules that the model gets
    #[command(subcommand)]
    Rules(RulesCommand),
    /// Look at model profiles
    #[command(subcommand)]
    Profile(ProfileCommand),
    /// Say how a call would be judged, and why; runs nothing
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Look at permissions that were remembered, and take them back
    Permissions {
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
    },
    /// Look at decisions (trust, permissions, answers, denials) and at the runs of roles
    Audit {
        #[command(subcommand)]
        command: Option<AuditCommand>,
    },
    /// Look at what a project brings that could run, and trust it
    Trust(TrustArgs),
    /// Take trust in a project back
    Untrust {
        /// The project; the one of this directory where none is named
        path: Option<PathBuf>,
    },
    /// Look at the sandbox and run a command in it
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

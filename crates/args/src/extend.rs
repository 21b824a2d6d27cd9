//! The flags of the commands about extensions: plugin, command, hooks.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum PluginCommand {
    /// Create a plugin from a template, with a test
    New(PluginNewArgs),
    /// Check a plugin, run its examples, and play the scenarios in `tests`
    Test(PluginTestArgs),
    /// Measure start-up, calls and memory of a plugin's tools, compared with a bare process
    Bench {
        /// The plugin's directory
        #[arg(default_value = ".", value_name = "DIR")]
        directory: PathBuf,
    },
    /// Develop a plugin: reload it, or call one of its tools, on each save
    Dev(PluginDevArgs),
    /// Install a plugin from a directory, a repository, a package or a marketplace
    Install(PluginInstallArgs),
    /// Update installed plugins, and show the changes first
    Update {
        /// The name (default: all)
        name: Option<String>,
    },
    /// Remove an installed plugin
    Remove {
        /// The name
        name: String,
    },
    /// Manage plugin marketplaces
    #[command(subcommand)]
    Marketplace(MarketplaceCommand),
    /// List plugins, including disabled and untrusted ones
    List,
    /// Show a plugin
    Show {
        /// The name
        name: String,
    },
    /// Check a plugin and all its parts strictly
    Validate {
        /// The directory or the name of an installed plugin
        path: PathBuf,
    },
    /// Report how well a plugin of any system is supported
    Check {
        /// The plugin's directory or file
        path: PathBuf,
    },
    /// Grant a plugin access that its manifest requests or the flags name
    Grant(GrantArgs),
    /// Print the directories that are searched for plugins, highest priority last
    Paths,
    /// Enable a plugin
    Enable {
        /// The name
        name: String,
    },
    /// Disable a plugin
    Disable {
        /// The name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum MarketplaceCommand {
    /// Add a marketplace
    Add {
        /// A directory or git URL with `.claude-plugin/marketplace.json`
        #[arg(value_name = "PATH|GIT-URL")]
        source: String,
    },
    /// List the plugins in all marketplaces
    List,
    /// Update marketplaces
    Update {
        /// The name (default: all)
        name: Option<String>,
    },
    /// Remove a marketplace; installed plugins stay
    Remove {
        /// The name
        name: String,
    },
}

#[derive(Args, Debug)]
pub struct PluginInstallArgs {
    /// A directory, git URL (`URL#BRANCH`), `npm:PACKAGE`, `pip:PACKAGE` or NAME@MARKETPLACE
    #[arg(required_unless_present = "frozen")]
    pub source: Option<String>,
    /// Install exactly the versions in `plugins.lock`, or fail
    #[arg(long, conflicts_with = "source")]
    pub frozen: bool,
}

#[derive(Args, Debug)]
pub struct PluginNewArgs {
    /// The name of the plugin and its directory
    pub name: String,
    /// The kind of plugin
    #[arg(long, default_value = "tool", value_parser = plugin_kinds())]
    pub kind: String,
    /// The parent directory (default: this one)
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct PluginTestArgs {
    /// The plugin's directory
    #[arg(default_value = ".", value_name = "DIR")]
    pub directory: PathBuf,
    /// Write the expected events of each scenario to `tests/NAME.events.jsonl`
    #[arg(long)]
    pub update: bool,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct PluginDevArgs {
    /// The plugin's directory
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Call a tool without a model, and again when a file of the plugin changes
    #[arg(long, num_args = 2, value_names = ["TOOL", "JSON"])]
    pub call: Vec<String>,
    /// Call the tool once and exit
    #[arg(long, requires = "call")]
    pub once: bool,
}

#[derive(Args, Clone, Debug)]
pub struct GrantArgs {
    /// The name
    pub name: String,
    /// Unrestricted network access
    #[arg(long)]
    pub network: bool,
    /// A host to connect to (repeatable)
    #[arg(long, value_name = "HOST", conflicts_with = "network")]
    pub host: Vec<String>,
    /// A path to read; a relative path starts at the project (repeatable)
    #[arg(long, value_name = "PATH")]
    pub read: Vec<String>,
    /// A path to write (repeatable)
    #[arg(long, value_name = "PATH")]
    pub write: Vec<String>,
    /// An environment variable to pass on (repeatable)
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,
    /// A program outside the system directories to run (repeatable)
    #[arg(long, value_name = "PROGRAM")]
    pub exec: Vec<String>,
    /// Remove all grants, and do not suggest them again
    #[arg(long, conflicts_with_all = ["network", "host", "read", "write", "env", "exec"])]
    pub none: bool,
}

/// The kinds of plugins that `plugin new` writes, as the help lists them.
pub const PLUGIN_KINDS: [(&str, &str); 11] = [
    ("tool", "A tool in Python"),
    ("hook", "A hook that checks calls before they run"),
    ("command", "A slash command"),
    ("skill", "A skill that the model reads when a task needs it"),
    ("provider", "A model provider in Python"),
    ("agent", "A sub-agent, as a plugin for Claude Code"),
    ("chibi", "An executable for chibi, in any language"),
    ("lmao", "A `tool.py` for LMAO"),
    ("role", "A role for InitRunner, with its own tools"),
    ("api", "An HTTP interface as a tool, without code"),
    ("mcp", "An MCP server, as a plugin for Claude Code"),
];

fn plugin_kinds() -> PossibleValuesParser {
    let kinds = PLUGIN_KINDS.iter().map(|(kind, about)| PossibleValue::new(*kind).help(*about));
    kinds.collect::<Vec<_>>().into()
}

#[derive(Debug, Subcommand)]
pub enum CommandCommand {
    /// List slash commands
    List,
    /// Print the prompt that a command sends to the model
    Render {
        /// The name, an alias, or `plugin:name`
        name: String,
        /// The arguments of the command
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List sub-agents
    List,
}

#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// List hooks in the order in which they run, including those of plugins
    List {
        /// Only hooks of this event
        #[arg(long, value_name = "EVENT")]
        event: Option<String>,
    },
    /// Run the hooks of an event with test data
    Test {
        /// The event
        event: String,
        /// The tool, for tool events
        #[arg(long, value_name = "NAME", default_value = "Bash")]
        tool: String,
        /// The tool's input, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
        /// The prompt, reply, output or error
        #[arg(long, value_name = "TEXT", default_value = "")]
        message: String,
    },
    /// Check hook files
    Validate {
        /// A file or a plugin's directory (default: all active files)
        path: Option<PathBuf>,
    },
}

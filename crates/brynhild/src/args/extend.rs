//! The flags of the commands about extensions: plugin, command, hooks.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use plugin_kit::template::TEMPLATES;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
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
pub(crate) enum MarketplaceCommand {
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
pub(crate) struct PluginInstallArgs {
    /// A directory, git URL (`URL#BRANCH`), `npm:PACKAGE`, `pip:PACKAGE` or NAME@MARKETPLACE
    #[arg(required_unless_present = "frozen")]
    pub(crate) source: Option<String>,
    /// Install exactly the versions in `plugins.lock`, or fail
    #[arg(long, conflicts_with = "source")]
    pub(crate) frozen: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PluginNewArgs {
    /// The name of the plugin and its directory
    pub(crate) name: String,
    /// The kind of plugin
    #[arg(long, default_value = "tool", value_parser = plugin_kinds())]
    pub(crate) kind: String,
    /// The parent directory (default: this one)
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PluginTestArgs {
    /// The plugin's directory
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Write the expected events of each scenario to `tests/NAME.events.jsonl`
    #[arg(long)]
    pub(crate) update: bool,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PluginDevArgs {
    /// The plugin's directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Call a tool without a model, and again when a file of the plugin changes
    #[arg(long, num_args = 2, value_names = ["TOOL", "JSON"])]
    pub(crate) call: Vec<String>,
    /// Call the tool once and exit
    #[arg(long, requires = "call")]
    pub(crate) once: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct GrantArgs {
    /// The name
    pub(crate) name: String,
    /// Unrestricted network access
    #[arg(long)]
    pub(crate) network: bool,
    /// A host to connect to (repeatable)
    #[arg(long, value_name = "HOST", conflicts_with = "network")]
    pub(crate) host: Vec<String>,
    /// A path to read; a relative path starts at the project (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<String>,
    /// A path to write (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<String>,
    /// An environment variable to pass on (repeatable)
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// A program outside the system directories to run (repeatable)
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) exec: Vec<String>,
    /// Remove all grants, and do not suggest them again
    #[arg(long, conflicts_with_all = ["network", "host", "read", "write", "env", "exec"])]
    pub(crate) none: bool,
}

fn plugin_kinds() -> PossibleValuesParser {
    TEMPLATES
        .iter()
        .map(|it| PossibleValue::new(it.kind).help(it.description))
        .collect::<Vec<_>>()
        .into()
}

#[derive(Debug, Subcommand)]
pub(crate) enum CommandCommand {
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
pub(crate) enum AgentsCommand {
    /// List sub-agents
    List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
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

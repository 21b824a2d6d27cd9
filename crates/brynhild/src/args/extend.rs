//! The flags of the commands about extensions: plugin, command, hooks.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use plugin_kit::template::TEMPLATES;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Write a plugin to begin with, and a test of it; overwrites nothing
    New(PluginNewArgs),
    /// Check a plugin, run the examples of its tools, and play the scenarios in its `tests`
    Test(PluginTestArgs),
    /// Measure start, calls and memory of a plugin's tools, beside those of a bare process
    Bench {
        /// The plugin's directory
        #[arg(default_value = ".", value_name = "DIR")]
        directory: PathBuf,
    },
    /// Converse with a plugin that you write, or call one of its tools on each save
    Dev(PluginDevArgs),
    /// Install a plugin from a directory, a repository, a package or a marketplace
    Install(PluginInstallArgs),
    /// Fetch installed plugins again, and show what changed before it is used
    Update {
        /// Its name; all of them if none is named
        name: Option<String>,
    },
    /// Delete a plugin that was installed
    Remove {
        /// Its name
        name: String,
    },
    /// Add, list, update and remove marketplaces of plugins
    #[command(subcommand)]
    Marketplace(MarketplaceCommand),
    /// List plugins, those that are off or not trusted too
    List,
    /// Print what is known of a plugin
    Show {
        /// Its name
        name: String,
    },
    /// Check a plugin strictly, with all its parts
    Validate {
        /// The directory, or the name of a plugin that is installed
        path: PathBuf,
    },
    /// Report how much of a plugin works here, for a plugin of any system
    Check {
        /// The directory or file of the plugin
        path: PathBuf,
    },
    /// Grant a plugin what its manifest requests, or what the flags name, in your configuration
    Grant(GrantArgs),
    /// Print where plugins are looked for, the strongest place last
    Paths,
    /// Switch a plugin on
    Enable {
        /// Its name
        name: String,
    },
    /// Switch a plugin off: nothing of it counts
    Disable {
        /// Its name
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum MarketplaceCommand {
    /// Add a marketplace
    Add {
        /// A directory or a git address with `.claude-plugin/marketplace.json`
        #[arg(value_name = "PATH|GIT-URL")]
        source: String,
    },
    /// List the plugins of all marketplaces
    List,
    /// Fetch marketplaces again
    Update {
        /// Its name; all of them if none is named
        name: Option<String>,
    },
    /// Forget a marketplace; what was installed from it stays
    Remove {
        /// Its name
        name: String,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PluginInstallArgs {
    /// A directory, a git address (`#BRANCH` behind it), `npm:PACKAGE`, `pip:PACKAGE`, NAME@MARKETPLACE
    #[arg(required_unless_present = "frozen")]
    pub(crate) source: Option<String>,
    /// Install what `plugins.lock` names, and fail if anything differs from it
    #[arg(long, conflicts_with = "source")]
    pub(crate) frozen: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PluginNewArgs {
    /// Its name, which is also the name of its directory
    pub(crate) name: String,
    /// The kind of plugin
    #[arg(long, default_value = "tool", value_parser = plugin_kinds())]
    pub(crate) kind: String,
    /// The directory to write it to; this one if none is named
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PluginTestArgs {
    /// The plugin's directory
    #[arg(default_value = ".", value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// Write the events of each scenario to `tests/NAME.events.jsonl`, which later runs compare
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
    /// Call a tool without a model, and again whenever a file of the plugin changes
    #[arg(long, num_args = 2, value_names = ["TOOL", "JSON"])]
    pub(crate) call: Vec<String>,
    /// Call the tool only once
    #[arg(long, requires = "call")]
    pub(crate) once: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct GrantArgs {
    /// Its name
    pub(crate) name: String,
    /// The whole network
    #[arg(long)]
    pub(crate) network: bool,
    /// A host to connect to; may be given more than once
    #[arg(long, value_name = "HOST", conflicts_with = "network")]
    pub(crate) host: Vec<String>,
    /// A path to read; one that is not absolute counts from the project
    #[arg(long, value_name = "PATH")]
    pub(crate) read: Vec<String>,
    /// A path to write
    #[arg(long, value_name = "PATH")]
    pub(crate) write: Vec<String>,
    /// An environment variable to see
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Vec<String>,
    /// A program to run that is outside of the system's directories
    #[arg(long, value_name = "PROGRAM")]
    pub(crate) exec: Vec<String>,
    /// Take all grants back, and ask no more
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
    /// List the commands that can be typed after `/`
    List,
    /// Print what a command would send to the model
    Render {
        /// Its name, an alias, or `plugin:name`
        name: String,
        /// The words after it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List the agents that the model can hand work to
    List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum HooksCommand {
    /// List hooks in the order in which they are asked, those of plugins too
    List {
        /// Only those of this event
        #[arg(long, value_name = "EVENT")]
        event: Option<String>,
    },
    /// Run the hooks of an event on something that did not happen
    Test {
        /// The event
        event: String,
        /// The tool, for events of tools
        #[arg(long, value_name = "NAME", default_value = "Bash")]
        tool: String,
        /// The tool's input, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
        /// The prompt, reply, output or error
        #[arg(long, value_name = "TEXT", default_value = "")]
        message: String,
    },
    /// Check files of hooks
    Validate {
        /// A file, or a plugin's directory; all files that count where none is named
        path: Option<PathBuf>,
    },
}

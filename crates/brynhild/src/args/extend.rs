//! The flags of the commands about extensions: plugin, command, hooks.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
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

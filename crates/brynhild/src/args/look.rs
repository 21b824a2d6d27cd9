//! The flags of the commands that look at things: config, api, models, tools, logs.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::manage::ThinkingStyle;

/// `config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the whole configuration
    Show {
        /// Say where each value comes from
        #[arg(long)]
        provenance: bool,
        /// Only this section
        #[arg(long, value_name = "NAME")]
        section: Option<String>,
        /// Colors even where the output is no terminal
        #[arg(long)]
        color: bool,
    },
    /// Print where configuration is read from
    Path {
        /// Also the layers that are not set
        #[arg(long)]
        all: bool,
    },
}

/// `api`.
#[derive(Debug, Subcommand)]
pub(crate) enum ApiCommand {
    /// List providers, what was found of each, and which one would be used
    Providers,
    /// Check the chosen provider
    Test {
        /// Send a real request
        #[arg(long)]
        live: bool,
    },
}

/// `models`.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List the models that the provider offers
    List {
        /// Only those that can call tools
        #[arg(long)]
        tools_only: bool,
        /// The order
        #[arg(long, default_value = "name")]
        sort: ModelOrder,
        /// At most so many
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Print what is known of a model
    Info {
        /// Its name or an alias
        id: String,
    },
    /// Search the models that the provider offers
    Search {
        /// A part of a name
        query: String,
        /// At most so many
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// List the models that can call tools
    Tools {
        /// Also those of which it is not known
        #[arg(long)]
        all: bool,
    },
    /// Compare models by price and context
    Compare {
        /// Their names or aliases; the favorites where none is named
        ids: Vec<String>,
        /// Input tokens for each output token in the price that is compared
        #[arg(long, default_value_t = 20.0, value_name = "N")]
        ratio: f64,
        /// The order
        #[arg(long, default_value = "cost")]
        sort: ModelOrder,
        /// Only those that can call tools
        #[arg(long)]
        tools_only: bool,
    },
    /// List aliases, favorites and registered models of the configuration
    Aliases,
}

/// The order of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelOrder {
    /// Cheapest first
    Cost,
    /// Largest context first
    Context,
    /// By name
    Name,
}

/// `tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    List {
        /// Whole descriptions
        #[arg(short = 'v', id = "whole")]
        whole: bool,
    },
    /// Print a tool's input schema
    Schema {
        /// The tool
        name: String,
    },
    /// Run a tool as the model would: checked, judged, confined
    Exec {
        /// The tool
        name: String,
        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
    },
    /// Count calls, failures and time by tool
    Stats {
        /// From a conversation log
        #[arg(long, value_name = "FILE", conflicts_with = "of_session")]
        log: Option<PathBuf>,
        /// From a session
        #[arg(long = "of", value_name = "ID")]
        of_session: Option<String>,
    },
}

/// `logs`.
#[derive(Debug, Subcommand)]
pub(crate) enum LogsCommand {
    /// List conversation logs, newest first
    List {
        /// At most so many
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
    },
    /// Print a log; the newest where none is named
    View {
        /// A file, or its name in the log folder
        file: Option<PathBuf>,
        /// Every line as it is
        #[arg(long)]
        raw: bool,
        /// Only counts
        #[arg(long)]
        summary: bool,
    },
    /// Write a log as Markdown
    Export {
        /// A file, or its name in the log folder
        file: Option<PathBuf>,
        /// Where to; `-` is standard output
        #[arg(short = 'o', long, default_value = "-")]
        output: PathBuf,
        /// The title
        #[arg(long)]
        title: Option<String>,
        /// How reasoning is shown
        #[arg(long, default_value = "collapsible")]
        thinking_style: ThinkingStyle,
        /// Show reasoning (the default)
        #[arg(long, overrides_with = "no_thinking")]
        thinking: bool,
        /// Show no reasoning; the same as `--thinking-style hidden`
        #[arg(long)]
        no_thinking: bool,
    },
    /// Print what went over the wire in a run with `--raw-log`; the newest where none is named
    Raw {
        /// A file, or its name in the log folder
        file: Option<PathBuf>,
        /// Only `request`, `response`, `stream_complete` or `error`
        #[arg(short = 'd', long)]
        direction: Option<String>,
        /// At most so many
        #[arg(short = 'n', long, default_value_t = 1000)]
        limit: usize,
    },
}

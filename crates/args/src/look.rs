//! The flags of the commands that look at things: config, api, models, tools, logs.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Subcommand, ValueEnum};

use super::manage::ThinkingStyle;

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the configuration
    Show {
        /// Show where each value comes from
        #[arg(long)]
        provenance: bool,
        /// Print only this section
        #[arg(long, value_name = "NAME")]
        section: Option<String>,
        /// Use colors even if the output is not a terminal
        #[arg(long)]
        color: bool,
    },
    /// Print the locations of configuration files
    Path {
        /// Include locations that do not exist
        #[arg(long)]
        all: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum ApiCommand {
    /// List providers, their state, and the default
    Providers,
    /// Test the selected provider
    Test {
        /// Send a request
        #[arg(long)]
        live: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the models of the provider
    List {
        /// List the models of every provider that is set up
        #[arg(long)]
        all: bool,
        /// Only models that can call tools
        #[arg(long)]
        tools_only: bool,
        /// Sort order
        #[arg(long, default_value = "name")]
        sort: ModelOrder,
        /// Maximum number of entries
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Show a model
    Info {
        /// The name or an alias
        id: String,
    },
    /// Search the models of the provider
    Search {
        /// Part of a name
        query: String,
        /// Maximum number of entries
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
    /// List the models that can call tools
    Tools {
        /// Include models for which this is unknown
        #[arg(long)]
        all: bool,
    },
    /// Compare models by price and context
    Compare {
        /// Names or aliases (default: the favorites)
        ids: Vec<String>,
        /// Input tokens per output token, for the compared price
        #[arg(long, default_value_t = 20.0, value_name = "N")]
        ratio: f64,
        /// Sort order
        #[arg(long, default_value = "cost")]
        sort: ModelOrder,
        /// Only models that can call tools
        #[arg(long)]
        tools_only: bool,
    },
    /// List configured aliases, favorites and registered models
    Aliases,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModelOrder {
    /// Cheapest first
    Cost,
    /// Largest context first
    Context,
    /// By name
    Name,
}

#[derive(Debug, Subcommand)]
pub enum ToolsCommand {
    /// List tools
    List {
        /// Print complete descriptions
        #[arg(short = 'v', id = "whole")]
        whole: bool,
        /// List the tools of this role
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
    /// Print a tool's input schema
    Schema {
        /// The tool
        name: String,
        /// Use the tools of this role
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
    /// Run a tool with the checks, permissions and sandbox of a model call
    Exec {
        /// The tool
        name: String,
        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
        /// Use the tools of this role
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
    /// Show calls, failures and time by tool
    Stats {
        /// Read this conversation log
        #[arg(long, value_name = "FILE", conflicts_with = "of_session")]
        log: Option<PathBuf>,
        /// Read this session
        #[arg(long = "of", value_name = "ID")]
        of_session: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub enum LogsCommand {
    /// List the conversation logs of this project, newest first
    List {
        /// Maximum number of entries
        #[arg(short = 'n', long, default_value_t = 20)]
        limit: usize,
        /// Include other projects, and sessions that were not saved
        #[arg(long)]
        all: bool,
    },
    /// Print a log (default: the newest)
    View {
        /// A file, or a name in the log directory
        file: Option<PathBuf>,
        /// Print unformatted lines
        #[arg(long)]
        raw: bool,
        /// Print only counts
        #[arg(long)]
        summary: bool,
    },
    /// Export a log as Markdown
    Export {
        /// A file, or a name in the log directory
        file: Option<PathBuf>,
        /// The output file; `-` for standard output
        #[arg(short = 'o', long, default_value = "-")]
        output: PathBuf,
        /// The title
        #[arg(long)]
        title: Option<String>,
        /// How to show reasoning
        #[arg(long, default_value = "collapsible")]
        thinking_style: ThinkingStyle,
        /// Show reasoning (the default)
        #[arg(long, overrides_with = "no_thinking")]
        thinking: bool,
        /// Hide reasoning, like `--thinking-style hidden`
        #[arg(long)]
        no_thinking: bool,
    },
    /// Print the raw requests and replies of a run with `--raw-log` (default: the newest)
    Raw {
        /// A file, or a name in the log directory
        file: Option<PathBuf>,
        /// List the files, newest first
        #[arg(long, conflicts_with_all = ["file", "index", "direction", "summary"])]
        list: bool,
        /// Only these entries, counted from 0: `0,2-4`
        #[arg(short = 'i', long, value_name = "NUMBERS")]
        index: Option<Indexes>,
        /// Only entries of this direction
        #[arg(short = 'd', long)]
        direction: Option<Direction>,
        /// Print one line per entry, without content
        #[arg(long)]
        summary: bool,
        /// Maximum number of entries
        #[arg(short = 'n', long, default_value_t = 1000)]
        limit: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Direction {
    /// To the provider
    Request,
    /// From the provider, not streamed
    Response,
    /// From the provider, streamed pieces joined
    StreamComplete,
    /// Errors
    Error,
}

impl Direction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::StreamComplete => "stream_complete",
            Self::Error => "error",
        }
    }
}

/// A choice of numbers: `0,2-4`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Indexes(Vec<RangeInclusive<usize>>);

impl Indexes {
    pub fn contains(&self, number: usize) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

impl FromStr for Indexes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |text: &str| {
            let text = text.trim();
            text.parse::<usize>().map_err(|_| format!("`{text}` is not a number; write `0,2-4`"))
        };
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("`{}` ends before it begins", part.trim()));
            }
            Ok(first..=last)
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_chosen_singly_and_in_ranges() {
        let chosen: Indexes = "0, 2-4".parse().expect("valid");
        let numbers: Vec<usize> = (0..7).filter(|number| chosen.contains(*number)).collect();
        assert_eq!(numbers, [0, 2, 3, 4]);
        for wrong in ["", "a", "1-", "-1", "4-2", "1,,2"] {
            assert!(wrong.parse::<Indexes>().is_err(), "{wrong:?}");
        }
    }
}

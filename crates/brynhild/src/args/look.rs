//! The flags of the commands that look at things: config, api, models, tools, logs.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Subcommand, ValueEnum};

use super::manage::ThinkingStyle;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelOrder {
    /// Cheapest first
    Cost,
    /// Largest context first
    Context,
    /// By name
    Name,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools
    List {
        /// Whole descriptions
        #[arg(short = 'v', id = "whole")]
        whole: bool,
        /// Those of a role, and no others
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
    /// Print a tool's input schema
    Schema {
        /// The tool
        name: String,
        /// Among those of a role
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
    },
    /// Run a tool as the model would: checked, judged, confined
    Exec {
        /// The tool
        name: String,
        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
        /// Among those of a role
        #[arg(long, value_name = "ROLE.yaml")]
        role: Option<PathBuf>,
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
        /// A file, or its name in the log directory
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
        /// A file, or its name in the log directory
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
        /// A file, or its name in the log directory
        file: Option<PathBuf>,
        /// List the files instead, newest first
        #[arg(long, conflicts_with_all = ["file", "index", "direction", "summary"])]
        list: bool,
        /// Only these, counted from 0: `0,2-4`
        #[arg(short = 'i', long, value_name = "NUMBERS")]
        index: Option<Indexes>,
        /// Only those of this direction
        #[arg(short = 'd', long)]
        direction: Option<Direction>,
        /// One line for each, without what was sent
        #[arg(long)]
        summary: bool,
        /// At most so many
        #[arg(short = 'n', long, default_value_t = 1000)]
        limit: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Direction {
    /// To the provider
    Request,
    /// From the provider, in one piece
    Response,
    /// From the provider, all pieces together
    StreamComplete,
    /// Errors
    Error,
}

impl Direction {
    pub(crate) fn as_str(self) -> &'static str {
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
pub(crate) struct Indexes(Vec<RangeInclusive<usize>>);

impl Indexes {
    pub(crate) fn contains(&self, number: usize) -> bool {
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

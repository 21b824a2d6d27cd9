//! The flags of `run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What `run` takes.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The role's file, or its folder
    pub(crate) role: PathBuf,
    /// The prompt, with or without `-p` before it; standard input where there is none
    pub(crate) prompt: Vec<String>,
    /// The prompt
    #[arg(long = "prompt", value_name = "PROMPT")]
    pub(crate) prompt_option: Option<String>,
    /// Read and check the role, and ask no model
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A value for `{{NAME}}` in the role's prompt
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) var: Vec<String>,
    /// The form of the answer
    #[arg(short = 'f', long, value_name = "FORMAT")]
    pub(crate) format: Option<RunFormat>,
}

/// The form of a role's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunFormat {
    /// Words for people
    Auto,
    /// One JSON object
    Json,
    /// Words for people
    Text,
    /// Words for people
    Rich,
}

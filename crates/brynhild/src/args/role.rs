//! The flags of `run` and `test`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The role's file, or its directory
    pub(crate) role: PathBuf,
    /// The prompt, with or without `-p` before it; standard input where there is none
    pub(crate) prompt: Vec<String>,
    /// The prompt; `-p PROMPT` says the same
    #[arg(long = "prompt", value_name = "PROMPT")]
    pub(crate) prompt_option: Option<String>,
    /// Go on line by line, after the prompt or without one
    #[arg(short = 'i', long)]
    pub(crate) interactive: bool,
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

#[derive(Args, Clone, Debug)]
pub(crate) struct TestArgs {
    /// The role's file or directory, or a suite that names its role with `role`
    pub(crate) role: PathBuf,
    /// The suite: a file with `kind: TestSuite`
    #[arg(short = 's', long, value_name = "SUITE")]
    pub(crate) suite: Option<PathBuf>,
    /// Check the role and the suite, and ask no model
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run only the cases with this tag
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// The number of cases that run at the same time
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Write the results to this file, as JSON
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

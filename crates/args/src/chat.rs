//! The flags of `chat`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum InputFormat {
    /// A prompt
    Text,
    /// Inputs, as `brynhild schema --inputs` describes them; needs `--output-format stream-json`
    StreamJson,
}

#[derive(Args, Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ChatArgs {
    /// The prompt; the text of `--prompt-file` and standard input follow it
    #[arg(help_heading = None::<&str>)]
    pub prompt: Vec<String>,
    /// Add the text of a file to the prompt
    #[arg(short = 'f', long, value_name = "PATH")]
    pub prompt_file: Vec<PathBuf>,
    /// Read prompts and answers from standard input, one JSON object per line
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["prompt", "prompt_file", "image", "markdown_output"])]
    pub input_format: Option<InputFormat>,
    /// Send an image along: PNG, JPEG, GIF or WebP
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Do not stream replies
    #[arg(long)]
    pub no_stream: bool,
    /// Show tool calls and how they would be decided, without running them
    #[arg(long)]
    pub dry_run: bool,
    /// Offer tools (the default)
    #[arg(long, overrides_with = "no_tools")]
    pub tools: bool,
    /// Offer no tools
    #[arg(long)]
    pub no_tools: bool,
    /// Require the model to end the task with the Finish tool
    #[arg(long)]
    pub require_finish: bool,
    /// Use a role: a file, or a name in the `agents` directory of your configuration
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Require an answer in JSON that fits the JSON Schema in this file
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Write no conversation log
    #[arg(long)]
    pub no_log: bool,
    /// Write the conversation log to this file
    #[arg(long, value_name = "PATH", conflicts_with = "no_log")]
    pub log_file: Option<PathBuf>,
    /// Do not save the session
    #[arg(long)]
    pub no_save: bool,
    /// Also write the conversation to a Markdown file
    #[arg(short = 'o', long, value_name = "PATH")]
    pub markdown_output: Option<PathBuf>,
    /// The title of the Markdown file
    #[arg(long, value_name = "TITLE", requires = "markdown_output")]
    pub markdown_title: Option<String>,
}

impl ChatArgs {
    /// Returns true if an option is set, which makes the program answer once.
    pub fn has_options(&self) -> bool {
        *self != Self { prompt: self.prompt.clone(), ..Self::default() }
    }
}

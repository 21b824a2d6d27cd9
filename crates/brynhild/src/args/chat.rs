//! The flags of `chat`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ChatArgs {
    /// The prompt; files and standard input come before it
    pub(crate) prompt: Vec<String>,
    /// Read a part of the prompt from a file
    #[arg(short = 'f', long, value_name = "PATH")]
    pub(crate) prompt_file: Vec<PathBuf>,
    /// Ask for whole replies instead of streamed ones
    #[arg(long)]
    pub(crate) no_stream: bool,
    /// Judge and name tool calls, run none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Offer tools (the default)
    #[arg(long, overrides_with = "no_tools")]
    pub(crate) tools: bool,
    /// Offer no tools
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// The task must end with the Finish tool
    #[arg(long)]
    pub(crate) require_finish: bool,
    /// Play a role: a file, or a name in the directory `agents` of your configuration
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Write no conversation log
    #[arg(long)]
    pub(crate) no_log: bool,
    /// Write the conversation log here
    #[arg(long, value_name = "PATH", conflicts_with = "no_log")]
    pub(crate) log_file: Option<PathBuf>,
    /// Do not keep the session
    #[arg(long)]
    pub(crate) no_save: bool,
    /// Also write the conversation as Markdown
    #[arg(short = 'o', long, value_name = "PATH")]
    pub(crate) markdown_output: Option<PathBuf>,
    /// The title of that Markdown
    #[arg(long, value_name = "TITLE", requires = "markdown_output")]
    pub(crate) markdown_title: Option<String>,
}

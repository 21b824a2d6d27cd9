//! The flags of `run`, `test`, `memory` and `approve`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct RunArgs {
    /// The file of a role, a team, a flow or a group, or its directory
    pub(crate) role: PathBuf,
    /// The prompt, with or without `-p` before it; standard input where there is none
    pub(crate) prompt: Vec<String>,
    /// The prompt; `-p PROMPT` says the same
    #[arg(long = "prompt", value_name = "PROMPT")]
    pub(crate) prompt_option: Option<String>,
    /// Go on line by line, after the prompt or without one
    #[arg(short = 'i', long)]
    pub(crate) interactive: bool,
    /// Go on without you until the task is done or a limit is reached
    #[arg(short = 'a', long, conflicts_with = "interactive")]
    pub(crate) autonomous: bool,
    /// Prompt the role this often at most
    #[arg(long, value_name = "N", requires = "autonomous", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_iterations: Option<u32>,
    /// Read and check the role, and ask no model
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// A value for `{{NAME}}` in the role's prompt
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) var: Vec<String>,
    /// Record the run in this database
    #[arg(long, value_name = "FILE", conflicts_with = "no_audit")]
    pub(crate) audit_db: Option<PathBuf>,
    /// Record nothing about the run; it cannot be paused then
    #[arg(long)]
    pub(crate) no_audit: bool,
    /// Which agent of a group runs
    #[arg(long, value_name = "NAME", conflicts_with = "sense")]
    pub(crate) agent: Option<String>,
    /// Choose the agent of a group that fits the prompt
    #[arg(long)]
    pub(crate) sense: bool,
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

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List memories, newest first
    List {
        /// The role's file, or its directory
        role: PathBuf,
        /// Only memories of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<MemoryKind>,
        /// Only memories of this category
        #[arg(long)]
        category: Option<String>,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Remove memories and the prompts of sessions
    Clear {
        /// The role's file, or its directory
        role: PathBuf,
        /// Which part is removed
        #[arg(long, value_enum, default_value = "all")]
        what: ClearedPart,
        /// Only memories of this type, and no sessions
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<MemoryKind>,
        /// Do not ask
        #[arg(long)]
        force: bool,
    },
    /// Write all memories to a JSON file
    Export {
        /// The role's file, or its directory
        role: PathBuf,
        /// The file
        #[arg(short, long, value_name = "FILE", default_value = "memories.json")]
        output: PathBuf,
    },
    /// Add the memories of a JSON file
    Import {
        /// The role's file, or its directory
        role: PathBuf,
        /// A file that `memory export` wrote
        file: PathBuf,
    },
    /// Have the model extract facts from recorded episodes
    Consolidate {
        /// The role's file, or its directory
        role: PathBuf,
    },
}

impl MemoryCommand {
    pub(crate) fn role(&self) -> &Path {
        match self {
            Self::List { role, .. }
            | Self::Clear { role, .. }
            | Self::Export { role, .. }
            | Self::Import { role, .. }
            | Self::Consolidate { role } => role,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryKind {
    Semantic,
    Episodic,
    Procedural,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClearedPart {
    Sessions,
    Memories,
    All,
}

/// The database that records the runs of roles.
#[derive(Clone, Debug, Default)]
pub(crate) enum RunAudit {
    /// `audit.db` in InitRunner's home directory.
    #[default]
    Usual,
    File(PathBuf),
    Off,
}

impl RunArgs {
    pub(crate) fn run_audit(&self) -> RunAudit {
        match &self.audit_db {
            _ if self.no_audit => RunAudit::Off,
            Some(file) => RunAudit::File(file.clone()),
            None => RunAudit::Usual,
        }
    }
}

#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("calls").required(true))]
pub(crate) struct ApproveArgs {
    /// The id of the run, as `pending` shows it
    pub(crate) run_id: String,
    /// Decide all calls that wait
    #[arg(long, group = "calls")]
    pub(crate) all: bool,
    /// Decide this call; the others of the run are denied
    #[arg(long, value_name = "ID", group = "calls")]
    pub(crate) tool_call_id: Option<String>,
    /// Deny instead of approving
    #[arg(long)]
    pub(crate) deny: bool,
    /// The name that is recorded with the decision
    #[arg(long, value_name = "NAME", default_value = "cli")]
    pub(crate) resolved_by: String,
}

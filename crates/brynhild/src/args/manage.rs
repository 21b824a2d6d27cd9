//! The flags of the commands that manage things: session, skill, rules, profile, permissions, sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// List sessions, newest first
    List {
        /// At most so many; `session.history_limit` where none is given
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Print a session
    Show {
        /// Its name, a unique beginning of it, or `last`
        id: String,
    },
    /// Rename a session
    Rename {
        /// Its name
        old: String,
        /// The name it gets
        new: String,
    },
    /// Give a session a title
    Title {
        /// Its name
        id: String,
        /// The title
        title: String,
    },
    /// Delete a session
    Delete {
        /// Its name
        id: String,
    },
    /// Write a session as Markdown or JSON
    Export {
        /// Its name, a unique beginning of it, or `last`
        id: String,
        /// The form
        #[arg(long, default_value = "markdown")]
        format: ExportFormat,
        /// Where to; `-` is standard output
        #[arg(short = 'o', long, default_value = "-")]
        output: PathBuf,
        /// How reasoning is shown
        #[arg(long, default_value = "collapsible")]
        thinking_style: ThinkingStyle,
    },
    /// Take back what the last turns changed in files; what somebody changed since stays
    Undo {
        /// The session: its name, a unique beginning of it, or `last`; the newest of this directory
        /// where none is given
        id: Option<String>,
        /// How many turns
        #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
        turns: u32,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Overwrite what somebody changed since
        #[arg(long)]
        force: bool,
    },
    /// Make the changes again that were undone last
    Redo {
        /// The session, as for `undo`
        id: Option<String>,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// Overwrite what somebody changed since
        #[arg(long)]
        force: bool,
    },
    /// Show what turns changed in files
    Changes {
        /// The session, as for `undo`
        id: Option<String>,
        /// The last N turns that changed something; all where none is given
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        turns: Option<u32>,
        /// Line by line
        #[arg(long)]
        diff: bool,
    },
    /// Search prompts, answers and tool output of all sessions
    Search {
        /// Words that must all be there
        query: Vec<String>,
        /// At most so many
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
}

#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// The last N days, today included; days are those of UTC
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) days: Option<u32>,
    /// The subject of the lines
    #[arg(long, value_name = "WHAT", default_value = "model")]
    pub(crate) by: StatsOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsOrder {
    /// Models
    Model,
    /// Sessions
    Session,
    /// Days
    Day,
    /// Plugins: calls, time, and what they put into the context, by results and by descriptions
    Plugin,
    /// Tools
    Tool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// For people
    Markdown,
    /// For programs
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkingStyle {
    /// Folded away, can be opened
    Collapsible,
    /// All of it
    Full,
    /// How long it was
    Summary,
    /// Not at all
    Hidden,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillCommand {
    /// List skills
    List,
    /// Print what is known of a skill
    Show {
        /// Its name
        name: String,
        /// Its instructions too
        #[arg(long)]
        body: bool,
    },
    /// Check a skill's directory strictly
    Validate {
        /// The directory
        path: PathBuf,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RulesCommand {
    /// Print what the model gets, and from where
    Show,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfileCommand {
    /// List profiles
    List,
    /// Print a profile
    Show {
        /// Its name
        name: String,
    },
    /// Say which profile a model gets
    Resolve {
        /// The model; the configured one where none is named
        #[arg(id = "resolved", value_name = "MODEL")]
        model: Option<String>,
    },
}

/// `policy`. The exit code tells the ruling: 0 allow, 3 ask, 1 deny.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Judge a shell command
    Check {
        /// The command's text
        command: String,
    },
    /// Judge a call of a tool
    Explain {
        /// The tool
        #[arg(long)]
        tool: String,
        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        input: String,
    },
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// List it, oldest first (the default)
    List,
    /// Find out whether a decision or a run was changed or removed; exit code 1 if so
    #[command(alias = "verify-chain")]
    Verify,
    /// Print the recorded runs of roles, newest first
    Export(AuditExportArgs),
    /// Remove the recorded runs of roles that are older
    Prune {
        /// The age in days
        #[arg(long, value_name = "N", default_value_t = 90)]
        days: u32,
    },
}

#[derive(Args, Clone, Debug)]
pub(crate) struct AuditExportArgs {
    /// The form of the output
    #[arg(short = 'f', long, value_name = "FORMAT", default_value = "json", value_parser = ["json", "csv"])]
    pub(crate) format: String,
    /// Write to this file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Only runs of this agent
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// Only this run
    #[arg(long, value_name = "ID")]
    pub(crate) run_id: Option<String>,
    /// Only runs that were started so
    #[arg(long, value_name = "TYPE")]
    pub(crate) trigger_type: Option<String>,
    /// Only runs from this time on, such as 2026-01-31
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only runs until this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(crate) limit: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PermissionsCommand {
    /// List what is remembered (the default)
    List,
    /// Forget a rule: by its number in the list, or all that read so
    Revoke {
        /// The number or the rule
        #[arg(value_name = "RULE|NUMBER")]
        rule: String,
    },
    /// Forget all of them; `--yes` asks nothing
    Clear,
}

#[derive(Args, Debug)]
pub(crate) struct TrustArgs {
    /// The project; the one of this directory where none is named
    pub(crate) path: Option<PathBuf>,
    /// Let its text be read and nothing of it run, and ask no more
    #[arg(long, conflicts_with = "yes")]
    pub(crate) text_only: bool,
    /// List the decisions about projects
    #[arg(long, conflicts_with_all = ["path", "text_only"])]
    pub(crate) list: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Run a command confined
    Run {
        /// The files that it may write
        // The same flag names a model's profile elsewhere, so it has to be text here too.
        #[arg(long, default_value = "workspace", value_parser = ["read-only", "workspace"])]
        profile: String,
        /// The command and its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Say which confinement is used here, what each one lacks and why
    Doctor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxProfile {
    /// Nothing
    ReadOnly,
    /// The workspace
    Workspace,
}

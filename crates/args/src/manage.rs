//! The flags of the commands that manage things: session, skill, rules, profile, permissions, sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// List sessions, newest first
    List {
        /// Maximum number of entries (default: `session.history_limit`)
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Print a session
    Show {
        /// An ID, a unique prefix of it, or `last`; default: the newest in this directory
        id: Option<String>,
    },
    /// Rename a session
    Rename {
        /// The name
        old: String,
        /// The new name
        new: String,
    },
    /// Set the title of a session
    Title {
        /// The name
        id: String,
        /// The title
        title: String,
    },
    /// Delete a session
    Delete {
        /// The name
        id: String,
    },
    /// Export a session as Markdown or JSON
    Export {
        /// An ID, a unique prefix of it, or `last`
        id: String,
        /// The format
        #[arg(long, default_value = "markdown")]
        format: ExportFormat,
        /// The output file; `-` for standard output
        #[arg(short = 'o', long, default_value = "-")]
        output: PathBuf,
        /// How to show reasoning
        #[arg(long, default_value = "collapsible")]
        thinking_style: ThinkingStyle,
    },
    /// Undo the file changes of the last turns; files changed since then are kept
    Undo {
        /// An ID, a unique prefix of it, or `last` (default: the newest in this directory)
        id: Option<String>,
        /// Number of turns
        #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
        turns: u32,
        /// Show the changes without making them
        #[arg(long)]
        dry_run: bool,
        /// Overwrite files that were changed since then
        #[arg(long)]
        force: bool,
    },
    /// Redo the file changes that were undone last
    Redo {
        /// The session, as for `undo`
        id: Option<String>,
        /// Show the changes without making them
        #[arg(long)]
        dry_run: bool,
        /// Overwrite files that were changed since then
        #[arg(long)]
        force: bool,
    },
    /// Show the file changes of turns
    Changes {
        /// The session, as for `undo`
        id: Option<String>,
        /// The last N turns with changes (default: all)
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        turns: Option<u32>,
        /// Show changed lines
        #[arg(long)]
        diff: bool,
    },
    /// Search prompts, answers and tool output in all sessions
    Search {
        /// Words that must all occur
        query: Vec<String>,
        /// Maximum number of entries
        #[arg(long, default_value_t = 20)]
        limit: usize,
    },
}

#[derive(Args, Debug)]
pub struct StatsArgs {
    /// The last N days including today, in UTC
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub days: Option<u32>,
    /// Group by
    #[arg(long, value_name = "WHAT", default_value = "model")]
    pub by: StatsOrder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StatsOrder {
    /// Models
    Model,
    /// Sessions
    Session,
    /// Days
    Day,
    /// Plugins: calls, time, and tokens of results and descriptions
    Plugin,
    /// Tools
    Tool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Markdown
    Markdown,
    /// JSON
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ThinkingStyle {
    /// In collapsed sections
    Collapsible,
    /// In full
    Full,
    /// Only the length
    Summary,
    /// Hidden
    Hidden,
}

#[derive(Debug, Subcommand)]
pub enum SkillCommand {
    /// List skills
    List,
    /// Show a skill
    Show {
        /// The name
        name: String,
        /// Include the instructions
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
pub enum RulesCommand {
    /// List the files of rules that apply here
    List,
    /// Print the rules and the files they come from
    Show,
}

#[derive(Debug, Subcommand)]
pub enum ProfileCommand {
    /// List profiles
    List,
    /// Print a profile
    Show {
        /// The name
        name: String,
    },
    /// Show the profile of a model
    Resolve {
        /// The model (default: the configured one)
        #[arg(id = "resolved", value_name = "MODEL")]
        model: Option<String>,
    },
}

/// `policy`. The exit code tells the ruling: 0 allow, 3 ask, 1 deny.
#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Decide a shell command
    Check {
        /// The command
        command: String,
    },
    /// Decide a tool call
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
pub enum AuditCommand {
    /// List decisions, oldest first (the default)
    List,
    /// Check that no decision or run was changed or removed; exit code 1 if one was
    #[command(alias = "verify-chain")]
    Verify,
    /// Export recorded role runs, newest first
    Export(AuditExportArgs),
    /// List refused prompts and answers of roles, newest first
    SecurityEvents {
        /// The largest number of events
        #[arg(long, value_name = "N", default_value_t = 100)]
        limit: usize,
    },
    /// Remove old role runs
    Prune {
        /// Minimum age in days
        #[arg(long, value_name = "N", default_value_t = 90)]
        days: u32,
    },
}

#[derive(Args, Clone, Debug)]
pub struct AuditExportArgs {
    /// The output format
    #[arg(short = 'f', long, value_name = "FORMAT", default_value = "json", value_parser = ["json", "csv"])]
    pub format: String,
    /// The output file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Only runs of this agent
    #[arg(long)]
    pub agent: Option<String>,
    /// Only this run
    #[arg(long, value_name = "ID")]
    pub run_id: Option<String>,
    /// Only runs with this trigger
    #[arg(long, value_name = "TYPE")]
    pub trigger_type: Option<String>,
    /// Only runs since this time, such as 2026-01-31
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only runs until this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Maximum number of entries
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub limit: usize,
}

#[derive(Debug, Subcommand)]
pub enum PermissionsCommand {
    /// List remembered permissions (the default)
    List,
    /// Remove a rule, by its number in the list or by its text
    Revoke {
        /// The number or the text of the rule
        #[arg(value_name = "RULE|NUMBER")]
        rule: String,
    },
    /// Remove all rules; `--yes` skips the question
    Clear,
}

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// The project (default: the one in this directory)
    pub path: Option<PathBuf>,
    /// Decline: read its instructions, run nothing, do not ask again
    #[arg(long, conflicts_with = "yes")]
    pub text_only: bool,
    /// List trust decisions
    #[arg(long, conflicts_with_all = ["path", "text_only"])]
    pub list: bool,
}

#[derive(Debug, Subcommand)]
pub enum SandboxCommand {
    /// Run a command in the sandbox
    Run {
        /// The files that the command may write
        // The same flag names a model's profile elsewhere, so it has to be text here too.
        #[arg(long, default_value = "workspace", value_parser = ["read-only", "workspace"])]
        profile: String,
        /// The command and its arguments
        #[arg(last = true, required = true)]
        command: Vec<OsString>,
    },
    /// Check which sandbox works on this machine; `--verbose` describes all of them
    Doctor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SandboxProfile {
    /// Nothing
    ReadOnly,
    /// The workspace
    Workspace,
}

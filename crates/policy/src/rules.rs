//! Rules: what they say, where they stand, and whether they speak of a call. Deny and ask rules
//! over-approximate; an allow rule covers only what it spells out.

mod command;
mod host;
mod memory;
mod parse;
mod path;

use contract::action::Action;
use contract::policy::Decision;
use contract::tool::ToolSpec;

pub use memory::Memory;
pub use parse::{Parsed, RuleError, parse};

pub(crate) use command::{CommandPattern, Match, Tail};
pub(crate) use host::HostPattern;
pub(crate) use parse::READING;
pub(crate) use path::{PathPattern, Touch};

use crate::glob::{Reading, meet};

/// Whose rule it is. Earlier scopes are named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The administrator's.
    Managed,
    /// The user's.
    User,
    /// The project's; it may only tighten.
    Project,
    /// Given by the user until the session ends.
    Session,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    pub decision: Decision,
    pub scope: Scope,
    /// Where it stands.
    pub origin: String,
    /// The rule as it is written.
    pub text: String,
    /// Why it is there, in its author's words.
    pub reason: Option<String>,
    pub(crate) matcher: Matcher,
}

/// The tools and actions that a rule matches.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    /// Whose calls; a pattern.
    pub(crate) tool: Option<String>,
    /// The plugin the tool comes from, for approvals given to that plugin.
    pub(crate) source: Option<String>,
    pub(crate) target: Target,
}

/// The action that a rule matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// Anything.
    Anything,
    /// Any command.
    AnyCommand,
    /// A command.
    Command(CommandPattern),
    /// A file.
    Path(Touch, PathPattern),
    /// A host.
    Host(HostPattern),
    /// A command that runs outside the sandbox.
    Outside(CommandPattern),
    /// A plugin's work, in its exact words; [`ANY_WORDS`] for whatever it does.
    What(String),
}

/// Stands for all that a plugin's tool does.
pub(crate) const ANY_WORDS: &str = "*";

impl Rule {
    /// Returns true if it denies or asks about a built-in tool by name, and so applies to the same
    /// action of a plugin's tool.
    pub(crate) fn means_work(&self, tool: &ToolSpec, action: &Action) -> bool {
        let named = match action {
            Action::Run { .. } => self.matcher.tool.as_deref() == Some("Bash"),
            Action::Write { .. } => matches!(self.matcher.tool.as_deref(), Some("Write" | "Edit")),
            Action::Read { .. } => self.matcher.tool.as_deref() == Some("Read"),
            Action::Connect { .. } | Action::LeaveSandbox { .. } | Action::Opaque { .. } => false,
        };
        let is_bare = self.matcher.target == Target::Anything && self.matcher.source.is_none();
        named && is_bare && self.decision != Decision::Allow && tool.source != "builtin"
    }

    /// Returns true if it matches so much that only the user may allow it: any command, or any
    /// text that a shell runs.
    pub(crate) fn is_boundless(&self) -> bool {
        let tool = self.matcher.tool.as_deref().unwrap_or("*");
        match &self.matcher.target {
            Target::AnyCommand => true,
            Target::Anything => meet((tool, Reading::Rule), ("Bash", Reading::Literal)),
            Target::Command(pattern) => pattern.is_boundless(),
            Target::Outside(_) | Target::Path(..) | Target::Host(_) | Target::What(_) => false,
        }
    }

    /// Returns true if it applies to this tool.
    pub(crate) fn concerns(&self, tool: &ToolSpec) -> bool {
        let named =
            self.matcher.tool.as_deref().is_none_or(|pattern| {
                meet((pattern, Reading::Rule), (&tool.name, Reading::Literal))
            });
        let sourced = self.matcher.source.as_deref();
        named && sourced.is_none_or(|source| source == tool.source)
    }

    /// Why it is there, or what it is.
    pub(crate) fn why(&self) -> String {
        match &self.reason {
            Some(reason) => format!("rule `{}`: {reason}", self.text),
            None => format!("rule `{}`", self.text),
        }
    }
}

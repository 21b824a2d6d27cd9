//! What a tool would do, and the ruling on it. The rules themselves live in `policy`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::ToolSpec;

/// How much freedom tools have.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Nothing is changed: no writes, no network, commands run in a read-only sandbox.
    ReadOnly,
    /// Edits and commands ask first, except commands that are provably read-only.
    Ask,
    /// Actions inside the sandbox run without asking; leaving the sandbox asks.
    #[default]
    Normal,
    /// Network access does not ask either; deny rules and destructive commands keep their checks.
    Yolo,
}

impl Mode {
    /// Every mode, strictest first.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::Normal, Self::Yolo];

    /// One line for users: the effect of the mode.
    pub fn summary(self) -> &'static str {
        match self {
            Self::ReadOnly => "nothing is changed; commands run in a read-only sandbox",
            Self::Ask => "edits and commands ask first, unless they only read",
            Self::Normal => "edits and sandboxed commands run; leaving the sandbox asks",
            Self::Yolo => "network access does not ask either",
        }
    }

    /// The mode as it is written on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::Normal => "normal",
            Self::Yolo => "yolo",
        }
    }
}

/// One thing a tool call would do, stated before it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Reads a file or directory.
    Read {
        /// Absolute path, symbolic links resolved.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        path: PathBuf,
    },
    /// Creates, changes or removes a file.
    Write {
        /// Absolute path, symbolic links of the existing part resolved.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        path: PathBuf,
        /// The change as a unified diff, where it can be told beforehand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
    },
    /// Runs a shell command.
    Run {
        /// The command's text.
        command: String,
        /// Where it would run.
        #[serde(serialize_with = "lossy")]
        #[schemars(with = "String")]
        cwd: PathBuf,
    },
    /// Connects to a host.
    Connect {
        /// The host's name, with its port if it has one; `*` for any host.
        host: String,
    },
    /// Runs the command of the same call on the host, outside the sandbox.
    LeaveSandbox {
        /// The command's text.
        command: String,
    },
    /// Runs code whose effects are not known beforehand (a plugin's tool).
    Opaque {
        /// What it is, in words.
        what: String,
    },
}

/// A path that is not UTF-8 must not keep an event out of the log.
fn lossy<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// What may happen with a call. Ordered: the strictest of several wins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It runs.
    Allow,
    /// A user decides.
    Ask,
    /// It does not run.
    Deny,
}

/// One step of the reasoning behind a ruling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// What this step alone would decide.
    pub decision: Decision,
    /// What was judged: a command, a path, a tool.
    pub subject: String,
    /// Why, in words a user understands.
    pub why: String,
    /// Where the rule stands: `built-in`, `mode`, a flag, or a file with its line.
    pub origin: String,
}

/// What a confined process may write.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Nothing but its private scratch space.
    #[default]
    ReadOnly,
    /// The workspace as well.
    Workspace,
    /// Whatever the user may write: the process runs outside the sandbox.
    Host,
}

/// The decision on a call, with the whole reasoning and the confinement to run it under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[must_use]
pub struct Ruling {
    /// The strictest of the reasons.
    pub decision: Decision,
    /// Every step, in the order in which it was taken.
    pub reasons: Vec<Reason>,
    /// What a process of this call may write.
    pub access: Access,
    /// True if the call runs a command of the list of destructive ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destructive: bool,
}

impl Ruling {
    /// The reason that decided: the first of the strictest.
    pub fn deciding(&self) -> Option<&Reason> {
        self.reasons.iter().find(|reason| reason.decision == self.decision)
    }
}

/// Judges calls. The same rules and the same input give the same ruling.
pub trait Policy: Send + Sync {
    /// Rules on a call of `tool` that would do `actions`.
    fn judge(&self, tool: &ToolSpec, actions: &[Action], mode: Mode) -> Ruling;

    /// The files that a call of `tool` must leave out if it goes through directories.
    fn view(&self, tool: &ToolSpec) -> View;
}

/// A policy that remembers a user's approvals.
pub trait Approvals: Policy {
    /// Allows calls like this one until the session ends. Returns the rules it added, in words.
    fn remember(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String>;

    /// The rules that [`Approvals::remember`] would add. Changes nothing.
    fn rememberable(&self, tool: &ToolSpec, actions: &[Action]) -> Vec<String>;

    /// The rules that hold until the session ends, in words.
    fn session(&self) -> Vec<String>;

    /// Removes a rule that holds until the session ends. Returns true if there was one.
    fn forget(&self, rule: &str) -> bool;

    /// Allows calls like this one beyond the session too, if there is a store.
    fn store(&self, tool: &ToolSpec, actions: &[Action], reach: Reach) -> StoredApproval;

    /// Adds allow rules until the session ends, in the name of `origin`.
    fn grant(&self, rules: &[String], origin: &str) -> Granted;
}

/// Why a call that goes through directories leaves a file out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A rule denies reading it, or wants to be asked first.
    Ruled,
    /// Its name says that it holds a secret.
    Secret,
}

/// Says of a file whether a call that goes through directories must leave it out.
#[derive(Clone, Default)]
pub struct View(Option<Arc<Look>>);

type Look = dyn Fn(&Path) -> Option<Hidden> + Send + Sync;

impl View {
    /// A view from which `look` takes files.
    pub fn new(look: impl Fn(&Path) -> Option<Hidden> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(look)))
    }

    /// Why a file is left out; none where it is not.
    pub fn hidden(&self, path: &Path) -> Option<Hidden> {
        self.0.as_ref().and_then(|look| look(path))
    }
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "View(partial)" } else { "View(whole)" })
    }
}

/// What became of rules that somebody asked to be granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Those that hold from here on.
    pub rules: Vec<String>,
    /// Those that are no rules, or would allow any command.
    pub refused: Vec<String>,
}

/// Where a rule holds that outlives its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// In this project.
    Project,
    /// In every project.
    Everywhere,
}

/// The result of storing an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredApproval {
    /// The rules that were added, in words.
    pub rules: Vec<String>,
    /// Why they hold until the session ends and no longer.
    pub problem: Option<String>,
}

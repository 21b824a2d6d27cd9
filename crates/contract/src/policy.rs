//! Rulings on tool calls, and approvals. The rules themselves live in `policy`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Action, View};
use crate::sandbox::Access;
use crate::tool::ToolSpec;

/// The freedom of tools.
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

/// The decision about a call. Ordered: the strictest of several wins.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

/// One step of the reasoning behind a ruling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The decision of this step alone.
    pub decision: Decision,
    /// The command, path or tool that was judged.
    pub subject: String,
    /// Why, in words a user understands.
    pub why: String,
    /// `built-in`, `mode`, a flag, or the file of the rule with its line.
    pub origin: String,
}

/// The decision on a call, with the whole reasoning and the confinement to run it under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[must_use]
pub struct Ruling {
    /// The strictest of the reasons.
    pub decision: Decision,
    /// Every step, in the order in which it was taken.
    pub reasons: Vec<Reason>,
    /// Write access of the processes of this call.
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

/// The result of granting rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    pub rules: Vec<String>,
    /// Texts that are no rules, or would allow any command.
    pub refused: Vec<String>,
}

/// The projects in which a stored rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    Project,
    Everywhere,
}

/// The result of storing an approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredApproval {
    pub rules: Vec<String>,
    /// Why they hold until the session ends and no longer.
    pub problem: Option<String>,
}

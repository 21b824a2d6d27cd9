//! Single steps of a judgment. A step that asks has a kind, by which modes and flags answer it, and
//! the rules that would answer it next time.

use contract::policy::{Decision, Reason};

use crate::rules::Target;

/// The kind of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file in the workspace is written.
    Edit,
    /// A command that is not proven read-only runs in the sandbox.
    Run,
    /// A tool that requires permission runs.
    Tool,
    /// A host is contacted.
    Network,
    /// A file is read whose name says that it holds a secret.
    Secret,
    /// A file outside the workspace is read.
    ReadOutside,
    /// The sandbox is left: a host process, a path outside, a protected file.
    Leave,
    /// The text does not show whether a rule matches.
    Unclear,
    /// The user's rules or settings ask.
    Rule,
    /// The administrator's rules ask.
    Managed,
    /// The command is destructive.
    Destructive,
}

/// One step.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) reason: Reason,
    /// The kind of question if it asks. A step that allows has [`Kind::Rule`] if a rule or setting does.
    pub(crate) kind: Kind,
    /// Rules that would allow it.
    pub(crate) remedies: Vec<Target>,
}

fn finding(decision: Decision, subject: &str, why: &str, origin: &str, kind: Kind) -> Finding {
    let reason = Reason {
        decision,
        subject: subject.to_owned(),
        why: why.to_owned(),
        origin: origin.to_owned(),
    };
    Finding { reason, kind, remedies: Vec::new() }
}

/// A step that allows by the program's own knowledge.
pub(crate) fn allow(subject: &str, why: &str) -> Finding {
    finding(Decision::Allow, subject, why, BUILT_IN, Kind::Run)
}

/// A step that allows by a rule or setting.
pub(crate) fn allow_by_rule(subject: &str, why: &str, origin: &str) -> Finding {
    finding(Decision::Allow, subject, why, origin, Kind::Rule)
}

/// A step that asks.
pub(crate) fn ask(kind: Kind, subject: &str, why: &str) -> Finding {
    finding(Decision::Ask, subject, why, BUILT_IN, kind)
}

/// A step that denies.
pub(crate) fn deny(subject: &str, why: &str, origin: &str) -> Finding {
    finding(Decision::Deny, subject, why, origin, Kind::Rule)
}

impl Finding {
    /// Adds the rules that would allow it.
    pub(crate) fn remedied_by(mut self, targets: impl IntoIterator<Item = Target>) -> Self {
        self.remedies.extend(targets);
        self
    }

    /// Replaces the origin.
    pub(crate) fn from(mut self, origin: &str) -> Self {
        origin.clone_into(&mut self.reason.origin);
        self
    }
}

/// The origin of the program's own knowledge.
pub(crate) const BUILT_IN: &str = "built-in";
/// The origin of decisions about destructive commands.
pub(crate) const DESTRUCTIVE: &str = "destructive";
/// The origin of decisions by the mode.
pub(crate) const MODE: &str = "mode";

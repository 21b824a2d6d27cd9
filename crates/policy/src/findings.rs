//! Single steps of a judgment, and how each may be lifted.

use contract::policy::{Decision, Reason};

/// Who may turn an *ask* into an *allow* without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Lift {
    /// A rule for the whole tool, a setting of the tool, a mode or a flag: nobody asked for it.
    Freely,
    /// A mode or a flag: the user wants to be asked.
    ByMode,
    /// Nobody.
    Never,
}

/// One step.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// What it decides and why.
    pub(crate) reason: Reason,
    /// Who may lift it.
    pub(crate) lift: Lift,
}

fn finding(decision: Decision, subject: &str, why: &str, origin: &str) -> Finding {
    Finding {
        reason: Reason {
            decision,
            subject: subject.to_owned(),
            why: why.to_owned(),
            origin: origin.to_owned(),
        },
        lift: Lift::Freely,
    }
}

/// A step that allows.
pub(crate) fn allow(subject: &str, why: &str, origin: &str) -> Finding {
    finding(Decision::Allow, subject, why, origin)
}

/// A step that asks because nothing allows.
pub(crate) fn ask(subject: &str, why: &str, origin: &str) -> Finding {
    finding(Decision::Ask, subject, why, origin)
}

/// A step that denies.
pub(crate) fn deny(subject: &str, why: &str, origin: &str) -> Finding {
    Finding { lift: Lift::Never, ..finding(Decision::Deny, subject, why, origin) }
}

impl Finding {
    /// The same step, lifted by fewer.
    pub(crate) fn lifted_by(self, lift: Lift) -> Self {
        Self { lift, ..self }
    }
}

/// Where the program's own knowledge stands.
pub(crate) const BUILT_IN: &str = "built-in";
/// Where the dangerous-path floor stands.
pub(crate) const FLOOR: &str = "floor";
/// Where the mode stands.
pub(crate) const MODE: &str = "mode";

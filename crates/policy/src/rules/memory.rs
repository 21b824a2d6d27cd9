//! Approvals that outlive a session: a rule as text for a file, and the rule again.

use contract::policy::Decision;

use super::parse::short;
use super::{Rule, Scope, Target};

/// A remembered rule, with the parts that its text leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The rule as it is written.
    pub rule: String,
    /// The tool whose calls it covers.
    pub tool: String,
    /// The source of that tool: `builtin`, or a plugin.
    pub source: String,
}

impl Memory {
    /// The record of a rule; none if its text would not give the same rule again.
    pub(crate) fn of(rule: &Rule, tool: &str) -> Option<Self> {
        let memory = Self {
            rule: rule.text.clone(),
            tool: rule.matcher.tool.clone().unwrap_or_else(|| tool.to_owned()),
            source: rule.matcher.source.clone()?,
        };
        let again = memory.recall(rule.scope, String::new()).ok()?;
        (again.matcher.target == rule.matcher.target).then_some(memory)
    }

    /// Reads the rule again. Fails for text that no approval leads to.
    pub fn recall(&self, scope: Scope, origin: String) -> Result<Rule, String> {
        let mut matcher = short(&self.rule, Decision::Allow)?;
        match &matcher.target {
            Target::Anything | Target::AnyCommand => {
                return Err(String::from("it covers all that a tool does"));
            }
            Target::Command(_)
            | Target::Outside(_)
            | Target::Path(..)
            | Target::Host(_)
            | Target::What(_) => {}
        }
        // Edits are allowed to every built-in tool that edits.
        let is_edit = matches!(matcher.target, Target::Path(super::Touch::Write, _));
        if !(is_edit && self.source == contract::tool::BUILTIN) {
            matcher.tool = Some(self.tool.clone());
        }
        matcher.source = Some(self.source.clone());
        Ok(Rule {
            decision: Decision::Allow,
            scope,
            origin,
            text: self.rule.clone(),
            reason: None,
            matcher,
        })
    }
}

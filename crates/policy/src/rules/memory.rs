//! Approvals that outlive a session: a rule in words that a file can hold, and the rule again. What
//! the words cannot say in full is not kept.

use std::path::PathBuf;

use contract::policy::Decision;

use super::parse::short;
use super::{Rule, Scope, Target};

/// A remembered rule, with all that its words leave out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The rule as it is written.
    pub rule: String,
    /// The tool whose calls it covers.
    pub tool: String,
    /// Where that tool comes from.
    pub source: String,
    /// The only folder that a command is covered in.
    pub folder: Option<PathBuf>,
}

impl Memory {
    /// What to keep of a rule; none where its words would not give the same rule again.
    pub(crate) fn of(rule: &Rule) -> Option<Self> {
        let memory = Self {
            rule: rule.text.clone(),
            tool: rule.matcher.tool.clone()?,
            source: rule.matcher.source.clone()?,
            folder: match &rule.matcher.target {
                Target::Command(pattern) => pattern.cwd.clone(),
                Target::Anything
                | Target::AnyCommand
                | Target::Path(..)
                | Target::Host(_)
                | Target::What(_) => None,
            },
        };
        let again = memory.recall(rule.scope, String::new()).ok()?;
        (again.matcher.target == rule.matcher.target).then_some(memory)
    }

    /// The name of the program that it lets run; none where it is no rule for a command.
    pub fn program(&self) -> Option<String> {
        match short(&self.rule, Decision::Allow).ok()?.target {
            Target::Command(pattern) => Some(pattern.program().to_owned()),
            Target::Anything
            | Target::AnyCommand
            | Target::Path(..)
            | Target::Host(_)
            | Target::What(_) => None,
        }
    }

    /// The rule again. Fails for words that no approval leads to.
    pub fn recall(&self, scope: Scope, origin: String) -> Result<Rule, String> {
        let mut matcher = short(&self.rule, Decision::Allow)?;
        match (&mut matcher.target, &self.folder) {
            (Target::Command(pattern), Some(folder)) => pattern.cwd = Some(folder.clone()),
            (Target::Command(_), None) => {
                return Err(String::from("it does not say in which folder"));
            }
            (Target::Anything | Target::AnyCommand, _) => {
                return Err(String::from("it covers all that a tool does"));
            }
            (Target::Path(..) | Target::Host(_) | Target::What(_), _) => {}
        }
        matcher.tool = Some(self.tool.clone());
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

//! Tools that an agent's file limits to some commands, files or hosts. Only tightens; other rules
//! still apply.

use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::hook::{Advised, CallView, Hook, HookContext, Moment, OnFailure, ToolVerdict};
use contract::policy::{Decision, Mode, Policy, Reason};
use contract::tool::ToolSpec;

/// The origin of the rules that an agent's file gives.
pub const ORIGIN: &str = "the agent's file";

/// The judgment of calls, which limits rely on.
pub struct Scoping<'a> {
    /// A policy that allows what the rules of this text allow, with [`ORIGIN`] as their origin.
    pub judge: &'a dyn Fn(&[String]) -> Arc<dyn Policy>,
    /// The words of each program that a command provably runs.
    pub literal_commands: fn(&str) -> Option<Vec<Vec<String>>>,
}

struct ToolScope {
    tool: Arc<ToolSpec>,
    entries: Vec<String>,
    commands: Vec<String>,
    judge: Arc<dyn Policy>,
    literal_commands: fn(&str) -> Option<Vec<Vec<String>>>,
}

impl ToolScope {
    /// Limits a tool to `entries`, each of the form `Name(what)`.
    fn new(tool: Arc<ToolSpec>, entries: &[&str], scoping: &Scoping<'_>) -> Self {
        let entries: Vec<String> = entries.iter().map(|entry| entry.trim().to_owned()).collect();
        let inner = |entry: &String| {
            let (_, rest) = entry.split_once('(')?;
            Some(rest.strip_suffix(')').unwrap_or(rest).trim().to_owned())
        };
        let commands = entries.iter().filter_map(inner).collect();
        let (judge, literal_commands) = ((scoping.judge)(&entries), scoping.literal_commands);
        Self { tool, entries, commands, judge, literal_commands }
    }

    /// The reason for refusing; none if the agent may do this.
    fn refusal(&self, actions: &[Action]) -> Option<String> {
        let is_covered = actions.iter().all(|action| self.covers(action));
        let left = || self.entries.join(", ");
        (!is_covered).then(|| format!("Permission denied: this agent may use only {}", left()))
    }

    fn covers(&self, action: &Action) -> bool {
        if let Action::Run { command, .. } = action {
            return self.covers_command(command);
        }
        let ruling = self.judge.judge(&self.tool, std::slice::from_ref(action), Mode::Ask);
        let is_own = |it: &Reason| it.origin == ORIGIN && it.decision == Decision::Allow;
        ruling.decision == Decision::Allow && ruling.reasons.iter().any(is_own)
    }

    /// Returns true if every program that a command provably runs is listed.
    fn covers_command(&self, command: &str) -> bool {
        let Some(programs) = (self.literal_commands)(command) else { return false };
        programs.iter().all(|words| {
            let line = words.join(" ");
            self.commands.iter().any(|pattern| fits(pattern, &line))
        })
    }
}

/// Matches a pattern: `*` is anything; `:*` or a last ` *` anything from the next word on.
fn fits(pattern: &str, line: &str) -> bool {
    let prefix = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    let meets = |pattern: &str| meets(pattern.split('*'), line);
    match prefix {
        Some(prefix) => meets(prefix) || meets(&format!("{prefix} *")),
        None => meets(pattern),
    }
}

/// Returns true if `text` is the parts in order, with anything between them.
fn meets<'a>(mut parts: impl Iterator<Item = &'a str>, text: &str) -> bool {
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

#[derive(Default)]
pub(crate) struct ScopeGuard(Vec<ToolScope>);

impl ScopeGuard {
    pub(crate) fn add(&mut self, tool: Arc<ToolSpec>, entries: &[&str], scoping: &Scoping<'_>) {
        self.0.push(ToolScope::new(tool, entries, scoping));
    }

    /// The hook; none if no tool is limited.
    pub(crate) fn hook(self) -> Option<Arc<dyn Hook>> {
        (!self.0.is_empty()).then(|| Arc::new(self) as Arc<dyn Hook>)
    }
}

#[async_trait]
impl Hook for ScopeGuard {
    fn name(&self) -> &'static str {
        ORIGIN
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforeTool
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    async fn before_tool(&self, _: &HookContext, call: CallView<'_>) -> Advised<ToolVerdict> {
        let mut scopes = self.0.iter().filter(|scope| scope.tool.name == call.tool);
        Ok(match scopes.find_map(|scope| scope.refusal(call.actions)) {
            Some(refusal) => ToolVerdict::Block(refusal).into(),
            None => ToolVerdict::Proceed.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_matches_whole_words_and_star_any_text() {
        assert!(fits("git *", "git log") && fits("git *", "git") && !fits("git *", "gitk"));
        assert!(fits("git diff:*", "git diff --stat") && !fits("git diff:*", "git push"));
        assert!(fits("npm run *test", "npm run unit test") && !fits("npm run *test", "npm run x"));
        assert!(fits("make", "make") && !fits("make", "make install") && fits("*", "anything"));
        assert!(!fits("a*a", "a") && fits("a*b*c", "axxbyyc") && !fits("a*b*c", "acb"));
    }

    #[test]
    fn star_matches_any_text() {
        let any = |pattern: &str, text: &str| meets(pattern.split('*'), text);
        assert!(any("a*", "a") && any("a*", "ab") && any("*", "") && any("a*b*c", "abc"));
        assert!(!any("a*a", "a") && any("a*b*c", "axxbyyc") && !any("a*b*c", "acb"));
        assert!(any("a", "a") && !any("a", "ab") && any("**", "") && any("é*ü", "éüü"));
    }
}

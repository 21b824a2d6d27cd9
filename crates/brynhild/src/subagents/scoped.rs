//! A tool that an agent's file leaves for some of its calls only: commands, files or hosts. Only
//! tightens; what is left is judged like every call.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::{Action, Decision, Mode, Policy as _};
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use policy::Judge;
use policy::rules::{Scope, parse};
use serde_json::{Value, json};

use crate::gaps::{self, Gap};

/// Where the rules of the file stand.
const ORIGIN: &str = "the agent's file";

/// A tool with what it is left for.
pub(super) struct Scoped {
    tool: Arc<dyn Tool>,
    /// The entries of the file.
    entries: Vec<String>,
    /// The directory that the entries are about.
    root: PathBuf,
    /// What commands look like that may run.
    commands: Vec<String>,
    /// Judges everything else by the entries alone.
    judge: Judge,
}

impl Scoped {
    /// Leaves a tool for what `entries` say, each of the form `Name(what)`.
    pub(super) fn new(tool: Arc<dyn Tool>, entries: &[&str], root: &Path) -> Self {
        let entries: Vec<String> = entries.iter().map(|entry| entry.trim().to_owned()).collect();
        let inner = |entry: &String| {
            let (_, rest) = entry.split_once('(')?;
            Some(rest.strip_suffix(')').unwrap_or(rest).trim().to_owned())
        };
        let commands = entries.iter().filter_map(inner).collect();
        let rules = entries.iter().filter_map(|entry| {
            // An entry that is no rule covers nothing.
            parse(&json!({"allow": [entry]}), Scope::User, |_| ORIGIN.to_owned()).ok()
        });
        let rules = rules.flat_map(|parsed| parsed.rules).collect();
        let judge = policy::policy(policy::Settings {
            workspace: root.to_owned(),
            rules,
            ..policy::Settings::default()
        });
        Self { tool, entries, root: root.to_owned(), commands, judge }
    }

    fn check(&self, actions: &[Action]) -> Result<(), ToolError> {
        if actions.iter().all(|action| self.covers(action)) {
            return Ok(());
        }
        let left = self.entries.join(", ");
        Err(ToolError::Input(format!("Permission denied: this agent may use only {left}")))
    }

    fn covers(&self, action: &Action) -> bool {
        if let Action::Run { command, .. } = action {
            return self.covers_command(command);
        }
        let ruling = self.judge.judge(self.tool.spec(), std::slice::from_ref(action), Mode::Ask);
        let is_own =
            |it: &contract::policy::Reason| it.origin == ORIGIN && it.decision == Decision::Allow;
        ruling.decision == Decision::Allow && ruling.reasons.iter().any(is_own)
    }

    /// Whether every program that a command is proven to run is one of those that may.
    fn covers_command(&self, command: &str) -> bool {
        let Some(programs) = policy::shell::literal_commands(command) else { return false };
        programs.iter().all(|words| {
            let line = words.join(" ");
            self.commands.iter().any(|pattern| fits(pattern, &line))
        })
    }
}

/// Whether a command looks like a pattern: `*` is anything, and `:*` or a last ` *` anything from
/// the next word on.
fn fits(pattern: &str, line: &str) -> bool {
    let prefix = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    let meets = |pattern: &str| gaps::meets(pattern.split('*'), line, Gap::Any);
    match prefix {
        Some(prefix) => meets(prefix) || meets(&format!("{prefix} *")),
        None => meets(pattern),
    }
}

#[async_trait]
impl Tool for Scoped {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn inner(&self) -> Option<&Arc<dyn Tool>> {
        Some(&self.tool)
    }

    fn around(&self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        // What a tool says of itself at this moment counts here too, within the same bounds.
        let entries: Vec<&str> = self.entries.iter().map(String::as_str).collect();
        Some(Arc::new(Self::new(tool, &entries, &self.root)))
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        let actions = self.tool.actions(args)?;
        self.check(&actions)?;
        Ok(actions)
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.check(&self.tool.actions(&call.args)?)?;
        self.tool.run(call, context).await
    }
}

#[cfg(test)]
mod tests {
    use contract::tool::{Recovery, Risk};
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_pattern_means_whole_words_and_stars_anything() {
        assert!(fits("git *", "git log") && fits("git *", "git") && !fits("git *", "gitk"));
        assert!(fits("git diff:*", "git diff --stat") && !fits("git diff:*", "git push"));
        assert!(fits("npm run *test", "npm run unit test") && !fits("npm run *test", "npm run x"));
        assert!(fits("make", "make") && !fits("make", "make install") && fits("*", "anything"));
        assert!(!fits("a*a", "a") && fits("a*b*c", "axxbyyc") && !fits("a*b*c", "acb"));
    }

    /// Says something else of itself at each call.
    struct Moody(ToolSpec);

    #[async_trait]
    impl Tool for Moody {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn actions(&self, _: &Value) -> Result<Vec<Action>, ToolError> {
            Ok(vec![Action::Run { command: "rm x".into(), cwd: "/w".into() }])
        }

        fn refusal(&self) -> Option<String> {
            Some("its own words".to_owned())
        }

        async fn renewed(&self, _: &CancellationToken) -> Option<Arc<dyn Tool>> {
            Some(Arc::new(Self(ToolSpec { requires_permission: true, ..self.0.clone() })))
        }

        async fn run(&self, _: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::success("ran"))
        }
    }

    #[tokio::test]
    async fn what_a_tool_says_at_this_moment_counts_within_the_same_bounds() {
        let spec = ToolSpec {
            name: "Bash".into(),
            description: String::new(),
            input_schema: json!({"type": "object"}).into(),
            version: "1.0.0".into(),
            categories: Vec::new(),
            requires_permission: false,
            risk_level: Risk::Mutating,
            recovery_policy: Recovery::Confirm,
            parallel: false,
            source: "moody".into(),
        };
        let tool = Arc::new(Moody(spec));
        let scoped = Scoped::new(tool, &["Bash(git *)"], Path::new("/w"));
        assert_eq!(scoped.refusal().as_deref(), Some("its own words"));
        let renewed = scoped.renewed(&CancellationToken::new()).await.unwrap();
        assert!(renewed.spec().requires_permission);
        assert!(renewed.actions(&json!({})).is_err(), "the bounds were lost");
    }
}

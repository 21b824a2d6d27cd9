//! A tool of an LMAO plugin: run by its worker, under the rules of its manifest.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::{Action, Mode};
use contract::tool::{Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::Conditions;
use super::facts::ToolFacts;
use super::target::Roots;
use crate::python::Hosts;
use crate::python::tool::PythonTool;

/// A tool of an LMAO plugin.
pub(super) struct LmaoTool {
    pub(super) python: PythonTool,
    /// What it is where nothing can be changed.
    pub(super) looking: ToolSpec,
    pub(super) facts: ToolFacts,
    pub(super) hosts: Hosts,
    pub(super) conditions: Arc<Conditions>,
    /// Directories beyond the workspace in which targets may lie.
    pub(super) roots: Vec<PathBuf>,
}

/// A tool where its worker cannot change anything, whatever its manifest says.
pub(super) fn looking(spec: ToolSpec) -> ToolSpec {
    ToolSpec { requires_permission: false, risk_level: Risk::ReadOnly, ..spec }
}

impl LmaoTool {
    /// The path that a call acts on; none where the target means none, or is not looked at.
    fn target(&self, args: &Value, mode: Mode) -> Result<Option<PathBuf>, ToolError> {
        let target = args.get("target").and_then(Value::as_str).unwrap_or_default();
        let home = self.conditions.home.as_deref();
        let roots = Roots { base: &self.conditions.workspace, extra: &self.roots, home };
        match roots.path(target) {
            Some(path) => Ok((!target.trim().is_empty()).then_some(path)),
            None if mode == Mode::Yolo => Ok(None),
            None => {
                Err(ToolError::Input(format!("target path '{target}' escapes working directory")))
            }
        }
    }
}

#[async_trait]
impl Tool for LmaoTool {
    fn spec(&self) -> &ToolSpec {
        match self.hosts.mode() {
            Mode::ReadOnly => &self.looking,
            Mode::Ask | Mode::Normal | Mode::Yolo => self.python.spec(),
        }
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        let mode = self.hosts.mode();
        let target = self.target(args, mode)?;
        if !self.facts.is_allowed(mode) {
            let (name, mode) = (&self.looking.name, mode.as_str());
            return Err(ToolError::Input(format!("plugin '{name}' is not allowed in {mode} mode")));
        }
        let mut actions = self.python.actions(args)?;
        let writes = self.facts.is_destructive && mode != Mode::ReadOnly;
        actions.extend(target.map(|path| {
            if writes { Action::Write { path, diff: None } } else { Action::Read { path } }
        }));
        Ok(actions)
    }

    async fn caution(&self, _: &ToolCall) -> Option<String> {
        let is_asked = self.facts.always_confirm && self.hosts.mode() != Mode::Yolo;
        (is_asked && !self.conditions.approves_all).then(|| {
            let headless =
                if self.conditions.is_headless { " but headless mode is active" } else { "" };
            format!("plugin '{}' requires confirmation{headless}", self.looking.name)
        })
    }

    fn refusal(&self) -> Option<String> {
        let name = &self.looking.name;
        self.facts.always_confirm.then(|| format!("plugin '{name}' not approved by user"))
    }

    fn is_offered(&self) -> bool {
        self.facts.is_allowed(self.hosts.mode())
    }

    fn may_write(&self) -> bool {
        self.python.may_write()
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let get = |name: &str| call.args.get(name).cloned().unwrap_or_default();
        let args = json!({
            "target": get("target"),
            "args": get("args"),
            "meta": get("meta"),
            "mode": self.hosts.mode().as_str(),
        });
        let call = ToolCall { args, ..call.clone() };
        self.python.run(&call, context).await
    }
}

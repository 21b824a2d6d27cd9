//! A tool of an LMAO plugin: run by its worker, under the rules of its manifest.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::policy::Mode;
use contract::python::PythonHost;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits};
use serde_json::{Value, json};

use super::Conditions;
use super::facts::ToolFacts;
use super::target::Roots;

pub(super) struct LmaoTool {
    pub(super) python: Arc<dyn Tool>,
    pub(super) specs: Vec<(Mode, Arc<ToolSpec>)>,
    pub(super) facts: ToolFacts,
    pub(super) host: Arc<dyn PythonHost>,
    pub(super) conditions: Arc<Conditions>,
    pub(super) roots: Vec<PathBuf>,
}

/// The specification of a tool in each mode. In read-only mode its worker cannot change anything.
pub(super) fn specs(spec: &ToolSpec, facts: &ToolFacts) -> Vec<(Mode, Arc<ToolSpec>)> {
    let in_mode = |mode: Mode| {
        let name = &spec.name;
        let refusal = facts.always_confirm.then(|| format!("plugin '{name}' not approved by user"));
        let unoffered = !facts.is_allowed(mode);
        let traits = Traits { refusal, unoffered, ..spec.traits.clone() };
        let spec = ToolSpec { traits, ..spec.clone() };
        let spec = match mode {
            Mode::ReadOnly => {
                ToolSpec { requires_permission: false, risk_level: Risk::ReadOnly, ..spec }
            }
            Mode::Ask | Mode::Normal | Mode::Yolo => spec,
        };
        (mode, Arc::new(spec))
    };
    Mode::ALL.into_iter().map(in_mode).collect()
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
    fn spec(&self) -> Arc<ToolSpec> {
        let mode = self.host.mode();
        let by_mode = self.specs.iter().find(|(of, _)| *of == mode);
        by_mode.map_or_else(|| self.python.spec(), |(_, spec)| Arc::clone(spec))
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let mode = self.host.mode();
        let target = self.target(args, mode)?;
        if !self.facts.is_allowed(mode) {
            let (name, mode) = (&self.spec().name, mode.as_str());
            return Err(ToolError::Input(format!("plugin '{name}' is not allowed in {mode} mode")));
        }
        let mut actions = self.python.actions(args)?.actions;
        let writes = self.facts.is_destructive && mode != Mode::ReadOnly;
        actions.extend(target.map(|path| {
            if writes { Action::Write { path, diff: None } } else { Action::Read { path } }
        }));
        Ok(Plan::from(actions))
    }

    async fn caution(&self, _: &ToolCall) -> Option<String> {
        let is_asked = self.facts.always_confirm && self.host.mode() != Mode::Yolo;
        (is_asked && !self.conditions.approves_all).then(|| {
            let headless =
                if self.conditions.is_headless { " but headless mode is active" } else { "" };
            format!("plugin '{}' requires confirmation{headless}", self.spec().name)
        })
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let get = |name: &str| call.args.get(name).cloned().unwrap_or_default();
        let args = json!({
            "target": get("target"),
            "args": get("args"),
            "meta": get("meta"),
            "mode": self.host.mode().as_str(),
        });
        let call = ToolCall { args, ..call.clone() };
        self.python.run(&call, context).await
    }
}

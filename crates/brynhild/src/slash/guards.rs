//! Asks the hooks that guard calls about a command that stands in the text of another one: what the model would
//! not get past them, a plugin's text does not either.

use std::path::Path;
use std::sync::Arc;

use contract::hook::{CallView, Hook, Moment, OnFailure, Scene, ToolVerdict};
use contract::id::{CallId, SessionId};
use contract::policy::{Action, Decision};
use plugins::hooks::Ledger;
use serde_json::json;

use crate::assemble;
use crate::exit::Problem;
use crate::hooks::{self, Needs};
use crate::output;
use crate::world::World;

/// The hooks that want to be asked.
pub(super) struct Guards {
    hooks: Vec<Arc<dyn Hook>>,
    scene: Scene,
}

impl Guards {
    /// Finds them. Starts nothing.
    pub(super) fn find(world: &World, root: &Path, session: Option<&str>) -> Result<Self, Problem> {
        let needs = Needs {
            root,
            sandbox: assemble::sandbox(world)?,
            mind: None,
            ledger: Arc::new(Ledger::default()),
            notice: Arc::new(|text| output::warning(&text)),
        };
        let mut hooks = hooks::load(world, needs).hooks;
        hooks.retain(|hook| hook.wants(Moment::BeforeTool));
        let session = SessionId::parse(session.unwrap_or("new")).map_err(|error| {
            Problem::failed(format!("hooks cannot be asked about a command: {error}"))
        })?;
        Ok(Self { hooks, scene: Scene { session, cwd: root.to_owned(), within: None } })
    }

    /// Why a command does not run, where one of them does not simply let it.
    pub(super) async fn refusal(&self, command: &str, action: &Action) -> Option<String> {
        let args = json!({ "command": command });
        let id = CallId(String::from("command"));
        for hook in &self.hooks {
            let call = CallView {
                id: &id,
                tool: "Bash",
                args: &args,
                original: &args,
                actions: std::slice::from_ref(action),
                decision: Decision::Allow,
            };
            let why = match hook.before_tool(&self.scene, call).await.map(|it| it.verdict) {
                Ok(ToolVerdict::Proceed) => continue,
                Ok(ToolVerdict::Rewrite(_) | ToolVerdict::Answer(_)) => {
                    String::from("it would run something else in its place")
                }
                Ok(ToolVerdict::Ask(why) | ToolVerdict::Block(why)) => why,
                Err(_) if hook.on_failure() == OnFailure::Continue => continue,
                Err(error) => error.to_string(),
            };
            return Some(format!("hook {}: {why}", hook.name()));
        }
        None
    }
}

//! Guard hooks of a project that changed since the user trusted it: until the user decides, they do
//! not run, and the calls that they guarded are refused.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::hook::{Advised, CallView, Hook, HookContext, Moment, OnFailure, ToolVerdict};
use plugins::hooks::{ProjectFile, Settings, Sources};

use crate::assemble::assembly::Assembly;
use crate::assemble::trust::Stale;

/// Loads the guards from the hook files as they were trusted. The check in `settings` refuses them.
pub(super) fn load(
    assembly: &Assembly,
    stale: &Stale,
    settings: impl Fn() -> Settings,
) -> Vec<Arc<dyn Hook>> {
    let is_off = |path: &Path| {
        let mut plugins = assembly.plugins().plugins.iter();
        plugins.any(|plugin| !plugin.enabled && path.starts_with(&plugin.root))
    };
    let mut guards: Vec<Arc<dyn Hook>> = Vec::new();
    for (path, bytes) in stale.hook_files("hooks.yaml") {
        if is_off(path) {
            continue;
        }
        let project = Some(ProjectFile { path: path.to_owned(), bytes: bytes.to_owned() });
        let sources = Sources { global: None, project, plugins: &[], offers: Vec::new() };
        let loaded = plugins::hooks::load(sources, settings());
        guards.extend(loaded.hooks.into_iter().filter(|hook| hook.wants(Moment::BeforeTool)));
    }
    for (plugin, point) in &stale.guards {
        let title = format!("'{point}' (plugin {plugin})");
        let reason = format!("Hook {title} guards this call, and {}", stale.reason());
        guards.push(Arc::new(ChangedGuard { title, point: point.clone(), reason }));
    }
    guards
}

struct ChangedGuard {
    title: String,
    point: String,
    reason: String,
}

impl ChangedGuard {
    fn is_about(&self, call: CallView<'_>) -> bool {
        let mut actions = call.actions.iter();
        match self.point.as_str() {
            "pre_file_read" => actions.any(|action| matches!(action, Action::Read { .. })),
            "pre_file_write" => actions.any(|action| matches!(action, Action::Write { .. })),
            "pre_shell_exec" => actions.any(|action| matches!(action, Action::Run { .. })),
            "pre_fetch_url" => actions.any(|action| matches!(action, Action::Connect { .. })),
            "pre_spawn_agent" => call.args.get("subagent_type").is_some(),
            _ => true,
        }
    }
}

#[async_trait]
impl Hook for ChangedGuard {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        moment == Moment::BeforeTool
    }

    fn on_failure(&self) -> OnFailure {
        OnFailure::Block
    }

    async fn before_tool(&self, _: &HookContext, call: CallView<'_>) -> Advised<ToolVerdict> {
        if self.is_about(call) {
            return Ok(ToolVerdict::Block(self.reason.clone()).into());
        }
        Ok(ToolVerdict::Proceed.into())
    }
}

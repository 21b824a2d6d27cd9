//! The loaded plugins of a system, as the rest of the program uses them.

use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::policy::Mode;
use contract::tool::Tool;
use serde::Serialize;

use crate::claude::HookServices;
use crate::hooks::Ask;
use crate::plugin::{Plugin, PluginState, ReportLine};

/// The loaded plugins of one system.
#[async_trait]
pub trait OpenPlugins: Send + Sync {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }
    /// Their hooks, in the order in which they are asked.
    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        Vec::new()
    }
    /// The project's plugins that are asked before calls, each with the point at which it is asked.
    fn project_guards(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    fn listing(&self) -> Vec<Listed>;
    /// Limits what runs for them from here on to the mode.
    fn set_mode(&self, _mode: Mode) {}
    /// Sets the model that answers the questions of their hooks.
    fn set_ask(&self, _ask: &Arc<dyn Ask>) {}
    fn needs_services(&self) -> bool {
        false
    }
    fn set_services(&self, _services: Arc<dyn HookServices>) {}
    /// Ends everything that runs for them. Takes seconds at most.
    async fn shutdown(&self) {}
}

/// A plugin of another system, as lists show it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listed {
    pub name: String,
    pub dialect: &'static str,
    pub path: String,
    pub enabled: bool,
    /// None if no trust is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trusted: Option<bool>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The reason why it could not be started, if that was tried.
    #[serde(skip)]
    pub failure: Option<String>,
    pub report: Vec<ReportLine>,
    /// The tools that it brings under a source of another name.
    #[serde(skip)]
    pub tools: Vec<String>,
    /// About how many tokens of a request its tools take, if all are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_tokens: Option<usize>,
}

impl Listed {
    pub(crate) fn of(plugin: &Plugin, dialect: &'static str, report: Vec<ReportLine>) -> Self {
        Self {
            name: plugin.name().to_owned(),
            dialect,
            path: plugin.root.display().to_string(),
            enabled: plugin.is_active(),
            trusted: Some(plugin.trusted),
            report,
            ..Self::default()
        }
    }

    /// Its state; one of a system without trust is trusted.
    pub fn state(&self) -> PluginState {
        PluginState::of(self.trusted != Some(false), self.enabled)
    }
}

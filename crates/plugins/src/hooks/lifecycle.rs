//! The beginning and the end of plugins. Neither can fail for the caller; the end has a time limit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::timeout;

use super::Settings;
use super::context::Context;
use super::event::Event;
use super::yaml_hook::YamlHook;

/// How long the ends of all plugins together may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// The hooks for beginnings and ends of plugins. With one [`super::Ledger`] a plugin begins once.
#[derive(Clone)]
pub struct Lifecycle {
    plugins: BTreeMap<String, Vec<Arc<YamlHook>>>,
    settings: Arc<Settings>,
}

impl Lifecycle {
    pub(crate) fn new(hooks: Vec<Arc<YamlHook>>, settings: Arc<Settings>) -> Self {
        let mut plugins: BTreeMap<String, Vec<Arc<YamlHook>>> = BTreeMap::new();
        for hook in hooks {
            plugins.entry(hook.origin.title()).or_default().push(hook);
        }
        Self { plugins, settings }
    }

    pub fn is_empty(&self) -> bool {
        self.plugins.is_empty()
    }

    /// Runs `plugin_init` of every plugin that has not begun, plugins side by side.
    pub async fn start(&self) {
        let mut beginning = Vec::new();
        for (name, hooks) in &self.plugins {
            // What a plugin that has begun runs at its end may have changed.
            if self.settings.ledger.begun().insert(name.clone(), hooks.clone()).is_none() {
                beginning.push(hooks.clone());
            }
        }
        self.fire(Event::PluginInit, beginning).await;
    }

    /// Lets go of plugins that have begun and are no longer among these: switched off, changed or
    /// gone. `may_end` says of a plugin whether what it declared for its end still runs.
    pub async fn part(&self, may_end: impl Fn(&str) -> bool) {
        let mut ending = Vec::new();
        self.settings.ledger.begun().retain(|name, hooks| {
            let stays = self.plugins.contains_key(name);
            let plugin = hooks.first().and_then(|hook| hook.origin.plugin());
            if !stays && plugin.is_some_and(|plugin| may_end(plugin.name())) {
                ending.push(hooks.clone());
            }
            stays
        });
        self.end(ending, FAREWELL).await;
    }

    /// Runs `plugin_shutdown` of every plugin that has begun; kills those that take over five seconds.
    pub async fn shutdown(&self) {
        self.shutdown_within(FAREWELL).await;
    }

    pub(crate) async fn shutdown_within(&self, limit: Duration) {
        let ending: Vec<_> =
            std::mem::take(&mut *self.settings.ledger.begun()).into_values().collect();
        self.end(ending, limit).await;
    }

    async fn end(&self, ending: Vec<Vec<Arc<YamlHook>>>, limit: Duration) {
        if timeout(limit, self.fire(Event::PluginShutdown, ending)).await.is_err() {
            let text = "hooks of plugin_shutdown took too long and were stopped";
            (self.settings.host.notice)(text.to_owned());
        }
    }

    async fn fire(&self, event: Event, plugins: Vec<Vec<Arc<YamlHook>>>) {
        let of_plugin = async |hooks: Vec<Arc<YamlHook>>| {
            for hook in hooks.iter().filter(|hook| hook.definition.event == event) {
                let settings = &self.settings;
                let cwd = &settings.host.profile.workspace;
                let context = Context::new(event, settings.ledger.life(), cwd);
                if let Err(error) = hook.answer(context).await {
                    hook.tell(&error.to_string());
                }
            }
        };
        join_all(plugins.into_iter().map(of_plugin)).await;
    }
}

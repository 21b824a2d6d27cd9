//! HTTP interfaces in the configuration and in manifests, which see only variables granted to them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::tool::Tool;
use serde_json::Value;

use super::{Dialect, Named, plugins};
use crate::env::PluginEnv;
use crate::manifest;
use crate::open_plugins::{Listed, OpenPlugins};
use crate::plugin::{Permissions, Plugin, ReportLine};
use crate::problem::Problem;
use crate::rest::{Api, Settings};

const NAME: &str = "api";

pub(super) struct ApiDialect;

#[async_trait]
impl Dialect for ApiDialect {
    fn named(&self, env: &PluginEnv<'_>) -> Vec<Named> {
        let switches = env.switches();
        let own = env.settings.api.get("tools").and_then(Value::as_array).into_iter().flatten();
        let of_plugins = plugins(env).active().flat_map(|plugin| &plugin.manifest.apis);
        let entries = own.chain(of_plugins).filter(|entry| !name(entry).is_empty());
        let named = entries.map(|entry| {
            let description = entry.get("description").and_then(Value::as_str);
            let is_off = env.is_off(&switches, NAME, name(entry));
            Named {
                description: description.unwrap_or_default().to_owned(),
                ..Named::switched(NAME, name(entry).to_owned(), is_off)
            }
        });
        named.collect()
    }

    async fn open(&self, env: &PluginEnv<'_>) -> Option<Arc<dyn OpenPlugins>> {
        let apis = opened(env);
        (!apis.listing.is_empty()).then(|| Arc::new(apis) as Arc<dyn OpenPlugins>)
    }

    fn is_in_directories(&self) -> bool {
        false
    }
}

fn opened(env: &PluginEnv<'_>) -> Apis {
    let settings = settings(env);
    let switches = env.switches();
    let is_off = |entry: &Value| env.is_off(&switches, NAME, name(entry));
    let mut apis = Apis::default();
    let origin = env.program.origin(&["api", "tools"]);
    let place = Path::new(&origin);
    match env.settings.api.get("tools") {
        None | Some(Value::Null) => {}
        Some(Value::Array(entries)) => {
            for entry in entries {
                if is_off(entry) {
                    apis.leave(entry, place);
                } else {
                    apis.add(env, (entry, place), &settings, NAME);
                }
            }
        }
        Some(_) => {
            let hint = "write a list of entries with `name`, `base_url` and `endpoints`";
            env.report(&Problem::new(place, "`api.tools` is not a list", hint));
        }
    }
    for plugin in plugins(env).active().filter(|plugin| !plugin.manifest.apis.is_empty()) {
        let settings = settings.with_variables(granted(env, plugin));
        let place = plugin.root.join(manifest::FILE);
        for entry in &plugin.manifest.apis {
            if is_off(entry) {
                apis.leave(entry, &place);
            } else if let Some(api) = apis.add(env, (entry, &place), &settings, plugin.name()) {
                tell_missing_grants(env, plugin, &place, &api);
            }
        }
    }
    apis
}

fn name(entry: &Value) -> &str {
    entry.get("name").and_then(Value::as_str).unwrap_or_default()
}

pub fn settings(env: &PluginEnv<'_>) -> Settings {
    let hosts = env.settings.api.get("allow_private").and_then(Value::as_array);
    let hosts: Vec<String> =
        hosts.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Settings::new(env.variables.clone(), &hosts)
}

fn granted(env: &PluginEnv<'_>, plugin: &Plugin) -> BTreeMap<String, String> {
    let granted = &plugin.settings.grants.env;
    let own = env.variables.iter().filter(|(name, _)| granted.contains(name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn tell_missing_grants(env: &PluginEnv<'_>, plugin: &Plugin, place: &Path, api: &Api) {
    let granted = &plugin.settings.grants.env;
    let names = api.variables();
    let missing: Vec<&str> =
        names.into_iter().filter(|name| !granted.iter().any(|it| it == name)).collect();
    if missing.is_empty() {
        return;
    }
    let names = missing.join(", ");
    let what =
        format!("api {}: it was not granted {names}, so that is sent as it is written", api.name);
    let permissions = Permissions {
        env: missing.iter().map(|&name| name.to_owned()).collect(),
        ..Permissions::default()
    };
    let hint = format!("`{}` grants it", permissions.grant_command(plugin.name()));
    env.report(&Problem::new(place, what, hint));
}

#[derive(Default)]
struct Apis {
    tools: Vec<Arc<dyn Tool>>,
    hooks: Vec<Arc<dyn Hook>>,
    listing: Vec<Listed>,
}

impl Apis {
    fn leave(&mut self, entry: &Value, place: &Path) {
        let report = vec![ReportLine::Note("not loaded: it is disabled".to_owned())];
        self.list(entry, place, Listed { report, ..Listed::default() });
    }

    fn list(&mut self, entry: &Value, place: &Path, listed: Listed) {
        let (name, path) = (name(entry).to_owned(), place.display().to_string());
        self.listing.push(Listed { name, dialect: NAME, path, ..listed });
    }

    fn add(
        &mut self,
        env: &PluginEnv<'_>,
        (entry, place): (&Value, &Path),
        settings: &Settings,
        source: &str,
    ) -> Option<Api> {
        let (api, mut problems) = Api::read(entry, place);
        let (mut report, mut tools) = (Vec::new(), Vec::new());
        let mut loaded = None;
        if let Some(api) = api {
            let made = api.tools(settings, source);
            match env.program.call_rules(entry, &made) {
                Ok(hook) => {
                    self.hooks.push(hook);
                    self.tools.extend(made);
                    tools = api.tool_names().map(str::to_owned).collect();
                    report.push(ReportLine::Note(format!("tools: {}", tools.join(", "))));
                    loaded = Some(api);
                }
                Err(what) => {
                    let what = format!("api {}: {what}", api.name);
                    let hint =
                        "write `approval: required`, or `permissions` with default, allow and deny";
                    problems.push(Problem::new(place, what, hint));
                }
            }
        }
        for problem in &problems {
            env.report(problem);
            report.push(ReportLine::Ignored(problem.what.clone()));
        }
        let listed = Listed { enabled: loaded.is_some(), tools, report, ..Listed::default() };
        self.list(entry, place, listed);
        loaded
    }
}

#[async_trait]
impl OpenPlugins for Apis {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        self.hooks.clone()
    }

    fn listing(&self) -> Vec<Listed> {
        self.listing.clone()
    }
}

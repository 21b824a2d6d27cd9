//! HTTP interfaces that are declared as data: in the configuration, and in the manifests of
//! plugins. A plugin's sees the variables that it was granted, and no others.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::hook::Hook;
use contract::tool::Tool;
use plugins::initrunner::guard::{Guard, RoleGuards};
use plugins::manifest;
use plugins::plugin::Plugin;
use plugins::problem::Problem as Fault;
use plugins::rest::{Api, Settings};
use serde_json::Value;

use super::{Dialect, Listed, Named};
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::plugin_set;
use crate::assemble::run_context::RunContext;
use crate::output;

const NAME: &str = "api";

/// The interfaces that were declared.
#[derive(Default)]
struct Apis {
    tools: Vec<Arc<dyn Tool>>,
    guards: RoleGuards,
    listing: Vec<Listed>,
    /// Whether the user has approved of what would be asked about.
    is_approved: bool,
}

/// Reads them. None where there are none.
pub(super) fn open(assembly: &Assembly) -> Option<Arc<dyn Dialect>> {
    if assembly.global.safe {
        return None;
    }
    let settings = settings(assembly);
    let switches = plugin_set::state(assembly);
    let is_off = |entry: &Value| plugin_set::is_off(assembly, &switches, NAME, name(entry));
    let mut apis = Apis { is_approved: assemble::asks_nothing(assembly), ..Apis::default() };
    let origin = assembly.loaded.origin(&["api", "tools"]).map(ToString::to_string);
    let origin = origin.unwrap_or_default();
    let place = Path::new(&origin);
    match assembly.config().api.get("tools") {
        None | Some(Value::Null) => {}
        Some(Value::Array(entries)) => {
            for entry in entries {
                if is_off(entry) {
                    apis.leave(entry, place);
                } else {
                    apis.add(entry, place, &settings, NAME);
                }
            }
        }
        Some(_) => {
            let hint = "write a list of entries with `name`, `base_url` and `endpoints`";
            report(&Fault::new(place, "`api.tools` is no list", hint));
        }
    }
    let with_apis = assembly.plugins().active().filter(|plugin| !plugin.manifest.apis.is_empty());
    for plugin in with_apis {
        let granted = granted(assembly, plugin);
        let settings = settings.with_variables(granted);
        let place = plugin.root.join(manifest::FILE);
        for entry in &plugin.manifest.apis {
            if is_off(entry) {
                apis.leave(entry, &place);
            } else if let Some(api) = apis.add(entry, &place, &settings, plugin.name()) {
                missing_grants(plugin, &place, &api);
            }
        }
    }
    (!apis.listing.is_empty()).then(|| Arc::new(apis) as Arc<dyn Dialect>)
}

/// All of them that have a name.
pub(super) fn named(assembly: &Assembly) -> Vec<Named> {
    let switches = plugin_set::state(assembly);
    let own = assembly.config().api.get("tools").and_then(Value::as_array).into_iter().flatten();
    let plugins = assembly.plugins().active().flat_map(|plugin| &plugin.manifest.apis);
    let entries = own.chain(plugins).filter(|entry| !name(entry).is_empty());
    let named = entries.map(|entry| {
        let is_off = plugin_set::is_off(assembly, &switches, NAME, name(entry));
        let description = entry.get("description").and_then(Value::as_str);
        Named {
            name: name(entry).to_owned(),
            system: NAME,
            version: String::new(),
            description: description.unwrap_or_default().to_owned(),
            state: if is_off { "disabled" } else { "enabled" },
            sleeps: false,
            held_off: None,
        }
    });
    named.collect()
}

fn name(entry: &Value) -> &str {
    entry.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// What requests of the user's own interfaces are made with.
pub(crate) fn settings(run: &RunContext) -> Settings {
    let hosts = run.config().api.get("allow_private").and_then(Value::as_array);
    let hosts: Vec<String> =
        hosts.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    Settings::new(run.environment.variables.clone(), &hosts)
}

fn granted(run: &RunContext, plugin: &Plugin) -> std::collections::BTreeMap<String, String> {
    let granted = &plugin.settings.grants.env;
    let variables = run.environment.variables.iter();
    let own = variables.filter(|(name, _)| granted.contains(name));
    own.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Says which variables a plugin's interface names that it was not granted.
fn missing_grants(plugin: &Plugin, place: &Path, api: &Api) {
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
    let hint = format!(
        "`plugins.{}.sandbox.env: [{names}]` in your configuration grants it",
        plugin.name()
    );
    report(&Fault::new(place, what, hint));
}

fn report(problem: &Fault) {
    output::warning(&format!("{problem} ({})", problem.hint));
}

impl Apis {
    /// Lists one that is switched off.
    fn leave(&mut self, entry: &Value, place: &Path) {
        self.listing.push(Listed {
            name: name(entry).to_owned(),
            dialect: NAME,
            path: place.display().to_string(),
            enabled: false,
            report: vec![String::from("nothing is loaded: it is switched off")],
            ..Listed::default()
        });
    }

    fn add(
        &mut self,
        entry: &Value,
        place: &Path,
        settings: &Settings,
        source: &str,
    ) -> Option<Api> {
        let (api, mut problems) = Api::read(entry, place);
        let (mut report_lines, mut tools) = (Vec::new(), Vec::new());
        let mut loaded = None;
        if let Some(api) = api {
            match Guard::read(entry) {
                Ok(guard) => {
                    let guard = if self.is_approved { guard.approved() } else { guard };
                    for tool in api.tools(settings, source) {
                        self.guards.add(&tool.spec(), &guard);
                        self.tools.push(tool);
                    }
                    tools = api.tool_names().map(str::to_owned).collect();
                    report_lines.push(format!("tools: {}", tools.join(", ")));
                    loaded = Some(api);
                }
                Err(what) => {
                    let what = format!("api {}: {what}", api.name);
                    let hint =
                        "write `approval: required`, or `permissions` with default, allow and deny";
                    problems.push(Fault::new(place, what, hint));
                }
            }
        }
        for problem in &problems {
            report(problem);
            report_lines.push(problem.what.clone());
        }
        self.listing.push(Listed {
            name: name(entry).to_owned(),
            dialect: NAME,
            path: place.display().to_string(),
            enabled: loaded.is_some(),
            tools,
            report: report_lines,
            ..Listed::default()
        });
        loaded
    }
}

#[async_trait]
impl Dialect for Apis {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }

    fn hooks(&self) -> Vec<Arc<dyn Hook>> {
        vec![Arc::new(self.guards.clone())]
    }

    fn listing(&self) -> Vec<Listed> {
        self.listing.clone()
    }

    async fn shutdown(&self) {
        // A request ends with its call.
    }
}

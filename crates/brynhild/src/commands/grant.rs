//! `plugin grant` and `mcp grant`: write grants into the user's configuration, after a yes.

use std::path::PathBuf;

use contract::text::closest;
use files::private::{self, Durability};
use files::yaml;
use plugin_kit::{config_edit, grants};
use serde_json::{Value, json};

use super::confirmed;
use crate::args::{GrantArgs, McpScope};
use crate::assemble::assembly::Assembly;
use crate::assemble::audit;
use crate::assemble::run_context::RunContext;
use crate::assemble::{mcp, plugin_env};
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::plugin_switch::not_found;
use crate::output;

pub(super) fn plugin(assembly: &Assembly, args: &GrantArgs) -> Outcome {
    let name = &args.name;
    let is_known = plugin_env::named(assembly).iter().any(|it| it.name == *name);
    let manifest = assembly.plugins().get(name).map(|plugin| &plugin.manifest.sandbox);
    let change = match Change::of_flags(args) {
        None if !is_known => return Err(not_found(assembly, name)),
        None => Change::Add(manifest.map(serde_json::to_value).transpose()?.unwrap_or_default()),
        Some(change) => change,
    };
    if !is_known {
        output::warning(&format!(
            "no plugin is called {name}; the grant is for a role of that name"
        ));
    }
    let path = vec!["plugins", name, "sandbox"];
    Receiver { run: assembly, kind: "plugin", name, path }.change(&change)
}

pub(super) fn server(assembly: &Assembly, args: &GrantArgs) -> Outcome {
    let name = &args.name;
    // A plugin's servers have the grants of the plugin.
    if let Some((plugin_name, _)) = name.strip_prefix("plugin:").and_then(|it| it.split_once(':')) {
        return plugin(assembly, &GrantArgs { name: plugin_name.to_owned(), ..args.clone() });
    }
    let servers = mcp::discover(assembly).servers;
    if !servers.iter().any(|server| server.name == *name) {
        let near = closest(name, servers.iter().map(|server| server.name.as_str()));
        let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        return Err(Problem::failed(format!("there is no server {name}"))
            .hint(format!("{near}`brynhild mcp list` shows all")));
    }
    let change = Change::of_flags(args).unwrap_or(Change::Add(Value::Null));
    let path = vec!["mcp", "servers", name, "sandbox"];
    Receiver { run: assembly, kind: "server", name, path }.change(&change)
}

enum Change {
    Add(Value),
    /// Nothing is granted, which is a decision too.
    TakeBack,
}

impl Change {
    /// The change that flags name; none without flags.
    fn of_flags(args: &GrantArgs) -> Option<Self> {
        let GrantArgs { network, host, read, write, env, exec, none, .. } = args;
        if *none {
            return Some(Self::TakeBack);
        }
        let is_empty = [host, read, write, env, exec].iter().all(|list| list.is_empty());
        let network = if *network { json!(true) } else { json!(host) };
        let is_named = network == true || !is_empty;
        let named =
            json!({"network": network, "read": read, "write": write, "env": env, "exec": exec});
        is_named.then_some(Self::Add(named))
    }
}

/// A plugin or server whose grants change.
struct Receiver<'a> {
    run: &'a RunContext,
    kind: &'static str,
    name: &'a str,
    /// The key in the configuration.
    path: Vec<&'a str>,
}

impl Receiver<'_> {
    fn change(&self, change: &Change) -> Outcome {
        let Self { run, kind, name, .. } = self;
        let file = self.file()?;
        let cannot = |error: std::io::Error| {
            Problem::failed(format!("cannot write {}: {error}", file.display()))
        };
        let _lock = private::lock(&file).map_err(cannot)?;
        let text = String::from_utf8(private::read(&file)?.unwrap_or_default())?;
        let current = self.current(&text)?;
        let (grants, question) = match change {
            Change::TakeBack => (json!({}), format!("Grant {kind} {name} nothing?")),
            Change::Add(more) => {
                let asked = grants::lines(more);
                if asked.is_empty() {
                    return Err(Problem::misuse(format!("{kind} {name} requests nothing")).hint(
                        "name what to grant: `--network`, `--host`, `--read`, `--write`, `--env`, \
                         `--exec`",
                    ));
                }
                let question =
                    format!("{kind} {name} may then:\n  {}\nGrant it?", asked.join("\n  "));
                (grants::merged(&current, more), question)
            }
        };
        let is_changed = current != grants;
        if is_changed {
            let edited = config_edit::set(&text, &self.path, &grants)
                .map_err(|error| Problem::failed(format!("{}: {error}", file.display())))?;
            if !confirmed(run, &question)? {
                return Err(Problem::new(Exit::PermissionNeeded, "nothing was granted")
                    .hint("pass `--yes` to grant it without a question"));
            }
            private::replace(&file, edited.as_bytes(), Durability::Synced).map_err(cannot)?;
            let detail = format!("{kind} {name}: {}", config_edit::flow(&grants));
            audit::open(run.config_dir()?).note_or_warn("access granted", &detail, None);
        }
        let words = if is_changed { "written to" } else { "already in" };
        let line = format!("{}: {}", self.path.join("."), config_edit::flow(&grants));
        let data = json!({"name": name, "granted": grants, "changed": is_changed, "file": file});
        run.report(&data, format!("`{line}` is {words} {}", file.display()))
    }

    /// The user's configuration; its target if it is a symlink of the user.
    fn file(&self) -> Result<PathBuf, Problem> {
        let file = self.run.config_dir()?.join("config.yaml");
        Ok(file.canonicalize().unwrap_or(file))
    }

    /// The grants in the user's configuration, otherwise those that `mcp add` wrote.
    fn current(&self, text: &str) -> Result<Value, Problem> {
        let tree = yaml::parse(text, yaml::Options::default())?;
        if let Some(node) = tree.find(&self.path) {
            return Ok(node.to_value());
        }
        if self.kind == "plugin" {
            return Ok(Value::Null);
        }
        let servers = private::read(&mcp::file(self.run, McpScope::User)?)?.unwrap_or_default();
        let servers: Value = serde_json::from_slice(&servers).unwrap_or_default();
        let wrapped = &servers["mcpServers"][self.name]["sandbox"];
        Ok(if wrapped.is_null() { &servers[self.name]["sandbox"] } else { wrapped }.clone())
    }
}

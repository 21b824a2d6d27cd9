//! The tools of the MCP servers of installed plugins, compared with `plugins.lock`.

use std::collections::BTreeMap;

use ::mcp::{CatalogState, Servers};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Problem};
use assemble::run_context::RunContext;
use assemble::{mcp, output};
use plugin_kit::host::OnChange;
use plugin_kit::lock::{self, Lock};

use crate::commands::confirmed;

/// Compares the servers of a plugin with the lock file, and records the tools that the user agreed to.
/// Without `on_change` no server is started: cached tools are recorded.
pub(super) async fn review(
    assembly: &Assembly,
    plugin: &str,
    on_change: Option<OnChange>,
) -> Result<(), Problem> {
    let config_dir = assembly.config_dir()?;
    let mut lock = Lock::read(config_dir)?;
    let Some(locked) = lock.plugins.get_mut(plugin) else { return Ok(()) };
    // The plugin may have been replaced since the configuration was read.
    let fresh = RunContext::again(assembly.global.clone(), assembly.environment.clone())?;
    let servers = mcp::open(&Assembly::new(fresh))?;
    let reviewed = compare(assembly, (&servers, plugin), &mut locked.servers, on_change).await;
    servers.shutdown().await;
    if on_change != Some(OnChange::Refuse) {
        lock.write(config_dir)?;
    }
    reviewed
}

async fn compare(
    assembly: &Assembly,
    (servers, plugin): (&Servers, &str),
    locked: &mut BTreeMap<String, String>,
    on_change: Option<OnChange>,
) -> Result<(), Problem> {
    let prefix = format!("plugin:{plugin}:");
    let statuses = servers.statuses().into_iter().filter(|it| it.name.starts_with(&prefix));
    let statuses = statuses.filter(|it| it.state != CatalogState::Disabled);
    for name in statuses.map(|it| it.name) {
        let Some(on_change) = on_change else {
            locked.extend(
                hash(servers, &name).filter(|_| !locked.contains_key(&name)).map(|it| (name, it)),
            );
            continue;
        };
        let status = match servers.test(&name).await.map_err(mcp::problem) {
            Ok(status) => status,
            Err(problem) if on_change == OnChange::Refuse => return Err(problem),
            Err(problem) => {
                output::warning(&format!(
                    "the tools of {name} are not known: {}",
                    problem.message()
                ));
                continue;
            }
        };
        let is_other =
            locked.get(&name).is_some_and(|it| Some(it) != hash(servers, &name).as_ref());
        if is_other || status.state == CatalogState::Changed {
            if on_change == OnChange::Refuse {
                let text = format!("the tools of {name} differ from plugins.lock");
                return Err(Problem::failed(text)
                    .hint(format!("`brynhild plugin update {plugin}` shows what changed")));
            }
            output::line(format_args!("~ tools of {name}"))?;
            for change in status.changes.iter().filter_map(|it| it["change"].as_str()) {
                output::text(change)?;
            }
            if !confirmed(assembly, &format!("Use the changed tools of {name}?"))? {
                let text = format!("the changed tools of {name} are not used");
                return Err(Problem::new(Exit::PermissionNeeded, text)
                    .hint("pass `--yes` to use them without a question"));
            }
            servers.approve(&name).await.map_err(mcp::problem)?;
        }
        locked.extend(hash(servers, &name).map(|hash| (name, hash)));
    }
    Ok(())
}

/// The hash of the tools of a server that the user agreed to; none if they are not known.
fn hash(servers: &Servers, name: &str) -> Option<String> {
    let status = servers.statuses().into_iter().find(|it| it.name == name)?;
    let tools: Vec<_> = servers.tools_with_content().iter().map(|tool| tool.spec()).collect();
    let own = tools.iter().map(AsRef::as_ref).filter(|spec| status.tools.contains(&spec.name));
    let is_known = matches!(status.state, CatalogState::Known | CatalogState::Changed);
    is_known.then(|| lock::tools_hash(own))
}

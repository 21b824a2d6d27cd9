//! The output of `/status`, `/config`, `/context`, `/agents` and `/mcp`.

use assemble::agent_list::{Agent, AgentList};
use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::mcp;
use assemble::output::table;
use assemble::run_context::RunContext;
use config::show;
use plugins::open_plugins::Listed;
use tools::git_branch;

use super::{Facts, sentence};
use crate::frontends::tui::confinement;

pub(super) fn status(assembly: &Assembly, facts: &Facts<'_>) -> String {
    let place = assembly.place();
    let mode = facts.mode;
    let model = facts.answering.map(|it| it.model.clone());
    let rows = [
        ("Version", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("Directory", Some(assembly.shown_path(place))),
        ("Branch", git_branch::branch(place)),
        ("Model", model.or_else(|| assembly.global.model.clone())),
        ("Mode", Some(format!("{}: {}", mode.as_str(), mode.summary()))),
        ("Sandbox", confinement(assembly).description(mode)),
        ("Session", facts.session.map(ToString::to_string)),
    ];
    let row = |(name, value): (&str, Option<String>)| Some(vec![name.to_owned(), value?]);
    table(rows.into_iter().filter_map(row))
}

pub(super) fn config(run: &RunContext) -> Result<String, Problem> {
    let files = show::paths(&RunContext::files(&run.global)?);
    Ok(format!("{files}`brynhild config show --provenance` prints every setting and its origin.\n"))
}

/// The context: measured as a whole by the provider, with estimated parts.
pub(super) fn context(assembly: &Assembly, facts: &Facts<'_>) -> Result<String, Problem> {
    let events = match facts.session {
        Some(id) if assembly.store()?.exists(id) => assembly.store()?.read(id)?.events,
        _ => Vec::new(),
    };
    let window = facts.answering.and_then(|it| it.known.context_window_of(&it.model));
    let rows = statistics::context::rows(events, facts.tools, window);
    let rows = table(rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    Ok(format!("{rows}`/compact` makes room.\n"))
}

pub(super) fn agents(assembly: &Assembly) -> String {
    let list = AgentList::find(assembly);
    let row = |agent: &Agent| {
        vec![agent.name.clone(), agent.source.clone(), sentence(&agent.description)]
    };
    table(list.agents.iter().map(row))
}

pub(super) fn mcp(assembly: &Assembly) -> Result<String, Problem> {
    let servers = mcp::listing(assembly)?;
    if servers.is_empty() {
        return Ok(String::from("There are no MCP servers. `brynhild mcp add` adds one.\n"));
    }
    let row = |server: Listed| {
        let state = match (&server.failure, server.enabled) {
            (Some(why), _) => format!("failed: {why}"),
            (None, true) => "on".to_owned(),
            (None, false) => "off".to_owned(),
        };
        let tools = match server.tools.len() {
            1 => "1 tool".to_owned(),
            count => format!("{count} tools"),
        };
        vec![server.name, tools, state]
    };
    Ok(table(servers.into_iter().map(row)))
}

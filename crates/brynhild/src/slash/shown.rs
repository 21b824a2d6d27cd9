//! What built-in commands show.

use std::fmt::Write as _;
use std::sync::Arc;

use contract::message::Usage;
use contract::policy::Mode;
use contract::skill::Skill;
use contract::text::head;
use contract::tool::ToolSpec;

use super::{BUILTIN, Offer};
use crate::exit::Problem;
use crate::output::table;
use crate::permissions::remembered::Memories;
use crate::world::World;

/// Sessions that are listed.
const SESSIONS: usize = 10;

/// What can be typed.
pub(super) fn help(offer: &Offer) -> String {
    let typed = |name: &str, args: &str| format!("/{name} {args}").trim_end().to_owned();
    let builtin = BUILTIN.iter().map(|it| vec![typed(it.name, it.args), it.description.to_owned()]);
    let own = offer.table.commands().iter().map(|command| {
        let name = offer.table.shortest(command);
        let about = format!("{} ({})", head(&command.description, 70), command.source);
        vec![typed(&name, &command.args), about.trim_start().to_owned()]
    });
    let rows: Vec<Vec<String>> = builtin.chain(own).collect();
    table(&rows)
}

/// The tools.
pub(super) fn tools(tools: &[Arc<ToolSpec>]) -> String {
    let rows: Vec<Vec<String>> = tools
        .iter()
        .map(|spec| {
            let first = spec.description.lines().next().unwrap_or_default();
            vec![spec.name.clone(), spec.source.clone(), head(first, 70).to_owned()]
        })
        .collect();
    if rows.is_empty() { String::from("There are no tools.\n") } else { table(&rows) }
}

/// The skills.
pub(super) fn skills(skills: &[Skill]) -> String {
    let row = |skill: &Skill| {
        vec![skill.name.clone(), skill.source.clone(), head(&skill.description, 70).to_owned()]
    };
    table(&skills.iter().map(row).collect::<Vec<_>>())
}

/// The plugins.
pub(super) fn plugins(world: &World) -> String {
    let set = world.plugins();
    if set.plugins.is_empty() {
        return String::from("No plugins were found.\n");
    }
    let rows: Vec<Vec<String>> = set
        .plugins
        .iter()
        .map(|plugin| {
            let state = match (plugin.trusted, plugin.enabled) {
                (false, _) => "untrusted",
                (true, true) => "enabled",
                (true, false) => "disabled",
            };
            let manifest = &plugin.manifest;
            let description = head(&manifest.description, 70).to_owned();
            vec![manifest.name.clone(), manifest.version.clone(), state.to_owned(), description]
        })
        .collect();
    table(&rows)
}

/// What runs without a question.
pub(super) fn permissions(world: &World, mode: Mode) -> Result<String, Problem> {
    let mut text = format!("The mode is {}.\n", mode.as_str());
    let rules = &world.config().permissions;
    for (word, list) in [("allow", &rules.allow), ("ask", &rules.ask), ("deny", &rules.deny)] {
        for rule in list {
            let rule = rule.as_str().map_or_else(|| rule.to_string(), str::to_owned);
            let _ = writeln!(text, "{word} {rule} (configured)");
        }
    }
    if let Some(config_dir) = world.loaded.config_dir.as_deref() {
        let remembered = Memories::new(config_dir).read().map_err(Problem::misuse)?;
        for entry in remembered {
            let place = match &entry.project {
                Some(project) => project.display().to_string(),
                None => String::from("every project"),
            };
            let _ = writeln!(text, "allow {} (remembered for {place})", entry.rule);
        }
    }
    Ok(text)
}

/// What a conversation took.
pub(super) fn cost(usage: &Usage) -> String {
    let cost = usage.cost_usd.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
    format!("{} tokens in, {} out{cost}\n", usage.input_tokens, usage.output_tokens)
}

/// The newest sessions.
pub(super) fn sessions(world: &World) -> Result<String, Problem> {
    let rows: Vec<Vec<String>> = world
        .store()?
        .list()?
        .into_iter()
        .take(SESSIONS)
        .map(|session| {
            let title = session.title.unwrap_or_default();
            vec![session.id.to_string(), head(&title, 50).to_owned(), session.cwd]
        })
        .collect();
    if rows.is_empty() {
        return Ok(String::from("There is no session yet.\n"));
    }
    Ok(format!("{}`/resume ID` goes on with one of them.\n", table(&rows)))
}

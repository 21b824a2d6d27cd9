//! The output of built-in commands.

use std::sync::Arc;

use approvals::listing::ListedRule;
use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::output::table;
use assemble::permissions::remembered;
use assemble::run_context::RunContext;
use assemble::{pricing, rewind};
use contract::id::SessionId;
use contract::policy::Approvals;
use contract::skill::Skill;
use contract::tool::ToolSpec;
use plugins::dialects::Named;
use sessions::earlier;

use super::{BUILTIN, Facts, Offer, sentence};

const SESSIONS: usize = 10;

pub(super) fn help(offer: &Offer) -> String {
    let typed = |name: &str, args: &str| format!("/{name} {args}").trim_end().to_owned();
    let builtin = BUILTIN.iter().map(|it| vec![typed(it.name, it.args), it.description.to_owned()]);
    let own = offer.table.commands().iter().map(|command| {
        let name = offer.table.shortest(command);
        let about = format!("{} ({})", sentence(&command.description), command.source);
        vec![typed(&name, &command.args), about.trim_start().to_owned()]
    });
    let prompts = offer.prompts.iter().map(|prompt| {
        let about = format!("{} (mcp:{})", sentence(&prompt.description), prompt.server);
        vec![typed(&prompt.name, &prompt.usage), about.trim_start().to_owned()]
    });
    let rows: Vec<Vec<String>> = builtin.chain(own).chain(prompts).collect();
    table(&rows)
}

pub(super) fn tools(tools: &[Arc<ToolSpec>]) -> String {
    let row = |spec: &Arc<ToolSpec>| {
        vec![spec.name.clone(), spec.source.clone(), sentence(&spec.description)]
    };
    let rows: Vec<Vec<String>> = tools.iter().map(row).collect();
    if rows.is_empty() { String::from("No tools.\n") } else { table(&rows) }
}

pub(super) fn skills(skills: &[Skill]) -> String {
    let row = |skill: &Skill| {
        vec![skill.name.clone(), skill.source.clone(), sentence(&skill.description)]
    };
    table(skills.iter().map(row))
}

pub(super) fn plugins(assembly: &Assembly) -> String {
    let row = |it: Named| {
        let description = sentence(&it.description);
        vec![it.name, it.version, it.state.as_str().to_owned(), it.system.to_owned(), description]
    };
    let rows: Vec<Vec<String>> = assembly.named_plugins().into_iter().map(row).collect();
    if rows.is_empty() { String::from("No plugins were found.\n") } else { table(&rows) }
}

pub(super) fn permissions(run: &RunContext, facts: &Facts<'_>) -> Result<String, Problem> {
    let session = facts.policy.map(Approvals::session).unwrap_or_default();
    let rules = remembered::listed(run, &session)?;
    let rules: String = rules.iter().map(ListedRule::line).collect();
    Ok(format!("The mode is {}.\n{rules}", facts.mode.as_str()))
}

pub(super) fn took(assembly: &Assembly, id: &SessionId) -> Option<String> {
    let figures = pricing::figures(assembly, &assembly.store().ok()?, [id.clone()]);
    Some(statistics::tables::conversation(figures.first()?, table))
}

/// The messages of the user that `/rewind` and `/fork` can go back to, with their numbers.
pub(super) fn messages(run: &RunContext, id: Option<&SessionId>) -> Result<String, Problem> {
    let messages = earlier::messages(&run.store()?, rewind::saved(id)?)?;
    let row = |(number, message): (usize, earlier::UserMessage)| {
        vec![number.to_string(), sentence(&message.text)]
    };
    if messages.is_empty() {
        return Ok(String::from("There is no message to go back to yet.\n"));
    }
    let rows = table((1..).zip(messages).map(row));
    Ok(format!(
        "{rows}`/rewind N` goes back to before one, `/rewind N files` restores files too.\n"
    ))
}

pub(super) fn sessions(run: &RunContext) -> Result<String, Problem> {
    let row = |session: sessions::summary::Summary| {
        vec![session.id.to_string(), session.label(), session.cwd]
    };
    let rows: Vec<_> = run.store()?.list()?.into_iter().take(SESSIONS).map(row).collect();
    if rows.is_empty() {
        return Ok(String::from("No sessions yet.\n"));
    }
    Ok(format!("{}`/resume ID` continues one of them.\n", table(&rows)))
}

//! Lists that the interface shows: files, commands, models, sessions, plugins, permissions, themes.

use std::path::Path;

use ::tui::host::{Answer, Item, Picks, RecentSession};
use ::tui::theme::Theme;
use approvals::listing::ListedRule;
use assemble::answering_model::AnsweringModel;
use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::permissions::remembered;
use assemble::provider_choice::{self, Candidate};
use assemble::run_context::RunContext;
use assemble::{mcp, model_list, themes};
use contract::id::SessionId;
use plugins::dialects::Named;
use plugins::plugin::PluginState;
use sessions::messages::{self, Role};
use sessions::store::Store;
use sessions::summary::Summary;

use crate::frontends::slash::{self, Offer};

const FILES: usize = 100_000;
const RECENT: usize = 3;

/// The files and directories of a project, relative to it.
pub(super) fn walk(root: &Path) -> Vec<String> {
    tools::walk::project_files(root, FILES)
}

pub(super) fn files(root: &Path) -> Answer {
    let files = walk(root);
    Answer::Files { is_cut: files.len() == FILES, files }
}

pub(crate) fn commands(assembly: &Assembly) -> Vec<Item> {
    let item = |value: &str, label: &str, detail: &str, note: &str| {
        let [label, detail, note] = [label, detail, note].map(str::to_owned);
        Item { label, detail, note, ..Item::named(value.to_owned()) }
    };
    let builtin = slash::BUILTIN.iter().map(|it| item(it.name, it.description, it.args, ""));
    let Offer { table, prompts, .. } = Offer::with_prompts(assembly);
    let own = table.commands().iter();
    let own = own.map(|it| item(&table.shortest(it), &it.description, &it.args, &it.source));
    let prompts = prompts.iter().map(|it| item(&it.name, &it.description, &it.usage, &it.server));
    builtin.chain(own).chain(prompts).collect()
}

pub(super) async fn arguments(assembly: &Assembly, command: String, id: &SessionId) -> Answer {
    let items = match command.as_str() {
        "model" => {
            let lists = model_list::of_all_providers(assembly).await.unwrap_or_default();
            let listed = lists.into_iter().flat_map(|(name, models)| {
                let models = models.unwrap_or_default();
                models.into_iter().map(move |model| Item::of_model(&name, model))
            });
            favorites(assembly).into_iter().chain(listed).collect()
        }
        "resume" => sessions(assembly, id).unwrap_or_default(),
        "export" => {
            let directory = |file: &String| file.ends_with('/');
            let usual =
                Item { value: format!("{id}.md"), label: "here".to_owned(), ..Item::default() };
            let directories = walk(assembly.place()).into_iter().filter(directory).map(Item::named);
            [usual].into_iter().chain(directories).collect()
        }
        "theme" => {
            let names = Theme::names_with(themes::themes(assembly).0);
            names.into_iter().map(Item::named).collect()
        }
        other => known_arguments(assembly, other),
    };
    Answer::Arguments { command, items }
}

pub(super) fn known_arguments(assembly: &Assembly, command: &str) -> Vec<Item> {
    match command {
        "model" => favorites(assembly),
        "skill" => {
            let item = |skill: contract::skill::Skill| Item {
                label: slash::sentence(&skill.description),
                note: skill.source,
                ..Item::named(skill.name)
            };
            assemble::skills::find(assembly, assembly.place()).into_iter().map(item).collect()
        }
        other => Item::arguments(other),
    }
}

fn favorites(run: &RunContext) -> Vec<Item> {
    run.config().models.favorites.keys().map(|id| Item::favorite(id)).collect()
}

/// The current model, the favorites, and the providers whose models are to be asked for.
pub(super) fn first_models(assembly: &Assembly, answering: &AnsweringModel) -> Answer {
    let (current, model) = (&answering.choice.candidate.name, &answering.model);
    let candidates = provider_choice::candidates(assembly).into_iter();
    let is_wanted = |it: &Candidate| it.key.is_usable() && !it.is_script() || it.name == *current;
    Answer::Models {
        items: [Item::in_use(current, model)].into_iter().chain(favorites(assembly)).collect(),
        more: candidates.filter(is_wanted).map(|candidate| candidate.name).collect(),
    }
}

/// The models of a provider; the reason if its list cannot be read.
pub(super) async fn models_of(assembly: &Assembly, name: &str) -> Result<Answer, Problem> {
    let candidate = provider_choice::named(assembly, name)?;
    let items = match model_list::of_provider(assembly, candidate).await {
        None => Vec::new(),
        Some(Ok(models)) => models.into_iter().map(|model| Item::of_model(name, model)).collect(),
        Some(Err(problem)) => vec![Item::unlisted(name, problem.message())],
    };
    Ok(Answer::Models { items, more: Vec::new() })
}

pub(super) fn sessions(run: &RunContext, current: &SessionId) -> Result<Vec<Item>, Problem> {
    listed_sessions(&run.store()?, &run.place().display().to_string(), Some(current))
}

/// The last sessions of this directory but the current one.
pub(super) fn recent_sessions(run: &RunContext, current: &SessionId) -> Vec<RecentSession> {
    let here = run.place().display().to_string();
    let sessions = run.store().ok().and_then(|store| store.list().ok()).unwrap_or_default();
    let others = sessions.iter().filter(|it| it.cwd == here && it.id != *current);
    let recent =
        others.map(|it| RecentSession { title: it.label(), age: Item::age(it.updated_at) });
    recent.filter(|it| !it.title.is_empty()).take(RECENT).collect()
}

/// The sessions of a store, those of a directory first.
pub(super) fn listed_sessions(
    store: &Store,
    here: &str,
    current: Option<&SessionId>,
) -> Result<Vec<Item>, Problem> {
    let mut sessions = store.list()?;
    sessions.sort_by_key(|session| session.cwd != here);
    let item = |session: Summary| {
        let elsewhere = (session.cwd != here).then_some(session.cwd.as_str());
        let (title, count) = (session.label(), session.message_count);
        let age = if Some(&session.id) == current { None } else { Some(session.updated_at) };
        Item::of_session(&session.id, title, (count, elsewhere), age)
    };
    Ok(sessions.into_iter().map(item).collect())
}

pub(super) fn preview(run: &RunContext, id: &str) -> Result<Answer, Problem> {
    let session_id = SessionId::parse(id)?;
    let contents = run.store()?.read(&session_id)?;
    let messages = messages::messages(&contents.events);
    let spoken = messages.iter().filter_map(|message| match message.role {
        Role::User => Some((true, message.content.as_str())),
        Role::Assistant => Some((false, message.content.as_str())),
        _ => None,
    });
    Ok(Answer::preview(id, spoken.collect()))
}

pub(super) fn plugins(assembly: &Assembly) -> Answer {
    let servers = mcp::listing(assembly).unwrap_or_default();
    let why = |named: &Named| {
        let server = servers.iter().find(|it| it.dialect == named.system && it.name == named.name);
        server.and_then(|server| server.failure.clone())
    };
    let item = |named: Named| {
        let why = why(&named);
        Item {
            value: format!("{}:{}", named.system, named.name),
            note: match &why {
                Some(_) => format!("{}, failed", named.state.as_str()),
                None => named.state.as_str().to_owned(),
            },
            is_enabled: named.state == PluginState::Enabled,
            has_failed: why.is_some(),
            detail: why.unwrap_or_else(|| format!("{} {}", named.system, named.description)),
            label: named.name,
        }
    };
    let broken = assembly.plugins().failures().map(|problem| Item {
        label: problem.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        detail: format!("{problem} ({})", problem.hint),
        note: "failed".to_owned(),
        has_failed: true,
        ..Item::default()
    });
    let all = assembly.named_plugins().into_iter().map(item).chain(broken).collect();
    Answer::Items(Picks::Plugins, all)
}

/// The permission rules; remembered ones can be revoked.
pub(super) fn permissions(run: &RunContext, allowed: &[String]) -> Result<Answer, Problem> {
    let item = |rule: ListedRule| Item {
        value: if rule.is_revocable() { rule.rule.clone() } else { String::new() },
        detail: rule.subject(),
        note: rule.place(),
        label: rule.rule,
        ..Item::default()
    };
    let items = remembered::listed(run, allowed)?.into_iter().map(item).collect();
    Ok(Answer::Items(Picks::Permissions, items))
}

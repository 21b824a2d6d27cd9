//! Lists that the interface shows: files, commands, models, sessions, plugins, permissions, themes.

use std::path::Path;

use ::tui::host::{Answer, Item, Picks, RecentSession};
use approvals::listing::ListedRule;
use contract::id::{SessionId, Timestamp};
use contract::text::head;
use ignore::DirEntry;
use plugins::dialects::Named;
use plugins::plugin::PluginState;
use sessions::messages::{self, Message, Role};
use sessions::store::Store;
use sessions::summary::Summary;
use tools::walk::{Filter, IgnoreFiles, Sources};

use crate::assemble;
use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::permissions::remembered;
use crate::assemble::provider_choice::{self, Candidate};
use crate::assemble::rewind::UserMessage;
use crate::assemble::run_context::RunContext;
use crate::assemble::{mcp, model_list, plugin_env, themes};
use crate::exit::Problem;
use crate::frontends::slash::{self, Offer};

const FILES: usize = 100_000;
const PREVIEW: usize = 12;
const RECENT: usize = 3;

pub(super) fn files(root: &Path) -> Answer {
    let files = walk(root);
    Answer::Files { is_cut: files.len() == FILES, files }
}

/// The files and directories of a project that are not ignored, relative to it.
pub(super) fn walk(root: &Path) -> Vec<String> {
    let sources = Sources {
        names: vec![".ignore", ".gitignore"],
        global: ignore::gitignore::gitconfig_excludes_path(),
        repositories_only: true,
        above: true,
    };
    let filter = Filter::new(Some(IgnoreFiles::new(root, sources)), true);
    let is_ours = move |entry: &DirEntry| entry.file_name() != ".git" && filter.shows(entry);
    let entries = tools::walk::filtered(root, is_ours).build();
    let relative = |entry: DirEntry| {
        let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        (!path.is_empty()).then(|| if is_directory { format!("{path}/") } else { path })
    };
    let mut files: Vec<String> =
        entries.filter_map(Result::ok).filter_map(relative).take(FILES).collect();
    // Near files first, hidden ones last.
    files.sort_by_cached_key(|file| {
        (file.starts_with('.') || file.contains("/."), file.matches('/').count(), file.clone())
    });
    files
}

pub(super) fn commands(assembly: &Assembly) -> Vec<Item> {
    let item = |value: &str, label: &str, detail: &str, note: &str| {
        let [label, detail, note] = [label, detail, note].map(str::to_owned);
        Item { label, detail, note, ..named(value.to_owned()) }
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
            let directories = walk(assembly.place()).into_iter().filter(directory).map(named);
            [usual].into_iter().chain(directories).collect()
        }
        "theme" => {
            let mut names: Vec<String> =
                ::tui::theme::Theme::built_in().into_iter().map(|it| it.name).collect();
            let others = themes::themes(assembly).0.into_iter().map(|theme| theme.name);
            // The user's theme replaces a built-in one of its name.
            let others: Vec<String> = others.filter(|name| !names.contains(name)).collect();
            names.extend(others);
            names.into_iter().map(named).collect()
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
                ..named(skill.name)
            };
            assemble::skills(assembly, assembly.place()).into_iter().map(item).collect()
        }
        "effort" => ["off", "low", "medium", "high"].map(|it| named(it.to_owned())).into(),
        "undo" | "redo" => {
            let label = "overwrites your later changes".to_owned();
            vec![Item { label, ..named("force".to_owned()) }]
        }
        _ => Vec::new(),
    }
}

fn named(value: String) -> Item {
    Item { value, ..Item::default() }
}

fn favorites(run: &RunContext) -> Vec<Item> {
    let item =
        |id: &String| Item { label: id.clone(), note: "favorite".to_owned(), ..named(id.clone()) };
    run.config().models.favorites.keys().map(item).collect()
}

/// The current model, the favorites, and the providers whose models are to be asked for.
pub(super) fn first_models(assembly: &Assembly, answering: &AnsweringModel) -> Answer {
    let (current, model) = (&answering.choice.candidate.name, &answering.model);
    let used = Item {
        label: model.clone(),
        note: format!("{current}, in use"),
        ..named(format!("{current}/{model}"))
    };
    let candidates = provider_choice::candidates(assembly).into_iter();
    let is_wanted = |it: &Candidate| it.is_usable() && !it.is_script() || it.name == *current;
    Answer::Models {
        items: [used].into_iter().chain(favorites(assembly)).collect(),
        more: candidates.filter(is_wanted).map(|candidate| candidate.name).collect(),
    }
}

/// The models of a provider; the reason if its list cannot be read.
pub(super) async fn models_of(assembly: &Assembly, name: &str) -> Result<Answer, Problem> {
    let candidate = provider_choice::named(assembly, name)?;
    let items = match model_list::of_provider(assembly, candidate).await {
        None => Vec::new(),
        Some(Ok(models)) => models.into_iter().map(|model| Item::of_model(name, model)).collect(),
        Some(Err(problem)) => vec![Item {
            label: "no list of models".to_owned(),
            detail: problem.message(),
            note: name.to_owned(),
            has_failed: true,
            ..Item::default()
        }],
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
    let recent = others.map(|it| RecentSession { title: it.label(), age: age(it.updated_at) });
    recent.filter(|it| !it.title.is_empty()).take(RECENT).collect()
}

/// Earlier messages of the user, the newest first, by their numbers.
pub(super) fn messages(messages: Vec<UserMessage>) -> Vec<Item> {
    let item = |(number, message): (usize, UserMessage)| Item {
        label: slash::sentence(&message.text),
        detail: message.text,
        note: number.to_string(),
        ..named(number.to_string())
    };
    let mut items: Vec<Item> = (1..).zip(messages).map(item).collect();
    items.reverse();
    items
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
        let elsewhere =
            if session.cwd == here { String::new() } else { format!(", {}", session.cwd) };
        let (title, count) = (session.label(), session.message_count);
        let unit = if count == 1 { "message" } else { "messages" };
        let is_current = Some(&session.id) == current;
        Item {
            label: if title.is_empty() { session.id.to_string() } else { title },
            detail: format!("{count} {unit}{elsewhere}"),
            note: if is_current { "this one".to_owned() } else { age(session.updated_at) },
            ..named(session.id.to_string())
        }
    };
    Ok(sessions.into_iter().map(item).collect())
}

/// The time since a moment, in its largest unit; the date of one that is long past.
fn age(at: Timestamp) -> String {
    let seconds = Timestamp::now().0.duration_since(at.0).as_secs();
    let (count, unit) = match seconds {
        ..60 => return "just now".to_owned(),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        86_400..2_592_000 => (seconds / 86_400, "day"),
        2_592_000.. => return at.0.strftime("%Y-%m-%d").to_string(),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

pub(super) fn preview(run: &RunContext, id: &str) -> Result<Answer, Problem> {
    let session_id = SessionId::parse(id)?;
    let contents = run.store()?.read(&session_id)?;
    let messages = messages::messages(&contents.events);
    let spoken = |message: &&Message| {
        matches!(message.role, Role::User | Role::Assistant) && !message.content.trim().is_empty()
    };
    let messages: Vec<&Message> = messages.iter().filter(spoken).collect();
    let skipped = messages.len().saturating_sub(PREVIEW);
    let words = |message: &&Message| {
        let mark = if message.role == Role::User { "┃ " } else { "" };
        let lines = head(&message.content, 600).lines().take(6);
        lines.map(|line| format!("{mark}{line}")).collect::<Vec<_>>().join("\n")
    };
    let text = messages.iter().skip(skipped).map(words).collect::<Vec<_>>().join("\n\n");
    let text = contract::text::visible(&text).into_owned();
    Ok(Answer::Preview { id: id.to_owned(), text })
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
    let all = plugin_env::named(assembly).into_iter().map(item).chain(broken).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_in_its_largest_unit() {
        let past = |seconds| {
            let now = Timestamp::now().0.as_second();
            age(Timestamp(jiff::Timestamp::from_second(now - seconds).unwrap()))
        };
        assert_eq!([past(-9), past(5)], ["just now"; 2]);
        assert_eq!([past(65), past(7300)], ["1 minute ago", "2 hours ago"]);
        assert_eq!(past(3 * 86_400 + 5), "3 days ago");
        assert_eq!(past(90 * 86_400).len(), "2026-01-01".len());
    }
}

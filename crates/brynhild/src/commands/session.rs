//! `session`: lists, shows, renames, deletes, exports and searches sessions, and undoes the
//! changes that they made to files.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use args::{ExportFormat, SessionCommand, ThinkingStyle};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::run_context::RunContext;
use assemble::undo::{self, Detail};
use contract::event::{Direction, EventKind};
use contract::id::SessionId;
use contract::text::visible;
use serde_json::json;
use sessions::export::{Export, Thinking};
use sessions::reader;
use sessions::search::{Hit, Who};
use sessions::snapshots::{SessionSnapshots, UndoRequest};
use sessions::store::{EventAppender, Store};
use sessions::summary::Summary;

use super::confirmed;
use crate::frontends::export::write_with;

pub(crate) fn run(assembly: &Assembly, command: &SessionCommand) -> Outcome {
    let store = assembly.store()?;
    match command {
        SessionCommand::List { limit } => {
            list(assembly, &store, limit.unwrap_or_else(|| default_limit(assembly)))
        }
        SessionCommand::Show { id: Some(id) } => show(assembly, &store, id),
        SessionCommand::Show { id: None } => {
            show(assembly, &store, summary(assembly, &store, None)?.id.as_str())
        }
        SessionCommand::Rename { old, new } => rename(assembly, &store, old, new),
        SessionCommand::Title { id, title } => set_title(assembly, &store, id, title),
        SessionCommand::Delete { id } => delete(assembly, &store, id),
        SessionCommand::Export { id, format, output, thinking_style } => {
            let format = if assembly.wants_json() { ExportFormat::Json } else { *format };
            export((assembly, &store), id, format, output, thinking(*thinking_style))
        }
        SessionCommand::Undo { id, turns, dry_run, force } => {
            let request = undo_request(*turns, *force, *dry_run);
            restore((assembly, &store), id.as_deref(), Direction::Undo, request)
        }
        SessionCommand::Redo { id, dry_run, force } => {
            let request = undo_request(1, *force, *dry_run);
            restore((assembly, &store), id.as_deref(), Direction::Redo, request)
        }
        SessionCommand::Changes { id, turns, diff } => {
            let detail = if *diff { Detail::Lines } else { Detail::Files };
            changes((assembly, &store), id.as_deref(), *turns, detail)
        }
        SessionCommand::Search { query, limit } => {
            search(assembly, &store, &query.join(" "), *limit)
        }
    }
}

pub(super) fn thinking(style: ThinkingStyle) -> Thinking {
    match style {
        ThinkingStyle::Collapsible => Thinking::Collapsible,
        ThinkingStyle::Full => Thinking::Full,
        ThinkingStyle::Summary => Thinking::Summary,
        ThinkingStyle::Hidden => Thinking::Hidden,
    }
}

/// The configured length of the list; 0 means all.
fn default_limit(run: &RunContext) -> usize {
    match usize::try_from(run.config().session.history_limit) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(limit) => limit,
    }
}

fn list(run: &RunContext, store: &Store, limit: usize) -> Outcome {
    let mut sessions = store.list()?;
    sessions.truncate(limit);
    if sessions.is_empty() {
        return run.report(&sessions, "No sessions yet. `brynhild chat PROMPT` starts one.");
    }
    let row = |session: &Summary| {
        let updated = session.updated_at.0.strftime("%Y-%m-%d %H:%M").to_string();
        let count = session.message_count.to_string();
        let place = run.shown_path(Path::new(&session.cwd));
        [session.id.as_str(), &updated, &count, &session.model, &place, &session.label()]
            .map(str::to_owned)
    };
    let titles = ["ID", "UPDATED", "MESSAGES", "MODEL", "DIRECTORY", "TITLE"];
    run.report(&sessions, output::titled_table(titles, sessions.iter().map(row)))
}

fn read<'a>(store: &'a Store, id: &str) -> Result<Export<'a>, Problem> {
    let id = store.resolve(id)?;
    let export = Export::of_log(store, &id)?;
    for damage in reader::damage(&export.damage.repairs, export.damage.repair_count) {
        output::warning(&format!("session {id} is damaged: {damage}"));
    }
    Ok(export)
}

fn show(run: &RunContext, store: &Store, id: &str) -> Outcome {
    let session = read(store, id)?;
    let mut out = BufWriter::new(io::stdout().lock());
    let shown = if run.wants_json() {
        session
            .json(&mut output::EscapingWriter(&mut out, output::quiet))
            .and_then(|()| Ok(writeln!(out)?))
    } else {
        let put = &mut |piece: &str| out.write_all(visible(piece).as_bytes());
        session.markdown(None, Thinking::Summary, put)
    };
    shown.map_err(anyhow::Error::from)?;
    out.flush()?;
    Ok(Exit::Done)
}

fn rename(run: &RunContext, store: &Store, old: &str, new: &str) -> Outcome {
    let (from, to) = (store.resolve(old)?, SessionId::parse(new)?);
    store.rename(&from, &to)?;
    let data = json!({"renamed": true, "old_name": from, "new_name": to});
    run.report(&data, format_args!("Session {from} renamed to {to}."))
}

fn set_title(run: &RunContext, store: &Store, id: &str, title: &str) -> Outcome {
    let id = store.resolve(id)?;
    let title_event = EventKind::Titled { title: title.to_owned() };
    EventAppender::new(store.open(&id)?, &id)?.append(title_event)?;
    let data = json!({"titled": true, "session_id": id, "title": title});
    run.report(&data, format_args!("Session {id} has the title {title}."))
}

fn delete(run: &RunContext, store: &Store, id: &str) -> Outcome {
    let id = store.resolve(id)?;
    let question = format!("Delete session {id} for good?");
    if !run.wants_json() && !confirmed(run, &question)? {
        return Err(Problem::new(Exit::PermissionNeeded, format!("session {id} is kept"))
            .hint("pass `--yes` to delete without a question"));
    }
    store.delete(&id)?;
    let data = json!({"deleted": true, "session_id": id});
    run.report(&data, format_args!("Session {id} deleted."))
}

fn export(
    (run, store): (&RunContext, &Store),
    id: &str,
    format: ExportFormat,
    target: &Path,
    thinking: Thinking,
) -> Outcome {
    let session = read(store, id)?;
    write_with((run, target), format, |out| match format {
        ExportFormat::Markdown => {
            session.markdown(None, thinking, &mut |piece| out.write_all(piece.as_bytes()))
        }
        ExportFormat::Json => session.json(out).and_then(|()| Ok(writeln!(out)?)),
    })?;
    Ok(Exit::Done)
}

fn search(run: &RunContext, store: &Store, query: &str, limit: usize) -> Outcome {
    if query.trim().is_empty() {
        return Err(Problem::misuse("nothing to search for").hint("name one or more words"));
    }
    let hits = store.search(query, limit)?;
    if hits.is_empty() {
        return run.report(&hits, "Nothing found.");
    }
    let line = |hit: &Hit| {
        let at = hit.at.0.strftime("%Y-%m-%d %H:%M");
        let who = match hit.who {
            Who::User => "you",
            Who::Assistant => "model",
            Who::System => "program",
            Who::ToolInput => "call",
            Who::ToolOutput => "result",
            Who::Title => "title",
        };
        let agent = hit.agent.as_deref().map_or_else(String::new, |name| format!(" of {name}"));
        format!("{}  {at}  {who}{agent}: {}\n", hit.session, hit.snippet)
    };
    run.report(&hits, hits.iter().map(line).collect::<String>())
}

fn undo_request(turns: u32, force: bool, is_dry: bool) -> UndoRequest {
    undo::request(usize::try_from(turns).unwrap_or(usize::MAX), force, is_dry)
}

/// A session, by default the newest of this directory.
fn summary(run: &RunContext, store: &Store, id: Option<&str>) -> Result<Summary, Problem> {
    let summary = if let Some(id) = id {
        let id = store.resolve(id).map_err(|error| {
            Problem::misuse(error.to_string()).hint("`brynhild session list` shows all")
        })?;
        store.list()?.into_iter().find(|session| session.id == id)
    } else {
        let here = run.root()?.display().to_string();
        store.list()?.into_iter().find(|session| session.cwd == here)
    };
    summary.ok_or_else(|| {
        Problem::misuse("there is no session in this directory")
            .hint("name one: `brynhild session list` shows all")
    })
}

/// A session, by default the newest of this directory, with its snapshots.
fn snapshots(
    assembly: &Assembly,
    store: &Store,
    id: Option<&str>,
) -> Result<(SessionId, SessionSnapshots), Problem> {
    let summary = summary(assembly, store, id)?;
    let snapshots = undo::keeper(assembly, Path::new(&summary.cwd), &summary.id)?;
    Ok((summary.id, snapshots))
}

fn restore(
    (assembly, store): (&Assembly, &Store),
    id: Option<&str>,
    direction: Direction,
    request: UndoRequest,
) -> Outcome {
    let (id, snapshots) = snapshots(assembly, store, id)?;
    let opened = store.open(&id).map_err(|error| Problem::misuse(error.to_string()))?;
    let mut appender = EventAppender::new(opened, &id)?;
    let history = || Ok(store.history(&id)?);
    let mut record = |kind: EventKind| Ok(appender.append(kind)?);
    let report = undo::restore(&snapshots, history, (direction, request), &mut record)?;
    assembly.report(&report, report.to_string())?;
    let is_whole = report.turns.is_empty() || report.kept.is_empty();
    Ok(if is_whole { Exit::Done } else { Exit::Failed })
}

fn changes(
    (assembly, store): (&Assembly, &Store),
    id: Option<&str>,
    turns: Option<u32>,
    detail: Detail,
) -> Outcome {
    let (id, snapshots) = snapshots(assembly, store, id)?;
    let history = store.history(&id)?;
    let turns = history.last_turns(turns);
    if assembly.wants_json() {
        output::json(&undo::data(&snapshots, turns, detail)?)?;
    } else {
        output::text(undo::listed(&snapshots, turns, detail)?)?;
    }
    Ok(Exit::Done)
}

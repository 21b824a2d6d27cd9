//! `session`: list, show, rename, title, delete, export, search.

use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;

use contract::event::{Direction, Event, EventKind};
use contract::id::{SessionId, Timestamp};
use contract::log::Log;
use contract::text::{head, visible};
use serde_json::json;
use sessions::export::{Export, Thinking};
use sessions::search::{Hit, Who};
use sessions::store::Store;

use super::undo;
use crate::args::{ExportFormat, SessionCommand, ThinkingStyle};
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::assemble::session_choice;
use crate::assemble::undo::Detail;
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::export::write_with;
use crate::output;

/// Runs a `session` command.
pub(crate) fn run(assembly: &Assembly, command: &SessionCommand) -> Outcome {
    let store = assembly.store()?;
    match command {
        SessionCommand::List { limit } => {
            list(assembly, &store, limit.unwrap_or_else(|| usual(assembly)))
        }
        SessionCommand::Show { id } => show(assembly, &store, id),
        SessionCommand::Rename { old, new } => rename(assembly, &store, old, new),
        SessionCommand::Title { id, title } => set_title(assembly, &store, id, title),
        SessionCommand::Delete { id } => delete(assembly, &store, id),
        SessionCommand::Export { id, format, output, thinking_style } => {
            let format = if assembly.wants_json() { ExportFormat::Json } else { *format };
            export((assembly, &store), id, format, output, (*thinking_style).into())
        }
        SessionCommand::Undo { id, turns, dry_run, force } => {
            let wanted = undo::wanted(*turns, *force, *dry_run);
            undo::restore(assembly, id.as_deref(), Direction::Undo, wanted)
        }
        SessionCommand::Redo { id, dry_run, force } => {
            let wanted = undo::wanted(1, *force, *dry_run);
            undo::restore(assembly, id.as_deref(), Direction::Redo, wanted)
        }
        SessionCommand::Changes { id, turns, diff } => {
            let detail = if *diff { Detail::Lines } else { Detail::Files };
            undo::changes(assembly, id.as_deref(), *turns, detail)
        }
        SessionCommand::Search { query, limit } => {
            search(assembly, &store, &query.join(" "), *limit)
        }
    }
}

impl From<ThinkingStyle> for Thinking {
    fn from(style: ThinkingStyle) -> Self {
        match style {
            ThinkingStyle::Collapsible => Self::Collapsible,
            ThinkingStyle::Full => Self::Full,
            ThinkingStyle::Summary => Self::Summary,
            ThinkingStyle::Hidden => Self::Hidden,
        }
    }
}

/// How many sessions are listed where nobody says; 0 means all.
fn usual(run: &RunContext) -> usize {
    match usize::try_from(run.config().session.history_limit) {
        Ok(0) | Err(_) => usize::MAX,
        Ok(limit) => limit,
    }
}

fn list(run: &RunContext, store: &Store, limit: usize) -> Outcome {
    let mut sessions = store.list()?;
    sessions.truncate(limit);
    if run.wants_json() {
        output::json(&sessions)?;
        return Ok(Exit::Done);
    }
    if sessions.is_empty() {
        output::line("No sessions yet. `brynhild chat PROMPT` starts one.")?;
        return Ok(Exit::Done);
    }
    let mut rows =
        vec![["ID", "UPDATED", "MESSAGES", "MODEL", "TITLE"].map(str::to_owned).to_vec()];
    rows.extend(sessions.into_iter().map(|session| {
        // Without a title, what it began with tells it from others.
        let named = session.title.or(session.first_prompt).unwrap_or_default();
        let line = named.lines().next().unwrap_or_default();
        vec![
            session.id.to_string(),
            session.updated_at.0.strftime("%Y-%m-%d %H:%M").to_string(),
            session.message_count.to_string(),
            session.model,
            head(line, 60).to_owned(),
        ]
    }));
    io::stdout().lock().write_all(output::table(&rows).as_bytes())?;
    Ok(Exit::Done)
}

fn read<'a>(store: &'a Store, id: &str) -> Result<Export<'a>, Problem> {
    let id = store.resolve(id)?;
    let export = Export::of_log(store, &id)?;
    for damage in session_choice::damage(&export.damage.repairs, export.damage.repair_count) {
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
    if run.wants_json() {
        output::json(&json!({"renamed": true, "old_name": from, "new_name": to}))?;
    } else {
        output::line(format!("Session {from} renamed to {to}."))?;
    }
    Ok(Exit::Done)
}

fn set_title(run: &RunContext, store: &Store, id: &str, title: &str) -> Outcome {
    let id = store.resolve(id)?;
    let opened = store.open(&id)?;
    let log = opened.log.ok_or_else(|| {
        Problem::failed(format!("session {id} was written by a later version of Brynhild"))
    })?;
    let seq = opened.events.last().map(|event| event.seq).unwrap_or_default().next();
    let what = EventKind::Titled { title: title.to_owned() };
    log.append(&[Event {
        seq,
        session: id.clone(),
        at: Timestamp::now(),
        within: None,
        kind: what,
    }])?;
    log.sync()?;
    if run.wants_json() {
        output::json(&json!({"titled": true, "session_id": id, "title": title}))?;
    } else {
        output::line(format!("Session {id} has the title {}.", visible(title)))?;
    }
    Ok(Exit::Done)
}

fn delete(run: &RunContext, store: &Store, id: &str) -> Outcome {
    let id = store.resolve(id)?;
    if !run.global.yes && !run.wants_json() && !confirmed(run, &id)? {
        return Err(Problem::new(Exit::PermissionNeeded, format!("session {id} is kept"))
            .hint("pass `--yes` to delete without a question"));
    }
    store.delete(&id)?;
    if run.wants_json() {
        output::json(&json!({"deleted": true, "session_id": id}))?;
    } else {
        output::line(format!("Session {id} deleted."))?;
    }
    Ok(Exit::Done)
}

fn confirmed(run: &RunContext, id: &SessionId) -> io::Result<bool> {
    if !run.environment.terminal.stdin {
        return Ok(false);
    }
    let mut err = io::stderr().lock();
    write!(err, "Delete session {id} for good? [y/N] ")?;
    err.flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
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
    show_hits(run, &hits)?;
    Ok(Exit::Done)
}

fn show_hits(run: &RunContext, hits: &[Hit]) -> io::Result<()> {
    if run.wants_json() {
        return output::json(&hits);
    }
    for hit in hits {
        let at = hit.at.0.strftime("%Y-%m-%d %H:%M");
        let snippet = visible(&hit.snippet).into_owned();
        let who = match hit.who {
            Who::User => "you",
            Who::Assistant => "model",
            Who::System => "program",
            Who::ToolInput => "call",
            Who::ToolOutput => "result",
            Who::Title => "title",
        };
        let agent = hit.agent.as_deref().map_or_else(String::new, |name| format!(" of {name}"));
        output::line(format!("{}  {at}  {who}{agent}: {snippet}", hit.session))?;
    }
    if hits.is_empty() {
        output::line("Nothing found.")?;
    }
    Ok(())
}

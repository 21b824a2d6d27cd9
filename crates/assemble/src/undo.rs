//! File changes of turns: shown, undone, redone. The snapshot store does the work; this describes
//! it.

use std::path::Path;
use std::sync::Arc;

use contract::event::{Change, Direction, EventKind};
use contract::id::SessionId;
use contract::snapshots::Snapshots as _;
use contract::text::{head, one_line};
use serde_json::{Value, json};
use sessions::snapshots::{
    Content, FileChange, History, OnConflict, SessionSnapshots, Settings, Turn, TurnState,
    UndoReport, UndoRequest,
};
use tui::host::FileChange as ShownChange;
pub use tui::slash::Detail;

use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::session_choice::{ChosenSession, SessionStorage};

const MAX_DIFF_BYTES: usize = 100_000;

/// A request for the last turns.
pub fn request(turns: usize, is_forced: bool, is_dry: bool) -> UndoRequest {
    let on_conflict = if is_forced { OnConflict::Overwrite } else { OnConflict::Keep };
    UndoRequest { turns, on_conflict, is_dry }
}

pub(crate) fn saved_snapshots(
    assembly: &Assembly,
    root: &Path,
    chosen: &ChosenSession,
) -> Option<Arc<SessionSnapshots>> {
    let is_kept = chosen.storage == SessionStorage::Saved && assembly.config().undo.enabled;
    is_kept.then(|| keeper(assembly, root, &chosen.id))?.ok().map(Arc::new)
}

/// The copies of changed files that a session keeps.
pub fn keeper(
    assembly: &Assembly,
    root: &Path,
    session: &SessionId,
) -> Result<SessionSnapshots, Problem> {
    let config = assembly.config();
    let settings = Settings {
        directory: assembly.store()?.snapshots(),
        root: root.to_owned(),
        tracker: assembly.services.tracker(root),
        others: config.sandbox.allowed_paths.clone(),
        max_file: config.undo.max_file_mb << 20,
        max_total: config.undo.max_total_mb << 20,
        is_confined: !assembly.is_unconfined(),
        linked_git: sandbox::linked_git_directories(root),
    };
    Ok(SessionSnapshots::new(settings, session.clone()))
}

/// Undoes or redoes changes. Each event is passed to `record` as soon as it applies.
pub fn restore(
    keeper: &SessionSnapshots,
    read: impl FnOnce() -> Result<History, Problem>,
    (direction, wanted): (Direction, UndoRequest),
    record: &mut dyn FnMut(EventKind) -> Result<(), Problem>,
) -> Result<UndoReport, Problem> {
    for what in keeper.recover() {
        record(what)?;
    }
    let history = read()?;
    let report = match direction {
        Direction::Undo => keeper.undo(&history, wanted),
        Direction::Redo => keeper.redo(&history, wanted),
    };
    let mut report = report.map_err(|error| Problem::failed(format!("cannot restore: {error}")))?;
    if let Some(event) = report.event.take() {
        record(event)?;
    }
    Ok(report)
}

/// The changes of turns as text.
pub fn listed(
    keeper: &SessionSnapshots,
    turns: &[Turn],
    detail: Detail,
) -> Result<String, Problem> {
    Ok(parts(keeper, turns, detail)?.iter().map(ShownChange::text).collect())
}

/// The changes of turns, each for itself.
pub fn parts(
    keeper: &SessionSnapshots,
    turns: &[Turn],
    detail: Detail,
) -> Result<Vec<ShownChange>, Problem> {
    let only = |description| ShownChange { description, ..ShownChange::default() };
    if turns.is_empty() {
        return Ok(vec![only("No turn changed a file.".to_owned())]);
    }
    let mut parts = Vec::new();
    for turn in turns {
        let state = match turn.state {
            TurnState::Done => "",
            TurnState::Partly => " (undone in part)",
            TurnState::Undone => " (undone)",
        };
        let at = turn.at.0.strftime("%Y-%m-%d %H:%M");
        let prompt = one_line(&turn.prompt);
        parts.push(only(format!("turn {}{state}  {at}  {prompt}", turn.number)));
        let Some(views) = keeper.changes(turn)? else {
            parts.push(only("  its changes are no longer stored".to_owned()));
            continue;
        };
        let renamed = SessionSnapshots::renamed(&views);
        for view in &views {
            if renamed.values().any(|new| *new == view.path) {
                continue;
            }
            let path = one_line(&view.path);
            if let Some(new) = renamed.get(view.path.as_str()) {
                parts.push(only(format!("  renamed   {path} to {}", one_line(new))));
                continue;
            }
            let note = view.note();
            let counts = if note.is_none() { view.line_counts() } else { None };
            let note = note.unwrap_or_default();
            let description = format!("  {:<8}  {path}{note}", word(view.change));
            let unified = match detail {
                Detail::Lines => difference(view),
                Detail::Files => String::new(),
            };
            parts.push(ShownChange { description, counts, path, unified });
        }
    }
    Ok(parts)
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Modified => "modified",
        Change::Deleted => "deleted",
    }
}

/// The changes of turns as JSON.
pub fn data(keeper: &SessionSnapshots, turns: &[Turn], detail: Detail) -> Result<Value, Problem> {
    let mut list = Vec::new();
    for turn in turns {
        let file = |view: &FileChange| {
            let mut file = json!({"path": view.path, "change": view.change});
            if let Some((added, removed)) = view.line_counts() {
                file["added"] = added.into();
                file["removed"] = removed.into();
            }
            if detail == Detail::Lines {
                file["diff"] = difference(view).into();
            }
            file
        };
        let views = keeper.changes(turn)?;
        let files = views.as_ref().map(|views| views.iter().map(file).collect::<Vec<_>>());
        list.push(json!({
            "turn": turn.number,
            "at": turn.at,
            "prompt": turn.prompt,
            "state": turn.state,
            "files": files,
        }));
    }
    Ok(Value::Array(list))
}

/// The unified diff; empty if the file is binary.
fn difference(view: &FileChange) -> String {
    let Some((before, after)) = view.texts() else { return String::new() };
    let name = |content: &Content, side: &str| match content {
        Content::Absent => "/dev/null".to_owned(),
        _ => format!("{side}/{}", one_line(&view.path)),
    };
    let names = (name(&view.before, "a"), name(&view.after, "b"));
    let unified = tools::diff::between(before, after, 3, Some((&names.0, &names.1)));
    if unified.len() <= MAX_DIFF_BYTES {
        return unified;
    }
    let shown = head(&unified, MAX_DIFF_BYTES);
    format!("{shown}\n… ({} more bytes of difference)\n", unified.len() - shown.len())
}

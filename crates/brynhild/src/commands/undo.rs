//! `session undo`, `redo` and `changes`: what turns changed in files.

use std::io::Write;
use std::path::PathBuf;

use contract::event::{Direction, Event, EventKind};
use contract::id::{SessionId, Timestamp};
use contract::log::Log;
use contract::text::visible;
use sessions::snapshots::{OnConflict, SessionSnapshots, UndoRequest};
use sessions::store::Store;

use crate::assemble::assembly::Assembly;
use crate::assemble::undo::{self, Detail};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// What the flags ask for.
pub(super) fn wanted(turns: u32, force: bool, is_dry: bool) -> UndoRequest {
    let on_conflict = if force { OnConflict::Overwrite } else { OnConflict::Keep };
    UndoRequest { turns: usize::try_from(turns).unwrap_or(usize::MAX), on_conflict, is_dry }
}

/// The session that is meant, with the snapshots of it.
struct Meant {
    store: Store,
    id: SessionId,
    keeper: SessionSnapshots,
}

impl Meant {
    fn new(assembly: &Assembly, id: Option<&str>) -> Result<Self, Problem> {
        let store = assembly.store()?;
        let summary = if let Some(id) = id {
            let id = store.resolve(id).map_err(|error| {
                Problem::misuse(error.to_string()).hint("`brynhild session list` shows all")
            })?;
            store.list()?.into_iter().find(|session| session.id == id)
        } else {
            let here = assembly.root()?.display().to_string();
            store.list()?.into_iter().find(|session| session.cwd == here)
        };
        let summary = summary.ok_or_else(|| {
            Problem::misuse("there is no session of this directory")
                .hint("name one: `brynhild session list` shows all")
        })?;
        let root = PathBuf::from(&summary.cwd);
        let keeper = undo::keeper(assembly, &root, &summary.id)?;
        Ok(Self { store, id: summary.id, keeper })
    }
}

/// Takes changes back or makes them again.
pub(super) fn restore(
    assembly: &Assembly,
    id: Option<&str>,
    direction: Direction,
    wanted: UndoRequest,
) -> Outcome {
    let Meant { store, id, keeper } = Meant::new(assembly, id)?;
    let opened = store.open(&id).map_err(|error| Problem::misuse(error.to_string()))?;
    let log = opened.log.ok_or_else(|| {
        Problem::failed(format!("session {id} was written by a later version of Brynhild"))
    })?;
    let mut seq = opened.events.last().map(|event| event.seq).unwrap_or_default();
    let mut record = |what: EventKind| -> Result<(), Problem> {
        seq = seq.next();
        let (session, at) = (id.clone(), Timestamp::now());
        log.append(&[Event { seq, session, at, within: None, kind: what }])?;
        Ok(log.sync()?)
    };
    let history = || Ok(store.history(&id)?);
    let report = undo::restore(&keeper, history, (direction, wanted), &mut record)?;
    if assembly.wants_json() {
        output::json(&report)?;
    } else {
        std::io::stdout().lock().write_all(undo::told(&report).as_bytes())?;
    }
    Ok(if report.turns.is_empty() { Exit::Done } else { undo::exit(&report) })
}

/// Shows what turns changed.
pub(super) fn changes(
    assembly: &Assembly,
    id: Option<&str>,
    turns: Option<u32>,
    detail: Detail,
) -> Outcome {
    let Meant { store, id, keeper } = Meant::new(assembly, id)?;
    let history = store.history(&id)?;
    let turns = undo::last(&history, turns);
    if assembly.wants_json() {
        output::json(&undo::data(&keeper, turns, detail)?)?;
    } else {
        let text = undo::listed(&keeper, turns, detail)?;
        output::line(visible(text.trim_end()))?;
    }
    Ok(Exit::Done)
}

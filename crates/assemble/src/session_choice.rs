//! The session that a conversation is stored in.

use std::path::Path;
use std::sync::Arc;

use agent::transcript::Transcript;
use contract::event::{CompactionStrategy, Event, EventKind, Level};
use contract::id::{Seq, SessionId, Timestamp};
use contract::log::Log;
use contract::message::Usage;
use server::host::Reachable;
use sessions::error::{Error, FileError, Holder};
use sessions::store::{Cut, Opened, Store};
use sessions::unsaved::Unsaved;
use sessions::{earlier, reader};

use crate::chosen_role::{ChosenRole, RoleRecord};
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;
use line_ui::panics;

/// An open session.
pub struct ChosenSession {
    pub id: SessionId,
    pub storage: SessionStorage,
    pub log: Arc<dyn Log>,
    pub history: Vec<Event>,
    pub(crate) notices: Vec<EventKind>,
    /// The server of the program that has it open, if it is another one.
    pub server: Option<Reachable>,
}

/// Who saves a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionStorage {
    Saved,
    Unsaved,
    /// Another program has it open and saves it.
    Joined,
}

/// Opens or creates the session that the flags name.
pub fn choose(run: &RunContext, root: &Path, no_save: bool) -> Result<ChosenSession, Problem> {
    let mut chosen = open(run, root, no_save)?;
    if chosen.storage == SessionStorage::Saved {
        panics::in_session(&chosen.id);
    }
    if chosen.history.is_empty() {
        chosen.notices.extend(run.role.as_ref().and_then(ChosenRole::record));
    }
    Ok(chosen)
}

fn open(run: &RunContext, root: &Path, no_save: bool) -> Result<ChosenSession, Problem> {
    let global = &run.global;
    let existing = existing(run, root)?;
    if no_save || !run.config().session.auto_save && existing.is_none() {
        if existing.is_some() {
            return Err(Problem::misuse("`--no-save` cannot continue a session"));
        }
        let id = global.session.as_deref().unwrap_or("unsaved");
        return Ok(unsaved(SessionId::parse(id)?));
    }
    let Some(id) = existing else {
        if global.fork {
            return Err(Problem::misuse("`--fork` needs `--resume`, `--continue` or `--session`"));
        }
        return begun(run);
    };
    let store = run.store()?;
    if global.fork {
        let copy = earlier::free_name(&store, &id)?;
        let opened = store.fork(&id, &copy, None)?;
        return continued(copy, opened);
    }
    match store.open(&id) {
        Err(Error::Open { holder: Holder { server: Some((socket, token)), .. }, .. }) => {
            let server = Some(Reachable { socket, token });
            let history = store.read(&id)?.events;
            Ok(ChosenSession { storage: SessionStorage::Joined, server, history, ..unsaved(id) })
        }
        opened => continued(id, opened.map_err(|error| refused(&error))?),
    }
}

/// A new session; unsaved if there is no place to save it.
fn begun(run: &RunContext) -> Result<ChosenSession, Problem> {
    let name = run.global.session.as_deref();
    let text = match run.store() {
        Ok(store) => match created(&store, name) {
            Ok(chosen) => return Ok(chosen),
            Err(Error::File(error)) if has_no_place(&error) || run.global.safe => error.to_string(),
            Err(error @ Error::File(_)) => {
                let hint = "make room, or keep no session: `BRYNHILD_SESSION__AUTO_SAVE=false`";
                return Err(Problem::misuse(error.to_string()).hint(hint));
            }
            Err(error) => return Err(refused(&error)),
        },
        Err(problem) => problem.message(),
    };
    let mut chosen = unsaved(SessionId::parse(name.unwrap_or("unsaved"))?);
    chosen.notices.push(EventKind::Notice {
        level: Level::Warning,
        text: format!("the session is not saved: {text}"),
        hint: Some(String::from(
            "set HOME or BRYNHILD_CONFIG_DIR to a directory of your own that can be written",
        )),
        topic: None,
    });
    Ok(chosen)
}

/// Returns true if no directory is writable, as opposed to a disk that fails or is full.
fn has_no_place(error: &FileError) -> bool {
    use rustix::io::Errno;
    // The last four are errors of a disk without locks.
    #[rustfmt::skip]
    let errors = [
        Errno::NOENT, Errno::ACCESS, Errno::PERM, Errno::EXIST, Errno::NOTDIR, Errno::ISDIR,
        Errno::ROFS, Errno::NAMETOOLONG, Errno::LOOP,
        Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP, Errno::NODEV,
    ];
    Errno::from_io_error(&error.source).is_some_and(|error| errors.contains(&error))
}

fn created(store: &Store, name: Option<&str>) -> Result<ChosenSession, Error> {
    let log = match name {
        Some(name) => store.create(&SessionId::parse(name)?)?,
        None => store.create_named_for(Timestamp::now())?,
    };
    let id = log.id.clone();
    let storage = SessionStorage::Saved;
    Ok(ChosenSession {
        id,
        storage,
        log: Arc::new(log),
        history: Vec::new(),
        notices: Vec::new(),
        server: None,
    })
}

fn existing(run: &RunContext, root: &Path) -> Result<Option<SessionId>, Problem> {
    let global = &run.global;
    if global.continue_last || global.resume.as_deref() == Some("last") {
        let here = root.display().to_string();
        let newest = run.store()?.newest(|directory| directory == here)?.ok_or_else(|| {
            Problem::misuse("there is no session in this directory to continue")
                .hint("`brynhild session list` shows all; `--resume ID` takes one of them")
        })?;
        return Ok(Some(newest));
    }
    if global.resume.as_deref() == Some("") {
        return Err(unnamed(run, root)?);
    }
    if let Some(name) = &global.resume {
        return Ok(Some(run.store()?.resolve(name).map_err(|error| {
            Problem::misuse(error.to_string()).hint("`brynhild session list` shows all sessions")
        })?));
    }
    if let Some(name) = &global.session {
        let id = SessionId::parse(name).map_err(|error| Problem::misuse(error.to_string()))?;
        return Ok(run.store().is_ok_and(|store| store.exists(&id)).then_some(id));
    }
    Ok(None)
}

/// The provider and the model that answered last in the session that the flags continue; none if a
/// flag names another.
pub(crate) fn last_model(run: &RunContext) -> Option<(String, String)> {
    let global = &run.global;
    if global.provider.is_some() || global.model.is_some() {
        return None;
    }
    // A session that cannot be read is reported when it is opened.
    let id = existing(run, run.root().ok()?).ok()??;
    let session = run.store().ok()?.list().ok()?.into_iter().find(|session| session.id == id)?;
    (!session.model.is_empty()).then_some((session.provider, session.model))
}

/// The role that the log of the continued session names.
pub(crate) fn recorded_role(run: &RunContext) -> Result<Option<RoleRecord>, Problem> {
    let session = run.root().ok().and_then(|root| existing(run, root).ok()?);
    let (Some(id), Ok(store)) = (session, run.store()) else { return Ok(None) };
    role_of(&store, &id).map(|(_, record)| record).transpose()
}

/// The role that a log names, and where. It is named before the first turn.
pub fn role_of(store: &Store, id: &SessionId) -> Option<(Seq, Result<RoleRecord, Problem>)> {
    let mut found = None;
    // A session that cannot be read is reported when it is opened.
    let _ = store.events_while(id, |event| {
        found = RoleRecord::of(&event.kind).map(|record| (event.seq, record));
        found.is_none() && !matches!(event.kind, EventKind::TurnStarted { .. })
    });
    found
}

/// The problem that `--resume` has no value and there is no screen for a list to choose from.
fn unnamed(run: &RunContext, root: &Path) -> Result<Problem, Problem> {
    const SHOWN: usize = 5;
    let here = root.display().to_string();
    let sessions = run.store()?.list()?;
    let mine = sessions.iter().filter(|session| session.cwd == here).take(SHOWN);
    let lines = mine.map(|session| format!("\n  {}  {}", session.id, session.label()));
    let list = lines.collect::<Vec<_>>().concat();
    let (list, hint) = if list.is_empty() {
        ("; this directory has none".to_owned(), "`brynhild session list` shows all sessions")
    } else {
        (format!(":{list}"), "`--resume ID` continues one of them, `-c` the newest")
    };
    Ok(Problem::misuse(format!("`--resume` needs the ID of a session{list}")).hint(hint))
}

/// Says how to continue a session that was left.
pub fn offer_resuming(id: &str) {
    output::hint(&format!("`brynhild --resume {id}` continues this conversation"));
}

fn unsaved(id: SessionId) -> ChosenSession {
    let storage = SessionStorage::Unsaved;
    ChosenSession {
        id,
        storage,
        log: Arc::new(Unsaved),
        history: Vec::new(),
        notices: Vec::new(),
        server: None,
    }
}

fn continued(id: SessionId, opened: Opened) -> Result<ChosenSession, Problem> {
    let Some(log) = opened.log else {
        return Err(Problem::misuse(format!(
            "session {id} was written by a later version of Brynhild and can only be read"
        ))
        .hint("update Brynhild, or continue in a copy with `--fork`"));
    };
    let repaired =
        |text: String| EventKind::Notice { level: Level::Warning, text, hint: None, topic: None };
    let mut notices: Vec<EventKind> = reader::damage(&opened.repairs, opened.repair_count)
        .map(|damage| repaired(format!("the session's log is damaged: {damage}")))
        .collect();
    notices.extend(opened.cut.map(|cut| shortened(&cut, &opened.events)));
    let (storage, history) = (SessionStorage::Saved, opened.events);
    Ok(ChosenSession { storage, log: Arc::new(log), history, notices, ..unsaved(id) })
}

/// The notice that the model does not see the oldest part of a very long history. The log keeps it.
fn shortened(cut: &Cut, events: &[Event]) -> EventKind {
    let kept = Transcript::of(&events[cut.at..]).entries().len() as u64;
    EventKind::Compacted {
        summary: Some("[Earlier messages were dropped. Look again at what you need.]".to_owned()),
        strategy: CompactionStrategy::Truncate,
        dropped: cut.left_out,
        range: None,
        kept,
        usage: Usage::default(),
        lasting: None,
    }
}

fn refused(error: &Error) -> Problem {
    let problem = Problem::misuse(error.to_string());
    match error {
        Error::Open { .. } => {
            problem.hint("end the other one, or continue in a copy with `--fork`")
        }
        _ => problem,
    }
}

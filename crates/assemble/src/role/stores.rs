//! The stores of a role in InitRunner's home directory: its memory, and the record of its runs.

use std::sync::Arc;

use args::RunAudit;
use audit::runs::{AuditStore, AuditedRuns, RunSource, Scrub};
use contract::id::SessionId;
use contract::log::Log;
use initrunner::content_filter::ContentFilter;
use initrunner::memory::MemoryStore;
use initrunner::role::{Interval, Role};
use initrunner::store::StoreHome;

use super::reach::came_with_project;
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::output;
use crate::run_context::RunContext;

const CONSOLIDATION_TOKENS: u64 = 4096;

pub(super) fn store_home(assembly: &Assembly, role: &Role) -> Result<StoreHome, String> {
    let directory = assembly
        .environment
        .initrunner_home()
        .ok_or("there is no home directory; set INITRUNNER_HOME")?;
    // A role that came with a project does not decide which files of the user are written.
    let is_restricted = !role.has_free_store_paths || came_with_project(assembly, role);
    Ok(StoreHome { directory: assembly.environment.cwd.join(directory), is_restricted })
}

/// Opens the memory of a role; none if it has none.
pub fn memory(assembly: &Assembly, role: &Role) -> Result<Option<MemoryStore>, String> {
    let Some(settings) = &role.memory else { return Ok(None) };
    let mut home = store_home(assembly, role)?;
    home.is_restricted &= !settings.has_free_path || came_with_project(assembly, role);
    MemoryStore::open(settings, &role.name, &home).map(Some)
}

/// The memory of a role that is played; a warning if it cannot be used.
pub fn open_memory(assembly: &Assembly, role: &Role) -> Option<Arc<MemoryStore>> {
    warned("memory", memory(assembly, role)).flatten().map(Arc::new)
}

/// Opens the record of runs; none if the user wants none.
pub fn audit(run: &RunContext) -> Result<Option<AuditStore>, String> {
    let home = run
        .environment
        .initrunner_home()
        .ok_or("there is no home directory; set INITRUNNER_HOME")?;
    let home = run.environment.cwd.join(home);
    let file = match &run.global.run_audit {
        RunAudit::Usual => None,
        RunAudit::File(file) => Some(run.environment.cwd.join(file)),
        RunAudit::Off => return Ok(None),
    };
    let key = run.environment.variable("INITRUNNER_AUDIT_HMAC_KEY");
    AuditStore::open(&home, file.as_deref(), key).map(Some)
}

/// The record of runs, if there is one on disk.
pub fn recorded(run: &RunContext) -> Result<Option<AuditStore>, String> {
    let exists = run
        .environment
        .initrunner_home()
        .is_some_and(|home| run.environment.cwd.join(home).join("audit.db").exists());
    if exists { audit(run) } else { Ok(None) }
}

/// Records the turns of the chosen role beside the session's log.
pub(crate) fn audited(
    assembly: &Assembly,
    session: Option<&SessionId>,
    log: Arc<dyn Log>,
) -> Arc<dyn Log> {
    let Some(chosen) = &assembly.role else { return log };
    let Some(store) = warned("audit", audit(assembly)).flatten() else { return log };
    let run = RunSource {
        run_id: session.map(|id| id.as_str().to_owned()),
        agent: chosen.role.name.clone(),
        trigger_type: chosen.trigger_type,
    };
    Arc::new(AuditedRuns::new(log, (store, scrub(assembly)), run))
}

/// Replaces what the record of runs must not show.
pub fn scrub(assembly: &Assembly) -> Scrub {
    let own = assembly.clone();
    let content = assembly.role.as_ref().and_then(|chosen| chosen.role.content.as_ref());
    let content = content.map(ContentFilter::new);
    Arc::new(move |text: &str| {
        let text = own.secrets().redacted(text);
        content.as_ref().map_or(text.clone(), |content| content.redacted(&text))
    })
}

/// The parts of the system prompt that come from a memory.
pub(super) async fn memory_blocks(run: &RunContext, memory: &MemoryStore) -> [String; 2] {
    let global = &run.global;
    let named = global.resume.clone().filter(|id| id != "last");
    let session = match named {
        None if global.continue_last || global.resume.is_some() => memory.latest_session(),
        named => Ok(named),
    };
    let recalled = match session {
        Ok(Some(id)) => memory.recalled_block(&id).await,
        Ok(None) => Ok(String::new()),
        Err(what) => Err(what),
    };
    [memory.procedures_block(), recalled].map(|block| warned("memory", block).unwrap_or_default())
}

pub(super) fn warned<T>(part: &str, result: Result<T, String>) -> Option<T> {
    result.map_err(|what| output::warning(&format!("the role's {part} is not used: {what}"))).ok()
}

/// Makes facts of the open events of a memory. Returns how many events and facts there were.
pub async fn consolidate(
    assembly: &Assembly,
    answering: &AnsweringModel,
    memory: &MemoryStore,
) -> Result<(usize, usize), Problem> {
    let Some((prompt, episodes)) = memory.consolidation_prompt().map_err(Problem::failed)? else {
        return Ok((0, 0));
    };
    let role = assembly.role.as_ref().map(|chosen| &chosen.role);
    let settings = role.and_then(|role| role.memory.as_ref()?.consolidation.as_ref());
    let other = settings.and_then(|settings| settings.model.as_deref());
    let other = other.map(|name| name.rsplit_once(':').map_or(name, |(_, name)| name));
    let other =
        other.and_then(|name| crate::answering_model::with_model(assembly, answering, name));
    let answer = other.as_ref().unwrap_or(answering).ask(&prompt, CONSOLIDATION_TOKENS).await?;
    let facts = memory.store_consolidated(&answer, &episodes).map_err(Problem::failed)?;
    Ok((episodes.len(), facts))
}

/// Consolidates the memory of the chosen role at the end of a session, if that is one of the times
/// for it. A failure is a warning.
pub async fn end_session(assembly: &Assembly, answering: &AnsweringModel, times: &[Interval]) {
    let Some(role) = assembly.role.as_ref().map(|chosen| &chosen.role) else { return };
    let settings = role.memory.as_ref().and_then(|memory| memory.consolidation.as_ref());
    if settings.is_none_or(|settings| !times.contains(&settings.interval)) {
        return;
    }
    let Some(memory) = open_memory(assembly, role) else { return };
    if let Err(problem) = consolidate(assembly, answering, &memory).await {
        output::warning(&format!("the role's memory was not consolidated: {}", problem.message()));
    }
}

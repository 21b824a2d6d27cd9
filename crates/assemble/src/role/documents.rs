//! The documents of a role: reads them by the rules on files and hosts, and makes the tool that
//! searches them.

use std::path::Path;
use std::sync::Arc;

use contract::action::Action;
use contract::policy::{Approvals, Decision, Ruling};
use contract::tool::{Risk, Tool};
use initrunner::builtin;
use initrunner::documents::{DocumentPlace, DocumentStore, IngestReport, Ingestion, Refresh};
use initrunner::embeddings::Embedder;
use initrunner::memory::MemoryStore;
use initrunner::role::{EmbeddingSettings, Role};

use super::host::Requests;
use super::stores::{store_home, warned};
use super::{reach, servers, tools};
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::output;
use crate::{confinement, permissions};

/// The place of a role's documents, if it has any, and why they have no vectors though it names
/// embeddings.
fn place_and_note(
    assembly: &Assembly,
    role: &Role,
) -> Result<Option<(DocumentPlace, Option<String>)>, String> {
    let Some(settings) = role.ingest.clone() else { return Ok(None) };
    let home = store_home(assembly, role)?;
    let (embedder, note) = match embedder(assembly, role, settings.embeddings.as_ref()) {
        Some(Err(why)) => (None, Some(why)),
        found => (found.and_then(Result::ok), None),
    };
    Ok(Some((DocumentPlace { settings, agent: role.name.clone(), home, embedder }, note)))
}

/// The model that makes vectors for a role, if settings name one. An error says why there is none.
fn embedder(
    assembly: &Assembly,
    role: &Role,
    settings: Option<&EmbeddingSettings>,
) -> Option<Result<Arc<Embedder>, String>> {
    let mut settings = settings?.clone();
    settings.provider = settings.provider.or_else(|| role.model.provider.clone());
    if reach::came_with_project(assembly, role) {
        return Some(Err(String::from("the role belongs to an untrusted project")));
    }
    if assembly.global.safe {
        return Some(Err(String::from("with `--safe` there is no network")));
    }
    let requests = Arc::new(Requests(tools::requests(assembly, role)));
    Some(Embedder::new(&settings, requests).and_then(|embedder| {
        // The user names the role and so agrees to its model, but rules still deny a host.
        Rules::new(assembly, role)?.check_host(embedder.host(), true)?;
        Ok(Arc::new(embedder))
    }))
}

/// Has a memory search by vectors, if its role names embeddings. Without them, it warns.
pub(super) fn set_embedder(assembly: &Assembly, role: &Role, memory: &MemoryStore) {
    let settings = role.memory.as_ref().and_then(|memory| memory.embeddings.as_ref());
    match embedder(assembly, role, settings) {
        Some(Ok(embedder)) => memory.set_embedder(embedder),
        Some(Err(why)) => {
            output::warning(&format!("memories are searched by words: no embeddings: {why}"));
        }
        None => {}
    }
}

pub(super) fn place(assembly: &Assembly, role: &Role) -> Option<DocumentPlace> {
    place_and_note(assembly, role).ok().flatten().map(|(place, _)| place)
}

/// Opens the documents of a role that has some. Without the embeddings that it names, it warns.
fn open(assembly: &Assembly, role: &Role) -> Result<Option<DocumentStore>, String> {
    let Some((place, note)) = place_and_note(assembly, role)? else { return Ok(None) };
    if let Some(why) = note {
        output::warning(&format!("documents are searched by words: no embeddings: {why}"));
    }
    place.open().map(Some)
}

/// The tool that searches a role's documents. Before a run, those that have changed are read. Problems
/// are warnings.
pub(super) async fn search_tool(
    assembly: &Assembly,
    role: &Role,
    run: &initrunner::task::RunScope,
    is_run: bool,
) -> Option<Arc<dyn Tool>> {
    let documents = warned("document store", open(assembly, role)).flatten()?;
    if is_run && role.ingest.as_ref().is_some_and(|settings| settings.is_automatic) {
        let report = read_documents(assembly, role, &documents, Refresh::Stale).await;
        let errors = match report {
            Ok(report) => report.errors,
            Err(what) => vec![format!("nothing was read: {what}")],
        };
        if let Some(first) = errors.first() {
            let more = match errors.len() - 1 {
                0 => String::new(),
                count => format!("; and {count} more, which `brynhild ingest` lists"),
            };
            output::warning(&format!("the role's documents are not complete: {first}{more}"));
        }
    }
    Some(builtin::search_documents(documents, &tools::tool_host(assembly, role, run)))
}

/// Reads the documents of a role into its store.
pub async fn ingest(
    assembly: &Assembly,
    role: &Role,
    refresh: Refresh,
) -> Result<IngestReport, String> {
    let documents = open(assembly, role)?.ok_or("No ingest config in role definition.")?;
    read_documents(assembly, role, &documents, refresh).await
}

async fn read_documents(
    assembly: &Assembly,
    role: &Role,
    documents: &DocumentStore,
    refresh: Refresh,
) -> Result<IngestReport, String> {
    let rules = Rules::new(assembly, role)?;
    let directory = role.ingest.as_ref().and_then(|ingest| ingest.directory.as_deref());
    let root = assembly.root().map_err(|problem| problem.message())?;
    let reader = ::documents::Reader {
        program: assembly.environment.executable.clone(),
        sandbox: assembly.sandbox().map_err(|problem| problem.message())?,
        profile: confinement::command_profile(assembly, root),
    };
    let reader = &reader;
    let ingestion = Ingestion {
        store: documents,
        role_directory: directory.unwrap_or(role.directory()),
        requests: &Requests(tools::requests(assembly, role)),
        document_text: &move |extension, bytes| {
            Box::pin(async move { reader.text(&extension, bytes).await })
        },
        check_file: &|path| rules.check_file(path),
        check_host: &|host| rules.check_host(host, refresh != Refresh::Stale),
    };
    ingestion.run(refresh).await
}

struct Rules<'a> {
    assembly: &'a Assembly,
    role: &'a Role,
    policies: Vec<Arc<dyn Approvals>>,
}

impl<'a> Rules<'a> {
    fn new(assembly: &'a Assembly, role: &'a Role) -> Result<Self, String> {
        let said = |problem: Problem| problem.message();
        let root = assembly.root().map_err(said)?;
        // The files beside a role that is outside of the project are judged as files of a project.
        let beside = Some(role.directory()).filter(|directory| !directory.starts_with(root));
        let policies = [Some(root), beside].into_iter().flatten();
        let policies = policies.map(|root| permissions::policy(assembly, root).map_err(said));
        Ok(Self { assembly, role, policies: policies.collect::<Result<_, _>>()? })
    }

    fn check_file(&self, path: &Path) -> Result<(), String> {
        reach::check(self.assembly, self.role, path)?;
        self.judge(Action::Read { path: path.to_owned() }, false, "`--yes` reads it")
    }

    fn check_host(&self, host: &str, is_agreed: bool) -> Result<(), String> {
        let action = Action::Connect { host: host.to_owned() };
        self.judge(action, is_agreed, "`brynhild ingest` fetches it")
    }

    /// Allows an action that a rule asks about if the user has agreed to it.
    fn judge(&self, action: Action, is_agreed: bool, remedy: &str) -> Result<(), String> {
        let caller = servers::caller("ingest", &tools::source(self.role), Risk::ReadOnly);
        let (actions, mode) = ([action], self.assembly.mode());
        let rulings: Vec<Ruling> =
            self.policies.iter().map(|policy| policy.judge(&caller, &actions, mode)).collect();
        let why = |decision| {
            let ruling = rulings.iter().find(|ruling| ruling.decision == decision)?;
            ruling.deciding().map(|reason| reason.why.clone())
        };
        let is_agreed = is_agreed || self.assembly.auto_approves();
        match (why(Decision::Deny), why(Decision::Allow)) {
            (Some(why), _) => Err(why),
            (None, None) if !is_agreed => {
                Err(format!("{}; {remedy}", why(Decision::Ask).unwrap_or_default()))
            }
            (None, _) => Ok(()),
        }
    }
}

//! The documents of a role: reads them by the rules on files and hosts, and makes the tool that
//! searches them.

use std::path::Path;
use std::sync::Arc;

use contract::action::Action;
use contract::policy::Decision;
use contract::tool::{Risk, Tool};
use initrunner::builtin::{self, RunNumber};
use initrunner::documents::{DocumentStore, IngestReport, Ingestion, Refresh};
use initrunner::role::Role;

use super::host::Requests;
use super::stores::{store_home, warned};
use super::{reach, servers, tools};
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::permissions;
use crate::exit::Problem;
use crate::output;

/// Opens the documents of a role that has some.
fn store(assembly: &Assembly, role: &Role) -> Result<Option<DocumentStore>, String> {
    let Some(settings) = &role.ingest else { return Ok(None) };
    DocumentStore::open(settings, &role.name, &store_home(assembly, role)?).map(Some)
}

/// The tool that searches a role's documents. Before a run, those that have changed are read. Problems
/// are warnings.
pub(super) async fn search_tool(
    assembly: &Assembly,
    role: &Role,
    run: &RunNumber,
    is_run: bool,
) -> Option<Arc<dyn Tool>> {
    let documents = warned("documents", store(assembly, role)).flatten()?;
    if is_run && role.ingest.as_ref().is_some_and(|settings| settings.is_automatic) {
        let report = read_documents(assembly, role, &documents, Refresh::Stale).await;
        let errors = warned("documents", report).unwrap_or_default().errors;
        if let Some(first) = errors.first() {
            let more = match errors.len() - 1 {
                0 => String::new(),
                count => format!("; and {count} more, which `brynhild ingest` lists"),
            };
            output::warning(&format!("a document is left out: {first}{more}"));
        }
    }
    Some(builtin::search_documents(documents, &tools::ground(assembly, role, run)))
}

/// Reads the documents of a role, as the user has ordered.
pub(crate) async fn ingest(
    assembly: &Assembly,
    role: &Role,
    refresh: Refresh,
) -> Result<IngestReport, String> {
    let documents = store(assembly, role)?.ok_or("No ingest config in role definition.")?;
    read_documents(assembly, role, &documents, refresh).await
}

async fn read_documents(
    assembly: &Assembly,
    role: &Role,
    documents: &DocumentStore,
    refresh: Refresh,
) -> Result<IngestReport, String> {
    let said = |problem: Problem| problem.message();
    let root = assembly.root().map_err(said)?;
    // The files beside a role that is outside of the project are judged as files of a project.
    let beside = Some(role.directory()).filter(|directory| !directory.starts_with(root));
    let policies = [Some(root), beside].into_iter().flatten();
    let policies = policies.map(|root| permissions::policy(assembly, root).map_err(said));
    let policies: Vec<_> = policies.collect::<Result<_, _>>()?;
    let caller = servers::caller("ingest", &tools::source(role), Risk::ReadOnly);
    let judge = |action: Action, may_ask: bool, remedy: &str| {
        let rulings = policies
            .iter()
            .map(|policy| policy.judge(&caller, std::slice::from_ref(&action), assembly.mode()));
        let rulings: Vec<_> = rulings.collect();
        let why = |decision| {
            let ruling = rulings.iter().find(|ruling| ruling.decision == decision)?;
            ruling.deciding().map(|reason| reason.why.clone())
        };
        match (why(Decision::Deny), why(Decision::Allow)) {
            (Some(why), _) => Err(why),
            (None, None) if !may_ask => {
                Err(format!("{}; {remedy}", why(Decision::Ask).unwrap_or_default()))
            }
            (None, _) => Ok(()),
        }
    };
    let is_yes = assemble::asks_nothing(assembly);
    let check_file = |path: &Path| {
        reach::check(assembly, role, path)?;
        judge(Action::Read { path: path.to_owned() }, is_yes, "`--yes` reads it")
    };
    let check_host = |host: &str| {
        let may_ask = is_yes || refresh != Refresh::Stale;
        let action = Action::Connect { host: host.to_owned() };
        judge(action, may_ask, "`brynhild ingest` fetches it")
    };
    let ingestion = Ingestion {
        store: documents,
        role_directory: role.directory(),
        requests: &Requests(tools::requests(assembly, role)),
        check_file: &check_file,
        check_host: &check_host,
    };
    ingestion.run(refresh).await
}

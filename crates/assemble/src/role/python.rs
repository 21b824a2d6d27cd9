//! The Python behind a role's tools, as the dialect of its tool types loads it.

use std::sync::Arc;

use contract::python::PythonHost;
use initrunner::role::{Finding, Role, Severity, ToolEntry};
use plugins::dialects::initrunner::{self as dialect, GrantedNetwork};
pub(super) use plugins::dialects::initrunner::{Loaded, entry_place};
pub(super) use plugins::initrunner::custom::Depth;
use plugins::initrunner::{Entry, EntryProblem, RoleFacts};

use crate::assembly::Assembly;
use crate::exit::Problem;

fn facts(role: &Role) -> RoleFacts<'_> {
    RoleFacts {
        name: &role.name,
        description: &role.description,
        prompt: &role.prompt,
        file: &role.file,
        imports: &role.imports,
        tools: role.tools.iter().map(|entry| &entry.fields).collect(),
        tool_time: role.tool_time,
        is_strict: !role.is_enveloped,
    }
}

fn fields<'a>(entries: &[&'a ToolEntry]) -> Vec<&'a Entry> {
    entries.iter().map(|entry| &entry.fields).collect()
}

pub(super) fn finding(problem: EntryProblem) -> Finding {
    let severity = if problem.is_error { Severity::Error } else { Severity::Warning };
    Finding { severity, path: problem.place, message: problem.message }
}

pub(super) fn has_venv(role: &Role) -> bool {
    dialect::has_venv(&facts(role))
}

pub(super) fn is_python(assembly: &Assembly, role: &Role, entry: &ToolEntry) -> bool {
    dialect::is_python(&assembly.plugin_env(), &facts(role), &entry.fields)
}

/// Returns true if the role is the user's own, was named on the command line, or is trusted.
pub(super) fn is_trusted(assembly: &Assembly, role: &Role) -> bool {
    dialect::is_trusted(&assembly.plugin_env(), &facts(role))
}

pub(super) fn tell_withheld(assembly: &Assembly, role: &Role, entries: &[&ToolEntry]) {
    dialect::tell_withheld(&assembly.plugin_env(), &facts(role), &fields(entries));
}

pub(super) fn may_run(assembly: &Assembly, role: &Role, entries: &[&ToolEntry]) -> bool {
    dialect::may_run(&assembly.plugin_env(), &facts(role), &fields(entries))
}

pub(super) fn check(
    assembly: &Assembly,
    role: &Role,
    (place, entry): (&str, &ToolEntry),
) -> impl Iterator<Item = Finding> + use<> {
    let problems = dialect::check(&assembly.plugin_env(), &facts(role), (place, &entry.fields));
    problems.into_iter().map(finding)
}

pub(super) fn network(
    assembly: &Assembly,
    role: &Role,
    host: Option<Arc<dyn PythonHost>>,
) -> GrantedNetwork {
    dialect::network(&assembly.plugin_env(), &facts(role), host)
}

/// Loads the entries of a role that are Python.
pub(super) async fn load(
    assembly: &Assembly,
    role: &Role,
    entries: &[&ToolEntry],
    depth: Depth,
) -> Result<Loaded, Problem> {
    let (env, facts) = (assembly.plugin_env(), facts(role));
    let loaded = dialect::load(&env, &facts, &fields(entries), depth).await;
    assembly.check_runtime().map(|()| loaded.unwrap_or_default())
}

//! `sql`: statements on one SQLite database, run by a confined interpreter.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::sandbox::Network;
use contract::tool::{Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use super::options::Options;
use super::process::{Limits, Program};
use super::python::{INTERPRETER, missing};
use super::{About, Built, ToolHost, shortened, text};
use crate::host::End;

pub(super) const KEYS: &[&str] =
    &["database", "read_only", "max_rows", "max_result_bytes", "timeout_seconds"];

const MEMORY: &str = ":memory:";
/// The exit code of the script if the statement took too long.
const TIMED_OUT: i32 = 124;
/// Time for the interpreter's start; the statement's own time is watched where it runs.
const STARTING: Duration = Duration::from_secs(30);
const SCRIPT: &str = include_str!("sql.py");

pub(super) fn build(options: &Options<'_>, tool_host: &ToolHost) -> Result<Built, String> {
    let named = options.required("database")?;
    let read_only = options.flag("read_only", true)?;
    let file = if named == MEMORY { None } else { Some(located(named, tool_host)?) };
    let workspace = &tool_host.surroundings.workspace;
    let outside = file.as_ref().filter(|file| !file.starts_with(workspace));
    // What is written has a journal beside it.
    let outside = outside.and_then(|file| if read_only { Some(&**file) } else { file.parent() });
    let outside = outside.map(Path::to_owned);
    let description = if read_only {
        "Query the SQLite database, which cannot be changed, and return the rows."
    } else {
        "Run a statement on the SQLite database and return the rows or their number."
    };
    let about = About {
        name: "query_database",
        description,
        kind: "sql",
        risk: if read_only { Risk::ReadOnly } else { Risk::Mutating },
        properties: json!({"sql": {"type": "string", "description": "One statement in SQLite's dialect"}}),
        required: &["sql"],
    };
    let mut built = Built::of([Arc::new(QueryDatabase {
        spec: about.spec(tool_host).into(),
        file,
        outside,
        read_only,
        rows: options.count("max_rows", 100)?,
        cwd: workspace.clone(),
        limits: Limits {
            processes: Arc::clone(&tool_host.processes),
            time: options.timeout(10)?,
            output: options.count("max_result_bytes", 102_400)?,
        },
    })]);
    built.notes.extend(missing(tool_host));
    Ok(built)
}

fn located(named: &str, tool_host: &ToolHost) -> Result<PathBuf, String> {
    let home = tool_host.surroundings.home.as_deref();
    let path = match (named.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => tool_host.role_directory.join(named),
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // One that does not exist yet lies in a directory that may.
    let file = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if !path.exists() => real(parent).join(name),
        _ => real(&path),
    };
    let climbs = file.components().any(|part| part == std::path::Component::ParentDir);
    let is_inside = [Some(tool_host.role_directory.as_path()), home]
        .into_iter()
        .flatten()
        .any(|directory| file.starts_with(real(directory)));
    if climbs || !is_inside {
        return Err(format!(
            "`database` {named:?} lies neither below the role's directory nor the home"
        ));
    }
    Ok(file)
}

struct QueryDatabase {
    spec: Arc<ToolSpec>,
    file: Option<PathBuf>,
    outside: Option<PathBuf>,
    read_only: bool,
    rows: usize,
    cwd: PathBuf,
    limits: Limits,
}

#[async_trait]
impl Tool for QueryDatabase {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        if text(args, "sql").trim().is_empty() {
            return Err(ToolError::Input(String::from("the statement is empty")));
        }
        Ok(Plan::from(match &self.file {
            None => Vec::new(),
            Some(path) if self.read_only => vec![Action::Read { path: path.clone() }],
            Some(path) => vec![Action::Write { path: path.clone(), diff: None }],
        }))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        if let Some(file) = self.file.as_ref().filter(|file| self.read_only && !file.is_file()) {
            let words = format!("there is no database {}", file.display());
            return Ok(ToolOutput::failure(words));
        }
        let database = self.file.as_ref().map_or(MEMORY.into(), |file| file.to_string_lossy());
        let job = json!({
            "database": database, "sql": text(&call.args, "sql"), "read_only": self.read_only,
            "rows": self.rows, "seconds": self.limits.time.as_secs_f64(),
        });
        let program = Program {
            path: INTERPRETER.into(),
            args: ["-I", "-S", "-c", SCRIPT].map(Into::into).to_vec(),
            cwd: self.cwd.clone(),
            input: job.to_string().into_bytes(),
            env: BTreeMap::new(),
            limits: Limits { time: self.limits.time + STARTING, ..self.limits.clone() },
        };
        let outside: Vec<PathBuf> = self.outside.iter().cloned().collect();
        let written = if self.read_only { &[][..] } else { &outside[..] };
        let confinement =
            context.confinement.with_network(Network::None).reaching(&outside, written);
        let ended = program.run(&confinement, context).await?;
        let said = ended.stderr.trim();
        if ended.end == End::Exited(0) {
            let rows = ended.stdout.trim_end_matches('\n').to_owned();
            return Ok(ToolOutput::success(shortened(rows, self.limits.output)));
        }
        if matches!(ended.end, End::Late | End::Exited(TIMED_OUT)) {
            return Ok(self.late());
        }
        // The last line says what went wrong; those before it are ours.
        Ok(ToolOutput::failure(said.lines().last().unwrap_or("the interpreter failed").to_owned()))
    }
}

impl QueryDatabase {
    fn late(&self) -> ToolOutput {
        let seconds = self.limits.time.as_secs_f64();
        ToolOutput::failure(format!("Execution timed out after {seconds}s"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fixture;
    use super::*;

    fn actions(directory: &Path, entry: &Value) -> Result<Vec<Action>, String> {
        let tool_host = fixture::tool_host(directory);
        let built = build(&Options::new(entry.as_object().unwrap()), &tool_host)?;
        Ok(built.tools[0].actions(&json!({"sql": "SELECT 1"})).unwrap().actions)
    }

    #[test]
    fn action_follows_the_permissions_of_the_entry() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = root.join("a.db");
        let reads = actions(&root, &json!({"database": "a.db"})).unwrap();
        assert_eq!(reads, [Action::Read { path: path.clone() }]);
        let writes = actions(&root, &json!({"database": "a.db", "read_only": false})).unwrap();
        assert_eq!(writes, [Action::Write { path, diff: None }]);
        assert_eq!(actions(&root, &json!({"database": ":memory:"})).unwrap(), []);
    }

    #[test]
    fn database_outside_the_workspace_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/hosts", directory.path().join("link.db")).unwrap();
        for database in ["/etc/x.db", "../x.db", "no/../../x.db", "link.db"] {
            let said = actions(directory.path(), &json!({"database": database})).unwrap_err();
            assert!(said.contains("neither below the role's directory"), "{database}: {said}");
        }
        assert_eq!(actions(directory.path(), &json!({})).unwrap_err(), "`database` is missing");
    }
}

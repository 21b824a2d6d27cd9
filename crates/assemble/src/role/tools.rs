//! The tools of a role: one arm for each kind of entry. Checking runs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use approvals::role_guard::Guard;
use contract::sandbox::Network;
use contract::tool::Tool;
use initrunner::builtin::{self, Granted, ToolHost};
use initrunner::role::{Finding, ProgramNetwork, Role, Severity, ToolEntry};
use initrunner::task::RunScope;
use mcp::Servers;
use plugins::dialects::api;
use plugins::dialects::initrunner::GrantedNetwork;
use plugins::remedy;
use plugins::rest::{Api, Settings};
use serde_json::Value;

use super::host::{Processes, Questions, Requests};
use super::{delegate, documents, python, servers, spawn};
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::assembly::workers;
use crate::mcp::terminal::Terminal;
use crate::run_context::RunContext;

#[derive(Default)]
pub(super) struct Brought {
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) server: Option<Arc<Servers>>,
}

impl From<Vec<Arc<dyn Tool>>> for Brought {
    fn from(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools, server: None }
    }
}

pub(super) fn check(
    assembly: &Assembly,
    role: &Role,
    (place, entry): (&str, &ToolEntry),
) -> Vec<Finding> {
    let value = Value::Object(entry.fields.clone());
    let mut findings = Vec::new();
    let mut note = |severity, message: String| {
        findings.push(Finding { severity, path: place.to_owned(), message });
    };
    if let Err(what) = Guard::read(&value) {
        note(Severity::Error, what);
    }
    let kind = entry.kind.as_str();
    if python::is_python(assembly, role, entry) {
        findings.extend(python::check(assembly, role, (place, entry)));
        return findings;
    }
    if let Some(unknown) = builtin::unknown_keys(entry) {
        // Only the flat shape refuses what it does not know.
        let severity = if role.is_enveloped { Severity::Warning } else { Severity::Error };
        note(severity, unknown);
    }
    if assembly.global.safe && builtin::MADE_BY_CALLER.contains(&kind) {
        note(
            Severity::Warning,
            "with `--safe` there is no network, so it is not loaded".to_owned(),
        );
        return findings;
    }
    if builtin::is_known(kind) {
        let tool_host = tool_host(assembly, role, &RunScope::default());
        match builtin::build(entry, &tool_host) {
            Ok(built) => built.notes.into_iter().for_each(|text| note(Severity::Warning, text)),
            Err(what) => note(Severity::Error, what),
        }
        return findings;
    }
    match kind {
        "api" => {
            let (api, problems) = Api::read(&value, &role.file);
            for problem in problems {
                let severity = match &api {
                    Some(api) if api.lost(&problem) => Severity::Loss,
                    Some(_) => Severity::Warning,
                    None => Severity::Error,
                };
                note(severity, format!("{} ({})", problem.what, problem.hint));
            }
        }
        "mcp" => match servers::described(assembly, role, (place, entry)) {
            Ok(described) => {
                described.problems.into_iter().for_each(|text| note(Severity::Warning, text));
            }
            Err(what) => note(Severity::Error, what),
        },
        "delegate" | "spawn" => match delegate::described(assembly, role, entry) {
            Ok(described) => {
                if kind == "spawn"
                    && let Err(what) = builtin::spawn_limits(&entry.fields)
                {
                    note(Severity::Error, what);
                }
                described.notes.into_iter().for_each(|text| note(Severity::Warning, text));
            }
            Err(what) => note(Severity::Error, what),
        },
        kind => {
            let what = format!("tools of type `{kind}` are not supported and not loaded");
            note(Severity::Warning, what);
        }
    }
    findings
}

/// The tools of an entry. What is wrong with it was told when the role was chosen.
pub(super) async fn made(
    assembly: &Assembly,
    (role, answering): (&Role, Option<&Arc<AnsweringModel>>),
    (place, entry): (&str, &ToolEntry),
    run: &RunScope,
) -> Brought {
    let kind = entry.kind.as_str();
    let is_left = assembly.global.safe && builtin::MADE_BY_CALLER.contains(&kind);
    if is_left || python::is_python(assembly, role, entry) {
        return Brought::default();
    }
    if builtin::is_known(kind) {
        let built = builtin::build(entry, &tool_host(assembly, role, run));
        return built.map(|built| built.tools).unwrap_or_default().into();
    }
    match kind {
        "api" => {
            let value = Value::Object(entry.fields.clone());
            let (api, _) = Api::read(&value, &role.file);
            let tools = api.map(|api| api.tools(&requests(assembly, role), &source(role)));
            tools.unwrap_or_default().into()
        }
        "mcp" => servers::open(assembly, role, (place, entry)).await,
        "delegate" => delegate::open(assembly, (role, answering), entry).into(),
        "spawn" => {
            let tool_host = tool_host(assembly, role, run);
            spawn::open(assembly, (role, answering), entry, &tool_host).into()
        }
        _ => Brought::default(),
    }
}

pub(super) fn source(role: &Role) -> String {
    format!("role:{}", role.name)
}

/// What requests are made with. A role that came with a project does not decide where a variable's
/// value goes before the user trusts its directory.
pub(super) fn requests(assembly: &Assembly, role: &Role) -> Settings {
    let settings = api::settings(&assembly.plugin_env());
    if python::is_trusted(assembly, role) {
        settings
    } else {
        settings.with_variables(BTreeMap::new())
    }
}

pub(super) fn may_send_variables(entry: &ToolEntry) -> bool {
    matches!(entry.kind.as_str(), "api" | "email" | "search" | "slack")
}

pub(super) fn summary(role: &Role, entry: &ToolEntry) -> String {
    if entry.kind == "api"
        && let (Some(api), _) = Api::read(&Value::Object(entry.fields.clone()), &role.file)
    {
        return api.summary();
    }
    let main: &[&str] = match entry.kind.as_str() {
        "csv_analysis" | "filesystem" => &["root_path"],
        "custom" => &["module", "function"],
        "delegate" | "spawn" => &["agents"],
        "email" => &["imap_host"],
        "git" => &["repo_path"],
        "http" => &["base_url"],
        "mcp" => &["command", "args", "url"],
        "script" => &["scripts"],
        "shell" => &["allowed_commands"],
        "search" => &["provider"],
        "sql" => &["database"],
        "web_reader" | "web_scraper" => &["allowed_domains"],
        _ => &[],
    };
    let words = main.iter().filter_map(|key| entry.fields.get(*key)).map(plain);
    let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
    let kind = &entry.kind;
    if words.is_empty() { kind.clone() } else { format!("{kind}: {}", words.join(" ")) }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Object(fields) => fields.get("name").map(plain).unwrap_or_default(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// What an entry says of calls of its tools, whose paths count from its directory.
pub(super) fn guard(run: &RunContext, entry: &ToolEntry) -> Guard {
    let keys = ["root_path", "repo_path", "working_dir", "cwd"];
    let named = keys.iter().find_map(|key| entry.fields.get(*key)?.as_str());
    let directory = run.environment.cwd.join(named.unwrap_or_default());
    Guard::read(&Value::Object(entry.fields.clone())).unwrap_or_default().below(directory)
}

pub(super) fn tool_host(assembly: &Assembly, role: &Role, run: &RunScope) -> ToolHost {
    let host = assembly.python().ok().map(|python| Arc::clone(python.python.host()));
    let GrantedNetwork { mut network, mut remedy } = python::network(assembly, role, host);
    if role.network == ProgramNetwork::None {
        network = Arc::new(|| Network::None);
        remedy = String::from("`security.sandbox.network` of the role is `none`");
    }
    ToolHost {
        role_directory: role.directory().to_owned(),
        surroundings: workers::surroundings(assembly),
        requests: Arc::new(Requests(requests(assembly, role))),
        processes: Arc::new(Processes),
        network: Granted { network, remedy, is_network_failure: remedy::is_alone },
        run: run.clone(),
        user: Arc::new(Questions(Terminal::new(assembly))),
        source: source(role),
        documents: documents::place(assembly, role),
        calculate: ::tools::calculator::calculate,
        analyze_table: ::documents::table::analyze,
        model: role.model.clone(),
    }
}

//! `delegate`: other roles and agents as tools of a role. Each call holds a conversation of its own
//! within the one that made it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent::nested::Parent;
use async_trait::async_trait;
use contract::message::ToolCall;
use contract::secret::Secret;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use initrunner::remote::{Address, RemoteAgent, Speech};
use initrunner::role::{self, Role, SharedMemory, ToolEntry};
use plugins::dialects::api;
use serde_json::{Value, json};

use super::host::Requests;
use super::tools::source;
use crate::agent_list::{self, Agent, AgentList, Kind};
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::knowledge::Knowledge;
use crate::subagents::Workplace;

const KEYS: [&str; 5] = ["agents", "max_depth", "timeout_seconds", "timeout", "shared_memory"];
const AGENT_KEYS: [&str; 5] = ["name", "role_file", "url", "description", "headers_env"];

/// How deep conversations go one within the other, at most.
const DEEPEST: u64 = 10;

pub(super) struct Described {
    pub(super) agents: Vec<Agent>,
    remote: Vec<Far>,
    max_depth: u32,
    time: Duration,
    shared_memory: Option<SharedMemory>,
    pub(super) notes: Vec<String>,
}

pub(super) struct Far {
    pub(super) name: String,
    pub(super) description: String,
    address: Address,
    speech: Speech,
}

pub(super) fn described(
    assembly: &Assembly,
    role: &Role,
    entry: &ToolEntry,
) -> Result<Described, String> {
    let fields = &entry.fields;
    let mut notes = Vec::new();
    let is_spawn = entry.kind == "spawn";
    let own = if is_spawn { "max_concurrent" } else { "mode" };
    let shared = ["type", "permissions", "approval", own];
    let is_known = |key: &str| KEYS.contains(&key) || shared.contains(&key);
    let unknown: Vec<&str> =
        fields.keys().map(String::as_str).filter(|key| !is_known(key)).collect();
    if !unknown.is_empty() {
        let text = format!("Unknown keys for tool '{}': ['{}']", entry.kind, unknown.join("', '"));
        if !role.is_enveloped {
            return Err(text);
        }
        notes.push(text);
    }
    let shared_memory = SharedMemory::of_tool(fields, role.directory())?;
    let mode = fields.get("mode").and_then(Value::as_str).unwrap_or("inline");
    let listed = fields.get("agents").and_then(Value::as_array).filter(|it| !it.is_empty());
    let listed = listed.ok_or("`agents` is missing: list at least one with `name`")?;
    let max_depth = match fields.get("max_depth") {
        None | Some(Value::Null) => 3,
        Some(value) => value
            .as_u64()
            .filter(|depth| (1..=DEEPEST).contains(depth))
            .ok_or_else(|| format!("`max_depth` is not a whole number from 1 to {DEEPEST}"))?,
    };
    let time = ["timeout_seconds", "timeout"].iter().find_map(|key| fields.get(*key));
    let time =
        time.map_or(Some(120.0), Value::as_f64).filter(|time| (0.001..=86_400.0).contains(time));
    let time = time.ok_or("`timeout_seconds` is not a number of seconds from 0.001 to 86400")?;
    let mut agents = Vec::new();
    let mut remote = Vec::new();
    match mode {
        _ if is_spawn => {
            let list = AgentList { agents: Vec::new(), problems: Vec::new() };
            for value in listed {
                let is_named = |key: &str| value.get(key).is_some_and(Value::is_string);
                if is_named("url") {
                    remote.push(far(assembly, role, value, &mut notes)?);
                } else if is_named("role_file") {
                    agents.push(agent(assembly, role, &list, value)?);
                } else {
                    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
                    return Err(format!("Spawn agent '{name}' requires 'role_file' or 'url'"));
                }
            }
        }
        "inline" => {
            let list = AgentList::find(assembly);
            for value in listed {
                agents.push(agent(assembly, role, &list, value)?);
            }
        }
        // What is called `mcp` here is an agent that is served as a model.
        "a2a" | "mcp" => {
            for value in listed {
                let mut far = far(assembly, role, value, &mut notes)?;
                if mode == "mcp" {
                    far.speech = Speech::Completions(far.name.clone());
                }
                remote.push(far);
            }
        }
        other => {
            return Err(format!("`mode: {other}` is not known; there are inline, mcp and a2a"));
        }
    }
    let max_depth = u32::try_from(max_depth).unwrap_or(1);
    let time = Duration::from_secs_f64(time);
    Ok(Described { agents, remote, max_depth, time, shared_memory, notes })
}

/// One agent at an address, with the headers whose values stand in variables.
fn far(
    assembly: &Assembly,
    role: &Role,
    value: &Value,
    notes: &mut Vec<String>,
) -> Result<Far, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    let name = text("name").ok_or("an agent has no `name`")?;
    check_keys(name, value)?;
    let url = text("url").ok_or_else(|| format!("agent `{name}` has no `url`"))?;
    let wanted = value.get("headers_env").and_then(Value::as_object);
    let came_along = wanted.is_some() && super::came_with_project(assembly, role);
    if came_along {
        notes.push(format!(
            "agent `{name}`: what `headers_env` names is not sent: the role came with a project \
             that is not trusted"
        ));
    }
    let mut headers = BTreeMap::new();
    for (header, variable) in wanted.into_iter().flatten().filter(|_| !came_along) {
        let variable = variable.as_str().unwrap_or_default();
        match assembly.environment.variable(variable) {
            Some(found) => drop(headers.insert(header.clone(), Secret::new(found.to_owned()))),
            None => notes.push(format!("agent `{name}`: {variable} is not set")),
        }
    }
    let address =
        Address::new(name, url, headers).map_err(|what| format!("agent `{name}`: {what}"))?;
    let description = text("description").unwrap_or_default().to_owned();
    Ok(Far { name: name.to_owned(), description, address, speech: Speech::Tasks })
}

fn check_keys(name: &str, value: &Value) -> Result<(), String> {
    let keys = value.as_object().into_iter().flat_map(|fields| fields.keys());
    match keys.into_iter().find(|key| !AGENT_KEYS.contains(&key.as_str())) {
        Some(key) => Err(format!("agent `{name}`: `{key}` is not known")),
        None => Ok(()),
    }
}

/// One agent of an entry: a role's file, or one that is known by its name.
fn agent(
    assembly: &Assembly,
    role: &Role,
    list: &AgentList,
    value: &Value,
) -> Result<Agent, String> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).filter(|it| !it.is_empty());
    let name = text("name").ok_or("an agent has no `name`")?;
    check_keys(name, value)?;
    let Some(file) = text("role_file") else {
        let known = list.get(name).cloned().ok_or_else(|| {
            format!("agent `{name}` has no `role_file`, and there is no agent of that name")
        })?;
        let description = text("description").map_or(known.description.clone(), str::to_owned);
        return Ok(Agent { description, ..known });
    };
    let path = located(role, file).and_then(|path| {
        super::reach::check(assembly, role, &path)?;
        Ok(path)
    });
    let path = path.map_err(|what| format!("agent `{name}`: {what}"))?;
    let reading = role::read(&path);
    if let Some(error) = reading.errors().next() {
        return Err(format!("agent `{name}`: {}: {}", path.display(), error));
    }
    let own = reading.role.map(|role| role.description).unwrap_or_default();
    Ok(Agent {
        name: name.to_owned(),
        description: text("description").map_or(own, str::to_owned),
        source: source(role),
        kind: Kind::Role(path),
    })
}

fn located(role: &Role, file: &str) -> Result<PathBuf, String> {
    role::locate(&role.directory().join(Path::new(file)))
}

pub(super) fn open(
    assembly: &Assembly,
    (role, answering): (&Role, Option<&Arc<AnsweringModel>>),
    entry: &ToolEntry,
) -> Vec<Arc<dyn Tool>> {
    let Some((local, remote)) = delegates(assembly, (role, answering), entry) else {
        return Vec::new();
    };
    let local = local.into_iter().map(|delegate| Arc::new(delegate) as Arc<dyn Tool>);
    local.chain(remote.into_iter().map(|(_, agent)| Arc::new(agent) as _)).collect()
}

/// Agents of this program, and those of others with their names and descriptions.
type Delegates = (Vec<Delegate>, Vec<((String, String), RemoteAgent)>);

pub(super) fn delegates(
    assembly: &Assembly,
    (role, answering): (&Role, Option<&Arc<AnsweringModel>>),
    entry: &ToolEntry,
) -> Option<Delegates> {
    let described = described(assembly, role, entry).ok()?;
    let root = assembly.root().ok()?;
    let list = AgentList { agents: described.agents.clone(), problems: Vec::new() };
    let knowledge = Arc::new(Knowledge::default());
    let mut workplace = Workplace::new(assembly, root, (answering, knowledge), &list);
    workplace.max_depth = described.max_depth;
    // A spawned task has a limit of its own, after which it is listed.
    workplace.time = Some(described.time).filter(|_| entry.kind != "spawn");
    workplace.shared_memory = described.shared_memory;
    let workplace = Arc::new(workplace);
    let made = |agent: Agent| Delegate {
        spec: spec((&agent.name, &agent.description), role).into(),
        role: role.name.clone(),
        agent,
        workplace: Arc::clone(&workplace),
    };
    let requests = Arc::new(Requests(api::settings(&assembly.plugin_env())));
    let reached = |far: Far| {
        // What is said leaves the machine.
        let spec = ToolSpec {
            requires_permission: true,
            risk_level: Risk::Mutating,
            recovery_policy: Recovery::Confirm,
            ..spec((&far.name, &far.description), role)
        };
        let there = (far.address, far.speech);
        let agent =
            RemoteAgent::new(spec.into(), there, described.time, Arc::clone(&requests) as _);
        ((far.name, far.description), agent)
    };
    let local = described.agents.into_iter().map(made).collect();
    Some((local, described.remote.into_iter().map(reached).collect()))
}

fn spec((agent, description): (&str, &str), role: &Role) -> ToolSpec {
    let usable = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = agent.chars().map(usable).collect();
    let about = if description.is_empty() {
        format!("Delegate task to the {agent} agent")
    } else {
        description.to_owned()
    };
    ToolSpec {
        name: format!("delegate_to_{name}"),
        description: about,
        input_schema: json!({
            "type": "object",
            "properties": {"prompt": {
                "type": "string",
                "description": "The whole task: the agent knows nothing but this",
            }},
            "required": ["prompt"],
            "additionalProperties": false,
        })
        .into(),
        version: String::new(),
        categories: vec!["delegate".to_owned()],
        // It changes nothing itself; what the agent does is judged call by call.
        requires_permission: false,
        risk_level: Risk::ReadOnly,
        recovery_policy: Recovery::Allow,
        parallel: true,
        source: source(role),
        traits: Traits::default(),
    }
}

pub(super) struct Delegate {
    spec: Arc<ToolSpec>,
    role: String,
    pub(super) agent: Agent,
    workplace: Arc<Workplace>,
}

impl Delegate {
    /// Has the agent work within a conversation, that of a call.
    pub(super) async fn delegated(
        &self,
        parent: Option<Arc<Parent>>,
        prompt: String,
    ) -> Result<ToolOutput, ToolError> {
        let (most, name) = (self.workplace.max_depth, &self.agent.name);
        let Some(parent) = parent else {
            return Err(ToolError::Broken("agents need a conversation".to_owned()));
        };
        if parent.depth() >= most {
            let (depth, role) = (parent.depth() + 1, &self.role);
            return Ok(ToolOutput::failure(format!(
                "Delegation depth {depth} exceeds max_depth {most} (chain: {role} -> {name})"
            )));
        }
        match self.workplace.reported(&parent, &self.agent, prompt).await {
            Ok(reported) => reported.map(|mut output| {
                output.error = output.error.map(|why| format!("Agent '{name}' failed: {why}"));
                output
            }),
            Err(why) => {
                let path = agent_list::path(&self.agent).map(|path| path.display().to_string());
                let path = path.unwrap_or_else(|| name.clone());
                Ok(ToolOutput::failure(format!("Failed to load agent from {path}: {why}")))
            }
        }
    }
}

#[async_trait]
impl Tool for Delegate {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _args: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prompt = call.args.get("prompt").and_then(Value::as_str).unwrap_or_default();
        let mut output = if prompt.trim().is_empty() {
            ToolOutput::failure("the prompt is empty")
        } else {
            self.delegated(Parent::current(), prompt.to_owned()).await?
        };
        output.error = output.error.map(|error| format!("[DELEGATION ERROR] {error}"));
        Ok(output)
    }
}

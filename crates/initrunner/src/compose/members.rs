//! Reads a document of the flat shape: its kind, and a role for each member.

use std::collections::BTreeMap;
use std::path::Path;

use formats::python;
use serde_json::{Map, Value};

use super::settings::TeamSettings;
use super::{Composed, FlowGraph, Kind, LEAD_PROMPT, MayUse, Member};
use crate::role::{
    self, COMPOSED, Fields, Finding, IngestSettings, METADATA, NAME_RULE, Role, SharedMemory,
};

/// Keys of a role that a document of several agents does not share out.
const ROLE_ONLY: &[&str] = &[
    "role",
    "output",
    "skills",
    "auto_skills",
    "memory",
    "deps_schema",
    "execution",
    "ingest",
    "autonomy",
    "reasoning",
    "capabilities",
    "tool_search",
];
const CHILD: &[&str] = &[
    "prompt",
    "use",
    "model",
    "tools",
    "tools_mode",
    "environment",
    "triggers",
    "then",
    "after",
    "guardrails",
];
const TEAM_GUARDRAILS: [&str; 2] = ["team_token_budget", "team_timeout_seconds"];
/// The guardrails of a document that members without a file of their own take over.
const RUN_GUARDRAILS: [&str; 3] = ["max_tokens_per_run", "max_tool_calls", "timeout_seconds"];

type Keys = Map<String, Value>;

pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    pub(super) document: Keys,
    pub(super) fields: Fields,
    pub(super) may_use: MayUse<'a>,
}

enum Shape {
    Agent,
    Team,
    Flow,
    Group,
}

impl Reader<'_> {
    pub(super) fn read(&mut self, is_flow: bool) -> Option<Composed> {
        if self.document.remove("prompt").is_some() {
            let what = "a document with `agents` has no prompt of its own; move it into an agent";
            self.fields.error("prompt", what);
        }
        for key in ROLE_ONLY.iter().filter(|key| self.document.contains_key(**key)) {
            let what = "it belongs to a single role; put it there and name that role with `use`";
            self.fields.error(key, what);
        }
        self.document.retain(|key, _| !ROLE_ONLY.contains(&key.as_str()));
        let lead = self.lead()?;
        let children = self.children()?;
        let shape = self.shape(&children, is_flow)?;
        self.check_keys(&shape, &children);
        let mut members = Vec::new();
        for (name, child) in &children {
            members.extend(self.member(name, child, &lead));
        }
        let names: Vec<&str> = children.iter().map(|(name, _)| name.as_str()).collect();
        let document = &self.document;
        let kind = match shape {
            Shape::Agent => Kind::Agent,
            Shape::Group => Kind::Group,
            Shape::Team => Kind::Team(TeamSettings::read(document, &names, &mut self.fields)),
            Shape::Flow => {
                let durability = document.get("durability");
                Kind::Flow(FlowGraph::read(&children, durability, &mut self.fields))
            }
        };
        let shared = SharedMemory::read(document.get("shared_memory"), &mut self.fields);
        if let Some(shared) = shared {
            for member in &mut members {
                shared.give(&mut member.role, &lead.name);
            }
        }
        if let Some(documents) = self.shared_documents(&lead.name) {
            for member in &mut members {
                member.role.ingest.get_or_insert_with(|| documents.clone());
            }
        }
        let (name, description) = (lead.name.clone(), lead.description.clone());
        (members.len() == children.len()).then_some(Composed {
            name,
            description,
            members,
            kind,
            lead,
        })
    }

    /// One store of documents for all members without their own; none if it is not enabled.
    fn shared_documents(&mut self, name: &str) -> Option<IngestSettings> {
        let value = self.document.get("shared_documents");
        let mut keys = self.fields.mapping(value, "shared_documents")?.clone();
        if !self.fields.flag(&keys, "shared_documents.enabled", false) {
            return None;
        }
        keys.remove("enabled");
        let mut fields = Fields::default();
        let security = self.document.get("security");
        let settings = IngestSettings::read(Some(&keys.into()), security, &mut fields);
        self.fields.findings.extend(fields.findings.into_iter().map(|finding| Finding {
            path: finding.path.replacen("ingest", "shared_documents", 1),
            ..finding
        }));
        let mut settings = settings?;
        settings.directory = self.file.parent().map(Path::to_owned);
        settings.store_path.get_or_insert_with(|| format!("stores/{name}-shared.db"));
        Some(settings)
    }

    /// Reads the keys of the document itself, as the role that has its model and no tools.
    fn lead(&mut self) -> Option<Role> {
        let mut own = self.document.clone();
        own.retain(|key, _| !COMPOSED.contains(&key.as_str()));
        if let Some(Value::Object(guardrails)) = own.get_mut("guardrails") {
            guardrails.retain(|key, _| !TEAM_GUARDRAILS.contains(&key.as_str()));
        }
        own.insert(String::from("prompt"), LEAD_PROMPT.into());
        let reading = role::read_document(&own, self.file);
        self.fields.findings.extend(reading.findings);
        reading.role.map(|role| Role { tools: Vec::new(), ..role })
    }

    fn children(&mut self) -> Option<Vec<(String, Keys)>> {
        let agents = self.document.get("agents").and_then(Value::as_object);
        let Some(agents) = agents.filter(|agents| !agents.is_empty()) else {
            self.fields.error("agents", "it is not a mapping of names to agents");
            return None;
        };
        let mut children = Vec::new();
        for (name, value) in agents {
            let path = format!("agents.{name}");
            if name.is_empty() || !role::is_name(name) {
                self.fields.error(&path, NAME_RULE);
            }
            let child = match value {
                Value::String(prompt) => {
                    Map::from_iter([(String::from("prompt"), prompt.as_str().into())])
                }
                Value::Object(child) => child.clone(),
                _ => {
                    self.fields.error(&path, "it is neither a prompt nor a mapping");
                    continue;
                }
            };
            for key in child.keys().filter(|key| !CHILD.contains(&key.as_str())) {
                self.fields.error(&format!("{path}.{key}"), "it is not known");
            }
            if !has(&child, "prompt") && !has(&child, "use") {
                self.fields.error(&path, "child needs 'prompt' or 'use'");
            }
            children.push((name.clone(), child));
        }
        (children.len() == agents.len()).then_some(children)
    }

    fn shape(&mut self, children: &[(String, Keys)], is_flow: bool) -> Option<Shape> {
        let is_graph =
            is_flow || children.iter().any(|(_, child)| has(child, "then") || has(child, "after"));
        let is_bare = |child: &Keys| child.len() == 1 && has(child, "use");
        let bare = children.iter().filter(|(_, child)| is_bare(child)).count();
        let runs = has(&self.document, "run");
        let wrong = match (is_graph, runs) {
            (true, true) => "pick 'run' (preset) or 'then'/'after' (graph), not both",
            (true, false) => return Some(Shape::Flow),
            (false, true) if children.len() < 2 => {
                "'run' needs at least two agents; add one or leave 'run' out"
            }
            (false, true) => return Some(Shape::Team),
            (false, false) if bare == children.len() => return Some(Shape::Group),
            (false, false) if children.len() == 1 => return Some(Shape::Agent),
            (false, false) if bare == 0 => return Some(Shape::Team),
            (false, false) => {
                "a bare 'use' is mixed with other agents; add 'run' for a team or 'then' for a flow"
            }
        };
        self.fields.error(if runs { "run" } else { "agents" }, wrong);
        None
    }

    /// Checks keys that only some kinds of documents have.
    fn check_keys(&mut self, shape: &Shape, children: &[(String, Keys)]) {
        let mut errors: Vec<(String, &str)> = Vec::new();
        let is_sequential = self.document.get("run").is_none_or(|run| run == "sequential");
        for (name, child) in children {
            let mut refuse = |key: &str, what| {
                if has(child, key) {
                    errors.push((format!("agents.{name}.{key}"), what));
                }
            };
            if matches!(shape, Shape::Team) {
                refuse("triggers", "a member of a team has no triggers");
                refuse("guardrails", "a member of a team has no limits; set `guardrails` above");
                if !is_sequential {
                    refuse("environment", "only members of sequential teams have an environment");
                }
            } else if has(child, "triggers") {
                let path = format!("agents.{name}.triggers");
                self.fields.warning(&path, "it only matters for the daemon, and does nothing here");
            }
        }
        if has(&self.document, "durability") && !matches!(shape, Shape::Flow) {
            errors.push((String::from("durability"), "only a flow with 'then' has it"));
        }
        if matches!(shape, Shape::Group) {
            let shared =
                ["agents", "shared_memory", "shared_documents", "observability", "security"];
            let is_own = |key: &str| shared.contains(&key) || METADATA.contains(&key);
            for key in self.document.keys().filter(|key| !is_own(key)) {
                errors.push((key.clone(), "a group has no such key: its agents are independent"));
            }
        }
        for (path, what) in errors {
            self.fields.error(&path, what);
        }
    }

    fn member(&mut self, name: &str, child: &Keys, lead: &Role) -> Option<Member> {
        let path = format!("agents.{name}");
        let environment = self.environment(child, &path);
        let replaces = match child.get("tools_mode").map(|mode| mode.as_str().unwrap_or_default()) {
            None | Some("extend") => false,
            Some("replace") => true,
            Some(_) => {
                let what = "it is neither `extend` nor `replace`";
                self.fields.error(&format!("{path}.tools_mode"), what);
                false
            }
        };
        if child.get("tools").is_some_and(|tools| !tools.is_array() && !tools.is_null()) {
            self.fields.error(&format!("{path}.tools"), "it is not a list");
        }
        let (keys, file) = if has(child, "use") {
            let (mut keys, file) = match self.used(child) {
                Ok(used) => used,
                Err(what) => {
                    self.fields.error(&format!("{path}.use"), what);
                    return None;
                }
            };
            let is_enveloped = role::is_enveloped(&keys);
            let spec = if is_enveloped { keys.get_mut("spec") } else { None };
            match spec.map(Value::as_object_mut) {
                Some(Some(spec)) => self.merge(spec, child, ("role", replaces)),
                Some(None) => {}
                None => self.merge(&mut keys, child, ("prompt", replaces)),
            }
            (keys, file)
        } else {
            let mut keys = Map::from_iter([(String::from("name"), name.into())]);
            if let Some(security) = self.document.get("security") {
                keys.insert(String::from("security"), security.clone());
            }
            self.merge(&mut keys, child, ("prompt", replaces));
            (keys, self.file.to_owned())
        };
        let reading = role::read_document(&keys, &file);
        let shown = file.display();
        for finding in reading.findings {
            let Finding { severity, path: place, message } = finding.clone();
            let finding = if has(child, "use") {
                let place = if place.is_empty() { place } else { format!("{place}: ") };
                let message = format!("{shown}: {place}{message}");
                Finding { severity, path: format!("{path}.use"), message }
            } else if self.fields.findings.contains(&finding) {
                // A key of the document, which is reported already.
                continue;
            } else {
                Finding { severity, path: format!("{path}.{place}"), message }
            };
            self.fields.findings.push(finding);
        }
        let mut role = Role { environment, ..reading.role? };
        if role.model == role::ModelSettings::default() {
            role.model = lead.model.clone();
        }
        Some(Member { name: name.to_owned(), role })
    }

    /// The keys and the path of the role's file that a member uses.
    fn used(&self, child: &Keys) -> Result<(Keys, std::path::PathBuf), String> {
        let named = child.get("use").and_then(Value::as_str).ok_or("it is not a path")?;
        let beside = self.file.parent().unwrap_or(Path::new(""));
        let path = role::locate(&beside.join(named))?;
        (self.may_use)(self.file, &path)?;
        let shown = path.display();
        let keys = role::document(&path).map_err(|what| format!("{shown}: {what}"))?;
        if super::flat(&keys, &mut Fields::default()).is_some() {
            return Err(format!("{shown} has several agents; `use` takes a single role"));
        }
        Ok((keys, path))
    }

    /// Puts the keys of a member, and those that the document shares out, into the keys of a role.
    fn merge(&self, role: &mut Keys, child: &Keys, (prompt, replaces): (&str, bool)) {
        let document = &self.document;
        if let Some(text) = child.get("prompt").filter(|text| !text.is_null()) {
            role.insert(prompt.to_owned(), text.clone());
        }
        if let Some(model) = child.get("model").filter(|model| !model.is_null()) {
            role.insert(String::from("model"), model.clone());
        }
        let lists = if replaces {
            [None, None, child.get("tools")]
        } else {
            [document.get("tools"), role.get("tools"), child.get("tools")]
        };
        let tools: Vec<Value> = lists
            .into_iter()
            .flatten()
            .filter_map(Value::as_array)
            .flat_map(|list| list.iter().cloned())
            .collect();
        role.insert(String::from("tools"), tools.into());
        let is_used = has(child, "use");
        let is_shared = |key: &str| {
            if is_used { !TEAM_GUARDRAILS.contains(&key) } else { RUN_GUARDRAILS.contains(&key) }
        };
        let limits = [document.get("guardrails"), child.get("guardrails")];
        let limits = limits.map(|it| it.and_then(Value::as_object).cloned().unwrap_or_default());
        let [mut shared, own] = limits;
        shared.retain(|key, _| is_shared(key));
        if shared.is_empty() && own.is_empty() {
            return;
        }
        let guardrails = role.entry("guardrails").or_insert_with(|| Map::new().into());
        if let Some(guardrails) = guardrails.as_object_mut() {
            guardrails.extend(shared.into_iter().chain(own));
        }
    }

    fn environment(&mut self, child: &Keys, path: &str) -> BTreeMap<String, String> {
        let path = format!("{path}.environment");
        let values = self.fields.mapping(child.get("environment"), &path);
        let mut environment = BTreeMap::new();
        for (name, value) in values.into_iter().flatten() {
            if value.is_object() || value.is_array() || value.is_null() {
                self.fields.error(&format!("{path}.{name}"), "it is not text");
            }
            environment.insert(name.clone(), python::to_text(value));
        }
        environment
    }
}

fn has(keys: &Keys, key: &str) -> bool {
    keys.get(key).is_some_and(|value| !value.is_null())
}

//! Skills that a role finds by itself: a list for its prompt, and the tool that shows one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::tool::{
    Plan, Recovery, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec, Traits,
};
use serde_json::{Value, json};

use crate::skill::SkillDocument;

/// Files that the content of a skill names beside its own.
const MAX_RESOURCES: usize = 30;
/// Directories and files that are looked at for one list.
const MAX_ENTRIES: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoSkill {
    pub name: String,
    pub description: String,
    body: String,
    directory: PathBuf,
}

/// Finds `SUB/SKILL.md` in `directories`; the first of a name wins. `read` reads such a file, or says
/// why it must not: the second value has these errors. Skills without a name or a description, and
/// those in `excluded`, are left out.
pub fn find(
    directories: &[PathBuf],
    excluded: &[&str],
    max_skills: usize,
    read: impl Fn(&Path) -> Result<SkillDocument, String>,
) -> (Vec<AutoSkill>, Vec<String>) {
    let (mut skills, mut errors) = (Vec::<AutoSkill>::new(), Vec::new());
    let files = directories.iter().flat_map(|directory| {
        let mut files: Vec<PathBuf> = directory.read_dir().map_or_else(
            |_| Vec::new(),
            |entries| entries.flatten().map(|entry| entry.path().join("SKILL.md")).collect(),
        );
        files.sort();
        files
    });
    for file in files.take(MAX_ENTRIES).filter(|file| file.is_file()) {
        let document = match read(&file) {
            Ok(document) => document,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let text = |key: &str| document.keys.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, description) = (text("name"), text("description"));
        let is_known = skills.iter().any(|skill| skill.name == name) || excluded.contains(&name);
        if name.is_empty() || description.is_empty() || is_known {
            continue;
        }
        skills.push(AutoSkill {
            name: name.to_owned(),
            description: description.to_owned(),
            directory: file.parent().unwrap_or(&file).to_owned(),
            body: document.body.clone(),
        });
        if skills.len() == max_skills {
            break;
        }
    }
    (skills, errors)
}

/// The part of the prompt about these skills; empty without any.
pub fn prompt_block(skills: &[AutoSkill]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let line = |skill: &AutoSkill| {
        let (name, description) = (escaped(&skill.name), escaped(&skill.description));
        format!("<skill name=\"{name}\">{description}</skill>")
    };
    let lines = skills.iter().map(line).collect::<Vec<_>>().join("\n");
    format!(
        "## Available Skills\n\nIf a task matches one of these skills, call `activate_skill` with its \
         name before you begin.\n\n<available_skills>\n{lines}\n</available_skills>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

impl AutoSkill {
    fn content(&self) -> String {
        let name = escaped(&self.name);
        let files = resources(&self.directory);
        let files: Vec<String> =
            files.iter().map(|file| format!("<file>{}</file>\n", escaped(file))).collect();
        let files = if files.is_empty() {
            String::new()
        } else {
            format!("<skill_resources>\n{}</skill_resources>\n", files.concat())
        };
        let body = self.body.trim();
        format!("<skill_content name=\"{name}\">\n{body}\n{files}</skill_content>")
    }
}

/// The files of a skill beside `SKILL.md`, relative to its directory. Follows no symlink.
fn resources(directory: &Path) -> Vec<String> {
    let mut open = vec![directory.to_owned()];
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(next) = open.pop() {
        for entry in next.read_dir().into_iter().flatten().flatten() {
            looked_at += 1;
            if looked_at > MAX_ENTRIES {
                break;
            }
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file()
                && let Ok(relative) = entry.path().strip_prefix(directory)
                && relative != Path::new("SKILL.md")
            {
                found.push(relative.display().to_string());
            }
        }
    }
    found.sort();
    found.truncate(MAX_RESOURCES);
    found
}

/// `activate_skill`: shows a skill once in a conversation.
pub struct ActivateSkill {
    spec: Arc<ToolSpec>,
    skills: Vec<AutoSkill>,
    active: Mutex<BTreeSet<String>>,
}

impl ActivateSkill {
    pub fn new(skills: Vec<AutoSkill>, source: String) -> Self {
        let spec = ToolSpec {
            name: String::from("activate_skill"),
            description: String::from("Load the instructions of one of the available skills."),
            input_schema: json!({
                "type": "object",
                "properties": {"name": {"type": "string", "description": "The name of the skill"}},
                "required": ["name"],
                "additionalProperties": false,
            })
            .into(),
            version: String::new(),
            categories: vec![String::from("skills")],
            requires_permission: false,
            risk_level: Risk::ReadOnly,
            recovery_policy: Recovery::Allow,
            parallel: false,
            source,
            traits: Traits::default(),
        };
        Self { spec: spec.into(), skills, active: Mutex::default() }
    }
}

#[async_trait]
impl Tool for ActivateSkill {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, _: &Value) -> Result<Plan, ToolError> {
        Ok(Plan::default())
    }

    async fn run(&self, call: &ToolCall, _: &ToolContext) -> Result<ToolOutput, ToolError> {
        let name = call.args.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(skill) = self.skills.iter().find(|skill| skill.name == name) else {
            let text = format!("Unknown skill '{name}'. Check available_skills.");
            return Ok(ToolOutput::failure(text));
        };
        let mut active = self.active.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(ToolOutput::success(if active.insert(name.to_owned()) {
            skill.content()
        } else {
            format!("Skill '{name}' is already active in this session.")
        }))
    }
}

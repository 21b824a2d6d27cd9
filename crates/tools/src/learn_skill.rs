//! `LearnSkill`: returns skills and the files that belong to them, and no other file.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use contract::action::Action;
use contract::message::ToolCall;
use contract::skill::Skill;
use contract::tool::{Lasting, Plan, Risk, Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::ActivateSkill;
use crate::outcome::{self, Stop};
use crate::{arguments, describe, files};

/// The largest reference, in bytes.
const MAX_REFERENCE: u64 = 1 << 20;

#[derive(Deserialize)]
struct Args {
    skill: Option<String>,
    info: Option<Info>,
    reference: Option<String>,
    script: Option<String>,
}

/// `true` beside `skill`, or a skill's name.
#[derive(Deserialize)]
#[serde(untagged)]
enum Info {
    Wanted(bool),
    Of(String),
}

enum Question {
    List,
    Body(String),
    Info(String),
    Reference(String, String),
    Script(String, String),
}

impl Question {
    fn parse(args: &Value) -> Result<Self, ToolError> {
        let args: Args = arguments::parse("LearnSkill", args)?;
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let (about, named) = match args.info {
            Some(Info::Of(name)) => (true, Some(name)),
            Some(Info::Wanted(wanted)) => (wanted, None),
            None => (false, None),
        };
        let skill = given(args.skill).or_else(|| given(named));
        let (reference, script) = (given(args.reference), given(args.script));
        match (skill, reference, script) {
            (Some(skill), Some(file), None) => Ok(Self::Reference(skill, file)),
            (Some(skill), None, Some(file)) => Ok(Self::Script(skill, file)),
            (Some(skill), None, None) if about => Ok(Self::Info(skill)),
            (Some(skill), None, None) => Ok(Self::Body(skill)),
            (None, None, None) => Ok(Self::List),
            (Some(_), Some(_), Some(_)) => {
                Err(ToolError::Input("`reference` and `script` cannot be combined".to_owned()))
            }
            (None, _, _) => Err(ToolError::Input(
                "`reference` and `script` need `skill`: the skill they belong to".to_owned(),
            )),
        }
    }
}

pub(crate) struct LearnSkill {
    spec: Arc<ToolSpec>,
    skills: Arc<Skills>,
    activate: Option<ActivateSkill>,
}

impl LearnSkill {
    /// Makes the tool. `activate` is called for each skill whose instructions it returns.
    pub(crate) fn new(skills: Vec<Skill>, activate: Option<ActivateSkill>) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {
                "skill": {"type": "string", "description": "The skill's name"},
                "info": {"type": ["boolean", "string"], "description": "True to see what the skill is and which files it has, in place of its instructions"},
                "reference": {"type": "string", "description": "The name of one of the skill's reference files"},
                "script": {"type": "string", "description": "The name of one of the skill's scripts"}
            }
        });
        let words = include_str!("learn_skill.md");
        let named = skills.into_iter().map(|skill| (skill.name.to_lowercase(), skill));
        Self {
            spec: describe::spec("LearnSkill", words, "skills", Risk::ReadOnly, schema).into(),
            skills: Arc::new(Skills(named.collect())),
            activate,
        }
    }
}

#[async_trait]
impl Tool for LearnSkill {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn actions(&self, args: &Value) -> Result<Plan, ToolError> {
        let path = match Question::parse(args)? {
            Question::Reference(skill, file) => self.skills.reference(&skill, &file)?,
            Question::Script(skill, file) => self.skills.script(&skill, &file)?,
            Question::List | Question::Body(_) | Question::Info(_) => return Ok(Plan::default()),
        };
        Ok(Plan::from(vec![Action::Read { path }]))
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let question = Question::parse(&call.args)?;
        let skills = Arc::clone(&self.skills);
        let body = match &question {
            Question::Body(name) => Some(name.clone()),
            _ => None,
        };
        let mut output = outcome::blocking(move || {
            let text = match question {
                Question::List => skills.list(),
                Question::Body(name) => {
                    let skill = skills.find(&name)?;
                    format!("<skill name=\"{}\">\n{}\n</skill>", skill.name, skill.body)
                }
                Question::Info(name) => info(skills.find(&name)?),
                Question::Reference(skill, file) => {
                    read_reference(&skills.reference(&skill, &file)?, &file)?
                }
                Question::Script(skill, file) => {
                    skills.script(&skill, &file)?.display().to_string()
                }
            };
            Ok(ToolOutput::success(text))
        })
        .await?;
        if let Some(name) = body.filter(|_| output.success) {
            output.set_lasting(Lasting::default());
            self.activate.iter().for_each(|it| it(&name, &context.session, &mut output));
        }
        Ok(output)
    }
}

/// The skills by their names in lower case.
struct Skills(BTreeMap<String, Skill>);

impl Skills {
    fn find(&self, name: &str) -> Result<&Skill, Stop> {
        self.0.get(&name.trim().to_lowercase()).ok_or_else(|| {
            let available = join(&self.0.keys().cloned().collect::<Vec<_>>());
            Stop::Failed(format!("Skill not found: {name}\nAvailable: {available}"))
        })
    }

    fn list(&self) -> String {
        if self.0.is_empty() {
            return "No skills available".to_owned();
        }
        let line = |skill: &Skill| format!("{}: {}", skill.name, skill.description);
        self.0.values().map(line).collect::<Vec<_>>().join("\n")
    }

    fn reference(&self, skill: &str, file: &str) -> Result<PathBuf, Stop> {
        let skill = self.find(skill)?;
        let found = locate(skill, file, &["references", ""]).filter(|found| {
            let is_body = found.file_name().is_some_and(|name| name == "SKILL.md");
            let is_top = found.parent().map(Path::to_owned) == canonical_directory(skill);
            !is_top || (!is_body && found.extension().is_some_and(|kind| kind == "md"))
        });
        found.ok_or_else(|| missing("Reference", skill, file, &references(skill)))
    }

    fn script(&self, skill: &str, file: &str) -> Result<PathBuf, Stop> {
        let skill = self.find(skill)?;
        let directory = canonical_directory(skill).map(|directory| directory.join("scripts"));
        let is_script = |found: &PathBuf| directory.is_some_and(|it| found.starts_with(it));
        let found = locate(skill, file, &["scripts", ""]).filter(is_script);
        found.ok_or_else(|| missing("Script", skill, file, &scripts(skill)))
    }
}

fn canonical_directory(skill: &Skill) -> Option<PathBuf> {
    skill.directory.as_deref()?.canonicalize().ok()
}

/// The file of a skill, in the first of `places` that has it. A file that is outside of the skill's
/// directory by a symlink is not the skill's.
fn locate(skill: &Skill, name: &str, places: &[&str]) -> Option<PathBuf> {
    let visible = |part: Component<'_>| {
        matches!(part, Component::CurDir)
            || matches!(part, Component::Normal(name) if !name.to_string_lossy().starts_with('.'))
    };
    let plain = !name.starts_with('~') && Path::new(name).components().all(visible);
    let directory = canonical_directory(skill).filter(|_| plain)?;
    let candidates = places.iter().map(|place| directory.join(place).join(name));
    let mut resolved = candidates.filter_map(|path| path.canonicalize().ok());
    resolved.find(|path| path.starts_with(&directory) && path.is_file())
}

fn missing(what: &str, skill: &Skill, name: &str, available: &[String]) -> Stop {
    let (skill, available) = (&skill.name, join(available));
    Stop::Failed(format!("{what} not found in skill {skill}: {name}\nAvailable: {available}"))
}

fn read_reference(path: &Path, given: &str) -> Result<String, Stop> {
    let file = files::open(path, given)?;
    let mut bytes = Vec::new();
    file.take(MAX_REFERENCE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| files::explain(given, "read", &error))?;
    if bytes.len() as u64 > MAX_REFERENCE {
        let path = path.display();
        return Err(Stop::Failed(format!(
            "{given} is larger than {MAX_REFERENCE} bytes; read it in pages at {path}"
        )));
    }
    String::from_utf8(bytes).map_err(|_| Stop::Failed(format!("File is not valid UTF-8: {given}")))
}

fn info(skill: &Skill) -> String {
    let mut lines = vec![
        format!("Name: {}", skill.name),
        format!("Description: {}", skill.description),
        format!("Source: {}", skill.source),
    ];
    lines.extend(skill.license.iter().map(|license| format!("License: {license}")));
    if !skill.allowed_tools.is_empty() {
        lines.push(format!("Allowed tools: {}", skill.allowed_tools.join(", ")));
    }
    lines.push(format!("References: {}", join(&references(skill))));
    lines.push(format!("Scripts: {}", join(&scripts(skill))));
    lines.join("\n")
}

fn join(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn references(skill: &Skill) -> Vec<String> {
    let is_text = |name: &String| {
        let extension = Path::new(name).extension();
        extension.is_some_and(|kind| kind == "md") && name != "SKILL.md"
    };
    let mut names = file_names(skill, "references");
    names.extend(file_names(skill, "").into_iter().filter(is_text));
    names
}

fn scripts(skill: &Skill) -> Vec<String> {
    file_names(skill, "scripts")
}

fn file_names(skill: &Skill, place: &str) -> Vec<String> {
    let Some(directory) = canonical_directory(skill) else { return Vec::new() };
    let entries = std::fs::read_dir(directory.join(place)).into_iter().flatten();
    let is_own = |path: PathBuf| path.starts_with(&directory) && path.is_file();
    let files = entries.flatten().filter(|entry| entry.path().canonicalize().is_ok_and(is_own));
    let mut names: Vec<_> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests;

//! Our commands as prompts and our skills as resources. Only reads: the commands that would fill in
//! a prompt are not run for another agent.

use std::collections::BTreeMap;
use std::path::PathBuf;

use contract::skill::Skill;
use rmcp::model::{Resource, ResourceTemplate};

use super::host::{CommandEntry, Offer};
use super::resources::ResourceList;
use crate::catalog::{ArgumentEntry, PromptEntry};

/// The argument of a command that does not name its arguments.
const ANY_ARGUMENTS: &str = "arguments";

impl Offer {
    pub(super) fn command_prompts(&self) -> Vec<PromptEntry> {
        let prompt = |CommandEntry { name, description, usage }| {
            let arguments = arguments(&usage);
            PromptEntry { name, description, arguments }
        };
        self.commands.list().into_iter().map(prompt).collect()
    }

    pub(super) fn command_text(
        &self,
        name: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<String, String> {
        let unknown = || format!("Unknown prompt: {name}");
        let command = self.commands.find(name).ok_or_else(unknown)?;
        let mut words: Vec<&str> = Vec::new();
        for argument in arguments(&command.usage) {
            match given.get(&argument.name) {
                Some(value) => words.push(value),
                None if argument.required => {
                    return Err(format!("the prompt needs `{}`", argument.name));
                }
                None => {}
            }
        }
        self.commands.render(name, &words.join(" ")).ok_or_else(unknown)
    }

    /// The skills and the files that they refer to, as resources.
    pub(super) fn skill_resources(&self) -> ResourceList {
        let resource = |uri: String, name: &str, description: String| {
            Resource::new(uri, name).with_description(description).with_mime_type("text/markdown")
        };
        let mut list = ResourceList::default();
        for (skill, references) in &self.skills {
            let body = uri(skill, "SKILL.md");
            list.resources.push(resource(body, &skill.name, skill.description.clone()));
            list.resources.extend(references.iter().map(|path| {
                let path = path.display().to_string();
                let description = format!("belongs to the skill {}", skill.name);
                resource(uri(skill, &path), &path, description)
            }));
        }
        if !self.skills.is_empty() {
            let about = "A skill's instructions (SKILL.md), or a file that it refers to";
            let template = ResourceTemplate::new("skill://{skill}/{path}", "skills");
            list.templates.push(template.with_description(about));
        }
        list
    }

    /// The text of a skill, or of a file that it refers to.
    pub(super) fn skill_text(&self, wanted: &str) -> Option<String> {
        for (skill, references) in &self.skills {
            if wanted == uri(skill, "SKILL.md") {
                return Some(skill.body.clone());
            }
            let is_wanted = |path: &&PathBuf| wanted == uri(skill, &path.display().to_string());
            let reference = references.iter().find(is_wanted);
            if let (Some(path), Some(directory)) = (reference, &skill.directory) {
                return std::fs::read_to_string(directory.join(path)).ok();
            }
        }
        None
    }
}

fn uri(skill: &Skill, path: &str) -> String {
    format!("skill://{}/{path}", skill.name)
}

/// The arguments of a command: `<name>` is required, `[name]` is not. A usage in other words is one
/// argument.
fn arguments(usage: &str) -> Vec<ArgumentEntry> {
    let usage = usage.trim();
    let named = usage.split_whitespace().map(|word| {
        let bare = |open: char, close: char| word.strip_prefix(open)?.strip_suffix(close);
        let (name, required) = match (bare('<', '>'), bare('[', ']')) {
            (Some(name), _) => (name, true),
            (None, name) => (name?, false),
        };
        let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
        let is_name = !name.is_empty() && name.chars().all(is_plain);
        is_name.then(|| (name.to_owned(), String::new(), required))
    });
    let named: Option<Vec<_>> = named.collect();
    let named = named.unwrap_or_else(|| vec![(ANY_ARGUMENTS.to_owned(), usage.to_owned(), false)]);
    let entry = |(name, description, required)| ArgumentEntry { name, description, required };
    named.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_usage_names_arguments_or_is_one() {
        let names = |usage| -> Vec<(String, bool)> {
            arguments(usage).into_iter().map(|it| (it.name, it.required)).collect()
        };
        assert_eq!(names("<who> [how]"), [("who".to_owned(), true), ("how".to_owned(), false)]);
        assert_eq!(names("a file, or nothing"), [(ANY_ARGUMENTS.to_owned(), false)]);
        assert_eq!(names("[one|two]"), [(ANY_ARGUMENTS.to_owned(), false)]);
        assert!(names(" ").is_empty());
    }
}

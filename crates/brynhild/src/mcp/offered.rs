//! What `mcp serve` offers beside tools: commands as prompts, and skills as texts. Only reads: what a
//! command would run to fill its blanks is not run for another agent.

use std::collections::BTreeMap;

use ::mcp::serve::Resources;
use ::mcp::{ArgumentEntry, PromptEntry};
use contract::skill::Skill;
use plugins::commands::Command;
use serde_json::json;

use crate::assemble;
use crate::exit::Problem;
use crate::slash::Offer;
use crate::world::World;

/// The argument of a command that does not name what it takes.
const WORDS: &str = "arguments";

/// Commands and skills, as they were found.
pub(super) struct Offered {
    world: World,
    offer: Offer,
    skills: Vec<Skill>,
}

impl Offered {
    /// Finds them, without skills where others are not to read any.
    pub(super) fn new(world: World, with_skills: bool) -> Result<Self, Problem> {
        let root = world.root()?;
        let skills = if with_skills { assemble::skills(&world, root) } else { Vec::new() };
        let offer = Offer::new(&world);
        offer.report();
        Ok(Self { world, offer, skills })
    }

    /// The commands.
    pub(super) fn prompts(&self) -> Vec<PromptEntry> {
        let entry = |command: &Command| PromptEntry {
            name: self.offer.table.shortest(command),
            description: command.description.clone(),
            arguments: arguments(&command.args),
        };
        self.offer.table.commands().iter().map(entry).collect()
    }

    /// Whether there is a command of a name.
    pub(super) fn has_prompt(&self, name: &str) -> bool {
        self.offer.table.find(name).is_some()
    }

    /// The text of a command.
    pub(super) fn prompt(
        &self,
        name: &str,
        given: &BTreeMap<String, String>,
    ) -> Result<String, String> {
        let unknown = || format!("Unknown prompt: {name}");
        let command = self.offer.table.find(name).ok_or_else(unknown)?;
        let mut words = Vec::new();
        for argument in arguments(&command.args) {
            match given.get(&argument.name) {
                // What follows a command is split at blanks, but for the last of its arguments.
                Some(value) => words.push(value.clone()),
                None if argument.required => {
                    return Err(format!("the prompt needs `{}`", argument.name));
                }
                None => {}
            }
        }
        self.offer.rendered(&self.world, name, &words.join(" ")).ok_or_else(unknown)
    }

    /// The skills, and the files they refer to.
    pub(super) fn texts(&self) -> Resources {
        let text = |uri: String, name: &str, description: String| {
            let kind = "text/markdown";
            json!({"uri": uri, "name": name, "description": description, "mimeType": kind})
        };
        let of = |skill: &Skill| {
            let first = text(address(skill, "SKILL.md"), &skill.name, skill.description.clone());
            let more = plugins::skills::references(skill).into_iter().map(|path| {
                let path = path.display().to_string();
                let description = format!("belongs to the skill {}", skill.name);
                text(address(skill, &path), &path, description)
            });
            std::iter::once(first).chain(more).collect::<Vec<_>>()
        };
        let template = json!({
            "uriTemplate": "skill://{skill}/{path}", "name": "skills",
            "description": "A skill's instructions (SKILL.md), or a file that it refers to",
        });
        let templates = if self.skills.is_empty() { Vec::new() } else { vec![template] };
        Resources { resources: self.skills.iter().flat_map(of).collect(), templates }
    }

    /// One of the texts.
    pub(super) fn text(&self, uri: &str) -> Option<String> {
        for skill in &self.skills {
            if uri == address(skill, "SKILL.md") {
                return Some(skill.body.clone());
            }
            let references = plugins::skills::references(skill);
            let is_it =
                |path: &std::path::PathBuf| uri == address(skill, &path.display().to_string());
            if let (Some(path), Some(directory)) =
                (references.into_iter().find(is_it), &skill.directory)
            {
                return std::fs::read_to_string(directory.join(path)).ok();
            }
        }
        None
    }
}

fn address(skill: &Skill, path: &str) -> String {
    format!("skill://{}/{path}", skill.name)
}

/// What a command takes: `<name>` is needed, `[name]` is not; words that say it otherwise stand for
/// one argument.
fn arguments(args: &str) -> Vec<ArgumentEntry> {
    if args.trim().is_empty() {
        return Vec::new();
    }
    let named = args.split_whitespace().map(|word| {
        let bare = |open: char, close: char| word.strip_prefix(open)?.strip_suffix(close);
        let (name, required) = match (bare('<', '>'), bare('[', ']')) {
            (Some(name), _) => (name, true),
            (None, Some(name)) => (name, false),
            (None, None) => return None,
        };
        let is_plain = |c: char| c.is_alphanumeric() || "-_".contains(c);
        let is_name = !name.is_empty() && name.chars().all(is_plain);
        is_name.then(|| ArgumentEntry {
            name: name.to_owned(),
            description: String::new(),
            required,
        })
    });
    let named: Option<Vec<ArgumentEntry>> = named.collect();
    named.unwrap_or_else(|| {
        let (name, description) = (WORDS.to_owned(), args.trim().to_owned());
        vec![ArgumentEntry { name, description, required: false }]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_says_what_it_takes_by_name_or_in_words() {
        let names = |args| -> Vec<(String, bool)> {
            arguments(args).into_iter().map(|it| (it.name, it.required)).collect()
        };
        assert_eq!(names("<who> [how]"), [("who".to_owned(), true), ("how".to_owned(), false)]);
        assert_eq!(names("a file, or nothing"), [(WORDS.to_owned(), false)]);
        assert_eq!(names("[one|two]"), [(WORDS.to_owned(), false)]);
        assert!(names(" ").is_empty());
    }
}

//! Skills: where they are found, and what the model reads of them.
//!
//! Only the directories named in [`Places`] are looked at, one level deep. Nothing of a skill is run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary};
use contract::skill::Skill;

use crate::offer::Contributions;
use crate::problem::{Problem, entries_of, shown};

mod blocks;
mod directory;
mod offered;
mod strict;

use blocks::Blocks;
pub(crate) use directory::fault_of_name;
pub use directory::{keys_and_body, split_tools};
pub use strict::validate;

/// Lines of a body above which a skill should move text to references.
pub const BODY_LINES_LIMIT: usize = 500;

const ENTRIES_LIMIT: usize = 2000;

const BUILTIN: [(&str, &str); 2] = [
    ("commit-helper", include_str!("../skills/commit-helper/SKILL.md")),
    ("skill-creator", include_str!("../skills/skill-creator/SKILL.md")),
];

/// The directories that hold skill directories. In each list and from list to list the later one wins.
#[derive(Clone, Debug, Default)]
pub struct Places {
    pub global: Vec<PathBuf>,
    /// Those the user named for this run; may also be skill directories themselves.
    pub custom: Vec<PathBuf>,
    /// The project's, each two levels below the project's root. Links may not lead out of them.
    pub project: Vec<PathBuf>,
    /// The cache of front matter, if there is one.
    pub cache: Option<PathBuf>,
}

/// The skills, and their problems.
#[derive(Clone, Debug, Default)]
pub struct FoundSkills {
    /// The skills, sorted by name, each name once.
    pub skills: Vec<Skill>,
    pub problems: Vec<Problem>,
}

/// Finds all skills: built-in, global, custom, plugins', packages', the project's; the later wins.
pub fn discover(places: &Places, contributions: &Contributions<'_>) -> FoundSkills {
    let blocks = Blocks::load(places.cache.clone());
    let mut search = Search { blocks, ..Search::default() };
    for (name, text) in BUILTIN {
        let (skill, _) = directory::parse(text, Path::new(name), "builtin", &mut search.blocks)
            .expect("the built-in skills are well-formed");
        search.skills.insert(skill.name.clone(), skill);
    }
    for place in &places.global {
        search.own(place, "global");
    }
    for place in &places.custom {
        search.custom(place);
    }
    search.contributed(contributions);
    let boundary: Vec<_> =
        places.project.iter().filter_map(|place| search.project_place(place)).collect();
    for place in &boundary {
        let entries = foreign::entries(place, ENTRIES_LIMIT);
        search.scan(place, entries, "project", Boundary::Within(&boundary));
    }
    search.blocks.save();
    FoundSkills { skills: search.skills.into_values().collect(), problems: search.problems }
}

/// The text files of a skill: those in `references/`, and the Markdown files beside `SKILL.md`.
pub fn references(skill: &Skill) -> Vec<PathBuf> {
    let Some(directory) = &skill.directory else {
        return Vec::new();
    };
    let mut found = own_files(directory, "");
    found.retain(|path| {
        let is_skill_file = path.as_os_str().eq_ignore_ascii_case("SKILL.md");
        path.extension().is_some_and(|extension| extension == "md") && !is_skill_file
    });
    found.extend(own_files(directory, "references"));
    found
}

/// The files in a skill's `scripts/`, relative to its directory.
pub fn scripts(skill: &Skill) -> Vec<PathBuf> {
    skill.directory.as_deref().map_or_else(Vec::new, |directory| own_files(directory, "scripts"))
}

pub fn body_lines(skill: &Skill) -> usize {
    skill.body.lines().count()
}

pub fn exceeds_limit(skill: &Skill) -> bool {
    body_lines(skill) > BODY_LINES_LIMIT
}

/// The part of the system prompt that names the skills; empty without skills.
pub fn prompt_block(skills: &[Skill]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let mut lines: Vec<_> = skills
        .iter()
        .map(|skill| {
            // On one line, a description can forge neither a heading nor another skill.
            let description: Vec<_> = skill.description.split_whitespace().collect();
            format!("**{}**: {}", skill.name, description.join(" "))
        })
        .collect();
    lines.sort();
    format!(
        "## Available Skills\n\n{}\n\nWhen a task fits one of these, call the `LearnSkill` tool with \
         the skill's name first, then work by the instructions it returns.",
        lines.join("\n")
    )
}

/// The start of a message that activates a skill.
const ACTIVATED: &str = "[System: The following skill has been activated]";

/// The message that puts a skill into a conversation.
pub fn activation(skill: &Skill) -> String {
    format!(
        "{ACTIVATED}\n\n\
         Work by the instructions of the skill `{name}` for the request it was activated for.\n\n\
         <skill name=\"{name}\">\n{body}\n</skill>",
        name = skill.name,
        body = skill.body
    )
}

/// The block of a skill in a message made of [`activation`], and the request after it.
pub fn find_activation(message: &str) -> Option<(&str, &str)> {
    const END: &str = "\n</skill>";
    let text = message.strip_prefix(ACTIVATED)?;
    let text = &text[text.find("<skill name=\"")?..];
    let (block, rest) = text.split_at(text.find(END)? + END.len());
    Some((block, rest.trim_start()))
}

#[derive(Default)]
struct Search {
    skills: BTreeMap<String, Skill>,
    problems: Vec<Problem>,
    blocks: Blocks,
}

impl Search {
    fn own(&mut self, place: &Path, source: &str) {
        let canonical = fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
        let entries = foreign::entries(&canonical, ENTRIES_LIMIT);
        self.scan(&canonical, entries, source, Boundary::Anywhere);
    }

    fn custom(&mut self, place: &Path) {
        if directory::skill_file(place).is_some() {
            let canonical = fs::canonicalize(place).unwrap_or_else(|_| place.to_path_buf());
            self.load(&canonical, "custom", Boundary::Anywhere);
        } else if place.is_dir() {
            self.own(place, "custom");
        } else {
            self.problems.push(Problem::new(
                place,
                "this directory for skills does not exist",
                "correct or remove it in `BRYNHILD_SKILL_PATH`",
            ));
        }
    }

    /// Every directory in `skills/` of a plugin that declares any skill, and what packages offer.
    fn contributed(&mut self, contributions: &Contributions<'_>) {
        for plugin in &contributions.plugins {
            if plugin.manifest.skills.is_empty() || plugin.package.is_some() {
                continue;
            }
            let source = format!("plugin:{}", plugin.name());
            let directories: Vec<_> =
                plugin.boundary().map(Path::to_path_buf).into_iter().collect();
            let boundary = if directories.is_empty() {
                Boundary::Anywhere
            } else {
                Boundary::Within(&directories)
            };
            if let Ok(place) = foreign::resolved(&plugin.root.join("skills")) {
                let entries = contributions.entries(&place, ENTRIES_LIMIT);
                self.scan(&place, entries, &source, boundary);
            }
        }
        for skill in &contributions.skills {
            self.add(Skill::clone(skill));
        }
        for offer in &contributions.offers {
            for item in &offer.skills {
                let source = format!("entry_point:{}", offer.entry_point(item));
                match offered::read(item, &source) {
                    Ok((skill, remark)) => {
                        self.problems.extend(remark);
                        self.add(skill);
                    }
                    Err(problem) => self.problems.push(problem),
                }
            }
        }
    }

    /// The canonical path of a project's directory for skills, if it exists and is in the project.
    fn project_place(&mut self, place: &Path) -> Option<PathBuf> {
        let canonical = fs::canonicalize(place).ok()?;
        let root = place.parent().and_then(Path::parent);
        let root = root.and_then(|root| fs::canonicalize(root).ok())?;
        if canonical.starts_with(&root) {
            return Some(canonical);
        }
        let refusal = foreign::Refusal::Outside(canonical);
        self.problems.push(Problem::unreadable(place, refusal));
        None
    }

    fn scan(
        &mut self,
        place: &Path,
        entries: io::Result<(Vec<PathBuf>, bool)>,
        source: &str,
        boundary: Boundary<'_>,
    ) {
        for entry in entries_of(place, entries, "skills", &mut self.problems) {
            self.load(&entry, source, boundary);
        }
    }

    fn load(&mut self, entry: &Path, source: &str, boundary: Boundary<'_>) {
        match directory::load(entry, source, boundary, &mut self.blocks) {
            Ok(None) => {}
            Ok(Some((skill, remarks))) => {
                self.problems.extend(remarks);
                self.add(skill);
            }
            Err(mut problem) => {
                problem.what.push_str("; the skill is left out");
                self.problems.push(problem);
            }
        }
    }

    fn add(&mut self, skill: Skill) {
        if let Some(earlier) = self.skills.get(&skill.name)
            && earlier.directory != skill.directory
        {
            let from = earlier.directory.as_deref().map_or_else(String::new, shown);
            let what = format!(
                "this skill takes the place of the {} skill `{}` {from}",
                earlier.source, skill.name
            );
            self.problems.push(Problem::new(
                skill.directory.as_deref().unwrap_or(Path::new("")),
                what.trim_end(),
                "give one of them another name if you want both",
            ));
        }
        self.skills.insert(skill.name.clone(), skill);
    }
}

/// The regular files in a part of a skill's directory that are really there, relative to the directory.
fn own_files(directory: &Path, part: &str) -> Vec<PathBuf> {
    let Ok((entries, _)) = foreign::entries(&directory.join(part), ENTRIES_LIMIT) else {
        return Vec::new();
    };
    let is_own = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !hidden
            && fs::canonicalize(path)
                .is_ok_and(|target| target.starts_with(directory) && target.is_file())
    };
    entries
        .into_iter()
        .filter(is_own)
        .filter_map(|path| path.strip_prefix(directory).map(Path::to_path_buf).ok())
        .collect()
}

#[cfg(test)]
mod tests;

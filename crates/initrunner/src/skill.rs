//! The skills that a role names: text for its prompt, and further tools.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::role::{Fields, Finding, ToolEntry, tool_entries};

#[derive(Clone, Debug, PartialEq)]
pub struct RoleSkill {
    pub name: String,
    pub body: String,
    pub tools: Vec<ToolEntry>,
    pub findings: Vec<Finding>,
    pub variables: Vec<String>,
    pub programs: Vec<String>,
}

/// A skill's file: front matter and body.
pub struct SkillDocument {
    pub keys: Map<String, Value>,
    pub body: String,
}

/// Finds a skill: a path relative to the role's directory, or a name in one of `directories`. `read` reads
/// its file, or says why it must not.
pub fn load(
    named: &str,
    role_directory: &Path,
    directories: &[PathBuf],
    read: impl Fn(&Path) -> Result<SkillDocument, String>,
) -> Result<RoleSkill, String> {
    let is_path = named.contains('/') || Path::new(named).extension().is_some_and(|it| it == "md");
    let candidates: Vec<PathBuf> = if is_path {
        let path = role_directory.join(named);
        vec![path.join("SKILL.md"), path]
    } else {
        let own = role_directory.join("skills");
        let all = std::iter::once(&own).chain(directories);
        all.flat_map(|directory| {
            [directory.join(named).join("SKILL.md"), directory.join(format!("{named}.md"))]
        })
        .collect()
    };
    let file = candidates.iter().find(|file| file.is_file());
    let file = file.ok_or_else(|| format!("skill `{named}` was not found"))?;
    let document = read(file)?;
    let mut fields = Fields::default();
    let tools = tool_entries(document.keys.get("tools"), &mut fields);
    let name = document.keys.get("name").and_then(Value::as_str);
    let name = name.map_or_else(|| named.to_owned(), str::to_owned);
    let needed = |key: &str| -> Vec<String> {
        let needed =
            document.keys.get("requires").and_then(|requires| requires.get(key)?.as_array());
        let needed = needed.into_iter().flatten();
        needed.filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    Ok(RoleSkill {
        name,
        variables: needed("env"),
        programs: needed("bins"),
        body: document.body,
        tools,
        findings: fields.findings,
    })
}

/// The part of the prompt about skills; empty without any.
pub fn prompt_block(skills: &[RoleSkill]) -> String {
    if skills.is_empty() {
        return String::new();
    }
    let intro = "## Skills\n\nWhat follows is knowledge for your task. Use it where it fits.";
    let each = skills.iter().map(|skill| format!("### Skill: {}\n{}", skill.name, skill.body));
    std::iter::once(intro.to_owned()).chain(each).collect::<Vec<_>>().join("\n\n")
}

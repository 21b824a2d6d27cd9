//! The skills that a role names: text for its prompt, and further tools.

use std::path::{Path, PathBuf};

use super::role::{Fields, Finding, ToolEntry, tool_entries};
use crate::files::{self, Boundary};
use crate::frontmatter::{self, Reading};

#[derive(Clone, Debug, PartialEq)]
pub struct RoleSkill {
    pub name: String,
    pub body: String,
    pub tools: Vec<ToolEntry>,
    pub findings: Vec<Finding>,
    pub variables: Vec<String>,
    pub programs: Vec<String>,
}

/// Finds a skill: a path relative to the role's directory, or a name in one of `directories`. `may_read` says
/// why a file must not be read.
pub fn load(
    named: &str,
    role_directory: &Path,
    directories: &[PathBuf],
    may_read: impl Fn(&Path) -> Result<(), String>,
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
    may_read(file)?;
    let text = files::read(file, Boundary::Anywhere, frontmatter::LIMIT)
        .map_err(|refusal| refusal.problem(file).to_string())?;
    let said = |error: frontmatter::Error| format!("{}: {}", file.display(), error.what);
    let document = frontmatter::parse(&text.text, Reading::Lenient).map_err(said)?;
    let mut fields = Fields::default();
    let tools = tool_entries(document.keys.get("tools"), &mut fields);
    let name = document.keys.get("name").and_then(serde_json::Value::as_str);
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
        body: document.body.to_owned(),
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

//! Agents in Markdown files of plugins, projects and the user: description, tools, instructions.

use std::path::{Path, PathBuf};

use ::files::foreign::{self, Boundary, Refusal};
use serde_json::Value;

use super::document;
use crate::hidden;
use crate::problem::{Problem, entries_of, text_file};

/// Keys that plugins' agents may not have a say in.
pub(super) const REFUSED: [&str; 3] = ["hooks", "mcpServers", "permissionMode"];
pub(super) const IGNORED: [&str; 7] =
    ["hooks", "mcpServers", "memory", "background", "effort", "isolation", "initialPrompt"];
const FILES: usize = 2000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    /// Its name; `plugin:name` is always its own.
    pub name: String,
    pub description: String,
    pub plugin: Option<String>,
    pub tools: Option<Vec<String>>,
    pub disallowed_tools: Vec<String>,
    pub model: Option<String>,
    pub max_turns: Option<u32>,
    pub permission_mode: Option<String>,
    pub skills: Vec<String>,
    pub ignored: Vec<&'static str>,
    pub body: String,
    pub path: PathBuf,
}

impl AgentFile {
    pub fn qualified(&self) -> String {
        match &self.plugin {
            Some(plugin) => format!("{plugin}:{}", self.name),
            None => self.name.clone(),
        }
    }
}

pub fn agents_in(directory: &Path) -> (Vec<AgentFile>, Vec<Problem>) {
    let (mut agents, mut problems) = (Vec::new(), Vec::new());
    let entries = foreign::entries(directory, FILES);
    let entries = entries_of(directory, entries, "agents", &mut problems);
    let is_markdown = |path: &&PathBuf| path.extension().is_some_and(|it| it == "md");
    for path in entries.iter().filter(is_markdown) {
        let agent = text_file(path, Boundary::Anywhere).and_then(|text| parse(path, &text, None));
        match agent {
            Ok(agent) => agents.push(agent),
            Err(problem) => problems.push(problem),
        }
    }
    (agents, problems)
}

/// The agent in a file of a project, given the bytes that the user trusts.
pub fn agent_of(path: &Path, bytes: &[u8]) -> Result<AgentFile, Problem> {
    let text =
        std::str::from_utf8(bytes).map_err(|_| Problem::unreadable(path, Refusal::NotText))?;
    parse(path, text, None)
}

pub(crate) fn parse(path: &Path, text: &str, plugin: Option<&str>) -> Result<AgentFile, Problem> {
    let stripped = hidden::strip(text);
    let document = document::read(&stripped.text)
        .map_err(|error| Problem::new(path, error.what, error.hint))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let fits = |name: &String| !name.contains(':') && !name.contains(char::is_whitespace);
    let name = document.words("name").filter(fits).unwrap_or(stem);
    if !fits(&name) {
        let what = format!("the agent's name {name:?} holds a blank or a colon");
        return Err(Problem::new(path, what, "use letters, digits and hyphens"));
    }
    let Some(description) = document.words("description") else {
        let hint = "add `description:` and say when the agent is to be used";
        return Err(Problem::new(path, "the agent has no `description`", hint));
    };
    if !document.keys.get("disallowedTools").is_none_or(is_names) {
        let what = "`disallowedTools` is not a list of names, so the tools to exclude are unknown";
        return Err(Problem::new(path, what, "write `disallowedTools: [Bash, Write]`"));
    }
    let mut ignored: Vec<&'static str> = if plugin.is_some() { REFUSED.to_vec() } else { vec![] };
    ignored.extend(IGNORED.into_iter().filter(|key| plugin.is_none() || !REFUSED.contains(key)));
    ignored.retain(|key| document.keys.contains_key(*key));
    Ok(AgentFile {
        name,
        description,
        plugin: plugin.map(str::to_owned),
        tools: document.keys.contains_key("tools").then(|| document.names("tools")),
        disallowed_tools: document.names("disallowedTools"),
        model: document.words("model").filter(|model| model != "inherit"),
        max_turns: document.words("maxTurns").and_then(|turns| turns.parse().ok()),
        permission_mode: document.words("permissionMode").filter(|_| plugin.is_none()),
        skills: document.names("skills"),
        ignored,
        body: document.body,
        path: path.to_path_buf(),
    })
}

fn is_names(value: &Value) -> bool {
    match value {
        Value::Null | Value::String(_) => true,
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_file_describes_itself_and_grants_nothing() {
        let text = "---\nname: reviewer\ndescription: Reviews. <example>user: hi</example>\n\
                    tools: Read, Grep\nmodel: inherit\npermissionMode: bypassPermissions\n\
                    skills: [a, b]\nisolation: worktree\n---\nBe strict.";
        let agent = parse(Path::new("a.md"), text, Some("p")).unwrap();
        assert_eq!(agent.qualified(), "p:reviewer");
        assert_eq!(agent.tools.unwrap(), ["Read", "Grep"]);
        assert_eq!((agent.model, agent.body.as_str()), (None, "Be strict."));
        assert_eq!((agent.permission_mode, agent.skills), (None, vec!["a".into(), "b".into()]));
        assert_eq!(agent.ignored, ["permissionMode", "isolation"]);
        let own = parse(Path::new("a.md"), text, None).unwrap();
        assert_eq!(own.permission_mode.as_deref(), Some("bypassPermissions"));
        assert_eq!(own.ignored, ["isolation"]);
        let nameless = parse(Path::new("x/b.md"), "---\ndescription: d\n---\n", None).unwrap();
        assert_eq!((nameless.name.as_str(), nameless.tools), ("b", None));
        assert!(parse(Path::new("c.md"), "no keys", None).is_err());
        for odd in ["{Bash: true}", "true", "5", "[{Bash: true}, Write]", "[[Bash, Write]]", "[5]"]
        {
            let text = format!("---\ndescription: d\ndisallowedTools: {odd}\n---\n");
            let agent = parse(Path::new("d.md"), &text, None);
            assert!(agent.is_err(), "nothing is given for want of sense: {odd}");
        }
        for (sound, names) in [("Bash, Write", 2), ("[Bash]", 1), ("[]", 0), ("", 0)] {
            let text = format!("---\ndescription: d\ndisallowedTools: {sound}\n---\n");
            let agent = parse(Path::new("d.md"), &text, None).unwrap();
            assert_eq!(agent.disallowed_tools.len(), names, "{sound}");
        }
    }

    #[test]
    fn agent_directory_reports_unusable_files() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &[u8]| std::fs::write(directory.path().join(name), text);
        write("a.md", b"---\ndescription: d\n---\nwords").unwrap();
        write("b.md", b"no keys").unwrap();
        write("c.md", b"\xff\xfe").unwrap();
        write("d.yaml", b"name: role").unwrap();
        let (agents, problems) = agents_in(directory.path());
        assert_eq!(agents.len(), 1);
        assert_eq!(problems.len(), 2);
        assert!(agents_in(&directory.path().join("none")).0.is_empty());
    }
}

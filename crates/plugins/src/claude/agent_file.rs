//! Agents of these plugins: a description, a list of tools, and instructions. They are read and
//! listed; something else runs them.

use std::path::{Path, PathBuf};

use super::document;
use crate::hidden;
use crate::problem::Problem;

/// Keys that plugins' agents may not have a say in.
const REFUSED: [&str; 3] = ["hooks", "mcpServers", "permissionMode"];

/// An agent as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    /// Its name; `plugin:name` is always its own.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// The plugin it belongs to; none for the project's.
    pub plugin: Option<String>,
    /// The tools that it gets; none for all.
    pub tools: Option<Vec<String>>,
    /// Tools that it does not get.
    pub disallowed_tools: Vec<String>,
    /// The model that it asks for.
    pub model: Option<String>,
    /// The most rounds that it may take.
    pub max_turns: Option<u32>,
    /// Its instructions.
    pub body: String,
    /// Its file.
    pub path: PathBuf,
}

/// An agent, and which of its keys have no effect.
pub(crate) fn parse(
    path: &Path,
    text: &str,
    plugin: Option<&str>,
) -> Result<(AgentFile, Vec<&'static str>), Problem> {
    let stripped = hidden::strip(text);
    let document = document::read(&stripped.text)
        .map_err(|error| Problem::new(path, error.what, error.hint))?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = document.words("name").unwrap_or(stem);
    if name.contains(':') || name.contains(char::is_whitespace) {
        let what = format!("the agent's name {name:?} holds a blank or a colon");
        return Err(Problem::new(path, what, "use letters, digits and hyphens"));
    }
    let Some(description) = document.words("description") else {
        let hint = "add `description:` and say when the agent is to be used";
        return Err(Problem::new(path, "the agent has no `description`", hint));
    };
    let is_refused = |key: &&'static str| plugin.is_some() && document.keys.contains_key(*key);
    let refused = REFUSED.into_iter().filter(|key| is_refused(key)).collect();
    let agent = AgentFile {
        name,
        description,
        plugin: plugin.map(str::to_owned),
        tools: document.keys.contains_key("tools").then(|| document.names("tools")),
        disallowed_tools: document.names("disallowedTools"),
        model: document.words("model").filter(|model| model != "inherit"),
        max_turns: document.words("maxTurns").and_then(|turns| turns.parse().ok()),
        body: document.body,
        path: path.to_path_buf(),
    };
    Ok((agent, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_says_what_it_is_for_and_cannot_give_itself_anything() {
        let text = "---\nname: reviewer\ndescription: Reviews. <example>user: hi</example>\n\
                    tools: Read, Grep\nmodel: inherit\npermissionMode: bypassPermissions\n---\nBe \
                    strict.";
        let (agent, refused) = parse(Path::new("a.md"), text, Some("p")).unwrap();
        assert_eq!(agent.tools.unwrap(), ["Read", "Grep"]);
        assert_eq!((agent.model, agent.body.as_str()), (None, "Be strict."));
        assert_eq!(refused, ["permissionMode"]);
        let nameless = parse(Path::new("x/b.md"), "---\ndescription: d\n---\n", None).unwrap().0;
        assert_eq!((nameless.name.as_str(), nameless.tools), ("b", None));
        assert!(parse(Path::new("c.md"), "no keys", None).is_err());
    }
}

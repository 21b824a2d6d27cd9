//! The agents that there are, and the one that a name means. `F` is the file of an agent.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::skill::Skill;

use crate::PLAIN;

#[derive(Clone, Debug)]
pub struct Agent<F> {
    pub name: String,
    pub description: String,
    /// Where it comes from: `builtin`, `project`, `user`, `plugin:NAME`, `role`.
    pub source: String,
    pub kind: Kind<F>,
}

#[derive(Clone, Debug)]
pub enum Kind<F> {
    Plain,
    File(Arc<F>),
    /// A role, with its own model, tools and limits.
    Role(PathBuf),
}

impl<F> Agent<F> {
    /// The agent that is used if none is named.
    pub fn plain() -> Self {
        Self {
            name: PLAIN.to_owned(),
            description: "Does what it is told, with the same tools as you and a history of its \
                          own. Good for searching widely, and for work whose details you do not \
                          need to see."
                .to_owned(),
            source: "builtin".to_owned(),
            kind: Kind::Plain,
        }
    }
}

/// The agent of a name. A plugin's prefix may be omitted if unambiguous; a role is also found by its
/// file.
pub fn named<'a, F>(agents: &'a [Agent<F>], name: &str) -> Option<&'a Agent<F>> {
    let exact = agents.iter().find(|agent| agent.name == name);
    exact.or_else(|| of_any_plugin(agents, name)).or_else(|| {
        let is_at =
            |agent: &&Agent<F>| matches!(&agent.kind, Kind::Role(path) if path == Path::new(name));
        agents.iter().find(is_at)
    })
}

/// An agent's instructions with the skills of some names, and the names without a skill.
pub fn with_skills(body: &str, names: &[String], skills: &[Skill]) -> (String, Vec<String>) {
    let mut text = body.trim().to_owned();
    let mut unknown = Vec::new();
    for name in names {
        match skills.iter().find(|it| it.name == name.to_lowercase()) {
            Some(skill) => {
                let _ = write!(text, "\n\n# Skill: {}\n\n{}", skill.name, skill.body.trim());
            }
            None => unknown.push(name.clone()),
        }
    }
    (text, unknown)
}

fn of_any_plugin<'a, F>(agents: &'a [Agent<F>], name: &str) -> Option<&'a Agent<F>> {
    let is_meant =
        |agent: &&Agent<F>| agent.name.split_once(':').is_some_and(|(_, own)| own == name);
    let mut meant = agents.iter().filter(is_meant);
    let first = meant.next()?;
    meant.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_agent_is_found_by_an_unambiguous_name() {
        let agents = ["a", "p:a", "p:b", "p:c", "q:c"].map(|name| Agent::<()> {
            name: name.to_owned(),
            description: String::new(),
            source: String::new(),
            kind: Kind::Role(PathBuf::from(format!("/roles/{name}.yaml"))),
        });
        let found = |name: &str| named(&agents, name).map(|agent| agent.name.as_str());
        assert_eq!(found("a"), Some("a"));
        assert_eq!(found("p:a"), Some("p:a"));
        assert_eq!(found("b"), Some("p:b"));
        assert_eq!(found("c"), None);
        assert_eq!(found("/roles/a.yaml"), Some("a"));
        assert_eq!(found("/roles/other.yaml"), None);
    }
}

//! `allowed-tools` of a skill: while the skill is active, what it names runs without a question, as
//! far as no rule, no mode and not the floor says otherwise. A skill of a project that is not
//! trusted grants nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use contract::message::ToolCall;
use contract::policy::{Action, Policy};
use contract::skill::Skill;
use contract::tool::{Tool, ToolContext, ToolError, ToolOutput, ToolSpec};
use plugins::claude::SESSION;
use serde_json::{Value, json};

use crate::slash::filled::grant_name;
use crate::world::World;

/// The tool that hands out skills.
const LEARN: &str = "LearnSkill";

/// The skills that may grant something, by name.
#[derive(Clone)]
pub(crate) struct Grants {
    allowed: BTreeMap<String, Vec<String>>,
    policy: Arc<dyn Policy>,
}

impl Grants {
    /// Takes from the skills what counts here.
    pub(crate) fn new(world: &World, skills: &[Skill], policy: Arc<dyn Policy>) -> Self {
        let is_trusted = world.trust.trusted().is_some();
        let counts = |skill: &&Skill| match place(world, skill) {
            Found::Elsewhere => true,
            Found::Covered => is_trusted,
            Found::Loose => false,
        };
        let entry = |skill: &Skill| (skill.name.to_lowercase(), skill.allowed_tools.clone());
        let mut allowed: BTreeMap<String, Vec<String>> =
            skills.iter().filter(counts).map(entry).collect();
        for command in world.claude().commands() {
            let tools = command.recipe.iter().flat_map(|recipe| &recipe.allowed_tools);
            allowed.insert(grant_name(command), tools.cloned().collect());
        }
        Self { allowed, policy }
    }

    /// Makes a skill active. Returns what runs without a question from here on.
    pub(crate) fn activate(&self, name: &str) -> Vec<String> {
        let name = name.trim().to_lowercase();
        let Some(tools) = self.allowed.get(&name) else {
            return Vec::new();
        };
        // A name for every tool is no list of tools.
        let named: Vec<String> = tools.iter().filter(|tool| *tool != "*").cloned().collect();
        self.policy.grant(&named, &format!("skill {name}")).rules
    }

    /// Grants again what was granted in the name of `origin`, as far as it counts at this moment.
    pub(crate) fn renew(&self, origin: &str) {
        if let Some(name) = origin.strip_prefix("skill ") {
            self.activate(name);
        }
    }

    /// The tools, with the one that hands out skills making them active.
    pub(crate) fn watch(&self, tools: Vec<Arc<dyn Tool>>) -> Vec<Arc<dyn Tool>> {
        let wrap = |tool: Arc<dyn Tool>| -> Arc<dyn Tool> {
            if tool.spec().name == LEARN && tool.spec().source == "builtin" {
                Arc::new(Learning { inner: tool, grants: self.clone() })
            } else {
                tool
            }
        };
        tools.into_iter().map(wrap).collect()
    }
}

/// Where a skill lies.
enum Found {
    /// Outside of the project, or in a plugin, which is trusted on its own.
    Elsewhere,
    /// Where the trust in a project covers it.
    Covered,
    /// Elsewhere in the project, whichever way it was named.
    Loose,
}

fn place(world: &World, skill: &Skill) -> Found {
    if skill.source == "project" {
        return Found::Covered;
    }
    let is_plugins = skill.source.starts_with("plugin:");
    let directory = skill.directory.as_ref().and_then(|directory| directory.canonicalize().ok());
    let is_inside = directory.is_some_and(|it| world.root().is_ok_and(|root| it.starts_with(root)));
    if is_inside && !is_plugins { Found::Loose } else { Found::Elsewhere }
}

/// `LearnSkill`, which makes active what it hands out.
struct Learning {
    inner: Arc<dyn Tool>,
    grants: Grants,
}

#[async_trait]
impl Tool for Learning {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn inner(&self) -> Option<&Arc<dyn Tool>> {
        Some(&self.inner)
    }

    fn around(&self, tool: Arc<dyn Tool>) -> Option<Arc<dyn Tool>> {
        Some(Arc::new(Self { inner: tool, grants: self.grants.clone() }))
    }

    fn actions(&self, args: &Value) -> Result<Vec<Action>, ToolError> {
        self.inner.actions(args)
    }

    async fn run(&self, call: &ToolCall, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let mut output = self.inner.run(call, context).await?;
        if let Some(skill) = handed_out(&call.args).filter(|_| output.success) {
            output.output = output.output.replace(SESSION, context.session.as_str());
            let granted = self.grants.activate(skill);
            if !granted.is_empty() {
                output.facts.insert(String::from("granted"), json!(granted));
            }
        }
        Ok(output)
    }
}

/// The skill whose instructions a call asks for; none where it asks for something else.
fn handed_out(args: &Value) -> Option<&str> {
    let is_given = |key: &str| match args.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(_) => true,
    };
    let asks_otherwise = ["info", "reference", "script"].into_iter().any(is_given);
    args.get("skill").and_then(Value::as_str).filter(|_| !asks_otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_asking_for_instructions_makes_a_skill_active() {
        assert_eq!(handed_out(&json!({"skill": "a"})), Some("a"));
        assert_eq!(handed_out(&json!({"skill": "a", "info": false, "reference": ""})), Some("a"));
        assert_eq!(handed_out(&json!({"skill": "a", "info": true})), None);
        assert_eq!(handed_out(&json!({"skill": "a", "reference": "r.md"})), None);
        assert_eq!(handed_out(&json!({})), None);
    }
}

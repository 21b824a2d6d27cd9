//! The text of a command of another system: what was typed is put in, commands in it are run as
//! far as the policy allows them, files that it names go with it.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use contract::policy::{Action, Decision, Policy, Ruling};
use contract::skill::Skill;
use contract::tool::ToolSpec;
use plugins::claude::{Fill, Here, Piece, Recipe, shell};
use plugins::commands::Command;

use super::guards::Guards;
use crate::assemble;
use crate::exit::Problem;
use crate::output;
use crate::permissions;
use crate::world::World;

/// Bytes of a file that go with a prompt.
const LONGEST: u64 = 100_000;

/// The text as it stands, with what was typed put in. Runs and reads nothing.
pub(super) fn shown(command: &Command, recipe: &Recipe, words: &str) -> String {
    let text = |piece| match piece {
        Piece::Text(text) => text,
        Piece::Shell(line) => format!("!`{line}`"),
        Piece::File(_) => String::new(),
    };
    recipe.pieces(&command.body, words, Here::default()).into_iter().map(text).collect()
}

/// Whether something is run for the text.
pub(super) fn runs_something(command: &Command, recipe: &Recipe, words: &str) -> bool {
    let mut pieces = recipe.pieces(&command.body, words, Here::default()).into_iter();
    pieces.any(|piece| matches!(piece, Piece::Shell(_)))
}

/// What makes the text when it is sent.
pub(super) fn later(
    world: &World,
    command: &Command,
    words: &str,
) -> Result<Arc<dyn Fill>, Problem> {
    let again = World::again(world.global.clone(), world.environment.clone())?;
    again.made.mode.get_or_init(|| world.mode());
    again.made.guard.get_or_init(|| Arc::clone(world.guard()));
    if let Some(sandbox) = world.made.sandbox.get() {
        again.made.sandbox.get_or_init(|| Arc::clone(sandbox));
    }
    Ok(Arc::new(Later { world: again, command: command.clone(), words: words.to_owned() }))
}

struct Later {
    world: World,
    command: Command,
    words: String,
}

#[async_trait]
impl Fill for Later {
    async fn fill(&self, session: &str) -> Result<String, String> {
        let Some(recipe) = &self.command.recipe else { return Ok(String::new()) };
        let filled = text(&self.world, (&self.command, recipe), &self.words, Some(session)).await;
        filled.map_err(|problem| problem.message())
    }
}

/// The text that goes to the model in a session, whose name may not be known yet.
pub(super) async fn text(
    world: &World,
    (command, recipe): (&Command, &Recipe),
    words: &str,
    session: Option<&str>,
) -> Result<String, Problem> {
    let here = Here { session, effort: Some(&world.config().behavior.reasoning_level) };
    let mut text = String::new();
    let mut files: Vec<String> = Vec::new();
    let mut clerk = None;
    for piece in recipe.pieces(&command.body, words, here) {
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Shell(line) => {
                let clerk = made(&mut clerk, world, (command, recipe), session)?;
                text.push_str(&clerk.run(&line).await?);
            }
            Piece::File(path) => {
                let clerk = made(&mut clerk, world, (command, recipe), session)?;
                files.extend(clerk.read(&path));
            }
        }
    }
    for file in files {
        text.push_str("\n\n");
        text.push_str(&file);
    }
    Ok(text)
}

/// What a command wants allowed while it is worked on, in the form in which a skill does.
pub(super) fn granting(command: &Command, recipe: &Recipe) -> Option<Skill> {
    (!recipe.allowed_tools.is_empty()).then(|| Skill {
        name: grant_name(command),
        description: command.description.clone(),
        source: command.source.clone(),
        license: None,
        allowed_tools: recipe.allowed_tools.clone(),
        body: String::new(),
        folder: None,
    })
}

/// The name under which the tools of a command are granted; no skill can have it.
pub(crate) fn grant_name(command: &Command) -> String {
    format!("/{}", command.qualified()).to_lowercase()
}

fn made<'a, 'b>(
    clerk: &'b mut Option<Clerk<'a>>,
    world: &'a World,
    of: (&Command, &'a Recipe),
    session: Option<&str>,
) -> Result<&'b Clerk<'a>, Problem> {
    match clerk {
        Some(clerk) => Ok(clerk),
        None => Ok(clerk.insert(Clerk::new(world, of, session)?)),
    }
}

/// Runs and reads for one command.
struct Clerk<'a> {
    world: &'a World,
    root: &'a Path,
    recipe: &'a Recipe,
    typed: String,
    policy: Arc<dyn Policy>,
    guards: Guards,
    tools: Vec<ToolSpec>,
}

impl<'a> Clerk<'a> {
    fn new(
        world: &'a World,
        (command, recipe): (&Command, &'a Recipe),
        session: Option<&str>,
    ) -> Result<Self, Problem> {
        let root = world.root()?;
        let policy = permissions::policy(world, root)?;
        let named: Vec<String> =
            recipe.allowed_tools.iter().filter(|tool| *tool != "*").cloned().collect();
        let typed = command.qualified();
        // What is no rule grants nothing.
        let _ = policy.grant(&named, &format!("command /{typed}"));
        let tools = assemble::tools(world, root, Vec::new());
        let tools = tools.iter().map(|tool| tool.spec().clone()).collect();
        let guards = Guards::find(world, root, session)?;
        Ok(Self { world, root, recipe, typed, policy, guards, tools })
    }

    fn judged(&self, tool: &str, action: Action) -> Option<Ruling> {
        let spec = self.tools.iter().find(|spec| spec.name == tool)?;
        let ruling = self.policy.judge(spec, &[action], self.world.mode());
        (ruling.decision == Decision::Allow).then_some(ruling)
    }

    /// What a line prints, or why it was not run.
    async fn run(&self, line: &str) -> Result<String, Problem> {
        let action = Action::Run { command: line.to_owned(), cwd: self.root.to_owned() };
        let Some(ruling) = self.judged("Bash", action.clone()) else {
            output::warning(&format!(
                "`{line}` in `/{}` is not allowed and was not run",
                self.typed
            ));
            output::hint("a rule such as `Bash(git status:*)` in `permissions.allow` lets it run");
            return Ok(format!("[`{line}` was not run: it is not allowed]"));
        };
        if let Some(why) = self.guards.refusal(line, &action).await {
            output::warning(&format!("`{line}` in `/{}` was not run: {why}", self.typed));
            return Ok(format!("[`{line}` was not run: {why}]"));
        }
        let mut profile = assemble::command_profile(self.world, self.root);
        profile.access = ruling.access;
        if !self.recipe.root.as_os_str().is_empty() {
            profile.read.push(self.recipe.root.clone());
        }
        profile.env.extend(self.recipe.env.clone());
        profile.env.extend(ruling.search_path.map(|path| ("PATH".to_owned(), path)));
        let sandbox = assemble::sandbox(self.world)?;
        match shell::output(&*sandbox, &profile, line, self.root).await {
            Ok(printed) => Ok(printed),
            Err(why) => {
                output::warning(&format!("`{line}` in `/{}`: {why}", self.typed));
                Ok(format!("[`{line}` failed: {why}]"))
            }
        }
    }

    /// A file of the project or of the plugin with its name; none where there is no such file.
    fn read(&self, name: &str) -> Option<String> {
        let path = self.root.join(name).canonicalize().ok().filter(|path| path.is_file())?;
        let is_own =
            !self.recipe.root.as_os_str().is_empty() && path.starts_with(&self.recipe.root);
        let is_allowed = is_own
            || (path.starts_with(self.root)
                && self.judged("Read", Action::Read { path: path.clone() }).is_some());
        if !is_allowed {
            output::warning(&format!("`@{name}` in `/{}` may not be read", self.typed));
            return None;
        }
        let is_small = path.metadata().is_ok_and(|found| found.len() <= LONGEST);
        let Some(text) = std::fs::read_to_string(&path).ok().filter(|_| is_small) else {
            let what = format!("`@{name}` in `/{}` is no text of up to 100 kB", self.typed);
            output::warning(&what);
            return None;
        };
        Some(format!("<file path=\"{name}\">\n{}\n</file>", text.trim_end()))
    }
}

//! Expands a command of another plugin system: arguments, files that it names, and its shell lines,
//! which the agent runs like calls of the model.

use std::path::Path;
use std::sync::Arc;

use assemble::assembly::Assembly;
use assemble::exit::Problem;
use assemble::skill_grants::grant_name;
use assemble::{output, permissions};
use contract::action::Action;
use contract::policy::{Approvals, Decision};
use contract::prompt_lines::PromptLine;
use contract::skill::Skill;
use contract::tool::ToolSpec;
use plugins::commands::{Command, Here, Piece, Recipe};

const MAX_FILE_BYTES: u64 = 100_000;

/// The text with its arguments. Runs and reads nothing.
pub(super) fn shown(command: &Command, recipe: &Recipe, words: &str) -> String {
    let text = |piece| match piece {
        Piece::Text(text) => text,
        Piece::Shell(line) => format!("!`{line}`"),
        Piece::File(_) => String::new(),
    };
    recipe.pieces(&command.body, words, Here::default()).into_iter().map(text).collect()
}

/// The text of a prompt, and its shell lines, which stay in it until it is sent.
pub(super) fn text(
    assembly: &Assembly,
    (command, recipe): (&Command, &Recipe),
    words: &str,
    session: Option<&str>,
) -> Result<(String, Vec<PromptLine>), Problem> {
    let here = Here { session, effort: Some(&assembly.config().behavior.reasoning_level) };
    let (mut text, mut lines, mut files) = (String::new(), Vec::new(), Vec::new());
    let has_root = !recipe.root.as_os_str().is_empty();
    for piece in recipe.pieces(&command.body, words, here) {
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Shell(line) => {
                let marker = format!("!`{line}`");
                text.push_str(&marker);
                let read = if has_root { vec![recipe.root.clone()] } else { Vec::new() };
                let env = recipe.env.clone();
                lines.push(PromptLine { marker, command: line, env, read, is_image: false });
            }
            Piece::File(path) => files.push(path),
        }
    }
    if !files.is_empty() {
        let reader = FileReader::new(assembly, (command, recipe))?;
        for file in files.iter().filter_map(|path| reader.read(path)) {
            text.push_str("\n\n");
            text.push_str(&file);
        }
    }
    Ok((text, lines))
}

/// The tools that a command grants, in the form of a skill.
pub(super) fn granting(command: &Command, recipe: &Recipe) -> Option<Skill> {
    (!recipe.allowed_tools.is_empty()).then(|| Skill {
        name: grant_name(command),
        description: command.description.clone(),
        source: command.source.clone(),
        license: None,
        allowed_tools: recipe.allowed_tools.clone(),
        body: String::new(),
        directory: None,
    })
}

struct FileReader<'a> {
    assembly: &'a Assembly,
    root: &'a Path,
    recipe: &'a Recipe,
    typed: String,
    policy: Arc<dyn Approvals>,
    tools: Vec<Arc<ToolSpec>>,
}

impl<'a> FileReader<'a> {
    fn new(
        assembly: &'a Assembly,
        (command, recipe): (&Command, &'a Recipe),
    ) -> Result<Self, Problem> {
        let root = assembly.root()?;
        let policy = permissions::policy(assembly, root)?;
        let named: Vec<String> =
            recipe.allowed_tools.iter().filter(|tool| *tool != "*").cloned().collect();
        let typed = command.qualified();
        // An invalid rule grants nothing.
        let _ = policy.grant(&named, &format!("command /{typed}"));
        let tools = assemble::builtin_tools::enabled(assembly, root, Vec::new(), None);
        let tools = tools.iter().map(|tool| tool.spec()).collect();
        Ok(Self { assembly, root, recipe, typed, policy, tools })
    }

    fn may_read(&self, path: &Path) -> bool {
        let Some(spec) = self.tools.iter().find(|spec| spec.name == "Read") else { return false };
        let action = Action::Read { path: path.to_owned() };
        self.policy.judge(spec, &[action], self.assembly.mode()).decision == Decision::Allow
    }

    fn read(&self, name: &str) -> Option<String> {
        let path = self.root.join(name).canonicalize().ok().filter(|path| path.is_file())?;
        let is_own =
            !self.recipe.root.as_os_str().is_empty() && path.starts_with(&self.recipe.root);
        let is_allowed = is_own || (path.starts_with(self.root) && self.may_read(&path));
        if !is_allowed {
            output::warning(&format!("`@{name}` in `/{}` may not be read", self.typed));
            return None;
        }
        let is_small = path.metadata().is_ok_and(|found| found.len() <= MAX_FILE_BYTES);
        let Some(text) = std::fs::read_to_string(&path).ok().filter(|_| is_small) else {
            let what = format!("`@{name}` in `/{}` is not text of up to 100 kB", self.typed);
            output::warning(&what);
            return None;
        };
        Some(format!("<file path=\"{name}\">\n{}\n</file>", text.trim_end()))
    }
}

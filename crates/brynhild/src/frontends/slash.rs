//! Slash commands: the built-in ones, and prompts of the user, plugins and the project. Says what a
//! line means; the caller acts on it.

pub(crate) mod filled;
mod local;
mod reports;
mod shown;

use std::path::{Path, PathBuf};

use ::mcp::PromptCommand;
use args::OutputFormat;
use config::redact;
use contract::event::Direction;
use contract::id::SessionId;
use contract::message::Usage;
use contract::policy::{Approvals, Mode};
use contract::prompt_lines::PromptLine;
use contract::provider::ReasoningLevel;
use contract::skill::Skill;
use contract::text::closest;
use contract::tool::ToolSpec;
use plugins::claude::Expanded;
use plugins::commands::{Blanks, Places, Rank, Table, Variable};
use plugins::problem::Problem as Fault;
use python_host::Missing;
use serde_json::json;
use sessions::snapshots::OnConflict;

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::permissions::remembered;
use crate::assemble::run_context::RunContext;
use crate::assemble::setup::{self, ToolListing};
use crate::assemble::undo::Detail;
use crate::assemble::{effort, mcp, workers};
use crate::exit::Problem;
use crate::{assemble, output};

pub(crate) use shown::sentence;

pub(crate) struct Builtin {
    pub(crate) name: &'static str,
    pub(crate) args: &'static str,
    pub(crate) description: &'static str,
}

const fn own(name: &'static str, args: &'static str, description: &'static str) -> Builtin {
    Builtin { name, args, description }
}

/// The built-in commands. No other command can have their names.
pub(crate) const BUILTIN: &[Builtin] = &[
    own("help", "", "List commands"),
    own("status", "", "Show version, directory, model, mode, sandbox and session"),
    own("config", "", "List the configuration files"),
    own("login", "", "Say how to add a provider and its key"),
    own("init", "", "Have the model write AGENTS.md for this project"),
    own("review", "[changes]", "Have the model review code changes"),
    own("clear", "", "Clear the conversation"),
    own("compact", "[instructions]", "Compact the conversation"),
    own("context", "", "Show what fills the context window"),
    own("model", "[name]", "Show or change the model"),
    own("effort", "[off | low | medium | high]", "Show or change how hard the model thinks"),
    own("mode", "[read-only | ask | normal | yolo]", "Show or change the permission mode"),
    own("theme", "[name]", "Choose the color theme"),
    own("skill", "NAME [request]", "Use a skill"),
    own("tools", "", "List the tools"),
    own("agents", "", "List the agents"),
    own("mcp", "", "List the MCP servers"),
    own("plugins", "", "List the plugins"),
    own("permissions", "[revoke RULE]", "Show remembered permissions; revoke it"),
    own("cost", "", "Show tokens and cost of this conversation"),
    own("jobs", "[tail N | stop N]", "List background commands, show output, stop one"),
    own("undo", "[turns] [force]", "Undo the file changes of the last turns"),
    own("redo", "[force]", "Redo the changes that were undone last"),
    own("changes", "[turns]", "List the files that changed, by turn"),
    own("diff", "[turns]", "Show the file changes of the last turns"),
    own("new", "", "Start a new session"),
    own("rewind", "[message] [files]", "Go back to before an earlier message of yours"),
    own("fork", "[message]", "Continue in a copy of this session"),
    own("rename", "TITLE", "Give this session a title"),
    own("resume", "[id]", "Switch to another session; without an ID, list them"),
    own("copy", "", "Copy the last reply"),
    own("export", "[file]", "Export the conversation as Markdown"),
    own("quit", "", "End"),
];

const LOGIN: &str = "`brynhild login` in a shell stores a key and chooses a model. Then \
                     `brynhild -c` continues here, and `/model` switches.";
/// Built-in prompts that a command of the user, a plugin or the project replaces.
const OVERRIDABLE: [&str; 2] = ["init", "review"];
const INIT_PROMPT: &str = include_str!("slash/init.md");
const REVIEW_PROMPT: &str = include_str!("slash/review.md");

/// The environment variables that a command of an untrusted project gets.
const HARMLESS: [&str; 9] =
    ["USER", "LOGNAME", "HOME", "PWD", "LANG", "SHELL", "TERM", "EDITOR", "VISUAL"];

pub(crate) fn builtin(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|builtin| builtin.name.eq_ignore_ascii_case(name))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slash<'a> {
    pub(crate) name: &'a str,
    pub(crate) rest: &'a str,
}

/// Parses a line; none if it is plain words, or begins with a path.
pub(crate) fn parse(line: &str) -> Option<Slash<'_>> {
    let line = line.trim();
    let words = line.strip_prefix('/')?;
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let in_name = |c: char| c.is_alphanumeric() || "-_.:+".contains(c);
    let is_plain = !name.is_empty() && name.chars().all(in_name);
    is_plain.then(|| Slash { name, rest: rest.trim() })
}

#[derive(Debug)]
pub(crate) enum Expansion {
    Prompt {
        text: String,
        skill: Option<Skill>,
    },
    Show(String),
    Control(Control),
    /// Not a command; sent to the model unchanged.
    AsIs,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Clear,
    Compact {
        instructions: Option<String>,
    },
    /// Without a name, asks for the current one.
    Model(Option<String>),
    Mode(Mode),
    /// The effort; none for the next one.
    Effort(Option<ReasoningLevel>),
    /// Without a name, asks for the list.
    Theme(Option<String>),
    Resume(String),
    Fresh,
    /// Continue in a copy of the session that ends before a message.
    Rewind {
        message: usize,
        files: RewindFiles,
    },
    /// Continue in a copy of the session, up to the turn of a message or whole.
    Fork(Option<usize>),
    Restore {
        direction: Direction,
        turns: usize,
        on_conflict: OnConflict,
    },
    Changes {
        /// None means all.
        turns: Option<u32>,
        detail: Detail,
    },
    Rename(String),
    Copy,
    Export(Option<PathBuf>),
    Quit,
}

/// The files that turns changed, when the conversation goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RewindFiles {
    Stay,
    Undo,
}

impl Control {
    /// The built-in command, and the flag or command that does this for a single prompt.
    pub(crate) fn alternative(&self) -> (&'static str, &'static str) {
        match self {
            Self::Clear => ("clear", "a run without `--resume` begins with an empty history"),
            Self::Compact { .. } => ("compact", "`brynhild --resume ID` opens a session for it"),
            Self::Model(_) => ("model", "`--model NAME` names the model"),
            Self::Effort(_) => {
                ("effort", "`behavior.reasoning_level` in the configuration sets it")
            }
            Self::Mode(_) => ("mode", "`--mode MODE` sets the mode"),
            Self::Theme(_) => ("theme", "`ui.theme` in the configuration names one"),
            Self::Resume(_) => ("resume", "`--resume ID` continues a session"),
            Self::Fresh => ("new", "a run without `--resume` starts a new session"),
            Self::Rewind { .. } => ("rewind", "`brynhild --resume ID` opens a session for it"),
            Self::Fork(_) => ("fork", "`--resume ID --fork` continues in a copy"),
            Self::Restore { direction: Direction::Undo, .. } => {
                ("undo", "`brynhild session undo` undoes changes")
            }
            Self::Restore { direction: Direction::Redo, .. } => {
                ("redo", "`brynhild session redo` redoes them")
            }
            Self::Changes { .. } => ("changes", "`brynhild session changes` shows them"),
            Self::Rename(_) => ("rename", "`brynhild session title ID TITLE` gives a title"),
            Self::Copy => ("copy", "a single prompt prints its reply"),
            Self::Export(_) => ("export", "`brynhild session export ID` writes a session"),
            Self::Quit => ("quit", "a single prompt ends by itself"),
        }
    }
}

pub(crate) struct Facts<'a> {
    pub(crate) tools: &'a [std::sync::Arc<ToolSpec>],
    pub(crate) usage: &'a Usage,
    pub(crate) session: Option<&'a SessionId>,
    pub(crate) mode: Mode,
    /// None if no model was chosen yet.
    pub(crate) answering: Option<&'a AnsweringModel>,
    /// None if no call was judged yet.
    pub(crate) policy: Option<&'a dyn Approvals>,
}

pub(crate) struct Offer {
    pub(crate) table: Table,
    pub(crate) prompts: Vec<PromptCommand>,
    problems: Vec<Fault>,
}

impl Offer {
    pub(crate) fn new(assembly: &Assembly) -> Self {
        let root = assembly.root().ok().filter(|_| assembly.has_project());
        let is_trusted = assembly.trust.trusted().is_some();
        let own = assembly.loaded.config_dir.as_ref().filter(|_| !assembly.global.safe);
        let places = Places {
            global: own.map(|dir| dir.join(::setup::user_files::COMMANDS)),
            project: root.map(|root| root.join(".brynhild/commands")),
            project_rank: if is_trusted { Rank::Full } else { Rank::Guest },
            foreign: assembly.claude().commands().cloned().collect(),
        };
        let found = plugins::commands::discover(&places, &assembly.contributions());
        let names = BUILTIN.iter().map(|builtin| builtin.name);
        let reserved: Vec<&str> = names.filter(|name| !OVERRIDABLE.contains(name)).collect();
        let table = Table::new(found.commands, &reserved);
        Self { table, prompts: Vec::new(), problems: found.problems }
    }

    pub(crate) fn with_prompts(assembly: &Assembly) -> Self {
        Self { prompts: mcp::commands(assembly), ..Self::new(assembly) }
    }

    /// Warns about commands that cannot be used, or not by their short names.
    pub(crate) fn report(&self) {
        for problem in self.problems.iter().chain(&self.table.problems) {
            output::warning(&format!("{problem} ({})", problem.hint));
        }
    }

    pub(crate) fn rendered(&self, run: &RunContext, name: &str, words: &str) -> Option<String> {
        let command = self.table.find(name)?;
        if let Some(line) = &command.run {
            return Some(format!("$ {line}"));
        }
        if let Some(recipe) = &command.recipe {
            return Some(filled::shown(command, recipe, words));
        }
        let is_guest = command.source == "project" && command.rank == Rank::Guest;
        let variable = |name: &str| {
            let Some(value) = run.environment.variables.get(name) else { return Variable::Unset };
            let is_kept = is_guest && !HARMLESS.contains(&name);
            let has_login = redact::without_login(value).is_some_and(|shown| shown != *value);
            if is_kept || has_login || redact::is_secret(name) {
                return Variable::Secret;
            }
            Variable::Value(value.clone())
        };
        let cwd = run.environment.cwd.display().to_string();
        let rendered = command.render(&Blanks { args: words, cwd: &cwd, variable: &variable });
        for name in rendered.withheld {
            let what = format!("`/{}` asks for the variable {name}", command.name);
            output::warning(&format!("{what}, which may hold a secret and stays out"));
        }
        Some(rendered.text)
    }
}

/// Says what a line means. `facts` is called only if it is needed.
pub(crate) async fn expand<'a>(
    assembly: &Assembly,
    slash: Slash<'_>,
    facts: impl FnOnce() -> Facts<'a>,
) -> Result<Expansion, Problem> {
    let rest = Some(slash.rest).filter(|rest| !rest.is_empty()).map(str::to_owned);
    let show = |text: String| Ok(Expansion::Show(text));
    let control = |control: Control| Ok(Expansion::Control(control));
    let is_own =
        |name| OVERRIDABLE.contains(&name) && Offer::new(assembly).table.find(name).is_some();
    let Some(builtin) = builtin(slash.name).filter(|builtin| !is_own(builtin.name)) else {
        return prompt(assembly, slash, facts().session).await;
    };
    match builtin.name {
        "help" => show(shown::help(&Offer::with_prompts(assembly))),
        "clear" => control(Control::Clear),
        "compact" => control(Control::Compact { instructions: rest }),
        "model" => control(Control::Model(rest)),
        "effort" => match rest {
            None => show(effort::shown(assembly)),
            Some(word) if word == "next" => control(Control::Effort(None)),
            Some(word) => control(Control::Effort(Some(effort::parse(&word)?))),
        },
        "mode" => match rest {
            None => show(format!("The mode is {}.", facts().mode.as_str())),
            Some(wanted) => control(Control::Mode(mode(assembly, &wanted)?)),
        },
        "theme" => control(Control::Theme(rest)),
        "skill" => skill(assembly, slash.rest),
        "status" => show(reports::status(assembly, &facts())),
        "config" => show(reports::config(assembly)?),
        "context" => show(reports::context(assembly, &facts())?),
        "agents" => show(reports::agents(assembly)),
        "mcp" => show(reports::mcp(assembly)?),
        "init" => Ok(Expansion::Prompt { text: INIT_PROMPT.to_owned(), skill: None }),
        "review" => {
            let changes = rest.as_deref().unwrap_or("(none named)");
            Ok(Expansion::Prompt { text: format!("{REVIEW_PROMPT}{changes}"), skill: None })
        }
        "login" => show(LOGIN.to_owned()),
        "copy" => control(Control::Copy),
        "rename" => match rest {
            Some(title) => control(Control::Rename(title)),
            None => Err(Problem::misuse("no title was given").hint("`/rename TITLE`")),
        },
        "tools" => show(shown::tools(facts().tools)),
        "plugins" => show(shown::plugins(assembly)),
        "permissions" => show(permissions(assembly, slash.rest, &facts())?),
        "jobs" => show(jobs(assembly, slash.rest).await?),
        "cost" => {
            let facts = facts();
            let took = facts.session.and_then(|id| shown::took(assembly, id));
            show(took.unwrap_or_else(|| shown::cost(facts.usage)))
        }
        "resume" => match rest {
            None => show(shown::sessions(assembly)?),
            Some(id) => control(Control::Resume(id)),
        },
        "new" => control(Control::Fresh),
        "rewind" if slash.rest.is_empty() => show(shown::messages(assembly, facts().session)?),
        "rewind" | "fork" => going_back(builtin.name, slash.rest).map(Expansion::Control),
        "undo" | "redo" => restoring(builtin.name, slash.rest).map(Expansion::Control),
        "changes" => {
            let turns = turns(rest.as_deref())?;
            control(Control::Changes { turns, detail: Detail::Files })
        }
        "diff" => {
            let turns = turns(rest.as_deref())?.or(Some(1));
            control(Control::Changes { turns, detail: Detail::Lines })
        }
        "export" => control(Control::Export(rest.map(PathBuf::from))),
        _ => control(Control::Quit),
    }
}

fn permissions(run: &RunContext, words: &str, facts: &Facts<'_>) -> Result<String, Problem> {
    match words.split_once(char::is_whitespace).unwrap_or((words, "")) {
        ("", _) => shown::permissions(run, facts),
        ("revoke", rule) if !rule.trim().is_empty() => {
            remembered::revoke(run, facts.policy, rule.trim())
        }
        _ => Err(Problem::misuse(format!("`/permissions {words}` is not understood"))
            .hint("`/permissions revoke RULE` removes a permission that `/permissions` lists")),
    }
}

async fn jobs(assembly: &Assembly, words: &str) -> Result<String, Problem> {
    let jobs = assembly.jobs();
    let words: Vec<&str> = words.split_whitespace().collect();
    let done = match *words.as_slice() {
        [] => return Ok(jobs.list()),
        ["tail", number] => number.parse().map(|number| jobs.tail(number, None)),
        ["stop", number] => match number.parse() {
            Ok(number) => Ok(jobs.stop(number).await),
            Err(error) => Err(error),
        },
        _ => return Err(Problem::misuse("`/jobs` takes `tail N` or `stop N`")),
    };
    let done = done.map_err(|_| Problem::misuse("a job is named by its number"))?;
    done.map_err(|why| Problem::misuse(why).hint("`/jobs` lists the background commands"))
}

fn turns(rest: Option<&str>) -> Result<Option<u32>, Problem> {
    let number = |word: &str| word.parse().ok().filter(|count| *count > 0);
    let wrong = |word: &str| Problem::misuse(format!("`{word}` is not a number of turns"));
    rest.map(|word| number(word).ok_or_else(|| wrong(word))).transpose()
}

fn going_back(name: &str, rest: &str) -> Result<Control, Problem> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let number = |word: &str| word.parse().ok();
    let wanted = match (name, words.as_slice()) {
        ("fork", []) => Some(Control::Fork(None)),
        ("fork", [word]) => number(word).map(|message| Control::Fork(Some(message))),
        ("rewind", [word]) => {
            number(word).map(|message| Control::Rewind { message, files: RewindFiles::Stay })
        }
        ("rewind", [word, "files"]) => {
            number(word).map(|message| Control::Rewind { message, files: RewindFiles::Undo })
        }
        _ => None,
    };
    wanted.ok_or_else(|| {
        Problem::misuse(format!("`/{name}` does not take `{rest}`"))
            .hint("`/rewind 2 files` and `/fork 2` name a message by its number in `/rewind`")
    })
}

fn restoring(name: &str, rest: &str) -> Result<Control, Problem> {
    let direction = if name == "redo" { Direction::Redo } else { Direction::Undo };
    let (forced, other): (Vec<&str>, Vec<&str>) =
        rest.split_whitespace().partition(|word| matches!(*word, "force" | "--force"));
    let on_conflict = if forced.is_empty() { OnConflict::Keep } else { OnConflict::Overwrite };
    let count = match (direction, other.as_slice()) {
        (_, []) => 1,
        (Direction::Undo, [count]) => turns(Some(count))?.unwrap_or(1),
        (_, words) => {
            let text = format!("`/{name}` does not take `{}`", words.join(" "));
            let hint = "`/undo 2` undoes two turns; `force` overwrites your later changes";
            return Err(Problem::misuse(text).hint(hint));
        }
    };
    let turns = usize::try_from(count).unwrap_or(usize::MAX);
    Ok(Control::Restore { direction, turns, on_conflict })
}

fn mode(run: &RunContext, wanted: &str) -> Result<Mode, Problem> {
    let mode = Mode::ALL.into_iter().find(|mode| mode.as_str().eq_ignore_ascii_case(wanted));
    let mode = mode.ok_or_else(|| {
        Problem::misuse(format!("`{wanted}` is not a mode"))
            .hint("the modes are read-only, ask, normal and yolo")
    })?;
    if run.global.safe && mode != Mode::ReadOnly {
        return Err(Problem::misuse("`--safe` is stronger than `/mode`")
            .hint("start again without `--safe`"));
    }
    if let Some(bound) = run.loaded.max_mode.filter(|bound| mode > *bound) {
        let bound = bound.as_str();
        let text = format!("the site's configuration allows at most mode `{bound}`");
        return Err(Problem::misuse(text));
    }
    Ok(mode)
}

/// A prompt command, or plain words that begin with a slash.
async fn prompt(
    assembly: &Assembly,
    slash: Slash<'_>,
    session: Option<&SessionId>,
) -> Result<Expansion, Problem> {
    let offer = Offer::new(assembly);
    let found = offer.table.find(slash.name);
    let note = |text: &str, lines: Vec<PromptLine>| {
        assembly.expansions().note(Expanded {
            name: slash.name.to_owned(),
            args: slash.rest.to_owned(),
            source: found.map(|command| command.source.clone()).unwrap_or_default(),
            text: text.to_owned(),
            lines,
        });
    };
    if let Some((command, line)) = found.and_then(|it| Some((it, it.run.as_deref()?))) {
        return local::run(assembly, command, line, slash.rest).await.map(Expansion::Show);
    }
    if let Some((command, recipe)) = found.and_then(|it| Some((it, it.recipe.as_ref()?))) {
        let session = session.map(SessionId::as_str);
        let (text, lines) = filled::text(assembly, (command, recipe), slash.rest, session)?;
        note(&text, lines);
        return Ok(Expansion::Prompt { text, skill: filled::granting(command, recipe) });
    }
    if let Some(text) = offer.rendered(assembly, slash.name, slash.rest) {
        note(&text, Vec::new());
        return Ok(Expansion::Prompt { text, skill: None });
    }
    // `/tmp is full` is about a directory.
    if Path::new("/").join(slash.name).exists() {
        return Ok(Expansion::AsIs);
    }
    let own = offer.table.commands().iter().map(|command| command.name.as_str());
    let prompts = mcp::commands(assembly);
    let prompts = prompts.iter().map(|prompt| prompt.name.as_str());
    let known = BUILTIN.iter().map(|builtin| builtin.name).chain(own).chain(prompts);
    Err(unknown("command", &format!("/{}", slash.name), closest(slash.name, known)))
}

/// The refusal of a name, with the nearest one that exists.
fn unknown(kind: &str, name: &str, near: Option<&str>) -> Problem {
    let mark = if kind == "command" { "/" } else { "" };
    let list = if kind == "command" { "/help" } else { "/skill" };
    let near = near.map(|near| format!("did you mean `{mark}{near}`? ")).unwrap_or_default();
    Problem::misuse(format!("Unknown {kind} {name}"))
        .hint(format!("{near}`{list}` lists the {kind}s"))
}

fn skill(assembly: &Assembly, rest: &str) -> Result<Expansion, Problem> {
    let (name, request) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let skills = assemble::skills(assembly, assembly.place());
    if name.is_empty() {
        return Ok(Expansion::Show(shown::skills(&skills)));
    }
    let Some(skill) = skills.iter().find(|skill| skill.name == name.to_lowercase()) else {
        let known = skills.iter().map(|skill| skill.name.as_str());
        return Err(unknown("skill", name, closest(name, known)));
    };
    let request = match request.trim() {
        "" => "Say in one sentence that you know this skill, and wait for the task.",
        request => request,
    };
    let text = format!("{}\n\n{request}", plugins::skills::activation(skill));
    Ok(Expansion::Prompt { text, skill: Some(skill.clone()) })
}

pub(crate) enum Once {
    AsIs,
    Prompt { text: String, skill: Option<Skill> },
    Done,
}

pub(crate) async fn once(assembly: &Assembly, words: &str) -> Result<Once, Problem> {
    match once_expanded(assembly, words).await? {
        Expansion::AsIs => Ok(Once::AsIs),
        Expansion::Prompt { text, skill } => Ok(Once::Prompt { text, skill }),
        Expansion::Show(text) => {
            if assembly.format() == OutputFormat::Text {
                output::line(text.trim_end())?;
            } else {
                let name = parse(words).map(|slash| slash.name);
                output::json(&json!({"command": name, "text": text}))?;
            }
            Ok(Once::Done)
        }
        Expansion::Control(control) => {
            let (name, hint) = control.alternative();
            let what = format!("`/{name}` needs a conversation, and this is a single prompt");
            Err(Problem::misuse(what).hint(hint))
        }
    }
}

/// Expands the words of a prompt, without a conversation that a command could show or change.
pub(crate) async fn once_expanded(assembly: &Assembly, words: &str) -> Result<Expansion, Problem> {
    let Some(slash) = parse(words) else { return Ok(Expansion::AsIs) };
    if workers::has_packages(assembly) {
        assembly.workers(Missing::Install).await?;
    }
    if let Some(text) = mcp::prompt(assembly, slash.name, slash.rest).await? {
        return Ok(Expansion::Prompt { text, skill: None });
    }
    let (mut tools, usage, mode) = (Vec::new(), Usage::default(), assembly.mode());
    if slash.name.eq_ignore_ascii_case("tools") {
        tools = setup::known_tools(assembly, ToolListing::List).await?.specs().to_vec();
    }
    let (session, answering, policy) = (None, None, None);
    let facts = || Facts { tools: &tools, usage: &usage, session, mode, answering, policy };
    expand(assembly, slash, facts).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_a_name_and_its_arguments() {
        let parsed = |line| parse(line).map(|slash| (slash.name, slash.rest));
        assert_eq!(parsed("/help"), Some(("help", "")));
        assert_eq!(
            parsed("  /acme:deploy  to prod \n now "),
            Some(("acme:deploy", "to prod \n now"))
        );
        assert_eq!(parsed("/skill\ncommit-helper"), Some(("skill", "commit-helper")));
    }

    #[test]
    fn paths_and_plain_text_are_no_commands() {
        for line in ["/usr/bin is full", "/", "/ x", "help", "//x", "/a/b", "a /help", ""] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn built_in_names_ignore_case() {
        assert_eq!(builtin("HELP").unwrap().name, "help");
        assert!(builtin("helpful").is_none());
    }
}

//! Slash commands: the built-in ones, and prompts of the user, plugins and the project. Says what a
//! line means; the caller acts on it.

pub(crate) mod filled;
mod local;
mod reports;
mod shown;
use std::path::Path;

use ::mcp::PromptCommand;
use ::tui::slash::{self, Misuse};
pub(crate) use ::tui::slash::{BUILTIN, Control, RewindFiles, Slash, builtin, parse, sentence};
use args::OutputFormat;
use assemble::answering_model::AnsweringModel;
use assemble::assembly::{Assembly, workers};
use assemble::exit::Problem;
use assemble::permissions::remembered;
use assemble::run_context::RunContext;
use assemble::setup::{self, ToolListing};
use assemble::{effort, mcp, output};
use config::redact;
use contract::id::SessionId;
use contract::message::Usage;
use contract::policy::{Approvals, Mode};
use contract::prompt_lines::PromptLine;
use contract::skill::Skill;
use contract::text::closest;
use contract::tool::ToolSpec;
use plugins::claude::Expanded;
use plugins::commands::{Placeholders, Places, Rank, Table, Variable};
use plugins::problem::Problem as Fault;
use python_host::Missing;
use serde_json::json;

const LOGIN: &str = "`brynhild login` in a shell stores a key and chooses a model. Then \
                     `brynhild -c` continues here, and `/model` switches.";
/// Built-in prompts that a command of the user, a plugin or the project replaces.
const OVERRIDABLE: [&str; 2] = ["init", "review"];
const INIT_PROMPT: &str = include_str!("slash/init.md");
const REVIEW_PROMPT: &str = include_str!("slash/review.md");

/// The environment variables that a command of an untrusted project gets.
const HARMLESS: [&str; 9] =
    ["USER", "LOGNAME", "HOME", "PWD", "LANG", "SHELL", "TERM", "EDITOR", "VISUAL"];

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
            foreign: assembly.loaded_plugins().flat_map(|it| &it.commands).cloned().collect(),
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
        output::problems(&self.problems);
        output::problems(&self.table.problems);
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
        let rendered =
            command.render(&Placeholders { args: words, cwd: &cwd, variable: &variable });
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
    let show = |text: String| Ok(Expansion::Show(text));
    let is_own =
        |name| OVERRIDABLE.contains(&name) && Offer::new(assembly).table.find(name).is_some();
    let Some(builtin) = builtin(slash.name).filter(|builtin| !is_own(builtin.name)) else {
        return prompt(assembly, slash, facts().session).await;
    };
    if let Some(parsed) = slash::control(builtin.name, slash.rest) {
        return parsed.map(Expansion::Control).map_err(misuse);
    }
    match builtin.name {
        "help" => show(shown::help(&Offer::with_prompts(assembly))),
        "effort" => show(effort::shown(assembly)),
        "mode" if slash.rest.is_empty() => show(format!("The mode is {}.", facts().mode.as_str())),
        "mode" => {
            let mode = slash::mode(slash.rest, assembly.global.safe, assembly.loaded.max_mode);
            mode.map(|mode| Expansion::Control(Control::Mode(mode))).map_err(misuse)
        }
        "skill" => skill(assembly, slash.rest),
        "status" => show(reports::status(assembly, &facts())),
        "config" => show(reports::config(assembly)?),
        "context" => show(reports::context(assembly, &facts())?),
        "agents" => show(reports::agents(assembly)),
        "mcp" => show(reports::mcp(assembly)?),
        "init" => Ok(Expansion::Prompt { text: INIT_PROMPT.to_owned(), skill: None }),
        "review" => {
            let changes = Some(slash.rest).filter(|rest| !rest.is_empty());
            let changes = changes.unwrap_or("(none named)");
            Ok(Expansion::Prompt { text: format!("{REVIEW_PROMPT}{changes}"), skill: None })
        }
        "tools" => show(shown::tools(facts().tools)),
        "plugins" => show(shown::plugins(assembly)),
        "permissions" => show(permissions(assembly, slash.rest, &facts())?),
        "jobs" => show(jobs(assembly, slash.rest).await?),
        "cost" => {
            let facts = facts();
            let took = facts.session.and_then(|id| shown::took(assembly, id));
            show(took.unwrap_or_else(|| slash::cost(facts.usage)))
        }
        "resume" => show(shown::sessions(assembly)?),
        "rewind" => show(shown::messages(assembly, facts().session)?),
        _ => show(LOGIN.to_owned()),
    }
}

fn misuse(Misuse { text, hint }: Misuse) -> Problem {
    Problem { hint, ..Problem::misuse(text) }
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
    let skills = assemble::skills::find(assembly, assembly.place());
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

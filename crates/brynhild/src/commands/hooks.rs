//! `hooks`: lists hooks, tries them, and checks their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::text::{head, visible};
use plugins::claude::ListedHandler;
use plugins::hooks::{Event, Ledger, Listed, Loaded, Pretended};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::HooksCommand;
use crate::assemble;
use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::hooks::{self, HookInputs};
use crate::assemble::plugin_env;
use crate::assemble::run_context::RunContext;
use crate::assemble::trust;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs a `hooks` command.
pub(crate) async fn run(assembly: &Assembly, command: &HooksCommand) -> Outcome {
    match command {
        HooksCommand::List { event } => list(assembly, event.as_deref()),
        HooksCommand::Test { event, tool, input, message } => {
            let input: Value = serde_json::from_str(input)
                .ok()
                .filter(Value::is_object)
                .ok_or_else(|| Problem::misuse("`--input` is no JSON object"))?;
            let what =
                Pretended { event, cwd: assembly.root()?, tool, input: &input, text: message };
            match Event::parse(event) {
                Some(event) => test(assembly, event, what).await,
                None => test_foreign(assembly, what).await,
            }
        }
        HooksCommand::Validate { path } => validate(assembly, path.as_deref()),
    }
}

/// Says that there is no such event, and which there are.
fn unknown(run: &RunContext, event: &str) -> Outcome {
    let names: Vec<&str> = Event::ALL.into_iter().map(Event::name).collect();
    let text = format!("there is no event `{event}`");
    if run.wants_json() {
        output::json(&json!({"error": text, "valid_events": names}))?;
        return Ok(Exit::Failed);
    }
    Err(Problem::failed(text).hint(format!("the events are {}", names.join(", "))))
}

fn load(assembly: &Assembly, answering: Option<&AnsweringModel>) -> Result<Loaded, Problem> {
    let needs = HookInputs {
        root: assembly.place(),
        sandbox: assemble::confinement::sandbox(assembly)?,
        answering,
        ledger: Arc::new(Ledger::default()),
        notice: Arc::new(|text| output::warning(&text)),
    };
    Ok(hooks::load(assembly, &needs))
}

fn list(assembly: &Assembly, event: Option<&str>) -> Outcome {
    let foreign = foreign(assembly, event);
    let only = match event.map(|name| (name, Event::parse(name))) {
        Some((name, None)) if foreign.is_empty() => return unknown(assembly, name),
        Some((_, event)) => event,
        None => None,
    };
    let loaded = load(assembly, None)?;
    let is_wanted =
        |hook: &&Listed| event.is_none() || only.is_some_and(|event| hook.event == event);
    let mut rows: Vec<&Listed> = loaded.listing.iter().filter(is_wanted).collect();
    rows.sort_by_key(|hook| hook.event);
    if assembly.wants_json() {
        let path = |path: PathBuf| path.is_file().then(|| path.display().to_string());
        let global = assembly.loaded.config_dir.as_ref().map(|dir| dir.join("hooks.yaml"));
        let project = assembly.has_project().then(|| assembly.place().join(trust::HOOKS));
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        output::json(&json!({
            "hooks": rows,
            "claude_hooks": foreign,
            "global_config": global.and_then(path),
            "project_config": project.and_then(path),
            "project_trusted": assembly.trust.trusted().is_some(),
            "problems": problems,
        }))?;
        return Ok(Exit::Done);
    }
    hooks::report(&loaded.problems);
    if rows.is_empty() && foreign.is_empty() {
        output::line("No hooks were found.")?;
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
    rows.extend(foreign.iter().map(Foreign::row));
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

/// A hook of a plugin in the manner of Claude Code, or of the project's settings for that.
#[derive(Serialize)]
struct Foreign {
    source: String,
    file: String,
    #[serde(flatten)]
    handler: ListedHandler,
}

impl Foreign {
    fn row(&self) -> Vec<String> {
        let ListedHandler { event, matcher, subject, description } = &self.handler;
        let subject = if description.is_empty() { subject } else { description };
        [*event, matcher, "claude", "on", &self.source, &self.file, head(subject, 60)]
            .map(str::to_owned)
            .to_vec()
    }
}

/// Those hooks that count, of one event where one is named.
fn foreign(assembly: &Assembly, event: Option<&str>) -> Vec<Foreign> {
    if assembly.global.safe {
        return Vec::new();
    }
    let of = |one: &plugins::claude::Loaded| {
        let source = one.name().unwrap_or("project").to_owned();
        let file = match &one.plugin {
            Some(plugin) => plugin.root.display().to_string(),
            None => String::from(".claude/settings.json"),
        };
        let foreign = |handler| Foreign { source: source.clone(), file: file.clone(), handler };
        one.handlers().map(foreign).collect::<Vec<_>>()
    };
    let all = assembly.claude().loaded.iter().flat_map(of);
    all.filter(|it| event.is_none_or(|event| event == it.handler.event)).collect()
}

fn row(hook: &Listed) -> Vec<String> {
    let state = if hook.enabled { "on" } else { "off" };
    let line = if hook.line == 0 { String::new() } else { format!(":{}", hook.line) };
    let first = hook.subject.lines().next().unwrap_or_default();
    vec![
        hook.event.name().to_owned(),
        hook.name.clone(),
        hook.kind.to_owned(),
        state.to_owned(),
        hook.source.clone(),
        format!("{}{line}", hook.file.display()),
        head(first, 60).to_owned(),
    ]
}

async fn test(assembly: &Assembly, event: Event, what: Pretended<'_>) -> Outcome {
    let mut loaded = load(assembly, None)?;
    let asks = |hook: &Listed| hook.event == event && hook.kind == "prompt" && hook.enabled;
    if loaded.listing.iter().any(asks) {
        let answering = assemble::answering_model::answering(assembly).await?;
        loaded = load(assembly, Some(&answering))?;
    }
    hooks::report(&loaded.problems);
    let tried = loaded.rehearse(event, what).await;
    if assembly.wants_json() {
        let result = tried.result.unwrap_or_else(|| json!("no_hooks"));
        let event = event.name();
        output::json(&json!({"event": event, "hooks": tried.hooks, "result": result}))?;
        return Ok(Exit::Done);
    }
    if tried.hooks.is_empty() {
        output::line(format_args!("No hooks of {} were found.", event.name()))?;
    }
    let others = counterpart(event.name());
    if !foreign(assembly, Some(&others)).is_empty() {
        output::hint(&format!("`brynhild hooks test {others}` tries those of Claude plugins"));
    }
    show(&tried.hooks)?;
    if let Some(result) = tried.result {
        output::line(visible(&format!("result: {result}")))?;
    }
    Ok(Exit::Done)
}

/// The name that an event has in the manner of Claude Code.
fn counterpart(event: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    event.split('_').map(word).collect()
}

/// Tries the hooks of plugins in the manner of Claude Code.
async fn test_foreign(assembly: &Assembly, what: Pretended<'_>) -> Outcome {
    let Some(tried) = plugin_env::rehearsed(assembly, what).await? else {
        return unknown(assembly, what.event);
    };
    if assembly.wants_json() {
        output::json(&json!({"event": what.event, "hooks": tried}))?;
        return Ok(Exit::Done);
    }
    if tried.is_empty() {
        output::line(format_args!("No hooks of {} were found.", what.event))?;
    }
    show(&tried)?;
    Ok(Exit::Done)
}

/// Shows what hooks said that were tried.
fn show(hooks: &[Value]) -> std::io::Result<()> {
    for hook in hooks {
        let text = |key: &str| hook[key].as_str().unwrap_or_default().to_owned();
        let outcome = match &hook["outcome"] {
            Value::String(words) => words.clone(),
            outcome => outcome.to_string(),
        };
        let line = format!("{} ({}, {}): {outcome}", text("name"), text("type"), text("source"));
        output::line(visible(&line))?;
    }
    Ok(())
}

/// What is wrong with one file.
struct Checked {
    path: PathBuf,
    exists: bool,
    count: usize,
    problems: Vec<plugins::problem::Problem>,
}

fn check(run: &RunContext, path: PathBuf) -> Checked {
    let exists = path.symlink_metadata().is_ok();
    let home = run.environment.home.as_deref();
    let (count, problems) = match plugins::hooks::validate(&path, run.place(), home) {
        Ok((count, problems)) => (count, problems),
        Err(problem) => (0, vec![problem]),
    };
    Checked { path, exists, count, problems }
}

fn validate(assembly: &Assembly, path: Option<&Path>) -> Outcome {
    let checked: Vec<Checked> = if let Some(path) = path {
        let path = assembly.environment.cwd.join(path);
        vec![check(assembly, if path.is_dir() { path.join("hooks.yaml") } else { path })]
    } else {
        let mut all: Vec<Checked> = hooks::files(assembly, assembly.place())
            .into_iter()
            .map(|it| check(assembly, it))
            .collect();
        // That a file which nobody named is not there is nothing wrong.
        all.iter_mut().filter(|file| !file.exists).for_each(|file| file.problems.clear());
        all
    };
    let is_fine = checked.iter().all(|file| file.problems.is_empty());
    let exit = if is_fine { Exit::Done } else { Exit::Failed };
    if assembly.wants_json() {
        let results: Vec<Value> = checked.iter().map(described).collect();
        output::json(&json!({"results": results}))?;
        return Ok(exit);
    }
    for file in &checked {
        for problem in &file.problems {
            output::error(&problem.to_string());
            output::hint(&problem.hint);
        }
        let path = file.path.display().to_string();
        let path = visible(&path);
        match (file.exists, file.problems.is_empty()) {
            (false, true) => output::line(format_args!("{path}: not there"))?,
            (true, true) => output::line(format_args!("{path}: valid, {} hooks", file.count))?,
            (_, false) => {}
        }
    }
    Ok(exit)
}

fn described(file: &Checked) -> Value {
    let problems: Vec<Value> = file
        .problems
        .iter()
        .map(|problem| json!({"what": problem.what, "hint": problem.hint}))
        .collect();
    json!({
        "path": file.path.display().to_string(),
        "exists": file.exists,
        "valid": file.exists && file.problems.is_empty(),
        "error": file.problems.first().map(|problem| problem.what.clone()),
        "hooks_count": file.count,
        "problems": problems,
    })
}

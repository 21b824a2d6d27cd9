//! `hooks`: lists hooks, tries them, and checks their files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use args::HooksCommand;
use assemble::answering_model::AnsweringModel;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::hooks::{self, HookInputs};
use assemble::run_context::RunContext;
use assemble::{output, plugin_env};
use contract::text::head;
use plugins::claude::ListedHandler;
use plugins::dialects;
use plugins::hooks::{Event, Ledger, Listed, Loaded, Pretended};
use serde::Serialize;
use serde_json::{Value, json};

use super::{print_problems, text};

pub(crate) async fn run(assembly: &Assembly, command: &HooksCommand) -> Outcome {
    match command {
        HooksCommand::List { event } => list(assembly, event.as_deref()),
        HooksCommand::Test { event, tool, input, message } => {
            let input: Value = serde_json::from_str(input)
                .ok()
                .filter(Value::is_object)
                .ok_or_else(|| Problem::misuse("`--input` is not JSON object"))?;
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

fn unknown_event(run: &RunContext, event: &str) -> Outcome {
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
        sandbox: assembly.sandbox()?,
        answering,
        ledger: Arc::new(Ledger::default()),
        notice: Arc::new(|text| output::warning(&text)),
    };
    Ok(hooks::load(assembly, &needs))
}

fn list(assembly: &Assembly, event: Option<&str>) -> Outcome {
    let foreign = foreign(assembly, event);
    let only = event.and_then(Event::parse);
    if let Some(name) = event.filter(|_| only.is_none() && foreign.is_empty()) {
        return unknown_event(assembly, name);
    }
    let loaded = load(assembly, None)?;
    let is_wanted = |hook: &&Listed| event.is_none() || only == Some(hook.event);
    let mut hooks: Vec<&Listed> = loaded.listing.iter().filter(is_wanted).collect();
    hooks.sort_by_key(|hook| hook.event);
    if !assembly.wants_json() {
        output::problems(&loaded.problems);
    }
    let path = |path: PathBuf| path.is_file().then(|| path.display().to_string());
    let global = assembly.loaded.config_dir.as_ref().map(|dir| dir.join(setup::user_files::HOOKS));
    let project = assembly.has_project().then(|| assembly.place().join(::trust::HOOKS));
    let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let data = json!({
        "hooks": hooks,
        "claude_hooks": foreign,
        "global_config": global.and_then(path),
        "project_config": project.and_then(path),
        "project_trusted": assembly.trust.trusted().is_some(),
        "problems": problems,
    });
    if hooks.is_empty() && foreign.is_empty() {
        return assembly.report(&data, "No hooks were found.");
    }
    let rows = hooks.into_iter().map(row).chain(foreign.iter().map(ForeignHook::row));
    assembly.report(&data, output::table(rows))
}

/// A hook of a Claude Code plugin, or of the project's settings for Claude Code.
#[derive(Serialize)]
struct ForeignHook {
    source: String,
    file: String,
    #[serde(flatten)]
    handler: ListedHandler,
}

impl ForeignHook {
    fn row(&self) -> [String; 7] {
        let ListedHandler { system, event, matcher, subject, description } = &self.handler;
        let subject = if description.is_empty() { subject } else { description };
        [*event, matcher, system, "on", &self.source, &self.file, head(subject, 60)]
            .map(str::to_owned)
    }
}

/// The active hooks for Claude Code, of one event if it is named.
fn foreign(assembly: &Assembly, event: Option<&str>) -> Vec<ForeignHook> {
    if assembly.global.safe {
        return Vec::new();
    }
    let of = |one: &dialects::Loaded| {
        let source = one.name().unwrap_or("project").to_owned();
        let file = one.place();
        let foreign = |handler| ForeignHook { source: source.clone(), file: file.clone(), handler };
        one.handlers().map(foreign).collect::<Vec<_>>()
    };
    let all = assembly.loaded_plugins().flat_map(of);
    all.filter(|it| event.is_none_or(|event| event == it.handler.event)).collect()
}

fn row(hook: &Listed) -> [String; 7] {
    let line = if hook.line == 0 { String::new() } else { format!(":{}", hook.line) };
    let file = format!("{}{line}", hook.file.display());
    let state = if hook.enabled { "on" } else { "off" };
    let first = head(hook.subject.lines().next().unwrap_or_default(), 60);
    [hook.event.name(), &hook.name, hook.kind, state, &hook.source, &file, first].map(str::to_owned)
}

async fn test(assembly: &Assembly, event: Event, what: Pretended<'_>) -> Outcome {
    let mut loaded = load(assembly, None)?;
    let asks = |hook: &Listed| hook.event == event && hook.kind == "prompt" && hook.enabled;
    if loaded.listing.iter().any(asks) {
        let answering = assemble::answering_model::answering(assembly).await?;
        loaded = load(assembly, Some(&answering))?;
    }
    output::problems(&loaded.problems);
    let tried = loaded.rehearse(event, what).await;
    let others = counterpart(event.name());
    if !assembly.wants_json() && !foreign(assembly, Some(&others)).is_empty() {
        output::hint(&format!("`brynhild hooks test {others}` tries those of Claude plugins"));
    }
    let mut words = outcomes(event.name(), &tried.hooks);
    if let Some(result) = &tried.result {
        words = format!("{words}result: {result}");
    }
    let result = tried.result.unwrap_or_else(|| json!("no_hooks"));
    let data = json!({"event": event.name(), "hooks": tried.hooks, "result": result});
    assembly.report(&data, words)
}

fn counterpart(event: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>()
    };
    event.split('_').map(word).collect()
}

async fn test_foreign(assembly: &Assembly, what: Pretended<'_>) -> Outcome {
    let Some(tried) = plugin_env::rehearsed(assembly, what).await? else {
        return unknown_event(assembly, what.event);
    };
    assembly.report(&json!({"event": what.event, "hooks": tried}), outcomes(what.event, &tried))
}

/// One line for the outcome of each hook that was tried.
fn outcomes(event: &str, hooks: &[Value]) -> String {
    if hooks.is_empty() {
        return format!("No hooks of {event} were found.\n");
    }
    let line = |hook: &Value| {
        let outcome = hook["outcome"].as_str().map(str::to_owned);
        let outcome = outcome.unwrap_or_else(|| hook["outcome"].to_string());
        let [name, kind, source] = ["name", "type", "source"].map(|key| text(hook, key));
        format!("{name} ({kind}, {source}): {outcome}\n")
    };
    hooks.iter().map(line).collect()
}

fn validate(assembly: &Assembly, path: Option<&Path>) -> Outcome {
    let files = match path.map(|path| assembly.environment.cwd.join(path)) {
        Some(directory) if directory.is_dir() => vec![directory.join("hooks.yaml")],
        Some(file) => vec![file],
        None => hooks::files(assembly, assembly.place()),
    };
    let home = assembly.environment.home.as_deref();
    let (mut exit, mut results, mut lines) = (Exit::Done, Vec::new(), Vec::new());
    for file in files {
        let exists = file.symlink_metadata().is_ok();
        let checked = plugins::hooks::validate(&file, assembly.place(), home);
        let (count, mut problems) = checked.unwrap_or_else(|problem| (0, vec![problem]));
        if path.is_none() && !exists {
            // A file that was not named may be missing.
            problems.clear();
        }
        let shown = file.display().to_string();
        if !problems.is_empty() {
            exit = Exit::Failed;
        } else if exists {
            lines.push(format!("{shown}: valid, {count} hooks"));
        } else {
            lines.push(format!("{shown}: not there"));
        }
        if !assembly.wants_json() {
            print_problems(&problems);
        }
        let data = |it: &plugins::problem::Problem| json!({"what": it.what, "hint": it.hint});
        results.push(json!({
            "path": shown,
            "exists": exists,
            "valid": exists && problems.is_empty(),
            "error": problems.first().map(|problem| problem.what.clone()),
            "hooks_count": count,
            "problems": problems.iter().map(data).collect::<Vec<_>>(),
        }));
    }
    assembly.report(&json!({ "results": results }), lines.join("\n"))?;
    Ok(exit)
}

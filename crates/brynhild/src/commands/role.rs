//! `run` and `validate`: plays a role, and checks one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use contract::event::Input;
use plugins::initrunner::final_result;
use plugins::initrunner::role::Severity;
use serde_json::{Value, json};

use crate::args::{ChatArgs, Global, RunArgs};
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::prompt_source;
use crate::assemble::role::{self, OpenRole, answer};
use crate::assemble::run_context::RunContext;
use crate::assemble::session_choice;
use crate::assemble::setup::{self, Setup};
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends::quiet::Quiet;
use crate::frontends::tee::Tee;
use crate::frontends::verdict::{CallResult, Verdict};
use crate::frontends::{self, View};
use crate::output;

/// What a run says that asks no model.
const SIMULATED: &str = "[dry-run] Simulated response.";

/// The role and the prompt among the words that were typed, in either order where `-p` stands
/// between them.
pub(crate) fn words(args: &RunArgs, global: &Global) -> (PathBuf, Vec<String>) {
    let role = args.role.clone();
    let mut prompt = args.prompt.clone();
    prompt.extend(args.prompt_option.clone());
    if global.print
        && !role.exists()
        && let [other] = prompt.as_slice()
        && Path::new(other).exists()
    {
        return (PathBuf::from(other), vec![role.to_string_lossy().into_owned()]);
    }
    (role, prompt)
}

/// The values of `--var NAME=VALUE`.
pub(crate) fn given(args: &RunArgs) -> Result<BTreeMap<String, String>, Problem> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Problem::misuse(format!("`--var {text}` is not of the form NAME=VALUE"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    args.var.iter().map(pair).collect()
}

/// Plays the role that was chosen.
pub(crate) async fn run(assembly: &Assembly, args: &RunArgs) -> Outcome {
    let (_, said) = words(args, &assembly.global);
    let prompt = prompt(assembly, &said).await?;
    let wants_json = assembly.wants_json();
    if args.dry_run {
        role::rehearse(assembly).await?;
        if wants_json {
            output::json(&simulated())?;
        } else {
            output::line(SIMULATED)?;
        }
        return Ok(Exit::Done);
    }
    let started = Instant::now();
    let root = assembly.root()?.to_owned();
    let answering = Arc::new(assemble::answering_model::answering(assembly).await?);
    let chat = ChatArgs::default();
    let setup = Setup::new(assembly, &chat, &root, &answering).await?;
    let opened = setup.role.clone();
    let chosen = session_choice::choose(assembly, &root, false)?;
    let (id, storage) = (chosen.id.clone(), chosen.storage);
    let log = super::chat::log(assembly, &chat)?;
    let background = setup.background.clone();
    let opening = setup::beginning(assembly, &root, chosen);
    let conversation = setup.open(assembly, &root, Some(&answering), opening)?;
    let has_schema = opened.as_ref().is_some_and(|role| role.output.is_some());
    let mut view: Box<dyn View> = if wants_json || has_schema {
        Box::new(Quiet::new(assembly))
    } else {
        super::chat::view(assembly, assembly.global.verbose, storage, Value::Null)
    };
    let mut tee = Tee { view: view.as_mut(), log, kept: None };
    let shown = frontends::run(conversation, Input::Prompt(prompt), &mut tee).await;
    background.close().await;
    let verdict = shown?;
    let result = Played::of(&verdict, opened.as_deref());
    if wants_json {
        output::json(&result.object(&verdict, &id.to_string(), started))?;
    } else if has_schema {
        match &result.error {
            None => output::line(output::answer(&result.output))?,
            Some(error) => output::error(error),
        }
    }
    Ok(result.exit)
}

/// Prints what a role answered as one object.
pub(super) fn print(
    verdict: &Verdict,
    role: &OpenRole,
    id: &str,
    started: Instant,
) -> Result<(), Problem> {
    let played = Played::of(verdict, Some(role));
    output::json(&played.object(verdict, id, started))?;
    Ok(())
}

/// What was said, else what is piped in.
async fn prompt(run: &RunContext, said: &[String]) -> Result<String, Problem> {
    let words = said.join(" ");
    if !words.trim().is_empty() {
        return Ok(words);
    }
    let missing =
        || Problem::misuse("No prompt provided").hint("`brynhild run ROLE.yaml -p PROMPT`");
    if run.environment.terminal.stdin {
        return Err(missing());
    }
    let piped = tokio::task::spawn_blocking(prompt_source::read_stdin).await;
    let piped = piped.map_err(|error| Problem::failed(error.to_string()))??;
    if piped.trim().is_empty() { Err(missing()) } else { Ok(piped) }
}

fn simulated() -> Value {
    json!({
        "run_id": "dry-run", "output": SIMULATED, "error": null, "success": true, "tokens_in": 0,
        "tokens_out": 0, "cost_usd": null, "total_tokens": 0, "tool_calls": 0,
        "tool_call_names": [], "duration_ms": 0,
    })
}

/// What a run came to.
struct Played {
    output: String,
    error: Option<String>,
    exit: Exit,
}

impl Played {
    fn of(verdict: &Verdict, role: Option<&OpenRole>) -> Self {
        let mut played = Self {
            output: verdict.response.clone(),
            error: (!verdict.errors.is_empty()).then(|| verdict.errors.join("; ")),
            exit: verdict.exit(),
        };
        if let Some(limit) = role.and_then(|role| role.allowance.exceeded()) {
            // What the tool says that reached the limit is no answer of the model's.
            played.output.clear();
            played.error = Some(format!("a limit was reached: {limit}"));
            played.exit = Exit::Limited;
        } else if let Some(contract::event::Outcome::Limited { told, .. }) = &verdict.outcome {
            played.error = Some(format!("a limit was reached: {told}"));
        } else if let Some(contract::event::Outcome::Stuck { why }) = &verdict.outcome {
            played.error = Some(format!("the model goes in circles: {why}"));
        } else if role.is_some_and(|role| role.output.is_some()) && played.exit == Exit::Done {
            let is_answer = |it: &&CallResult| it.tool == final_result::NAME && it.output.success;
            let given = verdict.results.iter().rev().find(is_answer);
            let schema = role.and_then(|role| role.output.as_ref());
            let in_words = || answer::fitting(&verdict.response, schema.unwrap_or(&Value::Null));
            match given.map_or_else(in_words, |it| Ok(it.output.output.clone())) {
                Ok(answer) => played.output = answer,
                Err(what) => {
                    played.error =
                        Some(format!("the answer does not fit the role's schema: {what}"));
                    played.exit = Exit::Failed;
                }
            }
        }
        played
    }

    fn object(&self, verdict: &Verdict, id: &str, started: Instant) -> Value {
        let names: Vec<&str> = verdict.calls.iter().map(|call| call.name.as_str()).collect();
        let usage = &verdict.usage;
        json!({
            "run_id": id,
            "output": self.output,
            "error": self.error,
            "success": self.exit == Exit::Done,
            "tokens_in": usage.input_tokens,
            "tokens_out": usage.output_tokens,
            "cost_usd": usage.cost_usd,
            "total_tokens": usage.total_tokens(),
            "tool_calls": names.len(),
            "tool_call_names": names,
            "duration_ms": u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }
}

/// Checks a role's file.
pub(crate) async fn validate(assembly: &Assembly, path: &Path) -> Outcome {
    let (file, mut reading) = role::examine(assembly, path)?;
    let mut tools = Vec::new();
    if reading.errors().next().is_none() {
        tools = role::ask_python(assembly, &mut reading).await?;
    }
    let is_valid = reading.is_valid();
    let exit = if is_valid { Exit::Done } else { Exit::Failed };
    if assembly.wants_json() {
        let role = reading.role.as_ref();
        output::json(&json!({
            "path": file.display().to_string(),
            "valid": is_valid,
            "name": role.map(|role| &role.name),
            "description": role.map(|role| &role.description),
            "tools": tools,
            "skills": role.map(|role| &role.skills),
            "findings": reading.findings,
        }))?;
        return Ok(exit);
    }
    for finding in &reading.findings {
        let words = format!("{}: {}", file.display(), role::words(finding));
        match finding.severity {
            Severity::Error | Severity::Loss => output::error(&words),
            Severity::Warning => output::warning(&words),
        }
    }
    if let Some(role) = reading.role.filter(|_| is_valid) {
        let mut rows = vec![
            ["Valid".to_owned(), file.display().to_string()],
            ["name".to_owned(), role.name],
            ["description".to_owned(), role.description],
        ];
        let heading = |index: usize| if index == 0 { "tools" } else { "" };
        let tools = tools.into_iter().enumerate();
        rows.extend(tools.map(|(index, line)| [heading(index).to_owned(), line]));
        rows.push(["skills".to_owned(), role.skills.join(", ")]);
        let rows: Vec<Vec<String>> =
            rows.into_iter().filter(|row| !row[1].is_empty()).map(Vec::from).collect();
        output::line(contract::text::visible(output::table(&rows).trim_end()))?;
    }
    Ok(exit)
}

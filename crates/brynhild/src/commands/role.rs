//! `run`, `validate` and `ingest`: plays a role, checks one, and reads its documents.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use args::{ChatArgs, Global, RunArgs};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::role::{self, OpenRole, answer};
use assemble::run_context::RunContext;
use assemble::{output, prompt_source};
use contract::event::Input;
use initrunner::documents::Refresh;
use initrunner::evals::SIMULATED;
use initrunner::final_result;
use initrunner::role::{Finding, Severity};
use line_ui::tee::Tee;
use line_ui::verdict::{CallResult, Verdict};
use serde_json::{Value, json};

use super::approvals;
use super::chat::OpenConversation;
use crate::frontends::{self, View};

/// The role and the prompt among the arguments, in either order if `-p` is between them.
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

pub(crate) fn given(args: &RunArgs) -> Result<BTreeMap<String, String>, Problem> {
    let pair = |text: &String| {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            Problem::misuse(format!("`--var {text}` is not of the form NAME=VALUE"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    args.var.iter().map(pair).collect()
}

pub(crate) async fn run(assembly: &Assembly, args: &RunArgs) -> Outcome {
    let (_, said) = words(args, &assembly.global);
    let missing =
        || Problem::misuse("No prompt provided").hint("`brynhild run ROLE.yaml -p PROMPT`");
    let prompt = prompt(assembly, &said).await?.ok_or_else(missing)?;
    if args.autonomous {
        return super::autonomous::run(assembly, args, &prompt).await;
    }
    if args.dry_run {
        role::rehearse(assembly).await?;
        return assembly.report(&simulated(), SIMULATED);
    }
    play(assembly, prompt, Vec::new()).await
}

/// Sends a prompt to the chosen role and prints the result. `decided` holds tool, arguments and
/// decision of calls that waited for approval.
pub(super) async fn play(
    assembly: &Assembly,
    prompt: String,
    decided: Vec<(String, Value, bool)>,
) -> Outcome {
    let (wants_json, started) = (assembly.wants_json(), Instant::now());
    let answering = Arc::new(assemble::answering_model::answering(assembly).await?);
    let chat = ChatArgs::default();
    let (opened, ()) = OpenConversation::open(assembly, &chat, answering, |_, _| ()).await?;
    let (id, role) = (opened.id.clone(), opened.role.clone());
    let log = super::chat::log(assembly, &chat)?;
    let has_schema = role.as_ref().is_some_and(|role| role.output.is_some());
    let mut view: Box<dyn View> = if wants_json || has_schema {
        Box::new(frontends::quiet(assembly))
    } else {
        super::chat::view(assembly, assembly.global.verbose, opened.storage, Value::Null)
    };
    let approvals = role.as_deref().map(|role| approvals::of_role(role, decided));
    let mut tee = Tee { view: view.as_mut(), log, kept: None, approvals };
    let verdict = opened.run(Input::Prompt { text: prompt }, &mut tee).await?;
    let waiting = tee.approvals.map(|it| it.waiting).unwrap_or_default();
    let waiting = approvals::store(assembly, role.as_deref(), &id, waiting)?;
    let mut result = RoleResult::new(&verdict, role.as_deref());
    if !waiting.is_empty() {
        (result.exit, result.error) = (Exit::Paused, None);
    }
    if wants_json {
        let mut object = result.to_json(&verdict, id.as_str(), started);
        if !waiting.is_empty() {
            object["status"] = "paused".into();
            object["success"] = true.into();
            object["pending_approvals"] = json!(waiting);
        }
        output::json(&object)?;
    } else if !waiting.is_empty() {
        approvals::tell(&waiting);
    } else if has_schema {
        match &result.error {
            None => output::line(output::answer(&result.output))?,
            Some(error) => output::error(error),
        }
    }
    Ok(result.exit)
}

pub(super) fn print(
    verdict: &Verdict,
    role: &OpenRole,
    id: &str,
    started: Instant,
) -> std::io::Result<()> {
    output::json(&RoleResult::new(verdict, Some(role)).to_json(verdict, id, started))
}

/// The prompt from the command line, otherwise from standard input.
pub(super) async fn prompt(run: &RunContext, said: &[String]) -> Result<Option<String>, Problem> {
    let words = said.join(" ");
    if !words.trim().is_empty() {
        return Ok(Some(words));
    }
    if run.environment.terminal.stdin {
        return Ok(None);
    }
    let piped = tokio::task::spawn_blocking(prompt_source::read_stdin).await;
    let piped = piped.map_err(|error| Problem::failed(error.to_string()))??;
    Ok(Some(piped).filter(|piped| !piped.trim().is_empty()))
}

pub(super) fn simulated() -> Value {
    json!({
        "run_id": "dry-run", "output": SIMULATED, "error": null, "success": true, "tokens_in": 0,
        "tokens_out": 0, "cost_usd": null, "total_tokens": 0, "tool_calls": 0,
        "tool_call_names": [], "duration_ms": 0,
    })
}

pub(super) struct RoleResult {
    pub(super) output: String,
    pub(super) error: Option<String>,
    pub(super) exit: Exit,
}

impl RoleResult {
    pub(super) fn new(verdict: &Verdict, role: Option<&OpenRole>) -> Self {
        let mut result = Self {
            output: verdict.response.clone(),
            error: (!verdict.errors.is_empty()).then(|| verdict.errors.join("; ")),
            exit: verdict.exit(),
        };
        if let Some(limit) = role.and_then(|role| role.allowance.exceeded()) {
            // The text of the tool that reached the limit is not an answer of the model.
            result.output.clear();
            result.error = Some(format!("a limit was reached: {limit}"));
            result.exit = Exit::Limited;
        } else if let Some(contract::event::Outcome::Limited { told, .. }) = &verdict.outcome {
            result.error = Some(format!("a limit was reached: {told}"));
        } else if let Some(contract::event::Outcome::Stuck { why }) = &verdict.outcome {
            result.error = Some(format!("the model is repeating itself: {why}"));
        } else if role.is_some_and(|role| role.output.is_some()) && result.exit == Exit::Done {
            let is_answer = |it: &&CallResult| it.tool == final_result::NAME && it.output.success;
            let given = verdict.results.iter().rev().find(is_answer);
            let schema = role.and_then(|role| role.output.as_ref());
            let in_words = || answer::fitting(&verdict.response, schema.unwrap_or(&Value::Null));
            match given.map_or_else(in_words, |it| Ok(it.output.output.clone())) {
                Ok(answer) => result.output = answer,
                Err(what) => {
                    result.error =
                        Some(format!("the answer does not fit the role's schema: {what}"));
                    result.exit = Exit::Failed;
                }
            }
        }
        result
    }

    fn to_json(&self, verdict: &Verdict, id: &str, started: Instant) -> Value {
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

pub(crate) async fn validate(assembly: &Assembly, path: &Path) -> Outcome {
    let (file, mut reading) = role::examine(assembly, path)?;
    let mut tools = Vec::new();
    if reading.errors().next().is_none() {
        tools = role::ask_python(assembly, &mut reading).await?;
    }
    let is_valid = reading.is_valid();
    let shown = file.display().to_string();
    let role = reading.role.as_ref();
    let data = json!({
        "path": shown,
        "valid": is_valid,
        "name": role.map(|role| &role.name),
        "description": role.map(|role| &role.description),
        "tools": tools,
        "skills": role.map(|role| &role.skills),
        "findings": reading.findings,
    });
    print_findings(assembly, &file, &reading.findings);
    let mut rows: Vec<[String; 2]> = Vec::new();
    if let Some(role) = role.filter(|_| is_valid) {
        let row = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
        rows.push(row("Valid", &shown));
        rows.extend([row("name", &role.name), row("description", &role.description)]);
        let heads = std::iter::once("tools").chain(std::iter::repeat(""));
        rows.extend(heads.zip(&tools).map(|(head, line)| row(head, line)));
        rows.push(row("skills", &role.skills.join(", ")));
        rows.retain(|row| !row[1].is_empty());
    }
    assembly.report(&data, output::table(rows))?;
    Ok(if is_valid { Exit::Done } else { Exit::Failed })
}

pub(crate) async fn ingest(assembly: &Assembly, path: &Path, force: bool) -> Outcome {
    let role = role::valid(assembly, path)?;
    let refresh = if force { Refresh::All } else { Refresh::Changed };
    let report =
        role::documents::ingest(assembly, &role, refresh).await.map_err(Problem::failed)?;
    let text = format!(
        "Ingesting for {}... ({} files, {} URLs)\n{}",
        role.name,
        report.files,
        report.urls,
        report.summary()
    );
    assembly.report(&report, text)
}

/// Prints findings in words, unless the result is JSON and has them.
pub(super) fn print_findings(run: &RunContext, file: &Path, findings: &[Finding]) {
    for finding in findings.iter().filter(|_| !run.wants_json()) {
        let words = format!("{}: {}", file.display(), finding);
        match finding.severity {
            Severity::Error | Severity::Loss => output::error(&words),
            Severity::Warning => output::warning(&words),
        }
    }
}

//! `tools`: lists tools, prints their schemas, runs one, counts calls.

use std::path::Path;
use std::sync::Arc;

use agent::conversation::{Beginning, Share};
use contract::event::Input;
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::text::{head, visible};
use contract::tool::ToolSpec;
use serde_json::{Value, json};
use sessions::tool_statistics::ToolStatistics;
use sessions::unsaved::Unsaved;

use crate::args::{OutputFormat, ToolsCommand};
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::assemble::setup::{self, Opening, Setup, ToolListing};
use crate::exit::{Exit, Outcome, Problem};
use crate::frontends;
use crate::frontends::quiet::Quiet;
use crate::frontends::stream_json::StreamJson;
use crate::frontends::verdict::Verdict;
use crate::output;

/// Runs a `tools` command.
pub(crate) async fn run(assembly: &Assembly, command: &ToolsCommand) -> Outcome {
    match command {
        ToolsCommand::List { whole, .. } => list(assembly, *whole || assembly.global.verbose).await,
        ToolsCommand::Schema { name, .. } => schema(assembly, name).await,
        ToolsCommand::Exec { name, input, .. } => exec(assembly, name, input).await,
        ToolsCommand::Stats { log, of_session } => {
            let session = of_session.as_ref().or(assembly.global.session.as_ref());
            stats(assembly, log.as_deref(), session.map(String::as_str))
        }
    }
}

async fn list(assembly: &Assembly, whole: bool) -> Outcome {
    let registry = setup::known_tools(assembly, ToolListing::List).await?;
    let specs = registry.specs();
    if assembly.wants_json() {
        let rows: Vec<Value> = specs
            .iter()
            .map(|spec| {
                json!({
                    "name": spec.name,
                    "description": spec.description,
                    "version": spec.version,
                    "categories": spec.categories,
                    "requires_permission": spec.requires_permission,
                    "risk_level": spec.risk_level,
                    "recovery_policy": spec.recovery_policy,
                    "source": spec.source,
                })
            })
            .collect();
        output::json(&rows)?;
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = Vec::with_capacity(specs.len());
    for spec in specs.iter() {
        let first = spec.description.lines().next().unwrap_or_default();
        let description = if whole { first } else { head(first, 70) }.to_owned();
        let mut is_asked = spec.requires_permission && !assemble::asks_nothing(assembly);
        if let Some(tool) = registry.get(&spec.name).filter(|_| !is_asked) {
            is_asked = tool.caution(&empty_call(spec)).await.is_some();
        }
        let asks = if is_asked { "asks" } else { "" };
        rows.push(vec![spec.name.clone(), asks.to_owned(), spec.source.clone(), description]);
    }
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

/// A call that says nothing but its tool.
fn empty_call(spec: &ToolSpec) -> ToolCall {
    ToolCall { id: CallId(String::new()), name: spec.name.clone(), args: json!({}), opaque: None }
}

fn find<'a>(specs: &'a [Arc<ToolSpec>], name: &str) -> Result<&'a ToolSpec, Problem> {
    specs.iter().find(|spec| spec.name == name).map(AsRef::as_ref).ok_or_else(|| {
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let text = format!("Tool '{name}' not found. Available: {}", names.join(", "));
        Problem::failed(text)
    })
}

async fn schema(assembly: &Assembly, name: &str) -> Outcome {
    let specs = setup::known_tools(assembly, ToolListing::One).await?.specs();
    let spec = match find(&specs, name) {
        Ok(spec) => spec,
        // A schema is JSON whether that was asked for or not, and so is the lack of one.
        Err(problem) => return super::json_error(problem),
    };
    output::json(&json!({
        "name": spec.name,
        "description": spec.description,
        "input_schema": spec.input_schema,
    }))?;
    Ok(Exit::Done)
}

async fn exec(assembly: &Assembly, name: &str, input: &str) -> Outcome {
    let args: Value = serde_json::from_str(input)
        .map_err(|error| Problem::misuse(format!("`--input` is not valid JSON: {error}")))?;
    if !args.is_object() {
        return Err(Problem::misuse("`--input` must be a JSON object"));
    }
    let root = assembly.root()?.to_owned();
    let setup = Setup::for_single_call(assembly, &root, name).await?;
    // One that the mode does not offer says so itself.
    if setup.registry.get(name).is_none()
        && let Err(problem) = find(&setup.registry.specs(), name)
    {
        setup.background.close().await;
        return Err(problem);
    }
    let beginning = Beginning {
        session: SessionId::parse("tools-exec")?,
        history: Vec::new(),
        notices: Vec::new(),
        share: Share::Whole,
    };
    let opening = Opening { log: Arc::new(Unsaved), beginning, snapshots: None };
    let background = setup.background.clone();
    let conversation = setup.open(assembly, &root, None, opening)?;
    let id = CallId("exec-1".to_owned());
    let call = Input::Call(ToolCall { id, name: name.to_owned(), args, opaque: None });
    if assembly.format() == OutputFormat::StreamJson {
        let shown = frontends::run(conversation, call, &mut StreamJson::new()).await;
        background.close().await;
        return Ok(exit(&shown?));
    }
    let shown = frontends::run(conversation, call, &mut Quiet::new(assembly)).await;
    background.close().await;
    show(assembly, &shown?)
}

fn exit(verdict: &Verdict) -> Exit {
    match verdict.exit() {
        Exit::Done if verdict.has_failed_call => Exit::Failed,
        exit => exit,
    }
}

fn show(run: &RunContext, verdict: &Verdict) -> Outcome {
    let Some(result) = verdict.results.first() else {
        return Ok(verdict.exit());
    };
    let output = &result.output;
    if run.wants_json() {
        output::json(&json!({
            "success": output.success,
            "output": output.output,
            "error": output.error,
            "outcome": result.outcome,
        }))?;
        return Ok(exit(verdict));
    }
    if !output.output.is_empty() {
        output::line(output::answer(&output.output))?;
    }
    if let Some(error) = output.error.as_ref().filter(|error| !error.is_empty()) {
        let say = if output.success { output::hint } else { output::error };
        say(error);
    }
    Ok(exit(verdict))
}

fn stats(run: &RunContext, log: Option<&Path>, session: Option<&str>) -> Outcome {
    let statistics = match (log, session) {
        (Some(path), _) => {
            let path = super::logs::locate(run, Some(path))?;
            let (lines, _) = sessions::conversation_log::read(&path)?;
            ToolStatistics::of_log(&lines)
        }
        (None, session) => {
            let store = run.store()?;
            let id = match session {
                Some(id) => store.resolve(id)?,
                None => store.resolve("last").map_err(|_| {
                    Problem::failed("there is no session to count the calls of")
                        .hint("name a conversation log with `--log FILE`")
                })?,
            };
            ToolStatistics::of_events(&store.read(&id)?.events)
        }
    };
    if run.wants_json() {
        output::json(&statistics)?;
        return Ok(Exit::Done);
    }
    let mut rows = vec![["TOOL", "CALLS", "FAILED", "AVERAGE MS"].map(str::to_owned).to_vec()];
    rows.extend(statistics.tools.iter().map(|(name, metrics)| {
        vec![
            visible(name).into_owned(),
            metrics.call_count.to_string(),
            metrics.failure_count.to_string(),
            format!("{:.1}", metrics.average_duration_ms),
        ]
    }));
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

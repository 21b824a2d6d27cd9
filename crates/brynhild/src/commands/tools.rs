//! `tools`: lists tools, prints their schemas, runs one, counts calls.

use std::path::Path;
use std::sync::Arc;

use agent::conversation::{Beginning, Share};
use args::{OutputFormat, ToolsCommand};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::run_context::RunContext;
use assemble::setup::{self, Opening, Setup, ToolListing};
use contract::event::Input;
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::policy::Mode;
use contract::tool::{BUILTIN, ToolSpec};
use line_ui::stream_json::StreamJson;
use line_ui::verdict::{CallResult, Verdict};
use serde_json::{Value, json};
use sessions::tool_statistics::{Metrics, ToolStatistics};
use sessions::unsaved::Unsaved;

use super::{json_input, shortened};
use crate::frontends::{self, View};

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
    let (mut data, mut rows) = (Vec::new(), Vec::new());
    let mut specs = registry.specs().to_vec();
    specs.sort_by(|one, other| one.name.cmp(&other.name));
    for spec in specs {
        data.push(json!({
            "name": spec.name,
            "description": spec.description,
            "version": spec.version,
            "categories": spec.categories,
            "requires_permission": spec.requires_permission,
            "risk_level": spec.risk_level,
            "recovery_policy": spec.recovery_policy,
            "source": spec.source,
        }));
        let first = spec.description.lines().next().unwrap_or_default();
        let description = if whole { spec.description.clone() } else { shortened(first, 70) };
        let is_free = spec.source == BUILTIN && assembly.mode() == Mode::Normal;
        let mut asks = spec.requires_permission && !is_free && !assembly.auto_approves();
        if let Some(tool) = registry.get(&spec.name).filter(|_| !asks && !assembly.wants_json()) {
            asks = tool.caution(&call(&spec.name, json!({}))).await.is_some();
        }
        let asks = if asks { "asks" } else { "" };
        rows.push([&*spec.name, asks, &*spec.source, &*description].map(str::to_owned));
    }
    if !whole {
        return assembly.report(&data, output::table(rows));
    }
    let entry = |[name, asks, source, description]: [String; 4]| {
        let description = description.replace('\n', "\n  ");
        format!(
            "{name} ({source}{}{asks})\n  {description}\n",
            if asks.is_empty() { "" } else { ", " }
        )
    };
    assembly.report(&data, rows.into_iter().map(entry).collect::<Vec<_>>().join("\n"))
}

pub(super) fn call(name: &str, args: Value) -> ToolCall {
    ToolCall { id: CallId("exec-1".to_owned()), name: name.to_owned(), args, opaque: None }
}

fn find<'a>(specs: &'a [Arc<ToolSpec>], name: &str) -> Result<&'a ToolSpec, Problem> {
    specs.iter().find(|spec| spec.name == name).map(AsRef::as_ref).ok_or_else(|| {
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        Problem::failed(format!("Tool '{name}' not found. Available: {}", names.join(", ")))
    })
}

async fn schema(assembly: &Assembly, name: &str) -> Outcome {
    let specs = setup::known_tools(assembly, ToolListing::One).await?.specs();
    let spec = match find(&specs, name) {
        Ok(spec) => spec,
        // A schema is always JSON, so the error is too.
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
    let args = json_input("--input", input)?;
    if !args.is_object() {
        return Err(Problem::misuse("`--input` must be a JSON object"));
    }
    let is_stream = assembly.format() == OutputFormat::StreamJson;
    let mut view: Box<dyn View> = if is_stream {
        Box::new(StreamJson::default())
    } else {
        Box::new(frontends::quiet(assembly))
    };
    let verdict = call_once(assembly, call(name, args), view.as_mut()).await?;
    if !is_stream {
        show(assembly, &verdict)?;
    }
    Ok(exit_of(&verdict))
}

pub(super) fn exit_of(verdict: &Verdict) -> Exit {
    match verdict.exit() {
        Exit::Done if verdict.has_failed_call => Exit::Failed,
        exit => exit,
    }
}

/// Runs one call in a conversation without a model.
pub(super) async fn call_once(
    assembly: &Assembly,
    call: ToolCall,
    view: &mut dyn View,
) -> Result<Verdict, Problem> {
    let root = assembly.root()?.to_owned();
    let setup = Setup::for_single_call(assembly, &root, &call.name).await?;
    // A tool that the mode does not offer reports that itself.
    if setup.registry.get(&call.name).is_none()
        && let Err(problem) = find(&setup.registry.specs(), &call.name)
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
    let shown = frontends::run(conversation, Input::Call(call), view).await;
    background.close().await;
    Ok(shown?)
}

fn show(run: &RunContext, verdict: &Verdict) -> std::io::Result<()> {
    let Some(CallResult { output, outcome, .. }) = verdict.results.first() else { return Ok(()) };
    if run.wants_json() {
        return output::json(&json!({
            "success": output.success,
            "output": output.output,
            "error": output.error,
            "outcome": outcome,
        }));
    }
    if !output.output.is_empty() {
        output::line(output::answer(&output.output))?;
    }
    if let Some(error) = output.error.as_ref().filter(|error| !error.is_empty()) {
        let print = if output.success { output::hint } else { output::error };
        print(error);
    }
    Ok(())
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
                    Problem::failed("there is no session with calls")
                        .hint("name a conversation log with `--log FILE`")
                })?,
            };
            ToolStatistics::of_events(&store.read(&id)?.events)
        }
    };
    let row = |(name, metrics): (&String, &Metrics)| {
        let [calls, failed] = [metrics.call_count, metrics.failure_count].map(|it| it.to_string());
        [name.clone(), calls, failed, format!("{:.1}", metrics.average_duration_ms)]
    };
    let titles = ["TOOL", "CALLS", "FAILED", "AVERAGE MS"];
    run.report(&statistics, output::titled_table(titles, statistics.tools.iter().map(row)))
}

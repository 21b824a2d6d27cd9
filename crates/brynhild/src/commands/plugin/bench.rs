//! `plugin bench`: measures the tools of a plugin, each in a temporary project with a fresh
//! configuration.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use args::Global;
use assemble::assembly::Assembly;
use assemble::confinement::confinement;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::setup::{Offer, Setup};
use assemble::signals::Signals;
use contract::message::ToolCall;
use contract::tool::BUILTIN;
use plugin_kit::bench::measurement::{Measurement, ROUNDS};
use plugin_kit::bench::process::ProcessWatch;
use plugin_kit::bench::{BenchReport, ToolFigures};
use plugin_kit::case::{self, Case};
use plugin_kit::example;
use plugin_kit::workspace::Workspace;

use super::testing::{Recording, plugin_directory, role_file, stage};
use crate::commands::tools;

pub(super) async fn run(assembly: &Assembly, directory: &Path) -> Outcome {
    let root = plugin_directory(assembly, directory)?;
    if role_file(&root).is_some() {
        let text =
            format!("{} is a role, and `plugin bench` measures plugins", directory.display());
        return Err(Problem::misuse(text));
    }
    let mut signals = Signals::new()?;
    let report = tokio::select! {
        report = measure(assembly, &root) => report?,
        exit = signals.next() => return Ok(exit),
    };
    if report.tools.is_empty() && report.skipped.is_empty() {
        return Err(Problem::failed(format!("{} has no tools", directory.display()))
            .hint("`brynhild plugin check` reports what works of it"));
    }
    let shown = directory.display().to_string();
    let text = output::titled_table(BenchReport::TITLES, report.rows()) + &report.notes();
    assembly.report(&report.to_json(&shown), text)?;
    Ok(if report.tools.is_empty() { Exit::Failed } else { Exit::Done })
}

async fn measure(assembly: &Assembly, root: &Path) -> Result<BenchReport, Problem> {
    let cases: Vec<Case> = case::load(root)?.into_iter().filter_map(Result::ok).collect();
    let workspace = Workspace::create(&assembly.environment.temp)?;
    let offer = load((assembly, root), &workspace).await?.1;
    offer.background.close().await;
    let mut report = BenchReport::default();
    for spec in offer.registry.specs().iter().filter(|spec| spec.source != BUILTIN) {
        let figures = match example::call(spec, &cases) {
            Some((args, files)) => {
                let call = tools::call(&spec.name, args);
                Box::pin(measure_tool((assembly, root), call, &files)).await?
            }
            None => Err("it has no example, and no scenario in `tests` calls it".to_owned()),
        };
        match figures {
            Ok(figures) => report.tools.push(figures),
            Err(reason) => report.skipped.push((spec.name.clone(), reason)),
        }
    }
    Ok(report)
}

/// Loads the plugin in a temporary project. All tools that are not built in are of the plugin.
async fn load(
    plugin: (&Assembly, &Path),
    workspace: &Workspace,
) -> Result<(Assembly, Offer), Problem> {
    let stage = stage(plugin, workspace, Global::default())?;
    let setup = Setup::for_others(&stage, &workspace.project()).await?;
    Ok((stage, setup.into_offer()))
}

async fn measure_tool(
    plugin: (&Assembly, &Path),
    call: ToolCall,
    files: &BTreeMap<String, String>,
) -> Result<Result<ToolFigures, String>, Problem> {
    let workspace = Workspace::create(&plugin.0.environment.temp)?;
    workspace.fill(plugin.1, files)?;
    // Rules are checked once, as for any call. What follows repeats a call that they allow.
    let stage = stage(plugin, &workspace, Global::default())?;
    let watch = ProcessWatch::start()?;
    let verdict = tools::call_once(&stage, call.clone(), &mut Recording::default()).await;
    let process = watch.finish();
    if let Some(failed) = verdict?.results.first().filter(|it| !it.output.success) {
        return Ok(Err(format!("its call failed: {}", failed.output.for_model())));
    }
    let own = [plugin.1, &plugin.0.environment.temp];
    let mut measurement = Measurement::new(call.clone(), process, &own)?;
    for _ in 0..ROUNDS {
        workspace.forget_descriptions()?;
        let started = Instant::now();
        let offer = load(plugin, &workspace).await?.1;
        measurement.record_start(started);
        offer.background.close().await;
        // Its description is cached now, so the first call is the one that starts its process.
        let (stage, offer) = load(plugin, &workspace).await?;
        let Some(tool) = offer.registry.get(&call.name) else {
            return Ok(Err("it is missing at the next start".to_owned()));
        };
        let confinement = confinement(&stage, &workspace.project())?;
        let view = offer.policy.view(&tool.spec());
        let timed = measurement.time_calls(&**tool, confinement, view).await;
        offer.background.close().await;
        if let Err(error) = timed {
            return Ok(Err(format!("a repeated call failed: {error}")));
        }
    }
    Ok(Ok(measurement.figures()))
}

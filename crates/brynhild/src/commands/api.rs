//! `api`: which providers there are, which one would answer and why, and whether it does.

use std::time::Instant;

use args::ApiCommand;
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome};
use assemble::output;
use assemble::provider_choice::{self, Candidate, Choice, Key};
use providers::catalog::Wire;
use serde_json::{Value, json};

use super::text;

pub(crate) async fn run(assembly: &Assembly, command: &ApiCommand) -> Outcome {
    match command {
        ApiCommand::Providers => list(assembly).await,
        ApiCommand::Test { live } => test(assembly, *live).await,
    }
}

async fn list(assembly: &Assembly) -> Outcome {
    provider_choice::ask_plugins(assembly).await?;
    let candidates = provider_choice::candidates(assembly);
    let choice = provider_choice::choose(assembly).await;
    let answering = futures::future::join_all(candidates.iter().map(|candidate| async move {
        candidate.vendor().local && provider_choice::is_answering(candidate).await
    }))
    .await;
    let chosen = choice.as_ref().ok().map(|choice| choice.candidate.name.clone());
    let data =
        |(candidate, answers): (&Candidate, bool)| describe(candidate, answers, chosen.as_deref());
    let data: Vec<Value> = candidates.iter().zip(answering).map(data).collect();
    let row = |provider: &Value| {
        let mark = if provider["chosen"] == true { "*" } else { "" };
        let [name, kind, state, model] =
            ["name", "type", "state", "default_model"].map(|key| text(provider, key));
        [mark, name, kind, state, model].map(str::to_owned)
    };
    let titles = ["", "NAME", "TYPE", "STATE", "DEFAULT MODEL"];
    let table = output::titled_table(titles, data.iter().map(row));
    let answer = match choice {
        Ok(Choice { candidate, reason, .. }) => {
            format!("{} would answer: {reason}", candidate.name)
        }
        Err(problem) => format!("No provider is ready: {}", problem.error),
    };
    assembly.report(&data, format_args!("{table}\n{answer}"))
}

fn describe(candidate: &Candidate, answers: bool, chosen: Option<&str>) -> Value {
    let vendor = candidate.vendor();
    let (is_configured, state) = candidate.key.state(vendor, &candidate.shown_address(), answers);
    let own_model = candidate.instance.as_ref().and_then(|it| it.default_model.clone());
    let own_variable = candidate.instance.as_ref().and_then(|it| it.api_key_env.clone());
    let mut described = json!({
        "name": candidate.name,
        "type": vendor.name,
        "description": vendor.description,
        "key_env_var": own_variable.or_else(|| vendor.key_env.clone()),
        "key_configured": matches!(candidate.key, Key::Found { .. }),
        "default_model": own_model.or_else(|| vendor.default_model.clone()),
        "base_url": candidate.shown_address(),
        "available": is_configured,
        "state": state,
        "source": source(candidate),
        "chosen": chosen == Some(candidate.name.as_str()),
    });
    if vendor.wire == Wire::Ollama {
        described["host_env_var"] = json!("OLLAMA_HOST");
    }
    described
}

fn source(candidate: &Candidate) -> &'static str {
    if candidate.is_plugin() {
        "plugin"
    } else if candidate.instance.is_some() {
        "config"
    } else {
        "builtin"
    }
}

async fn test(assembly: &Assembly, live: bool) -> Outcome {
    let choice = match provider_choice::choose(assembly).await {
        Err(problem) if assembly.wants_json() => default_choice(assembly).ok_or(problem)?,
        chosen => chosen?,
    };
    if let (Key::Missing { variable }, true) = (&choice.candidate.key, assembly.wants_json()) {
        output::json(&json!({
            "provider": choice.candidate.name,
            "model": assemble::answering_model::model(assembly, &choice)?,
            "api_key_configured": false,
            "status": "missing_api_key",
            "error": format!("{variable} is not set"),
        }))?;
        return Ok(Exit::Misuse);
    }
    let answering = assemble::answering_model::answering(assembly).await?;
    let name = answering.choice.candidate.name.clone();
    let mut report = json!({
        "provider": name,
        "model": answering.model,
        "api_key_configured": matches!(answering.choice.candidate.key, Key::Found { .. }),
        "status": "configured",
    });
    let mut failure = None;
    if live {
        let started = Instant::now();
        match answering.ask("Answer with the single word: ready", 64).await {
            Ok(response) => {
                report["status"] = json!("ok");
                report["response"] = json!(response);
            }
            Err(problem) => {
                report["status"] = json!("failed");
                report["error"] = json!(problem.error.to_string());
                failure = Some(problem);
            }
        }
        let elapsed = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        report["latency_ms"] = json!(elapsed);
    }
    if assembly.wants_json() {
        output::json(&report)?;
        return Ok(failure.map_or(Exit::Done, |problem| problem.exit));
    }
    if let Some(problem) = failure {
        return Err(problem);
    }
    let latency = &report["latency_ms"];
    let speed = format!("answered in {latency} ms");
    let speed = if live { &speed } else { "Use `--live` to send a request." };
    output::text(format_args!(
        "{name} ({}): {}\n{speed}",
        answering.model,
        text(&report, "status")
    ))?;
    Ok(Exit::Done)
}

/// The built-in default provider, unless the user chose one.
fn default_choice(assembly: &Assembly) -> Option<Choice> {
    let name = &assembly.config().providers.default;
    if assembly.global.provider.is_some() || assembly.is_configured(&["providers", "default"]) {
        return None;
    }
    let candidate =
        provider_choice::candidates(assembly).into_iter().find(|it| it.name == *name)?;
    Some(Choice::new(candidate, ""))
}

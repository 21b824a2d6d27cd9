//! `profile`: lists and shows model profiles, and says which one a model gets.

use plugins::profiles::ModelProfile;
use serde_json::json;

use crate::args::ProfileCommand;
use crate::assemble;
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs a `profile` command.
pub(crate) fn run(assembly: &Assembly, command: &ProfileCommand) -> Outcome {
    let profiles = assemble::answering_model::profiles(assembly);
    match command {
        ProfileCommand::List => list(assembly, &profiles),
        ProfileCommand::Show { name } => {
            let profile = plugins::profiles::find(&profiles, name)
                .ok_or_else(|| Problem::failed(format!("Profile not found: {name}")))?;
            output::json(profile)?;
            Ok(Exit::Done)
        }
        ProfileCommand::Resolve { model } => {
            let models = &assembly.config().models;
            let named = model.as_deref().or(assembly.global.model.as_deref());
            let named = named.unwrap_or(&models.default);
            let model = models.aliases.get(named).map_or(named, String::as_str);
            let configured = &assembly.config().providers.default;
            let provider = assembly.global.provider.as_ref().unwrap_or(configured);
            let profile = plugins::profiles::resolve(&profiles, model, provider);
            if assembly.wants_json() {
                output::json(&json!({
                    "model": model,
                    "provider": provider,
                    "resolved_profile": profile.name,
                    "profile": profile,
                }))?;
            } else {
                output::line(&profile.name)?;
            }
            Ok(Exit::Done)
        }
    }
}

fn list(run: &RunContext, profiles: &[ModelProfile]) -> Outcome {
    if run.wants_json() {
        output::json(&json!({"profiles": profiles, "count": profiles.len()}))?;
        return Ok(Exit::Done);
    }
    let row = |profile: &ModelProfile| {
        vec![profile.name.clone(), profile.family.clone(), profile.description.clone()]
    };
    let rows: Vec<Vec<String>> = profiles.iter().map(row).collect();
    output::line(output::table(&rows).trim_end())?;
    Ok(Exit::Done)
}

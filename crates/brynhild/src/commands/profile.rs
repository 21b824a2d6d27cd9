//! `profile`: lists and shows model profiles, and says which one a model gets.

use plugins::profiles::ModelProfile;
use serde_json::json;

use crate::args::ProfileCommand;
use crate::assemble;
use crate::assemble::world::World;
use crate::exit::{Exit, Outcome, Problem};
use crate::output;

/// Runs a `profile` command.
pub(crate) fn run(world: &World, command: &ProfileCommand) -> Outcome {
    let profiles = assemble::profiles(world);
    match command {
        ProfileCommand::List => list(world, &profiles),
        ProfileCommand::Show { name } => {
            let profile = plugins::profiles::find(&profiles, name)
                .ok_or_else(|| Problem::failed(format!("Profile not found: {name}")))?;
            output::json(profile)?;
            Ok(Exit::Done)
        }
        ProfileCommand::Resolve { model } => {
            let models = &world.config().models;
            let named = model.as_deref().or(world.global.model.as_deref());
            let named = named.unwrap_or(&models.default);
            let model = models.aliases.get(named).map_or(named, String::as_str);
            let configured = &world.config().providers.default;
            let provider = world.global.provider.as_ref().unwrap_or(configured);
            let profile = plugins::profiles::resolve(&profiles, model, provider);
            if world.wants_json() {
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

fn list(world: &World, profiles: &[ModelProfile]) -> Outcome {
    if world.wants_json() {
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

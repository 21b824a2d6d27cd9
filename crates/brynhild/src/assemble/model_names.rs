//! How a provider spells the name of a model: aliases, the registry, `model-aliases.yaml`. What a
//! project says that is not trusted is told, and counts for nothing against what was typed.

use config::origin::Layer;

use crate::assemble::provider_choice::Choice;
use crate::assemble::world::World;
use crate::output;

/// Expands an alias and applies the registry's binding for the provider.
pub(crate) fn spelled(world: &World, named: &str, choice: &Choice) -> String {
    let models = &world.config().models;
    let canonical = canonical(world, named);
    let registered = models
        .registry
        .get(canonical)
        .or_else(|| models.registry.values().find(|model| model.aliases.contains_key(canonical)));
    let candidate = &choice.candidate;
    if let Some(native) = local_name(world, (named, canonical), &candidate.vendor().name) {
        return native;
    }
    let Some(registered) = registered else { return canonical.to_owned() };
    let binding = registered.binding([&candidate.name, &candidate.vendor().name]);
    binding.and_then(|binding| binding.model_id.clone()).unwrap_or_else(|| canonical.to_owned())
}

/// What an alias stands for; any other name itself.
fn canonical<'a>(world: &'a World, named: &'a str) -> &'a str {
    let models = &world.config().models;
    let Some(meant) = models.aliases.get(named) else { return named };
    let Some(origin) = world.loaded.origin(&["models", "aliases", named]) else { return meant };
    let mut place = origin.file.as_deref().zip(world.root().ok()).into_iter();
    let is_project = origin.layer == Layer::Project
        || origin.layer == Layer::EnvFile && place.any(|(file, root)| file.starts_with(root));
    if !is_project {
        return meant;
    }
    let is_taken = models.registry.contains_key(named);
    if counts(world, (named, meant), is_taken) { meant } else { named }
}

/// The name that `model-aliases.yaml` gives a model at a provider: the project's file beats the
/// user's own.
fn local_name(world: &World, (named, canonical): (&str, &str), provider: &str) -> Option<String> {
    const FILE: &str = "model-aliases.yaml";
    let root = world.root().ok().filter(|_| world.has_project());
    let project = root.map(|root| (root.join(".brynhild").join(FILE), Some(root)));
    let own = world.loaded.config_dir.as_ref().map(|dir| (dir.join(FILE), None));
    [project, own].into_iter().flatten().find_map(|(path, project)| {
        let name = match config::file::read_value(&path, project) {
            Ok(file) => file?.get(provider)?.get(canonical)?.as_str().map(str::to_owned)?,
            Err(problem) => {
                output::warning(&problem);
                return None;
            }
        };
        (project.is_none() || counts(world, (named, &name), false)).then_some(name)
    })
}

/// Whether a project's word counts that `named` means the model `meant`; tells what becomes of it
/// where the project is not trusted.
fn counts(world: &World, (named, meant): (&str, &str), is_taken: bool) -> bool {
    if world.trust.trusted().is_some() {
        return true;
    }
    let typed = world.made.typed.get().map_or(&world.global.model, |(_, model)| model);
    let counts = !is_taken && typed.as_deref() != Some(named);
    let what =
        format!("this project, which is not trusted, has {meant} asked where {named} is named");
    let end = if counts { "" } else { "; that is ignored, and `brynhild trust` changes it" };
    world.warn_once(&format!("{what}{end}"));
    counts
}

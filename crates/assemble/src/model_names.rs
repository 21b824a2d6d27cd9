//! A provider's names for models: aliases, the registry, `model-aliases.yaml` and InitRunner's
//! `models.yaml`. An untrusted project's aliases are reported and not used.

use config::origin::Layer;
use setup::user_files::MODEL_ALIASES;

use crate::assembly::Assembly;
use crate::output;
use crate::provider_choice::Choice;
use crate::run_context::RunContext;

/// Expands an alias and applies the registry's binding for the provider.
pub(crate) fn spelled(assembly: &Assembly, named: &str, choice: &Choice) -> String {
    let models = &assembly.config().models;
    let canonical = canonical(assembly, named);
    let registered = models
        .registry
        .get(canonical)
        .or_else(|| models.registry.values().find(|model| model.aliases.contains_key(canonical)));
    let candidate = &choice.candidate;
    if let Some(native) = local_name(assembly, (named, canonical), &candidate.vendor().name) {
        return native;
    }
    let Some(registered) = registered else { return canonical.to_owned() };
    let binding = registered.binding([&candidate.name, &candidate.vendor().name]);
    binding.and_then(|binding| binding.model_id.clone()).unwrap_or_else(|| canonical.to_owned())
}

fn canonical<'a>(assembly: &'a Assembly, named: &'a str) -> &'a str {
    let models = &assembly.config().models;
    let Some(meant) = models.aliases.get(named) else { return named };
    let Some(origin) = assembly.loaded.origin(&["models", "aliases", named]) else { return meant };
    let mut place = origin.file.as_deref().zip(assembly.root().ok()).into_iter();
    let is_project = origin.layer == Layer::Project
        || origin.layer == Layer::EnvFile && place.any(|(file, root)| file.starts_with(root));
    if !is_project {
        return meant;
    }
    let is_taken = models.registry.contains_key(named);
    if counts(assembly, (named, meant), is_taken) { meant } else { named }
}

/// The name in `model-aliases.yaml`; the project's file comes before the user's.
fn local_name(
    assembly: &Assembly,
    (named, canonical): (&str, &str),
    provider: &str,
) -> Option<String> {
    let root = assembly.root().ok().filter(|_| assembly.has_project());
    let project = root.map(|root| (root.join(".brynhild").join(MODEL_ALIASES), Some(root)));
    let own = assembly.loaded.config_dir.as_ref().map(|dir| (dir.join(MODEL_ALIASES), None));
    [project, own].into_iter().flatten().find_map(|(path, project)| {
        let name = match config::file::read_value(&path, project) {
            Ok(file) => file?.get(provider)?.get(canonical)?.as_str().map(str::to_owned)?,
            Err(problem) => {
                output::warning(&problem);
                return None;
            }
        };
        (project.is_none() || counts(assembly, (named, &name), false)).then_some(name)
    })
}

/// Returns true if the project may say that `named` means `meant`; warns if it is not trusted.
fn counts(assembly: &Assembly, (named, meant): (&str, &str), is_taken: bool) -> bool {
    if assembly.trust.trusted().is_some() {
        return true;
    }
    let typed = assembly.typed.as_ref().map_or(&assembly.global.model, |(_, model)| model);
    let counts = !is_taken && typed.as_deref() != Some(named);
    let what =
        format!("this project, which is not trusted, has {meant} asked where {named} is named");
    let end = if counts { "" } else { "; that is ignored, and `brynhild trust` changes it" };
    assembly.warn_once(&format!("{what}{end}"));
    counts
}

/// The model that `models.yaml` in InitRunner's home has under a short name.
pub(crate) fn initrunner_alias(run: &RunContext, name: &str) -> Option<String> {
    let path = run.environment.initrunner_home()?.join("models.yaml");
    let file = config::file::read_value(&run.environment.cwd.join(path), None);
    let file = file.map_err(|problem| output::warning(&problem)).ok()??;
    file.get("aliases")?.get(name)?.as_str().map(str::to_owned)
}

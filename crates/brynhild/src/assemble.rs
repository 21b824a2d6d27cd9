//! Makes the parts of a conversation from what was configured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent::prompt::{Ingredients, system_prompt};
use agent::registry::Registry;
use agent::retry::Retry;
use agent::settings::{Execution, Prices, RequestSettings, Settings};
use contract::broker::Broker;
use contract::model_profile::ModelProfile;
use contract::policy::Access;
use contract::provider::{Delivery, Provider};
use contract::sandbox::{Confinement, Limits, Network, Profile, Sandbox};
use contract::skill::Skill;
use contract::tool::Tool;

use crate::config::{self, Layer};
use crate::exit::Problem;
use crate::output;
use crate::provider_choice::{self, Choice};
use crate::world::World;

/// The model that answers, with everything that is known of it.
pub(crate) struct Mind {
    pub(crate) choice: Choice,
    pub(crate) provider: Arc<dyn Provider>,
    /// The model, in the provider's own spelling.
    pub(crate) model: String,
    pub(crate) profile: ModelProfile,
    pub(crate) prices: Option<Prices>,
}

/// Chooses provider and model.
pub(crate) async fn mind(world: &World) -> Result<Mind, Problem> {
    let choice = provider_choice::choose(world).await?;
    let model = model(world, &choice)?;
    let provider = choice.candidate.connect(world, &model)?;
    let profile = profile(world, &model, &choice.candidate.vendor.name)?;
    let prices = prices(world, &model, &choice);
    Ok(Mind { choice, provider, model, profile, prices })
}

/// The model's name as the provider spells it.
pub(crate) fn model(world: &World, choice: &Choice) -> Result<String, Problem> {
    let models = &world.config().models;
    let candidate = &choice.candidate;
    let instance = candidate.instance.as_ref();
    let configured = world.is_configured(&["models", "default"]).then(|| models.default.clone());
    let named = world
        .global
        .model
        .clone()
        .or_else(|| instance.and_then(|instance| instance.default_model.clone()))
        .or(configured)
        .or_else(|| candidate.vendor.default_model.clone())
        .or_else(|| Some(models.default.clone()).filter(|model| !model.is_empty()))
        .ok_or_else(|| {
            Problem::misuse(format!("no model is named for {}", candidate.name))
                .hint("pass `--model`, or set `default_model` of the instance")
        })?;
    if candidate.is_script() {
        return Ok(named);
    }
    Ok(spelled(world, &named, choice))
}

/// Expands an alias and applies the registry's binding for the provider.
fn spelled(world: &World, named: &str, choice: &Choice) -> String {
    let models = &world.config().models;
    let canonical = models.aliases.get(named).map_or(named, String::as_str);
    let registered = models
        .registry
        .get(canonical)
        .or_else(|| models.registry.values().find(|model| model.aliases.contains_key(canonical)));
    let candidate = &choice.candidate;
    if let Some(native) = local_name(world, canonical, &candidate.vendor.name) {
        return native;
    }
    let Some(registered) = registered else { return canonical.to_owned() };
    let binding = registered
        .bindings
        .get(&candidate.name)
        .or_else(|| registered.bindings.get(&candidate.vendor.name));
    binding.and_then(|binding| binding.model_id.clone()).unwrap_or_else(|| canonical.to_owned())
}

/// The name that `model-aliases.yaml` gives a model at a provider: the project's file beats the
/// person's own.
fn local_name(world: &World, canonical: &str, provider: &str) -> Option<String> {
    const FILE: &str = "model-aliases.yaml";
    let root = world.root().ok().filter(|_| world.has_project());
    let project = root.map(|root| (root.join(".brynhild").join(FILE), Layer::Project));
    let own = world.loaded.config_dir.as_ref().map(|dir| (dir.join(FILE), Layer::User));
    [project, own].into_iter().flatten().find_map(|(path, layer)| {
        match config::side_file(&path, layer) {
            Ok(file) => file?.get(provider)?.get(canonical)?.as_str().map(str::to_owned),
            Err(problem) => {
                output::warning(&problem);
                None
            }
        }
    })
}

fn prices(world: &World, model: &str, choice: &Choice) -> Option<Prices> {
    let registry = &world.config().models.registry;
    let binding = registry.values().find_map(|registered| {
        let candidate = &choice.candidate;
        let bindings = &registered.bindings;
        let binding =
            bindings.get(&candidate.name).or_else(|| bindings.get(&candidate.vendor.name))?;
        let id = binding.model_id.as_ref().unwrap_or(&registered.canonical_id);
        (id == model).then_some(binding)
    })?;
    let tier = match &binding.pricing_tiers {
        serde_json::Value::Array(tiers) => tiers.first()?,
        tier => tier,
    };
    let price = |key: &str| tier.get(key).and_then(serde_json::Value::as_f64);
    Some(Prices { input: price("input")?, output: price("output")? })
}

/// The profile that was named, or the one that fits the model.
pub(crate) fn profile(world: &World, model: &str, provider: &str) -> Result<ModelProfile, Problem> {
    let profiles = profiles(world);
    let Some(name) = &world.global.profile else {
        return Ok(plugins::profiles::resolve(&profiles, model, provider).clone());
    };
    plugins::profiles::find(&profiles, name).cloned().ok_or_else(|| {
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        Problem::misuse(format!("Profile not found: {name}"))
            .hint(format!("there are {}", names.join(", ")))
    })
}

/// All profiles.
pub(crate) fn profiles(world: &World) -> Vec<ModelProfile> {
    let mut folders: Vec<PathBuf> =
        world.loaded.config_dir.iter().map(|dir| dir.join("profiles")).collect();
    folders.extend(world.global.plugin_dir.iter().map(|dir| dir.join("profiles")));
    let (profiles, problems) = plugins::profiles::load(&folders);
    report(&problems);
    profiles
}

/// All skills.
pub(crate) fn skills(world: &World, root: &Path) -> Vec<Skill> {
    let home = world.environment.home.as_deref();
    let own = |folder: &str| home.map(|home| home.join(folder));
    let global = world
        .loaded
        .config_dir
        .iter()
        .map(|dir| dir.join("skills"))
        .chain(own(".agents/skills"))
        .chain(own(".claude/skills"));
    let path = world.environment.variable("BRYNHILD_SKILL_PATH").unwrap_or_default();
    let custom = std::env::split_paths(path)
        .filter(|path| !path.as_os_str().is_empty())
        .chain(world.global.plugin_dir.iter().map(|dir| dir.join("skills")));
    let project: &[&str] = if world.has_project() {
        &[".claude/skills", ".agents/skills", ".brynhild/skills"]
    } else {
        &[]
    };
    let found = plugins::skills::discover(&plugins::skills::Places {
        global: global.collect(),
        custom: custom.collect(),
        project: project.iter().map(|folder| root.join(folder)).collect(),
    });
    report(&found.problems);
    found.skills
}

/// The rules that hold here.
pub(crate) fn rules(world: &World, root: &Path) -> plugins::rules::Found {
    let found = plugins::rules::load(&plugins::rules::Places {
        global: world.loaded.config_dir.as_ref().map(|dir| dir.join("rules")),
        // Without a project there is no folder whose rules would count.
        root: if world.has_project() { root.to_owned() } else { PathBuf::new() },
        cwd: world.environment.cwd.clone(),
    });
    report(&found.problems);
    found
}

fn report(problems: &[plugins::problem::Problem]) {
    for problem in problems {
        output::warning(&problem.to_string());
    }
}

/// The tools, as far as they are not switched off.
pub(crate) fn tools(world: &World, root: &Path, skills: Vec<Skill>) -> Vec<Arc<dyn Tool>> {
    let config = world.config();
    let disabled = |name: &str| config.tools.disabled.get(name).copied().unwrap_or(false);
    if disabled("__builtin__") {
        return Vec::new();
    }
    let broker = if disabled("GitCommit") { None } else { broker(world, root).ok() };
    let all = tools::all(tools::Settings {
        root: root.to_owned(),
        home: world.environment.home.clone(),
        temp: Some(world.environment.temp.clone()),
        allowed_paths: config.sandbox.allowed_paths.clone(),
        readable_paths: [config.sandbox.read_paths.clone(), vec![world.spill_dir()]].concat(),
        skills,
        broker,
    });
    all.into_iter().filter(|tool| !disabled(&tool.spec().name)).collect()
}

/// What makes commits.
pub(crate) fn broker(world: &World, root: &Path) -> Result<Arc<dyn Broker>, Problem> {
    Ok(sandbox::broker(sandbox::BrokerSettings {
        workspace: root.to_owned(),
        state: world.state_dir()?,
        home: world.environment.home.clone(),
        env: world.environment.variables.clone(),
    }))
}

/// The tools by name.
pub(crate) fn registry(tools: Vec<Arc<dyn Tool>>) -> Registry {
    let (registry, clashes) = Registry::new(tools);
    for clash in clashes {
        output::warning(&clash);
    }
    registry
}

/// The sandbox, or none of it where the person's own words say so.
pub(crate) fn sandbox(world: &World) -> Result<Arc<dyn Sandbox>, Problem> {
    let settings = sandbox_settings(world)?;
    if world.is_unconfined() {
        output::warning("tools run without a sandbox");
        return Ok(sandbox::unconfined(settings));
    }
    Ok(sandbox::ladder(settings))
}

/// What the sandbox is told.
pub(crate) fn sandbox_settings(world: &World) -> Result<sandbox::Settings, Problem> {
    Ok(sandbox::Settings {
        helper: world.environment.executable.clone(),
        state: world.state_dir()?,
        home: world.environment.home.clone(),
        rung: None,
        notice: Some(Arc::new(|text| output::warning(&text))),
    })
}

/// The sandbox with the profile that commands get.
pub(crate) fn confinement(world: &World, root: &Path) -> Result<Confinement, Problem> {
    let config = world.config();
    let network = if config.sandbox.allow_network { Network::Host } else { Network::None };
    let profile = Profile {
        workspace: root.to_owned(),
        access: Access::ReadOnly,
        read: config.sandbox.read_paths.clone(),
        write: config.sandbox.allowed_paths.clone(),
        network,
        env: child_environment(&world.environment.variables),
        limits: Limits::default(),
    };
    Ok(Confinement::new(sandbox(world)?, profile))
}

/// The variables that commands see. Everything else stays with us: keys above all.
fn child_environment(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    const NAMES: &[&str] = &[
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "COLORTERM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "EDITOR",
        "VISUAL",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "VIRTUAL_ENV",
        "CARGO_HOME",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "PYENV_ROOT",
        "NVM_DIR",
        "GOPATH",
        "GOROOT",
        "JAVA_HOME",
        "CI",
        "NO_COLOR",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
    ];
    let is_wanted = |name: &str| NAMES.contains(&name) || name.starts_with("LC_");
    let keys: Vec<&str> = variables
        .iter()
        .filter(|(name, value)| config::is_secret(name) && value.len() >= 8)
        .map(|(_, value)| value.as_str())
        .collect();
    // A key stays here whatever variable it stands in.
    let is_key = |value: &str| keys.iter().any(|key| value.contains(key));
    variables
        .iter()
        .filter(|(name, value)| is_wanted(name) && !is_key(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// How the conversation goes.
pub(crate) fn settings(
    world: &World,
    root: &Path,
    mind: Option<&Mind>,
    system: String,
) -> Settings {
    let behavior = &world.config().behavior;
    let profile = mind.map(|mind| mind.profile.clone()).unwrap_or_default();
    let smallest = profile.min_max_tokens.unwrap_or(1);
    let params = mind.map_or_else(BTreeMap::new, params);
    Settings {
        request: RequestSettings {
            model: mind.map(|mind| mind.model.clone()).unwrap_or_default(),
            max_tokens: behavior.max_tokens.max(smallest),
            temperature: (profile.name != "default").then_some(profile.default_temperature),
            reasoning_level: behavior.reasoning_level.clone(),
            reasoning_format: behavior.reasoning_format.clone(),
            params,
            delivery: if profile.supports_streaming { Delivery::Streamed } else { Delivery::Whole },
            prices: mind.and_then(|mind| mind.prices),
        },
        mode: world.mode(),
        system,
        max_tool_rounds: behavior.max_tool_rounds,
        required_finish: None,
        execution: Execution::Real,
        parallel_tools: profile.tool_parallelization,
        spill: world.spill_dir(),
        retry: Retry::default(),
        cwd: root.to_owned(),
    }
}

fn params(mind: &Mind) -> BTreeMap<String, serde_json::Value> {
    let mut params = mind.profile.api_params.clone();
    let vendor = &mind.choice.candidate.vendor.name;
    if let Some(serde_json::Value::Object(own)) = mind.profile.provider_specific.get(vendor) {
        params.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    params
}

/// The system prompt.
pub(crate) fn system(
    world: &World,
    root: &Path,
    mind: &Mind,
    registry: &Registry,
    skills: &[Skill],
) -> String {
    let specs = registry.specs();
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let rules = plugins::rules::prompt_block(&rules(world, root).rules);
    let offers_skills = names.contains(&"LearnSkill");
    let skills = if offers_skills { plugins::skills::prompt_block(skills) } else { String::new() };
    system_prompt(&Ingredients {
        model: &mind.model,
        cwd: &root.display().to_string(),
        tools: &names,
        rules: &rules,
        skills: &skills,
        profile: &mind.profile,
    })
}

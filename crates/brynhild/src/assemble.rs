//! Makes the parts of a conversation from what was configured.

pub(crate) mod assembly;
pub(crate) mod audit;
pub(crate) mod child_environment;
pub(crate) mod configuration;
pub(crate) mod dialects;
pub(crate) mod fallback;
pub(crate) mod gaps;
pub(crate) mod hooks;
pub(crate) mod learning;
pub(crate) mod mcp;
pub(crate) mod model_cache;
pub(crate) mod model_list;
pub(crate) mod model_names;
pub(crate) mod named_file;
pub(crate) mod permissions;
pub(crate) mod plugin_set;
pub(crate) mod pricing;
pub(crate) mod prompt_facts;
pub(crate) mod prompt_source;
pub(crate) mod provider_choice;
pub(crate) mod raw_request_log;
pub(crate) mod role;
pub(crate) mod run_context;
pub(crate) mod secrets;
pub(crate) mod session_choice;
pub(crate) mod setup;
pub(crate) mod side_conversation;
pub(crate) mod skill_grants;
pub(crate) mod subagents;
pub(crate) mod themes;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent::prompt::{Ingredients, PromptStyle, system_prompt};
use agent::registry::{IsHidden, Registry};
use agent::retry::Retry;
use agent::settings::{
    Bound, Budget, Execution, Known, Prices, Questions, RecoverySettings, RequestSettings, Settings,
};
use config::settings::{Binding, RegisteredModel};
use contract::policy::Mode;
use contract::provider::{Delivery, Model, Provider};
use contract::sandbox::{Access, Confinement, Limits, Network, Profile, Sandbox};
use contract::secret::Secret;
use contract::skill::Skill;
use contract::tool::Tool;
use plugins::profiles::ModelProfile;

use crate::assemble::assembly::Assembly;
use crate::assemble::audit::Audit;
use crate::assemble::child_environment::{child_environment, host_environment};
use crate::assemble::learning::{Learning, When};
use crate::assemble::prompt_facts::PromptFacts;
use crate::assemble::provider_choice::{Candidate, Choice};
use crate::assemble::run_context::RunContext;
use crate::assemble::trust::process_check::CheckedSandbox;
use crate::exit::Problem;
use crate::output;

/// The model that answers, with everything that is known of it.
pub(crate) struct AnsweringModel {
    pub(crate) choice: Choice,
    pub(crate) provider: Arc<dyn Provider>,
    /// The model, in the provider's own spelling.
    pub(crate) model: String,
    pub(crate) profile: ModelProfile,
    pub(crate) known: Known,
}

impl AnsweringModel {
    /// The keys that the provider is sent.
    pub(crate) fn keys(&self) -> Vec<Secret<String>> {
        self.choice.candidate.keys()
    }
}

/// Chooses provider and model.
pub(crate) async fn answering(assembly: &Assembly) -> Result<AnsweringModel, Problem> {
    let choice = provider_choice::choose(assembly).await?;
    let mut model = model(assembly, &choice)?;
    let candidate = &choice.candidate;
    let mut fitting = profile(assembly, &model, &candidate.vendor().name)?;
    let mut provider = candidate.connect(assembly, &model, Some(&fitting))?;
    if !is_named(assembly, &choice)
        && let Some(loaded) = loaded_instead(&choice, provider.as_ref(), &model).await
    {
        fitting = profile(assembly, &loaded, &candidate.vendor().name)?;
        provider = candidate.connect(assembly, &loaded, Some(&fitting))?;
        model = loaded;
    }
    let known = known(assembly, &model, &choice, Arc::default());
    let provider = learning(assembly, &choice, provider, &known);
    Ok(AnsweringModel { choice, provider, model, profile: fitting, known })
}

/// The same provider with another model; none where each of its models is another program.
pub(crate) fn with_model(
    assembly: &Assembly,
    answering: &AnsweringModel,
    named: &str,
) -> Option<AnsweringModel> {
    let Choice { candidate, reason } = &answering.choice;
    if candidate.is_script() {
        return None;
    }
    let choice = Choice { candidate: candidate.clone(), reason: reason.clone() };
    let model = model_names::spelled(assembly, named, &choice);
    // A profile that was named by a flag was found when the first model was chosen.
    let profile = profile(assembly, &model, &candidate.vendor().name).ok()?;
    let known = known(assembly, &model, &choice, Arc::clone(&answering.known.offered));
    let provider = Arc::clone(&answering.provider);
    Some(AnsweringModel { choice, provider, model, profile, known })
}

/// Whether the user says which model answers.
fn is_named(run: &RunContext, choice: &Choice) -> bool {
    let instance = choice.candidate.instance.as_ref();
    run.global.model.is_some()
        || instance.is_some_and(|instance| instance.default_model.is_some())
        || run.is_configured(&["models", "default"])
}

/// The first model that a server on this machine has, where it does not have `model`. Where it
/// cannot be asked, the request itself tells why.
async fn loaded_instead(choice: &Choice, provider: &dyn Provider, model: &str) -> Option<String> {
    let candidate = &choice.candidate;
    if !candidate.vendor().local || candidate.is_script() {
        return None;
    }
    let models = provider.models().await.ok()?;
    let is_usual = |id: &str| id == model || id.strip_suffix(":latest") == Some(model);
    if models.iter().any(|it| is_usual(&it.id)) {
        return None;
    }
    let can_talk = |id: &str| !id.to_lowercase().contains("embed");
    models.into_iter().map(|it| it.id).find(|id| can_talk(id))
}

/// The model's name as the provider spells it.
pub(crate) fn model(assembly: &Assembly, choice: &Choice) -> Result<String, Problem> {
    let models = &assembly.config().models;
    let candidate = &choice.candidate;
    let instance = candidate.instance.as_ref();
    let configured = assembly.is_configured(&["models", "default"]).then(|| models.default.clone());
    let named = assembly
        .global
        .model
        .clone()
        .or_else(|| instance.and_then(|instance| instance.default_model.clone()))
        .or(configured)
        .or_else(|| candidate.vendor().default_model.clone())
        .or_else(|| Some(models.default.clone()).filter(|model| !model.is_empty()))
        .ok_or_else(|| {
            Problem::misuse(format!("no model is named for {}", candidate.name))
                .hint("pass `--model`, or set `default_model` of the instance")
        })?;
    if candidate.is_script() {
        return Ok(named);
    }
    Ok(model_names::spelled(assembly, &named, choice))
}

/// What is known of a model: what the registry says, else what the provider said when it was last
/// asked, which stands in `offered` too once it is asked again.
fn known(
    run: &RunContext,
    model: &str,
    choice: &Choice,
    offered: Arc<OnceLock<Vec<Model>>>,
) -> Known {
    if offered.get().is_none()
        && let Some(models) = model_cache::last(run, &choice.candidate)
    {
        let _ = offered.set(models);
    }
    let registered = registered(run, model, &choice.candidate);
    let context_window = registered.and_then(|(registered, binding)| {
        let described = || registered.descriptor.as_ref()?.context_size;
        binding.max_context.or_else(described)
    });
    let prices = registered.and_then(|(_, binding)| prices(binding));
    Known { context_window, prices, offered, is_free: is_free(&choice.candidate) }
}

/// What the registry says that tokens cost.
pub(crate) fn prices(binding: &Binding) -> Option<Prices> {
    let (input, output) = binding.prices()?;
    let [cache_read, cache_write] = ["cache_read", "cache_write"].map(|it| binding.price(it));
    Some(Prices { input, output, cache_read, cache_write })
}

/// Whether nobody charges for what answers.
fn is_free(candidate: &Candidate) -> bool {
    candidate.vendor().local || candidate.is_script()
}

/// The provider, asked for its models in passing where something about the model is not known.
fn learning(
    run: &RunContext,
    choice: &Choice,
    provider: Arc<dyn Provider>,
    known: &Known,
) -> Arc<dyn Provider> {
    let of_role = run.role.as_ref().and_then(crate::assemble::role::ChosenRole::cost_limit);
    let is_limited = cost_limit(run, choice).or(of_role).is_some();
    let when = match (is_limited, run.global.show_cost) {
        _ if known.is_free || known.prices.is_some() => When::GoingOn,
        (true, _) => When::First,
        (false, true) => When::Beside,
        (false, false) => When::GoingOn,
    };
    let is_known = known.context_window.is_some() && when == When::GoingOn;
    if choice.candidate.is_script() || known.offered.get().is_some() || is_known {
        return provider;
    }
    let keep = model_cache::keeper(run, &choice.candidate);
    Arc::new(Learning::new(provider, Arc::clone(&known.offered), when, keep))
}

/// What the run may cost; no limit where nothing is charged.
fn cost_limit(run: &RunContext, choice: &Choice) -> Option<f64> {
    run.global.max_cost.filter(|_| !is_free(&choice.candidate))
}

/// What the registry says of a model that the provider calls `model`.
pub(crate) fn registered<'a>(
    run: &'a RunContext,
    model: &str,
    candidate: &Candidate,
) -> Option<(&'a RegisteredModel, &'a Binding)> {
    run.config().models.registry.values().find_map(|registered| {
        let binding = registered.binding([&candidate.name, &candidate.vendor().name])?;
        binding.is_called(model, &registered.canonical_id).then_some((registered, binding))
    })
}

/// The profile that was named, or the one that fits the model.
pub(crate) fn profile(
    assembly: &Assembly,
    model: &str,
    provider: &str,
) -> Result<ModelProfile, Problem> {
    let profiles = profiles(assembly);
    let Some(name) = &assembly.global.profile else {
        return Ok(plugins::profiles::resolve(&profiles, model, provider).clone());
    };
    plugins::profiles::find(&profiles, name).cloned().ok_or_else(|| {
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        Problem::misuse(format!("Profile not found: {name}"))
            .hint(format!("there are {}", names.join(", ")))
    })
}

/// All profiles.
pub(crate) fn profiles(assembly: &Assembly) -> Vec<ModelProfile> {
    let directories: Vec<PathBuf> =
        assembly.loaded.config_dir.iter().map(|dir| dir.join("profiles")).collect();
    let contributions = assembly.plugins().contributions();
    let (profiles, problems) = plugins::profiles::load(&directories, &contributions);
    report(&problems);
    profiles
}

/// All skills.
pub(crate) fn skills(assembly: &Assembly, root: &Path) -> Vec<Skill> {
    let project: &[&str] = if assembly.has_project() {
        &[".claude/skills", ".agents/skills", ".brynhild/skills"]
    } else {
        &[]
    };
    let places = plugins::skills::Places {
        global: own_skills(assembly),
        custom: custom_skills(assembly),
        project: project.iter().map(|directory| root.join(directory)).collect(),
        cache: assembly.loaded.config_dir.as_ref().map(|dir| dir.join("cache/skills.json")),
    };
    let found = plugins::skills::discover(&places, &assembly.contributions());
    report(&found.problems);
    found.skills
}

/// What models are told beside their task.
#[derive(Default)]
pub(crate) struct Knowledge {
    /// The rules that hold here, as a block.
    pub(crate) rules: String,
    /// All skills.
    pub(crate) skills: Vec<Skill>,
    /// Facts about sandbox and machine.
    pub(crate) facts: PromptFacts,
}

/// The rules that hold here.
pub(crate) fn rules(assembly: &Assembly, root: &Path) -> plugins::rules::Found {
    let places = plugins::rules::Places {
        global: assembly.loaded.config_dir.as_ref().map(|dir| dir.join("rules")),
        // Without a project there is no directory whose rules would count.
        root: if assembly.has_project() { root.to_owned() } else { PathBuf::new() },
        cwd: assembly.environment.cwd.clone(),
    };
    let found = plugins::rules::load(&places, &assembly.plugins().contributions());
    report(&found.problems);
    found
}

fn report(problems: &[plugins::problem::Problem]) {
    for problem in problems {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
}

/// The tools, as far as they are not switched off.
pub(crate) fn tools(
    assembly: &Assembly,
    root: &Path,
    skills: Vec<Skill>,
    activate_skill: Option<tools::ActivateSkill>,
) -> Vec<Arc<dyn Tool>> {
    let config = assembly.config();
    let is_off = |name: &str| config.tools.disabled.get(name).copied().unwrap_or(false);
    // Without commands there are none in the background.
    let disabled = |name: &str| is_off(name) || (name == "Jobs" && is_off("Bash"));
    if disabled("__builtin__") {
        return Vec::new();
    }
    let all = tools::all(&tools::Settings {
        root: root.to_owned(),
        home: assembly.environment.home.clone(),
        allowed_paths: config.sandbox.allowed_paths.clone(),
        own_paths: config
            .tools
            .each
            .iter()
            .filter(|(_, tool)| !tool.allowed_paths.is_empty())
            .map(|(name, tool)| (name.clone(), tool.allowed_paths.clone()))
            .collect(),
        readable_paths: permissions::readable(assembly),
        skills,
        activate_skill,
        single_hosts: sandbox(assembly).is_ok_and(|it| it.enforces().single_hosts),
        jobs: Arc::clone(assembly.jobs()),
    });
    all.into_iter().filter(|tool| !disabled(&tool.spec().name)).collect()
}

/// Whether nothing is asked about: the user has approved beforehand.
pub(crate) fn asks_nothing(run: &RunContext) -> bool {
    run.global.yes || run.mode() == Mode::Yolo
}

/// The tools by name.
pub(crate) fn registry(tools: Vec<Arc<dyn Tool>>, is_hidden: Option<IsHidden>) -> Registry {
    let (registry, clashes) = Registry::new(tools, is_hidden);
    for clash in clashes {
        output::warning(&clash);
    }
    registry
}

/// The sandbox, or none of it where the user's own words say so.
pub(crate) fn sandbox(assembly: &Assembly) -> Result<Arc<dyn Sandbox>, Problem> {
    if let Some(made) = assembly.services.sandbox.get() {
        return Ok(Arc::clone(made));
    }
    let settings = sandbox_settings(assembly)?;
    let made = if assembly.is_unconfined() {
        output::warning("tools run without a sandbox");
        if let Some(config_dir) = &assembly.loaded.config_dir {
            let project = assembly.root().ok();
            Audit::new(config_dir).note_or_tell(
                "unconfined",
                "tools ran without a sandbox",
                project,
            );
        }
        sandbox::unconfined(settings)
    } else {
        sandbox::ladder(settings)
    };
    let checked = CheckedSandbox::new(made, Arc::clone(assembly.trusted_roots()));
    Ok(Arc::clone(assembly.services.sandbox.get_or_init(|| Arc::new(checked))))
}

/// What the sandbox is told.
pub(crate) fn sandbox_settings(assembly: &Assembly) -> Result<sandbox::Settings, Problem> {
    Ok(sandbox::Settings {
        helper: assembly.environment.executable.clone(),
        state: assembly.state_dir()?,
        home: assembly.environment.home.clone(),
        rung: None,
        notice: Some(Arc::new(|text| output::warning(&text))),
        on_proxy_request: audit::proxy_observer(assembly),
        rules: permissions::file_rules(assembly)?,
        hosts: permissions::host_rules(assembly)?.map(|rules| -> sandbox::HostRules {
            Arc::new(move |host: &str| rules.denying(host).map(str::to_owned))
        }),
        host_env: host_environment(assembly),
        tracker: Some(assembly.services.tracker(assembly.place())),
        signs_commits: git_settings(assembly, assembly.place()).is_some_and(|it| it.signs_commits),
    })
}

/// The directories with skills outside of the project, which the model may read and run scripts of.
pub(crate) fn skill_directories(assembly: &Assembly) -> Vec<PathBuf> {
    let plugins = assembly.plugins().active().filter(|plugin| !plugin.manifest.skills.is_empty());
    let mut directories = own_skills(assembly);
    directories.extend(custom_skills(assembly));
    directories.extend(plugins.map(|plugin| plugin.root.join("skills")));
    directories.extend(assembly.claude().skill_directories());
    directories.retain(|directory| directory.is_dir());
    directories
}

/// The user's own directories of skills.
fn own_skills(run: &RunContext) -> Vec<PathBuf> {
    let dir = run.loaded.config_dir.iter().map(|dir| dir.join("skills"));
    let homes = run.environment.home.iter();
    let others =
        homes.flat_map(|home| [".agents/skills", ".claude/skills"].map(|it| home.join(it)));
    dir.chain(others).collect()
}

/// The directories of skills that the environment names.
fn custom_skills(run: &RunContext) -> Vec<PathBuf> {
    let path = run.environment.variable("BRYNHILD_SKILL_PATH").unwrap_or_default();
    std::env::split_paths(path).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The sandbox with the profile that commands get.
pub(crate) fn confinement(assembly: &Assembly, root: &Path) -> Result<Confinement, Problem> {
    Ok(Confinement::new(sandbox(assembly)?, command_profile(assembly, root)))
}

/// What commands may see and do.
pub(crate) fn command_profile(assembly: &Assembly, root: &Path) -> Profile {
    let config = assembly.config();
    let has_network = config.sandbox.allow_network && assembly.mode() != Mode::ReadOnly;
    let network = if has_network { Network::Host } else { Network::None };
    let mut read = [config.sandbox.read_paths.clone(), skill_directories(assembly)].concat();
    let mut env = child_environment(assembly);
    if let Some(git) = git_settings(assembly, root) {
        read.push(git.directory);
        env.extend(git.env);
    } else if let Some(file) = assembly.environment.variables.get("GIT_CONFIG_GLOBAL") {
        env.insert("GIT_CONFIG_GLOBAL".to_owned(), file.clone());
    }
    // A single file with a protected name that the user grants is mounted by itself.
    let is_file = |path: &PathBuf| {
        let inside = path.strip_prefix(root).ok();
        inside.and_then(contract::protected::protected).is_some() && path.is_file()
    };
    let (mut own, write): (Vec<_>, Vec<_>) =
        config.sandbox.allowed_paths.iter().cloned().partition(is_file);
    if assembly.mode() == Mode::ReadOnly {
        own.clear();
    }
    Profile {
        workspace: root.to_owned(),
        access: Access::ReadOnly,
        read,
        write,
        own,
        fixed: Vec::new(),
        network,
        env,
        limits: Limits::default(),
    }
}

/// The generated git settings of confined commands.
fn git_settings(run: &RunContext, root: &Path) -> Option<sandbox::GitGlobal> {
    if run.is_unconfined() {
        return None;
    }
    let writable = [&[root.to_owned()], run.config().sandbox.allowed_paths.as_slice()].concat();
    let (home, variables) = (run.environment.home.as_deref(), &run.environment.variables);
    sandbox::git_global(home, variables, &run.state_dir().ok()?, &writable)
}

/// The key that limits the rounds of a turn.
const ROUNDS_KEY: &str = "behavior.max_tool_rounds";

/// How the conversation goes.
pub(crate) fn settings(
    run: &RunContext,
    root: &Path,
    answering: Option<&AnsweringModel>,
    system: String,
) -> Settings {
    let behavior = &run.config().behavior;
    let profile = answering.map(|answering| answering.profile.clone()).unwrap_or_default();
    let smallest = profile.min_max_tokens.unwrap_or(1);
    let params = answering.map_or_else(BTreeMap::new, params);
    let is_own_limit = run.is_configured(&["behavior", "max_tokens"]) || profile.name == "default";
    let longest = if is_own_limit { behavior.max_tokens } else { profile.default_max_tokens };
    // A model that does not reason is not asked to.
    let level = if profile.name == "default" || profile.supports_reasoning {
        behavior.reasoning_level.clone()
    } else {
        "auto".to_owned()
    };
    let recovers = profile.enable_tool_recovery || profile.calls_by_text();
    Settings {
        request: RequestSettings {
            model: answering.map(|answering| answering.model.clone()).unwrap_or_default(),
            max_tokens: longest.max(smallest),
            temperature: (profile.name != "default").then_some(profile.default_temperature),
            reasoning_level: level,
            reasoning_format: behavior.reasoning_format.clone(),
            params,
            delivery: if profile.supports_streaming { Delivery::Streamed } else { Delivery::Whole },
            known: answering.map(|answering| answering.known.clone()).unwrap_or_default(),
            sends_tools: !profile.calls_by_text(),
        },
        mode: run.mode(),
        system,
        rounds: match run.global.max_turns {
            Some(most) => Bound::new(most, "--max-turns"),
            None => Bound::new(behavior.max_tool_rounds, ROUNDS_KEY),
        },
        required_finish: None,
        execution: Execution::Real,
        parallel_tools: profile.tool_parallelization,
        spill: run.spill_dir(),
        retry: Retry::default(),
        recovery: recovers.then_some(RecoverySettings {
            tells_model: profile.recovery_feedback_enabled && !profile.calls_by_text(),
            requires_intent_phrase: profile.recovery_requires_intent_phrase,
            is_agreed: profile.calls_by_text(),
        }),
        stuck_after: profile
            .stuck_detection_enabled
            .then(|| u32::try_from(profile.max_similar_tool_calls).unwrap_or(u32::MAX)),
        max_calls: profile.max_tools_per_turn.and_then(|limit| usize::try_from(limit).ok()),
        budget: Budget {
            cost_usd: answering
                .and_then(|answering| cost_limit(run, &answering.choice))
                .map(|most| Bound::new(most, "--max-cost")),
            tokens: run.global.max_tokens.map(|most| Bound::new(most, "--max-tokens")),
            time: run
                .global
                .timeout
                .map(|most| Bound::new(Duration::from_secs_f64(most), "--timeout")),
            ..Budget::default()
        },
        approves_all: run.global.yes,
        questions: Questions::Put,
        cwd: root.to_owned(),
    }
}

fn params(answering: &AnsweringModel) -> BTreeMap<String, serde_json::Value> {
    let mut params = answering.profile.api_params.clone();
    let vendor = &answering.choice.candidate.vendor().name;
    if let Some(serde_json::Value::Object(own)) = answering.profile.provider_specific.get(vendor) {
        params.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    params
}

/// The system prompt.
pub(crate) fn system(
    (run, root): (&RunContext, &Path),
    answering: &AnsweringModel,
    registry: &Registry,
    knowledge: &Knowledge,
) -> String {
    let specs = registry.specs();
    let Knowledge { rules, skills, .. } = knowledge;
    let offers_skills = registry.get("LearnSkill").is_some();
    let skills = if offers_skills { plugins::skills::prompt_block(skills) } else { String::new() };
    let inner = run.environment.cwd.strip_prefix(root).ok().unwrap_or(Path::new(""));
    system_prompt(&Ingredients {
        model: &answering.model,
        cwd: &root.display().to_string(),
        inner: &inner.display().to_string(),
        tools: &specs,
        facts: &knowledge.facts.told(&specs),
        rules,
        skills: &skills,
        style: prompt_style(&answering.profile),
    })
}

/// The parts of a prompt that depend on a model.
pub(crate) fn prompt_style(profile: &ModelProfile) -> PromptStyle<'_> {
    PromptStyle {
        before: profile.opening(),
        after: &profile.system_prompt_suffix,
        guidelines: profile.guidelines(),
        calls_by_text: profile.calls_by_text(),
    }
}

/// Lifts the limit of rounds of an interactive session, if nobody set one.
pub(crate) fn lift_round_limit(run: &RunContext, settings: &mut Settings) {
    let is_set = run.is_configured(&["behavior", "max_tool_rounds"]);
    if settings.rounds.name == ROUNDS_KEY && !is_set {
        settings.rounds.most = u32::MAX;
    }
}

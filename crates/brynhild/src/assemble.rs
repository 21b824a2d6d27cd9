//! Builds the parts of a conversation from the configuration.

pub(crate) mod answer_schema;
pub(crate) mod answering_model;
pub(crate) mod assembly;
pub(crate) mod audit;
pub(crate) mod child_environment;
pub(crate) mod configuration;
pub(crate) mod confinement;
pub(crate) mod effort;
pub(crate) mod fallback;
pub(crate) mod fallback_models;
pub(crate) mod hooks;
pub(crate) mod mcp;
pub(crate) mod model_cache;
pub(crate) mod model_list;
pub(crate) mod model_names;
pub(crate) mod named_file;
pub(crate) mod permissions;
pub(crate) mod plugin_env;
mod plugin_trust;
pub(crate) mod pricing;
pub(crate) mod prompt_source;
pub(crate) mod provider_choice;
pub(crate) mod raw_request_log;
pub(crate) mod rewind;
pub(crate) mod role;
pub(crate) mod run_context;
pub(crate) mod secrets;
pub(crate) mod session_choice;
pub(crate) mod setup;
pub(crate) mod side_conversation;
pub(crate) mod skill_grants;
pub(crate) mod subagents;
pub(crate) mod themes;
pub(crate) mod trust_store;
pub(crate) mod undo;
mod web;
pub(crate) mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::tools::prompt_facts::PromptFacts;
use agent::prompt::{Ingredients, PromptStyle, system_prompt};
use agent::registry::{IsHidden, Registry};
use agent::retry::Retry;
use agent::settings::{
    Bound, Budget, CompactionSettings, Execution, Questions, RecoverySettings, RequestSettings,
    Settings,
};
use contract::policy::Mode;
use contract::provider::{Delivery, ReasoningLevel};
use contract::skill::Skill;
use contract::tool::Tool;
use plugins::dialects::{PROJECT_SKILLS, USER_SKILLS};
use plugins::profiles::ModelProfile;

use crate::assemble::answering_model::AnsweringModel;
use crate::assemble::assembly::Assembly;
use crate::assemble::run_context::RunContext;
use crate::output;

pub(crate) fn skills(assembly: &Assembly, root: &Path) -> Vec<Skill> {
    let project = PROJECT_SKILLS.iter().copied().chain([".brynhild/skills"]);
    let project = project.filter(|_| assembly.has_project());
    let places = plugins::skills::Places {
        global: own_skills(assembly),
        custom: custom_skills(assembly),
        project: project.map(|directory| root.join(directory)).collect(),
        cache: assembly.loaded.config_dir.as_ref().map(|dir| dir.join("cache/skills.json")),
    };
    let found = plugins::skills::discover(&places, &assembly.contributions());
    report(&found.problems);
    found.skills
}

#[derive(Default)]
pub(crate) struct Knowledge {
    pub(crate) rules: String,
    pub(crate) skills: Vec<Skill>,
    pub(crate) facts: PromptFacts,
}

pub(crate) fn rules(assembly: &Assembly, root: &Path) -> plugins::rules::FoundRules {
    let places = plugins::rules::Places {
        global: assembly.loaded.config_dir.as_ref().map(|dir| dir.join(::setup::user_files::RULES)),
        // Without a project no directory has rules.
        root: if assembly.has_project() { root.to_owned() } else { PathBuf::new() },
        cwd: assembly.environment.cwd.clone(),
    };
    let found = plugins::rules::load(&places, &assembly.plugins().contributions());
    report(&found.problems);
    found
}

pub(crate) fn report(problems: &[plugins::problem::Problem]) {
    for problem in problems {
        output::warning(&format!("{problem} ({})", problem.hint));
    }
}

/// The tools that are not disabled.
pub(crate) fn tools(
    assembly: &Assembly,
    root: &Path,
    skills: Vec<Skill>,
    activate_skill: Option<tools::ActivateSkill>,
) -> Vec<Arc<dyn Tool>> {
    let config = assembly.config();
    let is_off = |name: &str| config.tools.disabled.get(name).copied().unwrap_or(false);
    // Without Bash there are no background commands.
    let disabled = |name: &str| is_off(name) || (name == "Jobs" && is_off("Bash"));
    if disabled("__builtin__") {
        return Vec::new();
    }
    let own_paths = config.tools.each.iter().filter(|(_, tool)| !tool.allowed_paths.is_empty());
    let own_paths = own_paths.map(|(name, tool)| (name.clone(), tool.allowed_paths.clone()));
    let all = tools::all(&tools::Settings {
        root: root.to_owned(),
        home: assembly.environment.home.clone(),
        allowed_paths: config.sandbox.allowed_paths.clone(),
        own_paths: own_paths.collect(),
        readable_paths: permissions::readable(assembly),
        skills,
        activate_skill,
        single_hosts: confinement::sandbox(assembly).is_ok_and(|it| it.enforces().single_hosts),
        jobs: Arc::clone(assembly.jobs()),
        web: web::access(assembly),
    });
    all.into_iter().filter(|tool| !disabled(&tool.spec().name)).collect()
}

/// Returns true if questions are answered with yes (`--yes` or yolo mode).
pub(crate) fn auto_approves(run: &RunContext) -> bool {
    run.global.yes || run.mode() == Mode::Yolo
}

pub(crate) fn registry(tools: Vec<Arc<dyn Tool>>, is_hidden: Option<IsHidden>) -> Registry {
    let (registry, clashes) = Registry::new(tools, is_hidden);
    for clash in clashes {
        output::warning(&clash);
    }
    registry
}

/// Skill directories outside of the project, which the model may read and run scripts of.
pub(crate) fn skill_directories(assembly: &Assembly) -> Vec<PathBuf> {
    let plugins = assembly.plugins().active().filter(|plugin| !plugin.manifest.skills.is_empty());
    let mut directories = own_skills(assembly);
    directories.extend(custom_skills(assembly));
    directories.extend(plugins.map(|plugin| plugin.root.join("skills")));
    directories.extend(
        assembly.loaded_plugins().flat_map(|it| &it.skills).filter_map(|it| it.directory.clone()),
    );
    directories.retain(|directory| directory.is_dir());
    directories
}

fn own_skills(run: &RunContext) -> Vec<PathBuf> {
    let dir = run.loaded.config_dir.iter().map(|dir| dir.join(::setup::user_files::SKILLS));
    let homes = run.environment.home.iter();
    let others = homes.flat_map(|home| USER_SKILLS.iter().map(|it| home.join(it)));
    dir.chain(others).collect()
}

/// The skill directories of `BRYNHILD_SKILL_PATH`.
fn custom_skills(run: &RunContext) -> Vec<PathBuf> {
    let path = run.environment.variable("BRYNHILD_SKILL_PATH").unwrap_or_default();
    std::env::split_paths(path).filter(|path| !path.as_os_str().is_empty()).collect()
}

const ROUNDS_KEY: &str = "behavior.max_tool_rounds";

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
    let timeout = run.global.timeout;
    let cost_limit = answering.and_then(|it| answering_model::cost_limit(run, &it.choice));
    let recovers = profile.enable_tool_recovery || profile.calls_by_text();
    Settings {
        request: RequestSettings {
            model: answering.map(|answering| answering.model.clone()).unwrap_or_default(),
            max_tokens: longest.max(smallest),
            temperature: (profile.name != "default").then_some(profile.default_temperature),
            reasoning_level: reasoning_level(&profile, &behavior.reasoning_level),
            reasoning_format: behavior.reasoning_format,
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
        retry: match fallback_models::names(run) {
            [] => Retry::default(),
            _ => Retry { attempts: fallback_models::ATTEMPTS, ..Retry::default() },
        },
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
            cost_usd: cost_limit.map(|most| Bound::new(most, "--max-cost")),
            tokens: run.global.max_tokens.map(|most| Bound::new(most, "--max-tokens")),
            time: timeout.map(|most| Bound::new(Duration::from_secs_f64(most), "--timeout")),
            ..Budget::default()
        },
        approves_all: run.global.yes,
        questions: Questions::Put,
        cwd: root.to_owned(),
        find_skill: plugins::skills::find_activation,
        compaction: CompactionSettings::default(),
    }
}

/// The level of the configuration, if the model can reason.
fn reasoning_level(profile: &ModelProfile, configured: &str) -> ReasoningLevel {
    if profile.name == "default" || profile.supports_reasoning {
        return ReasoningLevel::parse(configured);
    }
    ReasoningLevel::Auto
}

fn params(answering: &AnsweringModel) -> BTreeMap<String, serde_json::Value> {
    let mut params = answering.profile.api_params.clone();
    let vendor = &answering.choice.candidate.vendor().name;
    if let Some(serde_json::Value::Object(own)) = answering.profile.provider_specific.get(vendor) {
        params.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    params
}

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

pub(crate) fn prompt_style(profile: &ModelProfile) -> PromptStyle<'_> {
    PromptStyle {
        before: profile.opening(),
        after: &profile.system_prompt_suffix,
        guidelines: profile.guidelines(),
        calls_by_text: profile.calls_by_text(),
    }
}

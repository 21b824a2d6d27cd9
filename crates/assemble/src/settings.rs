//! The settings of a conversation, from the configuration, the flags and the model's profile.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agent::prompt::{self, Ingredients, PromptStyle};
use agent::registry::Registry;
use agent::retry::Retry;
use agent::settings::{
    Bound, Budget, CompactionSettings, Execution, Questions, RecoverySettings, RequestSettings,
    Settings,
};
use contract::provider::{Delivery, ReasoningLevel};
use plugins::profiles::ModelProfile;

use crate::answering_model::{self, AnsweringModel, fallback_models};
use crate::knowledge::Knowledge;
use crate::run_context::RunContext;

pub(crate) const ROUNDS_KEY: &str = "behavior.max_tool_rounds";

/// The settings of a conversation with a model.
pub fn conversation_settings(
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

pub(crate) fn system_prompt(
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
    prompt::system_prompt(&Ingredients {
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

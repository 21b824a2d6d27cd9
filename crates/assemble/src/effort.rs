//! The reasoning effort of a session: the one that `/effort` set, else `behavior.reasoning_level`.

use std::sync::PoisonError;

use contract::event::Input;
use contract::provider::ReasoningLevel;

use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;

/// The effort that was set in this session, if the model takes one.
pub(crate) fn chosen_for(
    assembly: &Assembly,
    answering: &AnsweringModel,
) -> Option<ReasoningLevel> {
    chosen(assembly).filter(|_| obstacle(answering).is_none())
}

fn chosen(assembly: &Assembly) -> Option<ReasoningLevel> {
    assembly.services.effort.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The current effort, for the user.
pub fn shown(assembly: &Assembly) -> String {
    told(&current(assembly))
}

fn current(assembly: &Assembly) -> ReasoningLevel {
    let configured = || ReasoningLevel::parse(&assembly.config().behavior.reasoning_level);
    chosen(assembly).unwrap_or_else(configured)
}

/// The effort in use, unless it is left to the model or has no effect.
pub fn in_use(assembly: &Assembly, answering: &AnsweringModel) -> Option<String> {
    let level = Some(current(assembly)).filter(|level| *level != ReasoningLevel::Auto);
    level.filter(|_| obstacle(answering).is_none()).map(|level| level.as_str().to_owned())
}

/// The level after the one in use, of those that the model tells apart.
pub fn next(assembly: &Assembly, answering: &AnsweringModel) -> ReasoningLevel {
    let vendor = answering.choice.candidate.vendor();
    vendor.level_after(&answering.model, &current(assembly))
}

/// Sets the effort. Returns the text for the user, and the input for the conversation; none if the
/// model takes no effort.
pub fn change(
    assembly: &Assembly,
    answering: &AnsweringModel,
    level: ReasoningLevel,
) -> (String, Option<Input>) {
    let set = &assembly.services.effort;
    *set.lock().unwrap_or_else(PoisonError::into_inner) = Some(level.clone());
    match obstacle(answering) {
        Some(why) => (why, None),
        None => (told(&level), Some(Input::Effort(level))),
    }
}

/// The reason why an effort has no effect on a model; none if it has one.
fn obstacle(answering: &AnsweringModel) -> Option<String> {
    let (profile, vendor) = (&answering.profile, answering.choice.candidate.vendor());
    if profile.name != "default" && !profile.supports_reasoning {
        return Some(format!("{} does not reason: this has no effect on it.", answering.model));
    }
    vendor
        .reasoning_levels(&answering.model)
        .is_empty()
        .then(|| format!("{} takes no reasoning effort: this has no effect.", vendor.label))
}

fn told(level: &ReasoningLevel) -> String {
    match level {
        ReasoningLevel::Auto => "The reasoning effort is left to the model (auto).".to_owned(),
        level => format!("The reasoning effort is {}.", level.as_str()),
    }
}

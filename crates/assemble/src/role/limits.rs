//! The limits and settings that a role adds to a conversation.

use agent::settings::{Bound, Budget, CompactionSettings, Settings, Span};
use contract::provider::ReasoningLevel;
use initrunner::role::{ModelSettings, Role};

use super::OpenRole;
use crate::output;

impl OpenRole {
    /// Puts the role's limits into the settings of a conversation; the narrower holds.
    pub(crate) fn tighten(&self, settings: &mut Settings) {
        let limits = &self.guardrails;
        let budget = &mut settings.budget;
        if *budget == Budget::default() {
            // The role's limits are those of one run, which is a turn; the user's are not.
            budget.span = Span::Turn;
        }
        lower(&mut budget.output_tokens, Bound::new(limits.output_tokens, "max_tokens_per_run"));
        if let Some(limit) = limits.input_tokens {
            lower(&mut budget.input_tokens, Bound::new(limit, "input_tokens_limit"));
        }
        if let Some(limit) = limits.total_tokens {
            lower(&mut budget.tokens, Bound::new(limit, "total_tokens_limit"));
        }
        if let Some(limit) = limits.run_tokens {
            lower(&mut budget.tokens, Bound::new(limit, "run_token_budget"));
        }
        if let Some(limit) = limits.request_input_tokens {
            let bound = Bound::new(limit, "per_request_input_tokens_limit");
            lower(&mut budget.request_input_tokens, bound);
        }
        lower(&mut budget.time, Bound::new(limits.time, "timeout_seconds"));
        // Nothing is charged for what is free, so that it has no price either.
        if let Some(limit) = limits.cost.filter(|_| !settings.request.known.is_free) {
            lower(&mut budget.cost_usd, Bound::new(limit, "cost_limit"));
        }
        settings.rounds.lower(Bound::new(limits.requests, "max_request_limit"));
        let (request, model) = (&mut settings.request, &self.model);
        request.temperature = model.temperature.or(request.temperature);
        request.max_tokens = model.max_tokens.unwrap_or(request.max_tokens);
        request.params.extend(model.params.clone());
        request.known.context_window = model.context_window.or(request.known.context_window);
        if let Some(level) = &model.thinking {
            request.reasoning_level = ReasoningLevel::parse(level);
        }
        settings.compaction = self.compaction.clone();
    }
}

/// The way in which a role's history is summarized.
pub(super) fn compaction(role: &Role) -> CompactionSettings {
    let Some(chosen) = role.autonomy.as_ref().and_then(|it| it.compaction.as_ref()) else {
        return CompactionSettings::default();
    };
    let named = chosen.model.as_deref().map(ModelSettings::from_text);
    let is_other =
        |named: &ModelSettings| named.provider.is_some() && named.provider != role.model.provider;
    if let Some(other) = named.as_ref().filter(|named| is_other(named)) {
        let provider = other.provider.as_deref().unwrap_or_default();
        output::warning(&format!(
            "autonomy.compaction.model_override: the role's own model summarizes, since {provider} is not its provider"
        ));
    }
    CompactionSettings {
        tail_messages: Some(chosen.tail_messages),
        model: named.filter(|named| !is_other(named)).and_then(|named| named.name),
        prefix: chosen.prefix.clone(),
    }
}

/// Puts a limit where there is none, or a higher one.
fn lower<T: PartialOrd>(own: &mut Option<Bound<T>>, limit: Bound<T>) {
    *own = Some(Bound::lower_of(own.take(), limit));
}

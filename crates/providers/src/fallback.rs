//! Models that answer in order: the next one does if the one before it fails for good. Whoever asks
//! repeats transient failures first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use contract::message::{StopReason, Usage};
use contract::provider::{Delta, Failure, Model, Provider, ProviderError, ReplyStream, Request};
use futures::StreamExt;

/// A model among those that may answer.
pub struct FallbackModel {
    pub provider: Arc<dyn Provider>,
    /// The model, in the provider's own spelling.
    pub model: String,
    /// The name in notices, such as `openai/gpt-5`.
    pub label: String,
    /// The cost of a reply in US dollars; none if the prices are unknown.
    pub cost: ReplyCost,
}

/// Returns the cost of a reply with this usage.
pub type ReplyCost = Arc<dyn Fn(&Usage) -> Option<f64> + Send + Sync>;

/// Failures after which the next model is asked, by InitRunner's names for them. Without names, all
/// failures but those of the request itself.
#[derive(Clone, Debug, Default)]
pub struct FallbackCondition(pub Vec<String>);

impl FallbackCondition {
    fn holds(&self, failure: Failure) -> bool {
        let is_reply = matches!(failure, Failure::Garbled | Failure::Cut);
        let is_connection = matches!(failure, Failure::Unreachable | Failure::Idle);
        let is_length = matches!(failure, Failure::TooLong | Failure::Expectation);
        let is_filtered = failure == Failure::Filtered;
        let is_status = !is_reply && !is_connection && !is_length && !is_filtered;
        if self.0.is_empty() {
            return !is_length && !is_filtered && failure != Failure::Rejected;
        }
        self.0.iter().any(|name| match name.as_str() {
            "ModelAPIError" => is_status || is_connection,
            "ModelHTTPError" => is_status,
            "UnexpectedModelBehavior" => is_reply || is_filtered,
            "ContentFilterError" => is_filtered,
            _ => false,
        })
    }

    /// A reply whose refusal is a failure where the next model is asked after one.
    fn checked(&self, stream: ReplyStream, label: &str) -> ReplyStream {
        if !self.holds(Failure::Filtered) {
            return stream;
        }
        let message = format!("the content filter of {label} withholds the answer");
        let checked = move |delta| match delta {
            Ok(Delta::Stopped(StopReason::Refusal)) => Err(ProviderError {
                kind: Failure::Filtered,
                message: message.clone(),
                hint: Some(String::from("rephrase it, or choose another model")),
            }),
            other => other,
        };
        stream.map(checked).boxed()
    }
}

/// The models that may answer, the usual one first. A model that failed is not asked again.
pub struct Fallback {
    models: Vec<FallbackModel>,
    condition: FallbackCondition,
    failures: Mutex<Vec<String>>,
}

impl Fallback {
    /// The usual model and those that replace it, in order. Requests for a model that is not among
    /// them go to the provider of the usual one.
    pub fn new(
        usual: FallbackModel,
        others: impl IntoIterator<Item = FallbackModel>,
        condition: FallbackCondition,
    ) -> Self {
        let models = std::iter::once(usual).chain(others).collect();
        Self { models, condition, failures: Mutex::default() }
    }

    fn failures(&self) -> MutexGuard<'_, Vec<String>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model that answers in place of the usual one; none if no failure was seen, or if another
    /// model is asked for.
    fn replacement(&self, model: &str) -> Option<&FallbackModel> {
        let failures = self.failures().len();
        (failures > 0 && model == self.models[0].model).then(|| &self.models[failures])
    }
}

#[async_trait]
impl Provider for Fallback {
    fn name(&self) -> &str {
        self.models[0].provider.name()
    }

    fn answering<'a>(&'a self, model: &'a str) -> (&'a str, &'a str) {
        match self.replacement(model) {
            Some(replacement) => (replacement.provider.name(), &replacement.model),
            None => (self.name(), model),
        }
    }

    fn fall_back(&self, model: &str, failure: ProviderError) -> Result<String, ProviderError> {
        let mut failures = self.failures();
        let index = failures.len();
        let is_past = self.models[..index].iter().any(|past| past.model == model);
        let current = &self.models[index];
        if model != current.model && is_past {
            // Another conversation has changed the model while this request was running.
            return Ok(format!("{model} failed: {failure}; using {}", current.label));
        }
        if model != current.model || !self.condition.holds(failure.kind) {
            return Err(failure);
        }
        let failed = format!("{} failed: {failure}", current.label);
        if let Some(next) = self.models.get(index + 1) {
            failures.push(failed.clone());
            return Ok(format!("{failed}; using {}", next.label));
        }
        let all: Vec<&str> = failures.iter().chain([&failed]).map(String::as_str).collect();
        let message = format!("All {} fallback models failed: [{}]", all.len(), all.join(", "));
        Err(ProviderError { message, ..failure })
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        self.models[0].provider.models().await
    }

    async fn stream(&self, mut request: Request) -> Result<ReplyStream, ProviderError> {
        let Some(replacement) = self.replacement(&request.model) else {
            let usual = &self.models[0];
            let stream = usual.provider.stream(request).await?;
            return Ok(self.condition.checked(stream, &usual.label));
        };
        request.model.clone_from(&replacement.model);
        let cost = Arc::clone(&replacement.cost);
        let stream = replacement.provider.stream(request).await?;
        let priced = move |delta| match delta {
            Ok(Delta::Usage(mut usage)) => {
                usage.cost_usd = usage.cost_usd.or_else(|| cost(&usage));
                Ok(Delta::Usage(usage))
            }
            other => other,
        };
        Ok(self.condition.checked(stream.map(priced).boxed(), &replacement.label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_names_the_failures_of_initrunner() {
        let holds = |names: &[&str], failure| {
            let names = names.iter().map(|&name| name.to_owned()).collect();
            FallbackCondition(names).holds(failure)
        };
        let http = ["ModelHTTPError"];
        assert!(holds(&http, Failure::Auth) && holds(&http, Failure::Unavailable(None)));
        assert!(!holds(&http, Failure::Unreachable) && !holds(&http, Failure::Garbled));
        assert!(holds(&["ModelAPIError"], Failure::Unreachable));
        assert!(holds(&["UnexpectedModelBehavior"], Failure::Garbled));
        assert!(holds(&[], Failure::RateLimited(None)) && holds(&[], Failure::Auth));
        assert!(!holds(&[], Failure::Rejected) && !holds(&[], Failure::TooLong));
        assert!(
            holds(&["ContentFilterError"], Failure::Filtered) && !holds(&[], Failure::Filtered)
        );
        assert!(!holds(&["ContentFilterError"], Failure::Garbled));
        assert!(!holds(&["ModelAPIError"], Failure::Filtered));
    }
}

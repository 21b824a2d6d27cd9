//! A provider whose models are unknown: it is asked for them during the conversation, to know
//! context size and prices.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use contract::provider::{Model, Provider, ProviderError, ReplyStream, Request};

/// The time at which the models are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the first reply, because a limit depends on it.
    First,
    /// With the first request; the reply waits a moment for it, to show the cost.
    Beside,
    /// With the second request.
    GoingOn,
}

/// The longest wait for prices that are only shown.
const MOMENT: Duration = Duration::from_secs(2);

/// Stores the list.
pub type Keep = Arc<dyn Fn(&[Model]) + Send + Sync>;

/// A provider that also asks for its models.
pub struct Learning {
    provider: Arc<dyn Provider>,
    offered: Arc<OnceLock<Vec<Model>>>,
    keep: Keep,
    when: When,
    requests: AtomicU32,
}

impl Learning {
    /// Sets `offered` once the models are known.
    #[must_use]
    pub fn new(
        provider: Arc<dyn Provider>,
        offered: Arc<OnceLock<Vec<Model>>>,
        keep: Keep,
        when: When,
    ) -> Self {
        Self { provider, offered, keep, when, requests: AtomicU32::default() }
    }
}

#[async_trait]
impl Provider for Learning {
    fn name(&self) -> &str {
        self.provider.name()
    }

    async fn models(&self) -> Result<Vec<Model>, ProviderError> {
        self.provider.models().await
    }

    async fn stream(&self, request: Request) -> Result<ReplyStream, ProviderError> {
        let (provider, offered) = (Arc::clone(&self.provider), Arc::clone(&self.offered));
        let keep = Arc::clone(&self.keep);
        let learn = async move {
            // A server without such a list can still answer.
            if let Ok(models) = provider.models().await {
                keep(&models);
                let _ = offered.set(models);
            }
        };
        match (self.when, self.requests.fetch_add(1, Ordering::Relaxed)) {
            (When::First, 0) => learn.await,
            (When::Beside, 0) => {
                let learned = tokio::time::timeout(MOMENT, tokio::spawn(learn));
                // A list that comes later is used at the end of the turn.
                let (reply, _) = tokio::join!(self.provider.stream(request), learned);
                return reply;
            }
            (When::GoingOn, 1) => drop(tokio::spawn(learn)),
            _ => {}
        }
        self.provider.stream(request).await
    }
}

//! A provider whose models are not known yet: it is asked for them when a conversation goes on, so
//! that the context's size and the prices are the real ones. A single reply asks nothing.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use contract::provider::{Model, Provider, ProviderError, ReplyStream, Request};

/// When to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Before the first reply: a limit depends on the answer.
    First,
    /// Beside the first request, and for a moment the reply waits for it: the user wants to see
    /// the cost.
    Beside,
    /// Beside the second request.
    GoingOn,
}

/// How long a reply waits for prices that are only shown.
const MOMENT: Duration = Duration::from_secs(2);

/// What takes the list, to keep it.
pub(crate) type Keep = Arc<dyn Fn(&[Model]) + Send + Sync>;

/// A provider that is asked for its models in passing.
pub(crate) struct Learning {
    provider: Arc<dyn Provider>,
    offered: Arc<OnceLock<Vec<Model>>>,
    keep: Keep,
    when: When,
    requests: AtomicU32,
}

impl Learning {
    /// Has `provider` asked for what it offers.
    pub(crate) fn new(
        provider: Arc<dyn Provider>,
        offered: Arc<OnceLock<Vec<Model>>>,
        when: When,
        keep: Keep,
    ) -> Self {
        Self { provider, offered, keep, when, requests: AtomicU32::new(0) }
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
            // A server without such a list answers nevertheless.
            if let Ok(models) = provider.models().await {
                keep(&models);
                let _ = offered.set(models);
            }
        };
        match (self.when, self.requests.fetch_add(1, Ordering::Relaxed)) {
            (When::First, 0) => learn.await,
            (When::Beside, 0) => {
                let learned = tokio::time::timeout(MOMENT, tokio::spawn(learn));
                // What comes later counts when the turn ends.
                let (reply, _) = tokio::join!(self.provider.stream(request), learned);
                return reply;
            }
            (When::GoingOn, 1) => drop(tokio::spawn(learn)),
            _ => {}
        }
        self.provider.stream(request).await
    }
}

//! A conversation within another: a call of the outer one holds it, and its result is all that the
//! outer model sees of it. Hooks, policy, sandbox, log and the user are the same; history, model,
//! tools and limits are its own. What it may do is never more than what the outer one may.

use std::sync::Arc;

use contract::event::{EventKind, Outcome, Subconversation};
use contract::hook::{Hook, HookContext, Notification};
use contract::message::Usage;
use contract::provider::Provider;
use contract::tool::Tool;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::answers::Waiting;
use crate::conversation::{conclude, overdue, until};
use crate::hooks::Hooks;
use crate::journal::{Journal, Logged};
pub use crate::parent::Parent;
use crate::registry::{IsHidden, Registry};
use crate::settings::{Execution, Parts, Settings};
use crate::turn;
use crate::turn_context::TurnContext;

/// Work for a conversation of its own.
pub struct NestedTask {
    pub agent: String,
    pub prompt: String,
    /// The provider; none for that of the outer conversation.
    pub provider: Option<Arc<dyn Provider>>,
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tells which of the tools are hidden.
    pub is_hidden: Option<IsHidden>,
    /// Hooks of its own, asked before the others.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Usually made from [`Parent::settings`].
    pub settings: Settings,
    /// Events for its beginning.
    pub notices: Vec<EventKind>,
}

/// The result of a nested conversation.
pub struct Ended {
    pub outcome: Outcome,
    /// The last text of its model; may be empty.
    pub words: String,
    /// Its cost, with all conversations within it.
    pub usage: Usage,
    /// Calls that were not let run, with the reasons.
    pub refused: Vec<String>,
}

impl Parent {
    /// Runs a conversation within this one to its end. If this is dropped, the conversation is closed.
    pub async fn converse(&self, task: NestedTask) -> Logged<Ended> {
        let _open = OpenGuard::new(&self.open);
        let NestedTask { agent, prompt, provider, tools, is_hidden, hooks, mut settings, notices } =
            task;
        self.tighten(&mut settings);
        // Of two tools of one name the first is used.
        let (registry, _) = Registry::new(tools, is_hidden);
        let parts = Parts {
            provider: provider.or_else(|| self.parts.provider.clone()),
            registry: Arc::new(registry),
            renewal: None,
            ..Parts::clone(&self.parts)
        };
        let within = Subconversation { call: self.call.clone(), agent };
        let context = HookContext {
            session: self.sender.session().clone(),
            cwd: settings.cwd.clone(),
            within: Some(within.clone()),
        };
        let cancel = self.cancel.child_token();
        let hooks: Vec<_> = hooks.into_iter().chain(self.hooks.iter().cloned()).collect();
        let mut hooks = Hooks::new(hooks, context);
        hooks.stop_with(cancel.clone());
        let inner = Inner {
            journal: self.sender.journal_within(within, settings.budget),
            parts: Arc::new(parts),
            settings: Arc::new(settings),
            hooks,
            cancel,
        };
        inner.run(self, prompt, notices).await
    }

    /// Takes from the settings of an inner conversation what this one does not have.
    fn tighten(&self, settings: &mut Settings) {
        settings.mode = settings.mode.min(self.settings.mode);
        settings.approves_all &= self.settings.approves_all;
        if self.settings.execution == Execution::Dry {
            settings.execution = Execution::Dry;
        }
    }
}

struct OpenGuard<'a>(&'a watch::Sender<u32>);

impl<'a> OpenGuard<'a> {
    fn new(count: &'a watch::Sender<u32>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for OpenGuard<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

struct Inner {
    parts: Arc<Parts>,
    settings: Arc<Settings>,
    hooks: Hooks,
    journal: Journal,
    cancel: CancellationToken,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.journal.abandon();
    }
}

impl Inner {
    async fn run(
        mut self,
        parent: &Parent,
        prompt: String,
        notices: Vec<EventKind>,
    ) -> Logged<Ended> {
        let configured = self.parts.configured(&self.settings, &self.settings.system);
        let opening = configured.into_iter().chain(notices).collect();
        self.journal.note(opening).await?;
        self.hooks.notify(&mut self.journal, &Notification::AgentStarted).await?;
        let outcome = self.turn(parent, prompt).await?;
        let request = &self.settings.request;
        conclude(&self.hooks, &mut self.journal, request, outcome.clone()).await?;
        Ok(Ended {
            outcome,
            words: self.journal.transcript.last_words(),
            usage: self.journal.account().turn(),
            refused: std::mem::take(&mut self.journal.refused),
        })
    }

    async fn turn(&mut self, parent: &Parent, prompt: String) -> Logged<Outcome> {
        let deadline = self.settings.budget.time.map(|time| Instant::now() + time.most);
        let recoveries = std::sync::Mutex::default();
        // A nested model gets no messages of the user.
        let waiting = Waiting::default();
        let context = TurnContext {
            parts: &self.parts,
            settings: &self.settings,
            hooks: &self.hooks,
            answers: &parent.answers,
            recoveries: &recoveries,
            waiting: &waiting,
            cancel: &self.cancel,
            stop: &parent.stop,
        };
        let work = turn::run(context, &mut self.journal, prompt);
        tokio::pin!(work);
        let outcome = tokio::select! {
            outcome = &mut work => return outcome,
            () = until(deadline) => {
                self.cancel.cancel();
                work.await?
            }
        };
        let is_stopped = parent.cancel.is_cancelled();
        Ok(if is_stopped { outcome } else { overdue(outcome, &self.settings) })
    }
}

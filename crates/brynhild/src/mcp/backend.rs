//! Runs calls of other agents: each as a conversation of its own, so that it goes the same way as
//! a call of our model, through rules, questions and sandbox. All conversations of one client are one
//! session. What has changed outside since the last request is taken up with the next one.

mod present;
mod shelf;
mod visit;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ::mcp::PromptEntry;
use ::mcp::serve::{Backend, Call, Guest};
use agent::settings::Settings;
use async_trait::async_trait;
use contract::event::{Answer, Event, EventKind, Input, Level};
use contract::id::CallId;
use contract::message::ToolCall;
use contract::policy::Approvals;
use contract::sandbox::Confinement;
use contract::tool::{Tool, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::front::Front;
use super::offered::Offered;
use crate::aside::Aside;
use crate::assemble::{self, Mind};
use crate::exit::Problem;
use crate::fallback::{Fallback, fallback};
use crate::frontends::question::about;
use crate::frontends::style::Palette;
use crate::output;
use crate::setup::{Offer, Setup};
use crate::world::World;
use present::{HandedOn, Moment, Present};
use visit::{Visit, Visits};

/// Counts the calls of all clients.
static CALLS: AtomicU64 = AtomicU64::new(1);

/// Runs calls of other agents.
pub(crate) struct Guarded {
    mind: Option<Arc<Mind>>,
    policy: Arc<dyn Approvals>,
    confinement: Confinement,
    settings: Settings,
    fallback: Option<Fallback>,
    present: Arc<Present>,
    visits: Visits,
    /// The servers of which it was told that their resources cannot be read.
    told: Mutex<BTreeSet<String>>,
    front: Arc<Front>,
}

impl Guarded {
    /// Makes what runs all tools there are. Where a role was chosen, its tools are all.
    pub(crate) async fn new(world: &World, root: &Path) -> Result<Self, Problem> {
        let front = Arc::clone(world.made.front.get_or_init(Arc::default));
        let mut setup = Setup::for_others(world, root).await?;
        let reload = setup.watch(world);
        let Offer { mind, policy, registry, hooks, backstage } = setup.into_offer();
        let (global, environment) = (world.global.clone(), world.environment.clone());
        let again = World::again(global.clone(), environment.clone())?;
        let offered = Arc::new(Offered::new(again, backstage.role().is_none())?);
        let moment = Moment::new((registry, hooks), offered, &backstage);
        let present = Present {
            global,
            environment,
            reload,
            backstage,
            moment: Mutex::new(Arc::new(moment)),
            looking: Arc::default(),
            changes: watch::Sender::new(0),
        };
        Ok(Self {
            confinement: assemble::confinement(world, root)?,
            fallback: Some(fallback(world, None)?),
            settings: assemble::settings(world, root, mind.as_deref(), String::new()),
            mind,
            policy,
            present: Arc::new(present),
            visits: Visits::new()?,
            told: Mutex::default(),
            front,
        })
    }

    /// Ends what runs behind the calls, and the sessions of clients that are still there.
    pub(crate) async fn close(&self) {
        self.end_visits().await;
        self.present.backstage.close().await;
    }
}

impl visit::Request<'_> {
    /// Judges a call of one of these tools and runs it.
    async fn perform(&self, tools: Vec<Arc<dyn Tool>>, call: Call) -> ToolOutput {
        let Call { name, args, cancel, progress, asker } = call;
        if cancel.is_cancelled() {
            return ToolOutput::failure("interrupted: not run");
        }
        let guarded = self.guarded;
        let tool = tools.iter().find(|tool| tool.spec().name == name);
        let _entered = tool.map(|tool| guarded.front.enter(&tool.spec().source, &asker));
        if let Some(role) = &self.moment.role {
            // Its limit is one on a run, and each call is one.
            role.allowance.renew();
        }
        let aside = Aside {
            mind: guarded.mind.clone(),
            policy: Arc::clone(&guarded.policy),
            hooks: self.moment.hooks.clone(),
            confinement: guarded.confinement.clone(),
            settings: guarded.settings.clone(),
            session: self.session.clone(),
            fallback: guarded.fallback.clone(),
        };
        let mut conversation = aside.open(tools, guarded.settings.clone());
        // What was shown with one call says nothing of another, whoever made it.
        let id = CallId(format!("call-{}", CALLS.fetch_add(1, Ordering::Relaxed)));
        let input = Input::Call(ToolCall { id, name, args, opaque: None });
        // A conversation that has ended is seen by the loop below.
        let _ = conversation.inputs.send(input).await;
        let mut result = None;
        let mut is_stopping = false;
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    let _ = conversation.inputs.send(Input::Interrupt).await;
                    continue;
                }
                event = conversation.events.recv() => event,
            };
            let Some(event) = event else { break };
            match &event.kind {
                EventKind::Asked { call, .. } => {
                    let asked = question(&event);
                    let answer = tokio::select! {
                        biased;
                        // Whoever withdrew the call does not want it any more.
                        () = cancel.cancelled() => Some(false),
                        answer = asker.ask(&asked) => answer,
                    };
                    let answer = match answer {
                        Some(true) => Answer::Once,
                        Some(false) => Answer::Deny { reason: None },
                        None => Answer::Nobody,
                    };
                    let input = Input::Answer { call: call.clone(), answer };
                    let _ = conversation.inputs.send(input).await;
                }
                EventKind::ToolProgress { text, .. } => {
                    // A client that is behind can do without a line.
                    let _ = progress.try_send(text.clone());
                }
                EventKind::ToolFinished { output, content, .. } if event.within.is_none() => {
                    let text = content.clone();
                    let told = if output.success {
                        ToolOutput::success(text)
                    } else {
                        ToolOutput::failure(text)
                    };
                    result = Some(ToolOutput { facts: output.facts.clone(), ..told });
                }
                EventKind::Notice { level: Level::Warning | Level::Error, text, .. } => {
                    output::warning(text);
                }
                EventKind::TurnFinished { .. } if event.within.is_none() => break,
                _ => {}
            }
        }
        conversation.finish().await;
        result.unwrap_or_else(|| ToolOutput::failure("the call did not end"))
    }
}

#[async_trait]
impl Backend for Guarded {
    fn welcome(self: Arc<Self>) -> Arc<dyn Guest> {
        Arc::new(Visit::new(self))
    }

    async fn tools(&self) -> Arc<[Arc<ToolSpec>]> {
        self.present.look().await.registry.specs()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.present.changes.subscribe()
    }

    async fn prompts(&self) -> Vec<PromptEntry> {
        let moment = self.present.look().await;
        let mut prompts = moment.offered.prompts();
        for HandedOn { name, entry, .. } in moment.handed_on() {
            if !prompts.iter().any(|known| known.name == name) {
                prompts.push(PromptEntry { name, ..entry });
            }
        }
        prompts
    }

    async fn prompt(
        &self,
        name: &str,
        arguments: &BTreeMap<String, String>,
    ) -> Result<Value, String> {
        let moment = self.present.look().await;
        let mut handed_on = moment.handed_on().into_iter();
        let found = handed_on.find(|known| known.name == name);
        if let Some(found) = found.filter(|_| !moment.offered.has_prompt(name)) {
            let given = found.mcp.servers.messages(&found.command, arguments).await;
            return given.map_err(|failure| failure.to_string());
        }
        let text = moment.offered.prompt(name, arguments)?;
        Ok(json!([{"role": "user", "content": {"type": "text", "text": text}}]))
    }

    fn updates(&self) -> broadcast::Receiver<String> {
        self.front.updates.subscribe()
    }
}

/// What a user on the other side reads: the same as here, since the other program may show it as
/// it is.
fn question(event: &Event) -> String {
    about(event, None, Palette::plain()).trim().to_owned()
}

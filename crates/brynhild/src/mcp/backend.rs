//! Runs calls of other agents: each as a conversation of its own, so that it goes the same way as
//! a call of our model, through rules, questions and sandbox.

mod shelf;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};

use ::mcp::PromptEntry;
use ::mcp::Watch;
use ::mcp::serve::{Asker, Backend, Call, Resources};
use agent::conversation::Conversation;
use async_trait::async_trait;
use contract::event::{Answer, Event, Input, Level, What};
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::tool::{Tool, ToolOutput, ToolSpec};
use plugins::hooks::Lifecycle;
use plugins::python::{Hosts, Missing};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::Mcp;
use super::front::Front;
use super::offered::Offered;
use crate::aside::Aside;
use crate::assemble::{self, Knowledge};
use crate::dialects::{self, Dialect};
use crate::exit::Problem;
use crate::hooks::{self, Crew, Gear, Needs};
use crate::output;
use crate::permissions;
use crate::role::{self, Opened};
use crate::subagents;
use crate::world::World;

/// Runs calls of other agents.
pub(crate) struct Guarded {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<[Arc<ToolSpec>]>,
    aside: Aside,
    role: Option<Arc<Opened>>,
    offered: Offered,
    /// The servers whose resources can be read.
    servers: Vec<Arc<Mcp>>,
    /// The servers of which it was told that theirs cannot.
    told: Mutex<BTreeSet<String>>,
    front: Arc<Front>,
}

/// What runs behind the calls.
pub(crate) struct Behind {
    lifecycle: Lifecycle,
    hosts: Hosts,
    guests: Vec<Arc<dyn Dialect>>,
    role: Option<Arc<Opened>>,
    mcp: Option<Arc<Mcp>>,
}

/// A prompt of a server behind this one.
struct HandedOn<'a> {
    mcp: &'a Arc<Mcp>,
    /// What the server's own side knows it by.
    command: String,
    /// How it is called here.
    name: String,
    entry: PromptEntry,
}

impl Behind {
    /// Ends it.
    pub(crate) async fn close(&self) {
        self.lifecycle.shutdown().await;
        self.hosts.shutdown().await;
        if let Some(role) = &self.role {
            role.shutdown().await;
        }
        if let Some(mcp) = &self.mcp {
            mcp.shutdown().await;
        }
        futures::future::join_all(self.guests.iter().map(|guest| guest.shutdown())).await;
    }
}

impl Guarded {
    /// Makes what runs all tools there are. Where a role was chosen, its tools are all.
    pub(crate) async fn new(world: &World, root: &Path) -> Result<(Self, Behind), Problem> {
        let skills = assemble::skills(world, root);
        let workers = world.workers(Missing::Install).await?;
        let role = role::open(world, None).await?;
        let guests = dialects::open(world).await?;
        let mut tools = Vec::new();
        let (mut mind, mut mcp) = (None, None);
        if let Some(role) = &role {
            tools.clone_from(&role.tools);
        } else {
            // Tools need no model; only work that is handed to an agent does.
            mind = assemble::mind(world).await.ok().map(Arc::new);
            let knowledge = Knowledge { rules: String::new(), skills: skills.clone() };
            let knowledge = Arc::new(knowledge);
            let errands =
                mind.as_ref().and_then(|mind| subagents::tool(world, root, Some(mind), &knowledge));
            mcp = super::for_others(world, mind.as_deref()).await?.map(Arc::new);
            tools.extend(assemble::tools(world, root, skills.clone()));
            tools.extend(errands);
            tools.extend(workers.tools(world));
            tools.extend(guests.iter().flat_map(|guest| guest.tools()));
            tools.extend(mcp.iter().flat_map(|mcp| mcp.all_tools()));
        }
        let offered_skills = if role.is_some() { Vec::new() } else { skills };
        let loaded = hooks::load(
            world,
            Needs {
                root,
                sandbox: assemble::sandbox(world)?,
                mind: mind.as_deref(),
                ledger: Arc::default(),
                notice: Arc::new(|text| output::warning(&text)),
            },
        );
        hooks::report(&loaded.problems);
        loaded.lifecycle.start().await;
        let mut asked = loaded.hooks;
        asked.extend(guests.iter().flat_map(|guest| guest.hooks()));
        let policy = permissions::policy(world, root)?;
        for guest in &guests {
            if let Some(mind) = &mind {
                guest.set_mind(mind);
            }
            let hire = || {
                let servers = mcp.clone();
                let gear = Gear {
                    mind: mind.as_ref(),
                    tools: tools.clone(),
                    servers: Arc::new(move || servers.clone()),
                    policy: Arc::clone(&policy),
                    hooks: &asked,
                };
                Crew::new(world, gear)
            };
            guest.staff(&hire)?;
        }
        let guarded = Self {
            specs: assemble::registry(tools.clone()).specs(),
            tools,
            aside: Aside {
                hooks: asked,
                policy,
                confinement: assemble::confinement(world, root)?,
                settings: assemble::settings(world, root, mind.as_deref(), String::new()),
                session: SessionId::parse("mcp-serve")?,
                mind,
            },
            role: role.clone(),
            offered: Offered::new(world, offered_skills)?,
            servers: role.iter().flat_map(|role| role.servers()).chain(&mcp).cloned().collect(),
            told: Mutex::default(),
            front: Arc::clone(world.made.front.get_or_init(Arc::default)),
        };
        let hosts = workers.hosts().clone();
        Ok((guarded, Behind { lifecycle: loaded.lifecycle, hosts, guests, role, mcp }))
    }

    fn open(&self, tools: Vec<Arc<dyn Tool>>) -> Conversation {
        if let Some(role) = &self.role {
            // Its limit is one on a run, and each call is one.
            role.allowance.renew();
        }
        self.aside.open(tools, self.aside.settings.clone())
    }

    /// The prompts of servers: who has each and under which name, and how it is called here. Those of
    /// a role's servers have their own names, as their tools do.
    fn handed_on(&self) -> Vec<HandedOn<'_>> {
        let mut all = Vec::new();
        for mcp in &self.servers {
            for (command, entry) in mcp.servers.prompts() {
                let name = if self.role.is_some() { &entry.name } else { &command };
                all.push(HandedOn { mcp, name: name.clone(), command, entry });
            }
        }
        all
    }

    /// Judges a call of one of these tools and runs it.
    async fn perform(&self, tools: Vec<Arc<dyn Tool>>, call: Call) -> ToolOutput {
        let Call { name, args, cancel, progress, asker } = call;
        let tool = tools.iter().find(|tool| tool.spec().name == name);
        let _entered = tool.map(|tool| self.front.enter(&tool.spec().source, &asker));
        let mut conversation = self.open(tools);
        let id = CallId("call-1".to_owned());
        let input = Input::Call(ToolCall { id, name, args, opaque: None });
        // A conversation that has ended is seen by the loop below.
        let _ = conversation.inputs.send(input).await;
        let mut result = None;
        let mut is_stopping = false;
        loop {
            let event = tokio::select! {
                event = conversation.events.recv() => event,
                () = cancel.cancelled(), if !is_stopping => {
                    is_stopping = true;
                    let _ = conversation.inputs.send(Input::Interrupt).await;
                    continue;
                }
            };
            let Some(event) = event else { break };
            match &event.what {
                What::Asked { call, .. } => {
                    let answer = match asker.ask(&question(&event)).await {
                        Some(true) => Answer::Once,
                        Some(false) => Answer::Deny { reason: None },
                        None => Answer::Nobody,
                    };
                    let input = Input::Answer { call: call.clone(), answer };
                    let _ = conversation.inputs.send(input).await;
                }
                What::ToolProgress { text, .. } => {
                    // A client that is behind can do without a line.
                    let _ = progress.try_send(text.clone());
                }
                What::ToolFinished { output, content, .. } if event.within.is_none() => {
                    let text = content.clone();
                    let told = if output.success {
                        ToolOutput::success(text)
                    } else {
                        ToolOutput::failure(text)
                    };
                    result = Some(ToolOutput { facts: output.facts.clone(), ..told });
                }
                What::Notice { level: Level::Warning | Level::Error, text, .. } => {
                    output::warning(text);
                }
                What::TurnFinished { .. } if event.within.is_none() => break,
                _ => {}
            }
        }
        conversation.finish().await;
        result.unwrap_or_else(|| ToolOutput::failure("the call did not end"))
    }
}

#[async_trait]
impl Backend for Guarded {
    fn tools(&self) -> Arc<[Arc<ToolSpec>]> {
        Arc::clone(&self.specs)
    }

    async fn call(&self, call: Call) -> ToolOutput {
        self.perform(self.tools.clone(), call).await
    }

    fn prompts(&self) -> Vec<PromptEntry> {
        let mut prompts = self.offered.prompts();
        for HandedOn { name, entry, .. } in self.handed_on() {
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
        let mut handed_on = self.handed_on().into_iter();
        let found = handed_on.find(|known| known.name == name);
        if let Some(found) = found.filter(|_| !self.offered.has_prompt(name)) {
            let given = found.mcp.servers.messages(&found.command, arguments).await;
            return given.map_err(|failure| failure.to_string());
        }
        let text = self.offered.prompt(name, arguments)?;
        Ok(json!([{"role": "user", "content": {"type": "text", "text": text}}]))
    }

    async fn resources(&self) -> Resources {
        self.readable().await
    }

    async fn read(&self, uri: &str, asker: Arc<dyn Asker>) -> Result<Option<Value>, String> {
        self.held(uri, asker).await
    }

    async fn watch(&self, uri: &str, watch: Watch) -> Result<(), String> {
        self.watched(uri, watch).await
    }

    fn updates(&self) -> broadcast::Receiver<String> {
        self.front.updates.subscribe()
    }
}

/// What a person on the other side reads.
fn question(event: &Event) -> String {
    match &event.what {
        What::Asked { tool, args, why, .. } => format!("Run {tool} with {args}? ({why})"),
        _ => String::new(),
    }
}

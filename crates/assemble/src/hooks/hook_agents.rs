//! Conversations for hook handlers: a call of an MCP tool, or an agent. Rules, other hooks and the
//! sandbox apply; a call that needs approval is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ::mcp::Servers;
use agent::conversation::Conversation;
use agent::settings::{Bound, Budget, Questions, Settings};
use async_trait::async_trait;
use contract::event::{Event, EventKind, Input, Outcome};
use contract::hook::Hook;
use contract::id::{CallId, SessionId};
use contract::message::ToolCall;
use contract::policy::{Approvals, Mode};
use contract::tool::{BUILTIN, Risk, Tool};
use plugins::claude::{HookServices, McpCall, SERVICE_SESSION};
use subagents::CallGuard;

use super::Models;
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::fallback::fallback;
use crate::side_conversation::SideConversation;

const ROUNDS: u32 = 50;
/// Besides read-only tools, the agent of a hook may run commands.
const COMMANDS: &str = "Bash";
const TASK: &str = "You look into a question that a hook of a coding assistant asks. Use the tools \
                    to find out what you need to know; change nothing. Your last message is the \
                    answer, in the form that the question wants.";

static CALLS: AtomicU64 = AtomicU64::new(1);

pub(crate) type Present = Arc<dyn Fn() -> Option<Arc<Servers>> + Send + Sync>;

pub(crate) struct HookAgentInputs<'a> {
    pub(crate) answering: Option<&'a Arc<AnsweringModel>>,
    pub(crate) tools: Vec<Arc<dyn Tool>>,
    pub(crate) servers: Present,
    pub(crate) policy: Arc<dyn Approvals>,
    pub(crate) hooks: &'a [Arc<dyn Hook>],
}

pub(crate) struct HookAgents {
    tools: Vec<Arc<dyn Tool>>,
    servers: Present,
    aside: SideConversation,
}

impl HookAgents {
    pub(crate) fn new(assembly: &Assembly, deps: HookAgentInputs<'_>) -> Result<Self, Problem> {
        let root = assembly.place();
        let mut settings = crate::settings::conversation_settings(
            assembly,
            root,
            deps.answering.map(AsRef::as_ref),
            TASK.to_owned(),
        );
        settings.rounds.lower(Bound::new(ROUNDS, "the rounds of a hook's agent"));
        settings.budget = Budget::default();
        settings.questions = Questions::Refused;
        let looks = |tool: &Arc<dyn Tool>| {
            let spec = tool.spec();
            let only_looks = spec.risk_level == Risk::ReadOnly && !spec.requires_permission;
            let is_end = ["Finish", "Task", "TodoWrite"].contains(&spec.name.as_str());
            spec.source == BUILTIN && (only_looks || spec.name == COMMANDS) && !is_end
        };
        Ok(Self {
            tools: deps.tools.into_iter().filter(looks).collect(),
            servers: deps.servers,
            aside: SideConversation {
                answering: deps.answering.cloned(),
                policy: deps.policy,
                hooks: deps
                    .hooks
                    .iter()
                    .map(|hook| Arc::new(CallGuard(hook.clone())) as _)
                    .collect(),
                confinement: crate::confinement::confinement(assembly, root)?,
                settings,
                session: SessionId::parse(SERVICE_SESSION)?,
                fallback: Some(fallback(assembly, None)?),
            },
        })
    }

    /// Runs one task and returns its events. Dropping the future stops it.
    async fn done(&self, mut conversation: Conversation, input: Input) -> Vec<Arc<Event>> {
        // If the conversation has ended, the loop below returns.
        let _ = conversation.inputs.send(input).await;
        let mut events = Vec::new();
        while let Some(event) = conversation.events.recv().await {
            let is_over = matches!(event.kind, EventKind::TurnFinished { .. });
            events.push(event);
            if is_over {
                break;
            }
        }
        conversation.finish().await;
        events
    }

    fn tool(&self, wanted: &McpCall) -> Result<Arc<dyn Tool>, String> {
        let servers = (self.servers)().ok_or("there is no MCP server here")?;
        let own = wanted.plugin.as_ref().and_then(|plugin| {
            let server = format!("plugin:{plugin}:{}", wanted.server);
            let own = servers.plugin_tool(plugin, &server, &wanted.tool);
            own.or_else(|| servers.tool(&server, &wanted.tool))
        });
        let found = own.or_else(|| servers.tool(&wanted.server, &wanted.tool));
        found.ok_or_else(|| {
            format!("no MCP server `{}` is known to have a tool `{}`", wanted.server, wanted.tool)
        })
    }
}

#[async_trait]
impl HookServices for HookAgents {
    async fn call(&self, wanted: McpCall) -> Result<String, String> {
        let tool = self.tool(&wanted)?;
        let name = tool.spec().name.clone();
        let settings = Settings { mode: wanted.mode, ..self.aside.settings.clone() };
        // Ids are unique, so that no approval of another call applies.
        let id = CallId(format!("hook-{}", CALLS.fetch_add(1, Ordering::Relaxed)));
        let call = ToolCall { id, name: name.clone(), args: wanted.input, opaque: None };
        let events = self.done(self.aside.open(vec![tool], settings), Input::Call(call)).await;
        let finished = events.iter().find_map(|event| match &event.kind {
            EventKind::ToolFinished { output, content, .. } => Some((output, content)),
            _ => None,
        });
        match finished {
            Some((output, _)) if output.success => Ok(output.output.clone()),
            Some((_, content)) => Err(format!("{name}: {content}")),
            None => Err(format!("{name}: the call did not finish")),
        }
    }

    async fn look_into(
        &self,
        model: Option<&str>,
        prompt: &str,
        mode: Mode,
    ) -> Result<String, String> {
        let answering = self.aside.answering.as_ref().ok_or("no model is available")?;
        let mut settings = Settings { mode, ..self.aside.settings.clone() };
        settings.request.model = Models::new(answering).model(model);
        let conversation = self.aside.open(self.tools.clone(), settings);
        let events = self.done(conversation, Input::Prompt { text: prompt.to_owned() }).await;
        let (mut text, mut outcome) = (String::new(), None);
        for event in &events {
            match &event.kind {
                EventKind::ReplyFinished { reply, .. } => text = reply.text(),
                EventKind::TurnFinished { outcome: last, .. } => outcome = Some(last),
                _ => {}
            }
        }
        match outcome {
            Some(Outcome::Answered { .. }) => Ok(text),
            Some(Outcome::Limited { told, .. }) => Err(format!("the agent reached {told}")),
            Some(Outcome::Failed { error, .. }) => Err(format!("the agent failed: {error}")),
            Some(
                Outcome::Finished(_)
                | Outcome::Stuck { .. }
                | Outcome::Cancelled
                | Outcome::Blocked { .. },
            )
            | None => Err("the agent gave no answer".to_owned()),
        }
    }
}

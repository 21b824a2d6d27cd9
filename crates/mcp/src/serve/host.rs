//! The program behind `mcp serve`, which the binary implements: it says what is offered, and runs
//! each call as a conversation of its own, through rules, questions, hooks and sandbox.

use std::sync::Arc;

use async_trait::async_trait;
use contract::event::{Event, Input};
use contract::hook::Hook;
use contract::id::SessionId;
use contract::skill::Skill;
use contract::tool::{Tool, ToolSpec};
use tokio::sync::mpsc;

use crate::frontend::Frontend;
use crate::servers::Servers;

/// The tools, prompts and texts that are offered at one time.
pub struct Offer {
    pub specs: Arc<[Arc<ToolSpec>]>,
    pub tools: Vec<Arc<dyn Tool>>,
    /// The hooks that are consulted about calls.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// The commands, which are prompts for other agents.
    pub commands: Arc<dyn Commands>,
    /// The skills, each with the files it refers to, relative to its directory.
    pub skills: Vec<(Skill, Vec<std::path::PathBuf>)>,
    /// The servers whose prompts and resources are passed on.
    pub servers: Vec<Arc<Servers>>,
    pub prompt_names: PromptNames,
}

/// The names of the prompts of servers that are passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptNames {
    /// Those of commands: `mcp__SERVER__PROMPT`.
    Command,
    /// Those that the servers give them, as with the tools of a role.
    Own,
}

/// The commands of the user, of plugins and of the project.
pub trait Commands: Send + Sync {
    /// All commands.
    fn list(&self) -> Vec<CommandEntry>;

    /// A command by any of its names.
    fn find(&self, name: &str) -> Option<CommandEntry>;

    /// The text of a command for these arguments. Runs nothing.
    fn render(&self, name: &str, arguments: &str) -> Option<String>;
}

/// A command.
pub struct CommandEntry {
    /// Its shortest name.
    pub name: String,
    pub description: String,
    /// Its arguments as its author writes them, such as `<file> [style]`.
    pub usage: String,
}

/// Provides what is offered and runs calls.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// Picks up changes of plugins, servers, settings and so on. None if there are none.
    async fn renew(&self, before: &Offer) -> Option<Offer>;

    /// Opens the conversation for one call of one of these tools.
    fn open(
        &self,
        offer: &Offer,
        session: &SessionId,
        tools: Vec<Arc<dyn Tool>>,
    ) -> Box<dyn CallConversation>;

    /// Tells hooks that the session of a client begins.
    async fn begin_session(&self, offer: &Offer, session: &SessionId);

    /// Tells hooks that the session of a client ends.
    async fn end_session(&self, offer: &Offer, session: &SessionId);

    /// The text of a permission question.
    fn question(&self, asked: &Event) -> String;

    /// Shows messages to the user.
    fn frontend(&self) -> &dyn Frontend;
}

/// The conversation in which a call runs.
#[async_trait]
pub trait CallConversation: Send {
    /// Takes inputs.
    fn inputs(&self) -> &mpsc::Sender<Input>;

    /// The next event. None after the end.
    async fn next_event(&mut self) -> Option<Arc<Event>>;

    /// Ends it and waits for its end.
    async fn finish(self: Box<Self>);
}

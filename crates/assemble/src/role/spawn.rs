//! `spawn`: other roles and agents that work in the background.

use std::sync::Arc;

use agent::nested::Parent;
use contract::tool::Tool;
use initrunner::builtin::{self, SpawnableAgent, Start, ToolHost};
use initrunner::role::{Role, ToolEntry};

use super::delegate::{self, Delegate};
use crate::answering_model::AnsweringModel;
use crate::assembly::Assembly;

pub(super) fn open(
    assembly: &Assembly,
    (role, answering): (&Role, Option<&Arc<AnsweringModel>>),
    entry: &ToolEntry,
    tool_host: &ToolHost,
) -> Vec<Arc<dyn Tool>> {
    let Ok(limits) = builtin::spawn_limits(&entry.fields) else { return Vec::new() };
    let found = delegate::delegates(assembly, (role, answering), entry);
    let (local, remote) = found.unwrap_or_default();
    let local = local.into_iter().map(|delegate| {
        let (name, description) = (delegate.agent.name.clone(), delegate.agent.description.clone());
        SpawnableAgent { name, description, host: None, start: start(delegate) }
    });
    let remote = remote.into_iter().map(|((name, description), agent)| {
        let (host, agent) = (Some(agent.host()), Arc::new(agent));
        let start: Start = Box::new(move |prompt| {
            let agent = Arc::clone(&agent);
            Box::pin(async move { agent.delegate(&prompt).await })
        });
        SpawnableAgent { name, description, host, start }
    });
    builtin::spawn_tools(local.chain(remote).collect(), limits, tool_host)
}

fn start(delegate: Delegate) -> Start {
    let delegate = Arc::new(delegate);
    Box::new(move |prompt| {
        let (delegate, parent) = (Arc::clone(&delegate), Parent::current());
        Box::pin(async move {
            match delegate.delegated(parent, prompt).await {
                Ok(output) => output.error.map_or(Ok(output.output), Err),
                Err(error) => Err(error.to_string()),
            }
        })
    })
}

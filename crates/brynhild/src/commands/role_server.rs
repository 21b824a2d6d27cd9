//! `run --serve`: agents over HTTP, as models.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use ::server::host::Failure;
use ::server::role_host::{Agent, Listener, RoleHost, RunEnd, RunFailure, Tell, Work};
use ::server::{RoleServerOptions, RoleServerSettings, serve_roles};
use args::{ChatArgs, RunArgs};
use assemble::answering_model::answering;
use assemble::assembly::Assembly;
use assemble::chosen_role::ChosenRole;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::output;
use assemble::role::stores;
use async_trait::async_trait;
use contract::event::{Event, EventKind, Input, Outcome as End, Piece};
use contract::secret::Secret;
use initrunner::host::RoleConversation as _;
use line_ui::turn;
use serde_json::json;
use tokio::sync::watch;

use super::role::RoleResult;
use super::role_runner::OpenRun;
use super::{approvals, composed, serve};
use crate::frontends::View;

/// A role with its name and the assembly that plays it.
pub(super) type Served = (String, Assembly, ChosenRole);

/// Serves the chosen role, or the members of a group, until a signal comes.
pub(super) async fn run(assembly: &Assembly, args: &RunArgs) -> Outcome {
    let (roles, security) = match &assembly.role {
        Some(chosen) => {
            let role = (chosen.name().to_owned(), assembly.clone(), chosen.clone());
            (vec![role], chosen.role.security.clone())
        }
        None => composed::served(assembly, args)?,
    };
    let server = &args.server;
    let address = SocketAddr::new(server.host.unwrap_or(Ipv4Addr::LOCALHOST.into()), server.port);
    let variable = assembly.environment.variable("INITRUNNER_API_KEY");
    let key = server.api_key.as_deref().or(variable).filter(|key| !key.is_empty());
    let options = RoleServerOptions {
        address,
        key: key.map(|key| Secret::new(key.to_owned())),
        cors_origins: server.cors_origin.clone(),
        settings: RoleServerSettings::read(&security).map_err(Problem::misuse)?,
        is_a2a: args.a2a.is_some(),
        public_url: args.a2a.clone().flatten(),
        version: env!("CARGO_PKG_VERSION"),
    };
    let agents = roles.iter().map(|(name, _, ChosenRole { role, .. })| Agent {
        name: name.clone(),
        description: role.description.clone(),
        tags: role.tags.clone(),
    });
    let (agents, host) = (agents.collect(), Rc::new(Roles(roles)));
    serve::until_signal(&address.to_string(), |stopped| {
        serve_roles(host, agents, options, stopped, |place, new_key| {
            output::hint("ctrl-c ends the server");
            let key = new_key.map(|key| format!("\nAPI key: {key}")).unwrap_or_default();
            // A closed output needs no address.
            let _ = output::line(format_args!("{place}{key}"));
        })
    })
    .await
}

struct Roles(Vec<Served>);

/// Passes the pieces of an answer on to a client.
struct ClientView {
    quiet: Box<dyn View>,
    /// None if only the whole answer can be checked.
    tell: Option<Tell>,
}

impl View for ClientView {
    fn event(&mut self, event: &Event) -> io::Result<()> {
        if let (EventKind::ReplyDelta { piece: Piece::Text { text } }, Some(tell), None) =
            (&event.kind, &self.tell, &event.within)
        {
            tell(text);
        }
        self.quiet.event(event)
    }

    fn shows_calls_at_end(&self) -> bool {
        true
    }
}

/// The signal of a client or of the server's end, until it has come.
struct Stop(Option<watch::Receiver<bool>>);

#[async_trait]
impl turn::Signals for Stop {
    async fn next(&mut self) -> Exit {
        if let Some(stop) = &mut self.0
            && stop.wait_for(|stops| *stops).await.is_ok()
        {
            self.0 = None;
            return Exit::Interrupted;
        }
        std::future::pending().await
    }
}

impl Roles {
    /// The agent of a paused run, and the prompt that continues it after the decisions.
    fn decide(
        &self,
        run_id: &str,
        approved: &BTreeMap<String, bool>,
        by: &str,
    ) -> Result<(usize, String, approvals::Decided), Failure> {
        let failed = |what: String| RunFailure::Failed.with(what);
        let store = stores::audit(&self.0[0].1).map_err(failed)?;
        let unrecorded = || RunFailure::Unavailable.with("runs are not recorded (`--no-audit`)");
        let store = store.ok_or_else(unrecorded)?;
        let calls = store.pending(Some(run_id), usize::MAX).map_err(failed)?;
        let agent = self.0.iter().position(|(_, assembly, ChosenRole { role, .. })| {
            let path = assembly.environment.cwd.join(&role.file);
            calls.first().is_some_and(|it| it.agent_name == role.name && it.role_path == path)
        });
        let none = || RunFailure::NotFound.with("no calls of this run are waiting for approval");
        let agent = agent.ok_or_else(none)?;
        let decided = store.decide(calls, |id| approved.get(id).copied(), by);
        let (prompt, decided) = decided.map_err(|what| RunFailure::Refused.with(what))?;
        Ok((agent, prompt, decided))
    }
}

#[async_trait(?Send)]
impl RoleHost for Roles {
    async fn run(&self, work: Work, Listener { tell, stop }: Listener) -> Result<RunEnd, Failure> {
        let failed = |problem: Problem| RunFailure::Failed.with(problem.message());
        let (agent, history, prompt, decided, resume) = match work {
            Work::Prompt { agent, history, prompt } => (agent, history, prompt, Vec::new(), None),
            Work::Resume { run_id, approved, by } => {
                let (agent, prompt, decided) = self.decide(&run_id, &approved, &by)?;
                (agent, Vec::new(), prompt, decided, Some(run_id))
            }
        };
        let (_, assembly, chosen) = &self.0[agent];
        let mut assembly = assembly.separate();
        assembly.global.resume = resume;
        let answering = Arc::new(answering(&assembly).await.map_err(failed)?);
        let opened = OpenRun::new(&assembly, &ChatArgs::default(), answering, history).await;
        let mut opened = opened.map_err(failed)?;
        let tell = Some(tell).filter(|_| !chosen.has_schema());
        opened.view = Box::new(ClientView { quiet: opened.view, tell });
        (opened.may_pause, opened.decided) = (true, decided);
        opened.signals = Some(Box::new(Stop(Some(stop))));
        let shown = opened.show(Input::Prompt { text: prompt }).await;
        let (id, role) = (opened.id.clone(), opened.role.clone());
        let waiting = std::mem::take(&mut opened.waiting);
        Box::new(opened).close().await;
        let verdict = shown.map_err(|error| failed(error.into()))?;
        let waiting = approvals::store(&assembly, role.as_deref(), &id, waiting).map_err(failed)?;
        let result = RoleResult::new(&verdict, role.as_deref());
        // The model goes on without a call that nobody approved.
        let is_done = matches!(result.exit, Exit::Done | Exit::PermissionNeeded | Exit::Unsafe);
        if is_done || !waiting.is_empty() {
            return Ok(RunEnd {
                agent,
                run_id: id.as_str().to_owned(),
                text: result.output,
                is_data: chosen.has_schema(),
                usage: verdict.usage,
                waiting: waiting.iter().map(|call| json!(call)).collect(),
            });
        }
        let kind = match &verdict.outcome {
            Some(End::Limited { limit, .. }) if limit == "timeout" => RunFailure::Timeout,
            // A prompt that is refused reaches no model.
            Some(End::Blocked { .. }) if verdict.usage.total_tokens() == 0 => RunFailure::Refused,
            Some(End::Blocked { .. }) => RunFailure::Withheld,
            Some(End::Stuck { .. }) => RunFailure::Failed,
            _ if result.exit == Exit::Limited => RunFailure::Limit,
            _ => RunFailure::Failed,
        };
        Err(kind.with(result.error.unwrap_or_else(|| "the run was stopped".to_owned())))
    }

    fn report(&self, text: &str) {
        output::note(text);
    }
}

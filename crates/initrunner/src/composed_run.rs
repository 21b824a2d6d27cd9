//! Runs a document of several agents by its kind.

use crate::compose::{Composed, Kind};
use crate::member_run::{ComposedRun, MemberRuns, RunHost};
use crate::{flow, routing, team};

impl Composed {
    /// Has the members of a team or a flow work on a task.
    pub async fn run(&self, task: &str, host: &RunHost<'_>) -> ComposedRun {
        match &self.kind {
            Kind::Team(settings) => team::run(self, settings, task, host).await,
            Kind::Flow(graph) => flow::run(self, graph, task, host).await,
            Kind::Agent | Kind::Group => ComposedRun {
                error: Some(String::from("its agents are independent; choose one")),
                ..ComposedRun::default()
            },
        }
    }

    /// The place of the member that fits a prompt best.
    pub async fn sense(&self, prompt: &str, host: &RunHost<'_>) -> usize {
        let runs = MemberRuns::new(host, None);
        let members: Vec<_> = self.members.iter().collect();
        routing::sense(prompt, &members, (&runs, &self.lead)).await
    }
}

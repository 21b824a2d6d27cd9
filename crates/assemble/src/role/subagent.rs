//! A role as a sub-agent: one task within another conversation.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agent::nested::{Ended, NestedTask, Parent};
use tools::tool_search::{self, FoundTools};

use super::{choose, open};
use crate::assembly::Assembly;
use crate::exit::Problem;
use crate::run_context::RunContext;
use crate::settings::conversation_settings;
use crate::subagents::{Workplace, take_over};
use crate::{answering_model, mcp};

impl Workplace {
    /// Runs the task of a role to its end, and stops the role's services.
    pub(crate) async fn play_role(
        &self,
        parent: &Parent,
        (name, path): (&str, &Path),
        prompt: String,
    ) -> Result<Ended, Problem> {
        let mut assembly = Assembly::with_services(
            RunContext::again(self.global.clone(), self.environment.clone())?,
            Arc::new(self.services.in_same_sandbox()),
        );
        if let Some(host) = &self.host {
            assembly.adopt(host.clone()).await?;
        }
        choose(&mut assembly, path, &BTreeMap::new())?;
        if let (Some(shared), Some(chosen)) = (&self.shared_memory, &mut assembly.role) {
            shared.give(&mut chosen.role, name);
        }
        let answering = Arc::new(answering_model::answering(&assembly).await?);
        let opened = open(&assembly, Some(&answering)).await?;
        let opened = opened.ok_or_else(|| Problem::failed("the role cannot be used"))?;
        opened.set_model(&answering);
        let mut settings = self.inherited(parent);
        let own =
            conversation_settings(&assembly, &self.root, Some(&answering), opened.system.clone());
        take_over(&mut settings, &own);
        settings.system = own.system;
        opened.tighten(&mut settings);
        let (own, found) = (opened.tools.clone(), FoundTools::default());
        let (tools, is_hidden) = tool_search::behind_search(own, mcp::deferral(&assembly), &found);
        let task = NestedTask {
            agent: name.to_owned(),
            prompt,
            provider: Some(Arc::clone(&answering.provider)),
            tools,
            is_hidden,
            hooks: opened.hooks(),
            settings,
            notices: Vec::new(),
        };
        let ended = parent.converse(task).await;
        opened.run.stop_spawned().await;
        opened.shutdown().await;
        Ok(ended?)
    }
}

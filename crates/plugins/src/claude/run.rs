//! One run of a handler: a process, a request, a question or a call, and what comes of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use contract::policy::Mode;
use tokio::time::timeout;

use super::decision;
use super::handlers::{Handler, Program};
use super::hook::Shared;
use super::remote::{Post, asked};
use super::services::{HookServices, McpCall, filled};
use super::values::{Reader, Values};
use crate::hooks::failure::Failed;
use crate::hooks::host::{Launch, Owner};
use crate::hooks::moment::Reply;

pub(super) struct Run {
    pub(super) shared: Arc<Shared>,
    pub(super) owner: Owner,
    pub(super) values: Values,
    pub(super) handler: Handler,
    pub(super) mode: Mode,
    pub(super) cwd: PathBuf,
    pub(super) readable: Vec<PathBuf>,
    pub(super) input: Arc<[u8]>,
}

impl Run {
    /// Runs it to its end. One that cannot be asked, or takes too long, decides nothing.
    pub(super) async fn finish(self) -> Reply {
        let event = self.handler.event;
        let shown = self.handler.program.shown();
        let mut said = match timeout(self.handler.timeout, self.heard()).await {
            Ok(Ok(said)) => said,
            // What a handler that was not let run guards does not pass.
            Ok(Err(Failed::Refused(why))) if event.can_refuse() => {
                return Reply::block(format!("its hook could not be asked: {why}"));
            }
            Ok(Err(Failed::Refused(why))) => Reply::failure(why),
            Ok(Err(Failed::Broken(error))) => Reply::failure(error.to_string()),
            Err(_) => {
                let seconds = self.handler.timeout.as_secs_f64();
                Reply::failure(format!("it took longer than {seconds} s and was stopped"))
            }
        };
        for message in said.messages.iter_mut().chain(&mut said.failures) {
            *message = format!("hook of {} (`{shown}`): {message}", event.name());
        }
        said
    }

    async fn heard(&self) -> Result<Reply, Failed> {
        let (event, settings) = (self.handler.event, &self.shared.settings);
        settings.host.trusted(&self.owner)?;
        match &self.handler.program {
            Program::Shell(line) => {
                let args = vec!["-c".into(), self.line(line).into()];
                self.process(super::shell::shell(), args).await
            }
            Program::Direct(words) => {
                let program = words.first().map(String::as_str).unwrap_or_default();
                let args = words.iter().skip(1).map(Into::into).collect();
                self.process(Path::new(program), args).await
            }
            Program::Address { url, headers, variables } => {
                let network = settings.host.profile(&self.owner, self.mode).network;
                let post = Post { url, headers, variables, network: &network };
                let surroundings = &settings.host.surroundings;
                Ok(post.send(event, &settings.requests, surroundings, &self.input).await?)
            }
            Program::Question { prompt, model } => {
                let ask = self.shared.ask.get().ok_or("no model is available")?;
                let reply = ask.ask(model.as_deref(), &asked(prompt, &self.input)).await?;
                Ok(decision::read_reply(&reply))
            }
            Program::Inquiry { prompt, model } => {
                let question = asked(prompt, &self.input);
                let reply =
                    self.services()?.look_into(model.as_deref(), &question, self.mode).await?;
                Ok(decision::read_reply(&reply))
            }
            Program::Tool { server, tool, input } => {
                let happened = serde_json::from_slice(&self.input).unwrap_or_default();
                let call = McpCall {
                    plugin: self.owner.plugin().map(|plugin| plugin.name().to_owned()),
                    server: server.clone(),
                    tool: tool.clone(),
                    input: filled(input, &happened),
                    mode: self.mode,
                };
                Ok(decision::read_words(event, &self.services()?.call(call).await?))
            }
        }
    }

    async fn process(&self, program: &Path, args: Vec<OsString>) -> Result<Reply, Failed> {
        let launch = Launch {
            owner: &self.owner,
            mode: self.mode,
            cwd: &self.cwd,
            env: self.values.environment(),
            readable: &self.readable,
            input: &self.input,
        };
        let ended = self.shared.settings.host.run(&launch, program, args).await?;
        Ok(decision::read(self.handler.event, &ended))
    }

    /// Puts directories into a shell's line if they are plain words; else they are in its variables.
    fn line(&self, line: &str) -> String {
        let is_plain = |path: &Path| {
            let path = path.to_string_lossy();
            path.chars().all(|c| c.is_ascii_alphanumeric() || "._/-+@".contains(c))
        };
        let values = &self.values;
        if [&values.root, &values.data, &values.project].into_iter().all(|path| is_plain(path)) {
            values.put_into(line, Reader::Program)
        } else {
            line.to_owned()
        }
    }

    fn services(&self) -> Result<&Arc<dyn HookServices>, String> {
        self.shared.services.get().ok_or_else(|| "there is nobody here who could do it".to_owned())
    }
}

//! A hook of `hooks.yaml` at work: it looks whether what happened fits, runs, and gives an answer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::files::bounded;
use async_trait::async_trait;
use contract::hook::{ContextVerdict, HookContext, HookError, Moment, OnFailure};
use contract::text;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Settings;
use super::answer::{Action as Verdict, Answer, Unknown};
use super::context::Context;
use super::definition::{Action, Definition, OnTimeout};
use super::event::Event;
use super::failure::Failed;
use super::host::{Launch, Owner};
use super::moment::{Listener, Occurrence, Reply};
use super::origin::{Origin, relocated};
use super::prompt;
use crate::process::Ended;

const QUOTED: usize = 1500;

/// Bytes of what a hook said that a complaint about it repeats.
const SHOWN: usize = 200;

pub(crate) struct YamlHook {
    pub(crate) definition: Definition,
    pub(crate) origin: Arc<Origin>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) title: String,
    pub(crate) position: usize,
    /// Its additions to the system prompts that it was asked about, by session and prompt.
    pub(crate) said: Mutex<BTreeMap<(String, String), ContextVerdict>>,
}

impl YamlHook {
    pub(crate) fn new(
        definition: Definition,
        origin: Arc<Origin>,
        settings: Arc<Settings>,
        position: usize,
    ) -> Self {
        let title = format!("'{}' ({})", definition.name, origin.title());
        Self { definition, origin, settings, title, position, said: Mutex::default() }
    }

    pub(crate) async fn answer(&self, context: Context) -> Result<Option<Answer>, HookError> {
        let context = match self.origin.plugin() {
            Some(plugin) => context.of_plugin(plugin.name(), &plugin.root),
            None => context,
        };
        if !self.definition.matcher.fits(context.fields()) {
            return Ok(None);
        }
        let (event, limit) = (context.event, self.definition.timeout.limit);
        let mut answer = match timeout(limit, self.run(&context)).await {
            Ok(Err(Failed::Refused(why))) if event.can_block() => {
                Answer::block(format!("Hook '{}' could not be asked: {why}", self.definition.name))
            }
            Ok(answer) => answer?,
            Err(_) => return Ok(Some(self.late(event))),
        };
        if answer.action() == Verdict::Block {
            answer.explain(self.definition.message.as_deref());
            if !event.can_block() {
                let why = answer.text("message").map(|why| format!(": {why}")).unwrap_or_default();
                let event = event.name();
                self.tell(&format!("tried to block {event}, which cannot be blocked{why}"));
                answer.set_action(Verdict::Continue);
            }
        }
        Ok(Some(answer))
    }

    async fn answer_to(
        &self,
        mut context: Context,
        hook_context: &HookContext,
    ) -> Result<Reply, HookError> {
        let (ledger, session) = (&self.settings.ledger, hook_context.session.as_str());
        let event = context.event;
        if event == Event::PostToolUse {
            let tool = context.fields().get("tool").and_then(Value::as_str).unwrap_or_default();
            if let Some(metrics) = ledger.tool(session, tool) {
                context.set("tool_metrics", metrics);
            }
        }
        if matches!(event, Event::PostToolUse | Event::SessionEnd)
            && let Some(summary) = ledger.summary(session)
        {
            context.set("session_metrics_summary", summary);
        }
        if event == Event::ContextBuild {
            context.set("injections_so_far", ledger.injections(session, self.position));
        }
        let answer = self.answer(context).await?.unwrap_or_default();
        if event == Event::ContextBuild {
            let injection = answer.text("context_injection").map(|content| {
                json!({
                    "source": "hook", "location": answer.text("context_location"),
                    "content": content, "origin": self.definition.name,
                })
            });
            ledger.inject(session, self.position, injection);
        }
        Ok(answer.reply(event))
    }

    pub(crate) fn tell(&self, text: &str) {
        (self.settings.host.notice)(format!("hook {}: {text}", self.title));
    }

    fn late(&self, event: Event) -> Answer {
        let limit = seconds(self.definition.timeout.limit);
        let text = format!("Hook '{}' timed out after {limit}s", self.definition.name);
        if self.definition.timeout.then == OnTimeout::Block && event.can_block() {
            return Answer::block(text);
        }
        (self.settings.host.notice)(format!("{text} ({}); the work goes on", self.origin.title()));
        Answer::default()
    }

    async fn run(&self, context: &Context) -> Result<Answer, Failed> {
        match &self.definition.action {
            Action::Command(command) => self.command(command, context).await,
            Action::Script(script) => self.script(script, context).await,
            Action::Prompt { prompt, model } => {
                self.settings.host.trusted(&self.origin.owner)?;
                Ok(self.ask(model.as_deref(), &prompt::filled(prompt, context.fields())).await?)
            }
            Action::Refuse(why) => Ok(Answer::block(why.clone())),
        }
    }

    async fn command(&self, command: &str, context: &Context) -> Result<Answer, Failed> {
        let command = relocated(command, &self.origin.base);
        let args = vec!["-c".into(), command.into()];
        let ended = self.process(Path::new("/bin/sh"), args, Vec::new(), context).await?;
        Ok(match ended.code() {
            0 => Answer::default(),
            2 => Answer::of(Verdict::Skip),
            code => Answer::block(self.reason(code, &ended)),
        })
    }

    fn reason(&self, code: i32, ended: &Ended) -> String {
        if let Some(message) = &self.definition.message {
            return message.clone();
        }
        let said = [&ended.stderr, &ended.stdout]
            .into_iter()
            .map(|printed| printed.text.trim())
            .find(|text| !text.is_empty());
        match said {
            Some(said) => text::head(said, QUOTED).to_owned(),
            None => format!("Hook '{}' blocked (exit {code})", self.definition.name),
        }
    }

    async fn script(&self, script: &Path, context: &Context) -> Result<Answer, Failed> {
        let path = self.origin.script(script, &self.settings).map_err(|why| self.missing(why))?;
        let mut read = vec![readable(&path, &self.settings)];
        if runs_itself(&path) {
            return Ok(self.understood(&self.process(&path, Vec::new(), read, context).await?)?);
        }
        let known = match &self.settings.python {
            Some(host) => host.interpreter().await,
            None => None,
        };
        let (program, directories) = known.unwrap_or_else(|| ("python3".into(), Vec::new()));
        read.extend(directories);
        let ended = self.process(&program, vec![path.into()], read, context).await?;
        Ok(self.understood(&ended)?)
    }

    /// A missing script of a project or a plugin may have been removed by those whom it guards against.
    fn missing(&self, why: String) -> Failed {
        match self.origin.owner {
            Owner::User => Failed::Broken(HookError(why)),
            Owner::Project | Owner::Plugin(_) => Failed::Refused(why),
        }
    }

    fn understood(&self, ended: &Ended) -> Result<Answer, HookError> {
        if ended.code() != 0 {
            let said = text::tail(ended.stderr.text.trim(), QUOTED);
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            return Err(HookError(format!(
                "the script ended with exit code {}{said}",
                ended.code()
            )));
        }
        if ended.stdout.is_cut {
            return Err(HookError("the script printed more than an answer may have".to_owned()));
        }
        let printed = ended.stdout.text.trim();
        if printed.is_empty() {
            return Ok(Answer::default());
        }
        let value: Value = serde_json::from_str(printed).map_err(|error| {
            let shown = text::head(printed, SHOWN);
            HookError(format!("the script printed what is not JSON ({error}): {shown}"))
        })?;
        let (answer, unknown) = Answer::parse(&value)
            .map_err(|what| HookError(format!("the script answered with {what}")))?;
        self.known(answer, unknown)
    }

    /// The answer, unless its action is unknown and somebody said what nonsense means.
    fn known(&self, answer: Answer, unknown: Option<Unknown>) -> Result<Answer, HookError> {
        let Some(Unknown(action)) = unknown else { return Ok(answer) };
        if self.definition.on_failure != OnFailure::Continue {
            let known = "`continue`, `block` and `skip` are";
            return Err(HookError(format!("the action `{action}` is not known; {known}")));
        }
        self.tell(&format!("the action `{action}` is unknown; using `continue`"));
        Ok(answer)
    }

    async fn ask(&self, model: Option<&str>, prompt: &str) -> Result<Answer, HookError> {
        let Some(models) = &self.settings.ask else {
            return Err(HookError("it asks a model, and there is none here".to_owned()));
        };
        let reply = models.ask(model, prompt).await.map_err(HookError)?;
        let answer = prompt::understood(&reply, &self.definition.name)
            .map_err(|what| HookError(format!("the model answered with {what}")))?;
        match answer {
            Some((answer, unknown)) => self.known(answer, unknown),
            // Who did not say what a failure means may have asked for something else than a verdict.
            None if self.definition.on_failure == OnFailure::Continue => Ok(Answer::default()),
            None => {
                let shown = text::head(reply.trim(), SHOWN);
                Err(HookError(format!("the model's reply holds no verdict: {shown}")))
            }
        }
    }

    async fn process(
        &self,
        program: &Path,
        args: Vec<OsString>,
        mut read: Vec<PathBuf>,
        context: &Context,
    ) -> Result<Ended, Failed> {
        let settings = &self.settings;
        if let (Owner::User, Some(directory)) = (&self.origin.owner, &settings.config_dir) {
            read.push(directory.join("hooks"));
        }
        let launch = Launch {
            owner: &self.origin.owner,
            mode: settings.ledger.mode().unwrap_or(settings.mode),
            cwd: &cwd(context),
            env: context.variables(),
            readable: &read,
            input: &context.json(),
        };
        settings.host.run(&launch, program, args).await
    }
}

#[async_trait]
impl Listener for YamlHook {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.definition.event.moment() == Some(moment)
    }

    fn on_failure(&self) -> OnFailure {
        self.definition.on_failure
    }

    async fn hear(
        &self,
        hook_context: &HookContext,
        what: Occurrence<'_>,
    ) -> Result<Reply, HookError> {
        let context = Context::of_occurrence(self.definition.event, hook_context, what);
        let Some(context) = context else { return Ok(Reply::default()) };
        let Occurrence::SystemPrompt(base) = what else {
            return self.answer_to(context, hook_context).await;
        };
        let key = (hook_context.session.as_str().to_owned(), base.to_owned());
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(system_prompt) = said {
            return Ok(Reply { system_prompt, ..Reply::default() });
        }
        let reply = self.answer_to(context, hook_context).await?;
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.insert(key, reply.system_prompt.clone());
        Ok(reply)
    }
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_nanos() == 0 {
        duration.as_secs().to_string()
    } else {
        duration.as_secs_f64().to_string()
    }
}

fn cwd(context: &Context) -> PathBuf {
    let cwd = context.fields().get("cwd").and_then(Value::as_str);
    PathBuf::from(cwd.unwrap_or_default())
}

/// The readable path of a script: its directory, unless that is the user's own configuration.
fn readable(script: &Path, settings: &Settings) -> PathBuf {
    let directory = script.parent().unwrap_or(script);
    let is_configuration = settings.config_dir.as_deref() == Some(directory);
    let is_home =
        settings.host.surroundings.home.as_deref().is_some_and(|home| home.starts_with(directory));
    if is_configuration || is_home { script.to_owned() } else { directory.to_owned() }
}

/// Returns true if a script is a program by itself, in another language than Python.
fn runs_itself(path: &Path) -> bool {
    let is_executable =
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0);
    let head = bounded::head(path, 256).unwrap_or_default();
    let head = String::from_utf8_lossy(&head);
    let first = head.lines().next().unwrap_or_default();
    is_executable && first.starts_with("#!") && !first.contains("python")
}

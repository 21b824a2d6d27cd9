//! The handlers of one plugin, or of the project, at work: all that fit run at once, and what they
//! say is folded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ::files::surroundings::Surroundings;
use async_trait::async_trait;
use contract::hook::{CallView, HookContext, HookError, Moment};
use contract::policy::{Access, Decision, Mode};
use contract::sandbox::{Channel, Network, Profile, Sandbox, Spawn, Stdin};
use contract::trust_check::TrustCheck;
use futures::future::join_all;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::aide::{AIDED, Aides, Wish, filled};
use super::decision;
use super::event::Event;
use super::expansion::Expansions;
use super::handlers::{Handler, Program, Waiting};
use super::happening::Happening;
use super::input;
use super::remote::{Post, asked};
use super::transcript::Transcripts;
use super::values::{Reader, Values};
use crate::confine::{granted, home_among};
use crate::hooks::failure::{self, Failed};
use crate::hooks::moment::{Listener, Occurrence, Reply};
use crate::hooks::{Ask, Notice};
use crate::plugin::Plugin;
use crate::rest;

/// What handlers need to run.
pub struct Settings {
    /// Starts their processes.
    pub sandbox: Arc<dyn Sandbox>,
    /// Whether it confines them; a plugin that it does not has the user's home.
    pub is_confined: bool,
    /// Where they find themselves.
    pub surroundings: Surroundings,
    /// What a command of the model may see and do, which a trusted project's handlers may too.
    pub profile: Profile,
    /// Holds a directory for each plugin's data.
    pub data: PathBuf,
    /// Holds the transcripts while conversations go on.
    pub transcripts: PathBuf,
    /// How the session begins: `startup` or `resume`.
    pub source: &'static str,
    /// The commands that were typed.
    pub expansions: Arc<Expansions>,
    /// The mode at the beginning.
    pub mode: Mode,
    /// What posts to addresses.
    pub requests: rest::Settings,
    /// Hears what people should know.
    pub notice: Notice,
    /// Says whether what the project brings is still what the user trusts.
    pub vouch: TrustCheck,
}

/// What all handlers of a conversation share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) transcripts: Arc<Transcripts>,
    mode: Mutex<Mode>,
    /// What of grants people were told that it could not be given.
    told: Mutex<BTreeSet<String>>,
    /// Those that nobody waits for.
    behind: Mutex<JoinSet<()>>,
    /// What those have to say to the model.
    waiting: Arc<Mutex<Vec<String>>>,
    /// Puts questions to a model, once there is one.
    pub(crate) ask: OnceLock<Arc<dyn Ask>>,
    /// Does for handlers what they cannot do themselves, once there is somebody.
    pub(crate) aides: OnceLock<Arc<dyn Aides>>,
}

impl Shared {
    /// Begins with the mode of the settings.
    pub(crate) fn new(settings: Settings) -> Self {
        let transcripts = Arc::new(Transcripts::new(settings.transcripts.clone()));
        let mode = Mutex::new(settings.mode);
        Self {
            settings,
            transcripts,
            mode,
            told: Mutex::default(),
            behind: Mutex::default(),
            waiting: Arc::default(),
            ask: OnceLock::new(),
            aides: OnceLock::new(),
        }
    }

    /// The mode in force.
    pub(crate) fn mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes it for what starts from here on.
    pub(crate) fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Ends what runs, and deletes what was kept for it.
    pub(crate) fn end(&self) {
        self.behind.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.transcripts.clear();
    }

    /// What handlers behind the scenes have to say to the model.
    fn take_waiting(&self) -> Vec<String> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The handlers of one owner.
#[derive(Clone)]
pub(crate) struct Handlers {
    /// The owner in words.
    pub(crate) title: String,
    /// The plugin; none for the project.
    pub(crate) plugin: Option<Arc<Plugin>>,
    pub(crate) values: Values,
    pub(crate) list: Vec<Handler>,
    pub(crate) shared: Arc<Shared>,
    /// Why the turn must end.
    pub(crate) halt: Arc<Mutex<Option<String>>>,
}

impl Handlers {
    /// Runs the handlers of an event, and tells the user what is for them.
    async fn ask(&self, what: Happening<'_>) -> Reply {
        let event = what.event;
        let mut said = self.gather(what).await;
        for message in said.failures.drain(..).chain(said.messages.drain(..)) {
            self.tell(&message);
        }
        if let Some(why) = said.stop.as_ref().filter(|_| event.can_halt()) {
            self.halt(why.clone());
        }
        said
    }

    /// What the handlers of an event say.
    pub(super) async fn gather(&self, what: Happening<'_>) -> Reply {
        let call = what.input.get("tool_input").unwrap_or(&Value::Null);
        let is_aided = what.scene.session.as_str() == AIDED;
        let fits = |handler: &&Handler| {
            handler.event == what.event
                && !(is_aided && handler.program.needs_aide())
                && handler.matcher.fits(&what.names)
                && handler.condition.as_ref().is_none_or(|it| it.fits(&what.names, call))
        };
        let mut fitting: Vec<&Handler> = Vec::new();
        for handler in self.list.iter().filter(fits) {
            // The same program is not asked twice about one thing.
            if fitting.iter().all(|other| other.program != handler.program) {
                fitting.push(handler);
            }
        }
        let mut said = Reply { context: self.shared.take_waiting(), ..Reply::default() };
        if fitting.is_empty() {
            return said;
        }
        let mode = self.shared.mode();
        let transcripts = &self.shared.transcripts;
        let transcript = transcripts.file(what.scene);
        let inner = transcripts.file_within(what.scene);
        let mut input = input::common(what.event, what.scene, transcript.as_deref(), mode);
        input.extend(what.input);
        if let (Event::SubagentStop, Some(inner)) = (what.event, &inner) {
            input.insert("agent_transcript_path".to_owned(), inner.display().to_string().into());
        }
        let readable: Vec<PathBuf> = transcript.into_iter().chain(inner).collect();
        let input: Arc<[u8]> = Value::Object(input).to_string().into_bytes().into();
        let mut asked = Vec::new();
        for handler in fitting {
            let run = Run {
                shared: Arc::clone(&self.shared),
                spawn: self.spawn(handler, &what.scene.cwd),
                profile: self.profile(mode, &readable),
                input: Arc::clone(&input),
                handler: handler.clone(),
                plugin: self.plugin.as_ref().map(|plugin| plugin.name().to_owned()),
                mode,
                vouch: match self.plugin {
                    Some(_) => TrustCheck::default(),
                    None => self.shared.settings.vouch.clone(),
                },
            };
            if handler.waiting == Waiting::ForEnd {
                asked.push(run.finish());
            } else {
                self.leave(run);
            }
        }
        for one in join_all(asked).await {
            said = said.and(one);
        }
        said
    }

    /// Hears of a notification, which cannot be refused: the model reads what handlers object.
    async fn notify(&self, happenings: Vec<Happening<'_>>) -> Reply {
        let mut reply = Reply::default();
        for happening in happenings {
            let event = happening.event;
            let mut said = self.ask(happening).await;
            if !event.can_halt() {
                for why in said.block.iter().chain(&said.stop) {
                    self.tell(&format!("a hook of {} says: {why}", event.name()));
                }
            }
            if event == Event::PostToolBatch {
                said.block.take().into_iter().for_each(|why| self.halt(why));
            }
            reply.context.extend(said.block.take().filter(|_| event.can_halt()));
            reply.context.extend(said.context);
        }
        reply
    }

    /// Has the turn end.
    fn halt(&self, why: String) {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    /// Says something that people should know.
    fn tell(&self, text: &str) {
        (self.shared.settings.notice)(format!("{}: {text}", self.title));
    }

    /// Says something that people should know and were not told before.
    fn tell_once(&self, text: String) {
        let mut told = self.shared.told.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.contains(&text) {
            self.tell(&text);
            told.insert(text);
        }
    }

    /// Runs a handler that nobody waits for.
    fn leave(&self, run: Run) {
        let waiting = Arc::clone(&self.shared.waiting);
        let mut behind = self.shared.behind.lock().unwrap_or_else(PoisonError::into_inner);
        while behind.try_join_next().is_some() {}
        behind.spawn(async move {
            let wakes = run.handler.waiting == Waiting::Woken;
            let said = run.finish().await;
            if let Some(why) = said.block.filter(|_| wakes) {
                waiting.lock().unwrap_or_else(PoisonError::into_inner).push(why);
            }
        });
    }

    /// What a handler starts; none where it asks somebody.
    fn spawn(&self, handler: &Handler, cwd: &Path) -> Option<Spawn> {
        let (program, args) = match &handler.program {
            Program::Address { .. }
            | Program::Question { .. }
            | Program::Inquiry { .. }
            | Program::Tool { .. } => return None,
            Program::Shell(line) => {
                let bash = Path::new("/bin/bash");
                let shell = if bash.exists() { bash } else { Path::new("/bin/sh") };
                (shell.to_owned(), vec!["-c".into(), self.line(line).into()])
            }
            Program::Direct(words) => {
                let program = words.first().cloned().unwrap_or_default();
                (program.into(), words.iter().skip(1).map(Into::into).collect())
            }
        };
        let has_home = self.plugin.is_some() && self.shared.settings.is_confined;
        Some(Spawn {
            program,
            args,
            cwd: cwd.to_owned(),
            stdin: Stdin::Piped,
            channel: Channel::None,
            env: BTreeMap::new(),
            home: has_home.then(|| home_among(&self.values.data)),
        })
    }

    /// A shell's line with the directories put in where they are plain words; elsewhere the shell finds
    /// them in its variables.
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

    fn profile(&self, mode: Mode, transcripts: &[PathBuf]) -> Profile {
        let settings = &self.shared.settings;
        let mut profile = if let Some(plugin) = &self.plugin {
            if std::fs::create_dir_all(&self.values.data).is_err() {
                self.tell(&format!("{} cannot be made", self.values.data.display()));
            }
            let (profile, problems) =
                granted(plugin, &settings.surroundings, &self.values.data, mode);
            for problem in problems {
                self.tell_once(format!("{}; {}", problem.what, problem.hint));
            }
            profile
        } else {
            let mut profile = settings.profile.clone();
            if mode == Mode::ReadOnly {
                profile.network = Network::None;
            } else {
                profile.access = Access::Workspace;
            }
            profile
        };
        profile.read.extend(transcripts.iter().cloned());
        profile.env.extend(self.values.environment());
        profile
    }
}

#[async_trait]
impl Listener for Handlers {
    fn name(&self) -> &str {
        &self.title
    }

    fn wants(&self, moment: Moment) -> bool {
        self.list.iter().any(|handler| handler.event.moment() == moment)
    }

    fn take_halt(&self) -> Option<String> {
        self.halt.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    async fn hear(&self, scene: &HookContext, what: Occurrence<'_>) -> Result<Reply, HookError> {
        let happenings = self.happenings(scene, what);
        if let Occurrence::Notification(_) = what {
            return Ok(self.notify(happenings).await);
        }
        let mut reply = Reply::default();
        for happening in happenings {
            let is_settled = reply.block.is_some() || reply.stop.is_some();
            let is_asked_for =
                |call: CallView<'_>| reply.ask.is_some() || call.decision == Decision::Ask;
            let is_due = match (happening.event, what) {
                (Event::PermissionRequest, Occurrence::Call(call)) => is_asked_for(call),
                _ => true,
            };
            if is_due && !is_settled {
                reply = reply.and(self.ask(happening).await);
            }
        }
        match what {
            // What has run cannot be refused; the model reads the objection.
            Occurrence::CallResult(_) => reply.context.extend(reply.block.take()),
            Occurrence::TurnEnd(_) if reply.stop.is_some() => {
                reply.stop.iter().for_each(|why| self.tell(why));
                return Ok(Reply::default());
            }
            Occurrence::TurnEnd(_) => {
                reply.block = reply.block.take().or(reply.inject());
                reply.context.clear();
            }
            _ => {}
        }
        Ok(reply)
    }
}

/// A handler that is about to run.
struct Run {
    shared: Arc<Shared>,
    spawn: Option<Spawn>,
    profile: Profile,
    input: Arc<[u8]>,
    handler: Handler,
    /// The plugin whose handler it is; none for the project's.
    plugin: Option<String>,
    mode: Mode,
    vouch: TrustCheck,
}

impl Run {
    /// Runs it to its end. One that cannot be asked, or takes too long, decides nothing.
    async fn finish(self) -> Reply {
        let event = self.handler.event;
        let shown = self.handler.program.shown();
        let mut said = match timeout(self.handler.timeout, self.heard()).await {
            Ok(Ok(said)) => said,
            Ok(Err(error)) => Reply::failure(error),
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

    /// What it says. An error is why it could not be asked.
    async fn heard(&self) -> Result<Reply, String> {
        let event = self.handler.event;
        let fixed = match self.vouch.ask() {
            Ok(fixed) => fixed,
            Err(why) => return refused(event, why),
        };
        match (&self.spawn, &self.handler.program) {
            (Some(spawn), _) => {
                let sandbox = &*self.shared.settings.sandbox;
                let profile = Profile { fixed, ..self.profile.clone() };
                match failure::run(sandbox, spawn, &profile, &self.input).await {
                    Ok(ended) => Ok(decision::read(event, &ended)),
                    Err(Failed::Refused(why)) => refused(event, why),
                    Err(Failed::Broken(error)) => Err(error.to_string()),
                }
            }
            (None, Program::Address { url, headers, variables }) => {
                let settings = &self.shared.settings;
                let post = Post { url, headers, variables, network: &self.profile.network };
                post.send(event, &settings.requests, &settings.surroundings, &self.input).await
            }
            (None, Program::Question { prompt, model }) => {
                let ask = self.shared.ask.get().ok_or("there is no model that could be asked")?;
                let reply = ask.ask(model.as_deref(), &asked(prompt, &self.input)).await?;
                Ok(decision::read_reply(&reply))
            }
            (None, Program::Inquiry { prompt, model }) => {
                let question = asked(prompt, &self.input);
                let reply = self.aides()?.look_into(model.as_deref(), &question, self.mode).await?;
                Ok(decision::read_reply(&reply))
            }
            (None, Program::Tool { server, tool, input }) => {
                let happened = serde_json::from_slice(&self.input).unwrap_or_default();
                let wish = Wish {
                    plugin: self.plugin.clone(),
                    server: server.clone(),
                    tool: tool.clone(),
                    input: filled(input, &happened),
                    mode: self.mode,
                };
                Ok(decision::read_words(event, &self.aides()?.call(wish).await?))
            }
            (None, Program::Shell(_) | Program::Direct(_)) => Ok(Reply::default()),
        }
    }

    fn aides(&self) -> Result<&Arc<dyn Aides>, String> {
        self.shared.aides.get().ok_or_else(|| "there is nobody here who could do it".to_owned())
    }
}

/// What it means that a handler was not let run: what it guards does not pass.
fn refused(event: Event, why: String) -> Result<Reply, String> {
    if !event.can_refuse() {
        return Err(why);
    }
    Ok(Reply::block(format!("its hook could not be asked: {why}")))
}

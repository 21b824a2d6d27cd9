//! Without a command: a conversation, line by line.

mod session;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use args::{ChatArgs, OutputFormat};
use assemble::answering_model::{self, AnsweringModel};
use assemble::assembly::Assembly;
use assemble::exit::{Exit, Outcome, Problem};
use assemble::run_context::RunContext;
use assemble::session_choice::{self, ChosenSession, SessionStorage};
use assemble::setup::Setup;
use assemble::signals::Signals;
use assemble::{effort, output, role};
use contract::event::Input;
use contract::text::visible;
use initrunner::role::{Interval, SessionBudget};
use line_ui::steering::Steering;
use line_ui::tee::Tee;
use serde_json::Value;
use session::Session;
use tui::host::{Answer, FileChange, Leave};
use tui::line::{Line, Lines};
use tui::role_line::{Attachments, RoleLine};
use tui::user_command;

use super::chat::{self, OpenConversation};
use crate::frontends::slash::{self, Control, Expansion, RewindFiles};
use crate::frontends::{self, View};

/// Converses until the input ends, with `words` as the first prompt.
pub(crate) async fn run_after(assembly: Assembly, words: Option<String>) -> Outcome {
    let mut signals = Signals::new()?;
    let is_terminal = assembly.environment.terminal.stdin;
    let mut lines = lines(&assembly);
    let mut first = words.map(Line::Text);
    if first.is_none() && !is_terminal {
        match next_line(&mut lines, &mut signals).await? {
            Ok(Line::End) => return Err(chat::no_prompt()),
            Ok(line) => first = Some(line),
            Err(exit) => return Ok(exit),
        }
    }
    chat::warn_of_missing_theme(&assembly);
    let mut assembly = Arc::new(assembly);
    let mut exit = Exit::Done;
    // The provider and the model before `/model`, until the new one is known to work.
    let mut former = None;
    loop {
        // A session with a role does not pass it on to the next one.
        let mut own = Assembly::clone(&assembly);
        role::record::resume(&mut own)?;
        let own = Arc::new(own);
        let answering = match (answering_model::answering(&own).await, former.take()) {
            (Ok(answering), _) => Arc::new(answering),
            (Err(problem), None) => return Err(problem),
            (Err(problem), Some(former)) => {
                report_problem(&problem, &mut exit);
                let global = &mut Arc::make_mut(&mut assembly).global;
                (global.provider, global.model) = former;
                continue;
            }
        };
        let attachments = Attachments::default();
        let (lines, signals) = (&mut lines, &mut signals);
        let mut talk = Talk { assembly: &own, answering: &answering, lines, signals, attachments };
        let next = talk.session(first.take(), &mut exit).await?;
        let assembly = Arc::make_mut(&mut assembly);
        match next {
            Next::End => {
                let times = [Interval::AfterSession];
                role::stores::end_session(&own, &answering, &times).await;
                return Ok(exit);
            }
            Next::Model { model: (provider, model), session } => {
                let global = &mut assembly.global;
                former = Some((global.provider.replace(provider), global.model.replace(model)));
                go_on_with(assembly, session);
            }
            Next::Session(Some(session)) => go_on_with(assembly, Some(session)),
            Next::Session(None) => start_new(assembly),
            Next::Role { module, session } => {
                if let Err(problem) = role::renew(assembly, module).await {
                    report_problem(&problem, &mut exit);
                }
                go_on_with(assembly, session);
            }
        }
    }
}

async fn next_line(lines: &mut Lines, signals: &mut Signals) -> io::Result<Result<Line, Exit>> {
    tokio::select! {
        line = lines.next() => Ok(match line? {
            Line::Interrupted => Err(Exit::Interrupted),
            line => Ok(line),
        }),
        exit = signals.next() => Ok(Err(exit)),
    }
}

fn lines(assembly: &Assembly) -> Lines {
    let terminal = assembly.environment.terminal;
    if terminal.stdin && terminal.stderr && assembly.can_redraw() {
        Lines::edited(frontends::tui::line_editor(assembly))
    } else {
        Lines::new(terminal.stdin)
    }
}

pub(super) fn go_on_with(run: &mut RunContext, session: Option<String>) {
    let global = &mut run.global;
    if session.is_some() {
        (global.continue_last, global.fork, global.session) = (false, false, None);
    }
    global.resume = session.or_else(|| global.resume.take());
}

pub(super) fn start_new(run: &mut RunContext) {
    let global = &mut run.global;
    (global.continue_last, global.fork) = (false, false);
    (global.session, global.resume) = (None, None);
}

enum Next {
    End,
    Model {
        model: (String, String),
        session: Option<String>,
    },
    /// Another session; none for a new one.
    Session(Option<String>),
    Role {
        module: Option<String>,
        session: Option<String>,
    },
}

enum Step {
    Stay,
    Leave(Next),
}

struct Talk<'a> {
    assembly: &'a Arc<Assembly>,
    answering: &'a Arc<AnsweringModel>,
    lines: &'a mut Lines,
    signals: &'a mut Signals,
    attachments: Attachments,
}

impl Talk<'_> {
    async fn session(&mut self, first: Option<Line>, exit: &mut Exit) -> Result<Next, Problem> {
        let assembly = self.assembly;
        let is_terminal = assembly.environment.terminal.stdin;
        if is_terminal {
            assembly.services.has_late_tools.get_or_init(|| ());
        }
        let args = ChatArgs::default();
        let answering = Arc::clone(self.answering);
        let prepare = |setup: &mut Setup, chosen: &mut ChosenSession| {
            if is_terminal {
                setup.lift_round_limit(assembly);
            }
            let before =
                (chosen.storage == SessionStorage::Unsaved).then(|| chosen.history.clone());
            (setup.watch(assembly), !chosen.history.is_empty(), before)
        };
        let (opened, (watch, has_begun, before)) =
            OpenConversation::open(assembly, &args, answering, prepare).await?;
        let json_role = opened.role.clone().filter(|_| assembly.wants_json());
        let mut view: Box<dyn View> = if json_role.is_some() {
            Box::new(frontends::quiet(assembly))
        } else {
            chat::view(assembly, assembly.global.verbose, opened.storage, Value::Null)
        };
        let (conversation, requests) = opened.into_parts(Arc::clone(assembly), watch, has_begun);
        let mut session = Session {
            conversation,
            requests,
            view: Tee {
                view: view.as_mut(),
                log: chat::log(assembly, &args)?,
                kept: before,
                approvals: None,
            },
            is_given_up: false,
            json_role,
            has_failed: false,
            later: VecDeque::new(),
            unsent: Vec::new(),
        };
        self.greet();
        let next = self.lines(&mut session, first, exit).await;
        let is_kept = session.is_kept();
        let Session { conversation, requests, mut view, has_failed, .. } = session;
        frontends::part(conversation, &mut view, has_failed).await;
        requests.background.close().await;
        if matches!(next, Ok(Next::End)) && is_kept && is_terminal {
            session_choice::offer_resuming(requests.id.as_str());
        }
        next
    }

    fn greet(&self) {
        if self.assembly.environment.terminal.stdin && self.assembly.format() == OutputFormat::Text
        {
            let model = &self.answering.model;
            output::hint(&format!("{model} answers; `/help` lists commands, Ctrl+D ends"));
        }
    }

    async fn lines(
        &mut self,
        session: &mut Session<'_>,
        mut first: Option<Line>,
        exit: &mut Exit,
    ) -> Result<Next, Problem> {
        let is_terminal = self.assembly.environment.terminal.stdin;
        let mut was_interrupted = false;
        loop {
            let typed = || session.later.pop_front().map(Line::Text);
            let line = if let Some(line) = first.take().or_else(typed) {
                Ok(line)
            } else {
                let unsent = std::mem::take(&mut session.unsent).join("\n\n");
                if !unsent.is_empty() && !self.lines.put_back(&unsent) {
                    output::hint(&format!("not sent, since the turn was stopped: {unsent}"));
                }
                next_line(self.lines, self.signals).await?
            };
            match line {
                Ok(Line::End | Line::Interrupted) => return Ok(Next::End),
                Err(Exit::Interrupted) if is_terminal && !was_interrupted => {
                    output::hint("Ctrl+C once more, Ctrl+D or `/quit` ends");
                    was_interrupted = true;
                    continue;
                }
                Err(signal) => {
                    *exit = signal;
                    return Ok(Next::End);
                }
                Ok(Line::Invalid) => output::error("this line is not UTF-8 text and is not sent"),
                Ok(Line::Text(text)) if text.trim().is_empty() => {}
                Ok(Line::Text(text)) => {
                    if is_terminal {
                        let (store, prompt) =
                            (frontends::tui::interface_store(self.assembly), text.clone());
                        let remember = move || store.remember(&prompt);
                        if let Err(error) = tokio::task::spawn_blocking(remember).await? {
                            output::warning(&format!("cannot store this: {error}"));
                        }
                    }
                    let stepped = self.step(session, text, exit).await;
                    // The interrupt that stopped the turn must not stop the next one.
                    self.signals.forget_interrupts();
                    match stepped {
                        Ok(Step::Stay) => {}
                        Ok(Step::Leave(next)) => return Ok(next),
                        // The output is gone.
                        Err(problem) if problem.error.is::<io::Error>() => return Err(problem),
                        Err(problem) => report_problem(&problem, exit),
                    }
                }
            }
            was_interrupted = false;
            let limits = self.assembly.role.as_ref().map(|role| &role.role.guardrails);
            let used = session.requests.state().usage.total_tokens();
            match limits.and_then(|it| it.session_budget(used)) {
                Some(SessionBudget::Exhausted) => {
                    let text = "Session token budget exhausted. Stopping further execution.";
                    output::error(text);
                    *exit = Exit::Limited;
                    return Ok(Next::End);
                }
                Some(SessionBudget::Low(text)) => output::warning(&text),
                None => {}
            }
            let is_over = session.conversation.inputs.is_closed() || session.is_given_up;
            let is_stopped = matches!(*exit, Exit::Terminated | Exit::HungUp | Exit::Quit)
                || (*exit == Exit::Interrupted && !is_terminal);
            if is_over || is_stopped {
                return Ok(Next::End);
            }
            if is_terminal {
                *exit = Exit::Done;
            }
        }
    }

    async fn step(
        &mut self,
        session: &mut Session<'_>,
        text: String,
        exit: &mut Exit,
    ) -> Result<Step, Problem> {
        if let Some(line) = RoleLine::parse(&text).filter(|_| self.assembly.role.is_some()) {
            return self.role_line(session, &line);
        }
        if let Some(call) = user_command::call(&text) {
            session.turn(Input::Call(call), None, exit).await?;
            session.record_user_command(self.assembly).await?;
            return Ok(Step::Stay);
        }
        let expansion = match slash::parse(&text) {
            None => Expansion::AsIs,
            Some(slash) => match session.requests.joined_command(&text).await? {
                Some(shown) => Expansion::Show(shown),
                None => session.requests.expanded(slash).await?,
            },
        };
        match expansion {
            Expansion::AsIs | Expansion::Prompt { .. } => {
                let text = match expansion {
                    Expansion::Prompt { text, .. } => text,
                    _ => text,
                };
                let text = self.attachments.put_to(text);
                // Lines typed during a turn go to the model at its next step; piped ones wait.
                let is_terminal = self.assembly.environment.terminal.stdin;
                let steering =
                    is_terminal.then(|| Steering::new(|words| slash::parse(words).is_some()));
                session.turn(Input::Prompt { text }, steering, exit).await?;
            }
            Expansion::Show(text) => self.show(&text)?,
            Expansion::Control(control) => return self.control(session, control, exit).await,
        }
        Ok(Step::Stay)
    }

    fn role_line(&mut self, session: &Session<'_>, line: &RoleLine<'_>) -> Result<Step, Problem> {
        let text = match line {
            RoleLine::AddTool("") => {
                return Err(Problem::misuse("no module was named").hint("`/tool add MODULE`"));
            }
            RoleLine::Reload | RoleLine::AddTool(_) => {
                let module = match line {
                    RoleLine::AddTool(module) => Some((*module).to_owned()),
                    _ => None,
                };
                let session = session.continued("/reload")?;
                return Ok(Step::Leave(Next::Role { module, session }));
            }
            RoleLine::Attach(name) => {
                let attached = self.attachments.add(&self.assembly.environment.cwd, name);
                attached.map_err(|(text, hint)| Problem {
                    hint: hint.map(str::to_owned),
                    ..Problem::misuse(text)
                })?
            }
            RoleLine::Attachments => self.attachments.describe(),
            RoleLine::ClearAttachments => self.attachments.clear(),
        };
        self.show(&text)?;
        Ok(Step::Stay)
    }

    /// Shows text, on standard error if standard output is for programs.
    fn show(&self, text: &str) -> Result<(), Problem> {
        let text = visible(text.trim_end());
        if self.assembly.format() == OutputFormat::Text {
            output::line(text)?;
        } else {
            output::hint(&text);
        }
        Ok(())
    }

    async fn control(
        &mut self,
        session: &mut Session<'_>,
        control: Control,
        exit: &mut Exit,
    ) -> Result<Step, Problem> {
        let requests = &session.requests;
        let is_fork = matches!(control, Control::Fork(_));
        let answer = match control {
            Control::Mode(mode) => {
                self.show(&format!("The mode is {}.", mode.as_str()))?;
                requests.change_mode(mode)
            }
            Control::Effort(None) => {
                let next = effort::next(self.assembly, self.answering);
                requests.control(Control::Effort(Some(next)), None)?
            }
            Control::Model(None) => Answer::Show(format!("The model is {}.", self.answering.model)),
            Control::Theme(_) => {
                return Err(screen_only("theme", "lines have the terminal's own colors"));
            }
            Control::Copy => return Err(screen_only("copy", "select text with the terminal")),
            Control::Serve(_) => {
                return Err(screen_only("serve", "`brynhild serve` offers all sessions"));
            }
            Control::Rewind { message, files } => {
                Answer::Leave(self.rewind(session, message, files).await?)
            }
            control => requests.control(control, session.view.kept.as_deref())?,
        };
        let answers = match answer {
            Answer::Several(answers) => answers,
            answer => vec![answer],
        };
        for answer in answers {
            match answer {
                Answer::Show(text) | Answer::Tell { text, .. } => self.show(&text)?,
                Answer::Changes(changes) => {
                    self.show(&changes.iter().map(FileChange::text).collect::<String>())?;
                }
                Answer::Send(input) => session.send(*input, exit).await?,
                Answer::Leave(leave) => {
                    if let (Leave::Session(copy), true) = (&leave, is_fork) {
                        self.show(&format!("This is the session {copy}."))?;
                    }
                    return session.next(leave).map(Step::Leave);
                }
                _ => {}
            }
        }
        Ok(Step::Stay)
    }

    /// Continues before a message of the user, with its text to edit.
    async fn rewind(
        &mut self,
        session: &mut Session<'_>,
        number: usize,
        files: RewindFiles,
    ) -> Result<Leave, Problem> {
        let message = session.requests.message(number)?;
        if let Some((report, events)) = session.requests.undo_since(&message, files)? {
            for what in events {
                session.record(what).await?;
            }
            self.show(&report.to_string())?;
        }
        let leave = session.requests.copy_before(&message)?;
        if !self.lines.put_back(&message.text) {
            self.show(&format!("The message was: {}", message.text))?;
        }
        Ok(leave)
    }
}

fn screen_only(name: &str, hint: &'static str) -> Problem {
    Problem::misuse(format!("`/{name}` is for the whole screen")).hint(hint)
}

/// Keeps the exit code of a failure if later turns succeed.
fn worsen(exit: &mut Exit, latest: Exit) {
    if latest != Exit::Done {
        *exit = latest;
    }
}

fn report_problem(problem: &Problem, exit: &mut Exit) {
    output::error(&problem.message());
    if let Some(hint) = &problem.hint {
        output::hint(hint);
    }
    worsen(exit, problem.exit);
}

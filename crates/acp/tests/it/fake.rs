//! A scripted program: the text of a prompt says what happens.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use acp::host::{Commands, Conversation, Expansion, Failure, Host, Opened, SessionEntry, Wanted};
use acp::wire::{Choice, Code, Command, Hint};
use async_trait::async_trait;
use contract::action::Action;
use contract::event::{
    Answer, CallOutcome, Event, EventKind, Input, Level, MessageOrigin, Outcome, Piece,
    Subconversation,
};
use contract::id::{CallId, Seq, SessionId, Timestamp};
use contract::message::{Part, Reply, StopReason, ToolCall, Usage};
use contract::policy::{Decision, Mode, Ruling};
use contract::tool::{Display, Lasting, ToolOutput};
use serde_json::{Value, json};
use tokio::sync::mpsc;

#[derive(Default)]
pub(crate) struct FakeHost {
    pub(crate) stored: Rc<RefCell<BTreeMap<String, Vec<Event>>>>,
    pub(crate) opened: RefCell<Vec<Wanted>>,
    pub(crate) warnings: RefCell<Vec<String>>,
}

#[async_trait(?Send)]
impl Host for FakeHost {
    async fn open(&self, wanted: Wanted) -> Result<Opened, Failure> {
        if wanted.cwd == Path::new("/nobody") {
            return Err(Failure::new(Code::AuthenticationRequired, "no provider"));
        }
        if wanted.cwd == Path::new("/slow") {
            std::future::pending::<()>().await;
        }
        let count = self.opened.borrow().len();
        self.opened.borrow_mut().push(wanted.clone());
        let id = wanted
            .session
            .unwrap_or_else(|| SessionId::parse(&format!("s{count}")).expect("as scripted"));
        let history = self.stored.borrow().get(id.as_str()).cloned().unwrap_or_default();
        let (inputs, received) = mpsc::channel(16);
        let (sender, events) = mpsc::channel(16);
        let model = wanted.model.unwrap_or_else(|| "small".to_owned());
        if model == "broken" {
            return Err(Failure::new(Code::Internal, "the model is broken"));
        }
        let actor = Actor {
            id: id.clone(),
            seq: history.last().map_or(0, |event| event.seq.0),
            inputs: received,
            events: sender,
            stored: Rc::clone(&self.stored),
        };
        tokio::task::spawn_local(actor.run());
        let choice = |name: &str| Choice {
            value: name.to_owned(),
            name: name.to_owned(),
            description: None,
        };
        Ok(Opened {
            id,
            history,
            conversation: Box::new(FakeConversation { inputs, events }),
            commands: Rc::new(FakeCommands),
            mode: wanted.mode.unwrap_or(Mode::Normal),
            modes: vec![Mode::ReadOnly, Mode::Ask, Mode::Normal],
            model,
            models: ["small", "large", "broken"].map(choice).to_vec(),
            context_size: Some(1000),
        })
    }

    fn list(&self) -> Result<Vec<SessionEntry>, Failure> {
        let entry = |id: &String| SessionEntry {
            id: SessionId::parse(id).expect("as scripted"),
            cwd: "/p".to_owned(),
            title: Some(format!("title of {id}")),
            updated_at: Timestamp::now(),
        };
        Ok(self.stored.borrow().keys().map(entry).collect())
    }

    fn exists(&self, session: &SessionId) -> bool {
        self.stored.borrow().contains_key(session.as_str())
    }

    fn delete(&self, session: &SessionId) -> Result<(), Failure> {
        self.stored.borrow_mut().remove(session.as_str());
        Ok(())
    }

    fn warn(&self, text: &str) {
        self.warnings.borrow_mut().push(text.to_owned());
    }
}

struct FakeCommands;

#[async_trait(?Send)]
impl Commands for FakeCommands {
    fn list(&self) -> Vec<Command> {
        let input = Some(Hint { hint: "name".to_owned() });
        vec![Command { name: "model".to_owned(), description: "Change it".to_owned(), input }]
    }

    async fn expand(&self, text: &str, _mode: Mode) -> Result<Expansion, Failure> {
        match text {
            "/help" => Ok(Expansion::Show { text: "help!".to_owned(), inputs: Vec::new() }),
            "/wait" => std::future::pending().await,
            "/mode ask" => Ok(Expansion::Mode(Mode::Ask)),
            "/model broken" => Ok(Expansion::Model("broken".to_owned())),
            "/nothing" => Err(Failure::new(Code::InvalidParams, "Unknown command /nothing")),
            text => Ok(Expansion::Work(Box::new(Input::Prompt { text: text.to_owned() }))),
        }
    }
}

struct FakeConversation {
    inputs: mpsc::Sender<Input>,
    events: mpsc::Receiver<Arc<Event>>,
}

#[async_trait(?Send)]
impl Conversation for FakeConversation {
    fn inputs(&self) -> &mpsc::Sender<Input> {
        &self.inputs
    }

    async fn next_event(&mut self) -> Option<Arc<Event>> {
        self.events.recv().await
    }

    fn set_mode(&self, _mode: Mode) {}

    async fn finish(self: Box<Self>) {
        let Self { inputs, mut events } = *self;
        drop(inputs);
        while events.recv().await.is_some() {}
    }
}

struct Actor {
    id: SessionId,
    seq: u64,
    inputs: mpsc::Receiver<Input>,
    events: mpsc::Sender<Arc<Event>>,
    stored: Rc<RefCell<BTreeMap<String, Vec<Event>>>>,
}

impl Actor {
    async fn run(mut self) {
        while let Some(input) = self.inputs.recv().await {
            if let Input::Prompt { text: prompt } = input {
                self.emit(EventKind::TurnStarted { prompt: prompt.clone() }).await;
                let outcome = self.turn(&prompt).await;
                let usage = Usage { cost_usd: Some(0.25), ..Usage::default() };
                self.emit(EventKind::TurnFinished { outcome, usage }).await;
            }
        }
    }

    async fn emit(&mut self, kind: EventKind) {
        self.emit_within(None, kind).await;
    }

    async fn emit_within(&mut self, within: Option<Subconversation>, kind: EventKind) {
        let is_kept = kind.is_kept();
        self.seq += u64::from(is_kept);
        let (seq, session, at) = (Seq(self.seq), self.id.clone(), Timestamp::now());
        let event = Event { seq, session, at, within, kind };
        if is_kept {
            let name = self.id.to_string();
            self.stored.borrow_mut().entry(name).or_default().push(event.clone());
        }
        let _ = self.events.send(Arc::new(event)).await;
    }

    async fn interrupted(&mut self) -> Outcome {
        loop {
            match self.inputs.recv().await {
                Some(Input::Interrupt) | None => return Outcome::Cancelled,
                Some(_) => {}
            }
        }
    }

    async fn answer(&mut self) -> Answer {
        loop {
            match self.inputs.recv().await {
                Some(Input::Answer { answer, .. }) => return answer,
                Some(Input::Interrupt) | None => return Answer::Cancel,
                Some(_) => {}
            }
        }
    }

    async fn reply(&mut self, thinking: &str, text: &str, calls: Vec<ToolCall>) {
        for piece in thinking.split_inclusive(' ').filter(|it| !it.is_empty()) {
            let piece = Piece::Thinking { text: piece.to_owned() };
            self.emit(EventKind::ReplyDelta { piece }).await;
        }
        for piece in text.split_inclusive(' ').filter(|it| !it.is_empty()) {
            let piece = Piece::Text { text: piece.to_owned() };
            self.emit(EventKind::ReplyDelta { piece }).await;
        }
        let mut parts = vec![
            Part::Thinking { text: thinking.to_owned(), opaque: None },
            Part::Text { text: text.to_owned() },
        ];
        parts.extend(calls.into_iter().map(Part::Call));
        let reply = Reply { parts, stop: StopReason::EndTurn };
        let usage = Usage { input_tokens: 40, output_tokens: 2, ..Usage::default() };
        self.emit(EventKind::ReplyFinished { reply, usage }).await;
    }

    async fn turn(&mut self, prompt: &str) -> Outcome {
        let done = Outcome::Answered { stop_reason: StopReason::EndTurn };
        match prompt {
            "hang" => {
                self.reply("", "I wait", Vec::new()).await;
                return self.interrupted().await;
            }
            "fail" => {
                let hint = Some("try again".to_owned());
                return Outcome::Failed { error: "no way".to_owned(), hint };
            }
            "abort" => {
                self.interrupted().await;
                return Outcome::Failed { error: "aborted".to_owned(), hint: None };
            }
            "limit" => {
                let told = "behavior.max_tool_rounds (3)".to_owned();
                return Outcome::Limited { limit: "max_turns".to_owned(), value: json!(3), told };
            }
            "plan" => {
                let todos = json!({"todos": [
                    {"content": "One", "status": "completed"},
                    {"content": "Two", "status": "in_progress"},
                ]});
                let mut output = ToolOutput::success("Todos");
                output.set_lasting(Lasting { subject: Some("todos".to_owned()), open: Some(1) });
                self.call("list-1", todos, Vec::new(), (Decision::Allow, output)).await;
            }
            "ask" | "ask-once" => {
                let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n".to_owned();
                let write = Action::Write { path: "/p/x".into(), diff: Some(diff.clone()) };
                let mut output = ToolOutput::success("written");
                output.display = Some(Display::Diff { path: "x".to_owned(), unified: diff });
                let args = json!({"file_path": "x"});
                return self.asked(prompt == "ask", args, write, output).await;
            }
            "agent" => self.agent().await,
            "notice" => {
                self.emit(EventKind::Notice {
                    level: Level::Warning,
                    text: "careful".to_owned(),
                    hint: None,
                    topic: None,
                })
                .await;
                let origin = MessageOrigin::User;
                self.emit(EventKind::Injected { origin, text: "and more".to_owned() }).await;
                self.emit(EventKind::Titled { title: "A title".to_owned() }).await;
            }
            words => {
                let run = Action::Run { command: "ls".to_owned(), cwd: "/p".into() };
                let output = ToolOutput::success("a\nb");
                let args = json!({"command": "ls"});
                self.call("run-1", args, vec![run], (Decision::Allow, output)).await;
                self.reply("I think so", &format!("You said: {words}"), Vec::new()).await;
            }
        }
        done
    }

    async fn begin(&mut self, id: &str, args: &Value, actions: &[Action], decision: Decision) {
        let (id, name) = (CallId(id.to_owned()), "Tool".to_owned());
        let call = ToolCall { id: id.clone(), name, args: args.clone(), opaque: None };
        self.reply("", "", vec![call.clone()]).await;
        self.emit(EventKind::ToolCalled { call }).await;
        let ruling: Ruling = serde_json::from_value(json!({
            "decision": decision,
            "reasons": [],
            "access": contract::sandbox::Access::default(),
        }))
        .expect("as scripted");
        let (args, actions) = (args.clone(), actions.to_vec());
        self.emit(EventKind::ToolJudged { call: id, source: None, args, actions, ruling }).await;
    }

    async fn end(&mut self, id: &str, outcome: CallOutcome, output: ToolOutput) {
        let content = output.for_model();
        let (call, name) = (CallId(id.to_owned()), "Tool".to_owned());
        let duration_ms = 1;
        self.emit(EventKind::ToolFinished { call, name, outcome, output, content, duration_ms })
            .await;
    }

    async fn call(
        &mut self,
        id: &str,
        args: Value,
        actions: Vec<Action>,
        (decision, output): (Decision, ToolOutput),
    ) {
        self.begin(id, &args, &actions, decision).await;
        let progress =
            EventKind::ToolProgress { call: CallId(id.to_owned()), text: "…".to_owned() };
        self.emit(progress).await;
        self.end(id, CallOutcome::Ran, output).await;
    }

    async fn asked(
        &mut self,
        can_remember: bool,
        args: Value,
        action: Action,
        output: ToolOutput,
    ) -> Outcome {
        let actions = vec![action];
        self.begin("edit-1", &args, &actions, Decision::Ask).await;
        let call = CallId("edit-1".to_owned());
        let remember = if can_remember { vec!["Edit(x)".to_owned()] } else { Vec::new() };
        self.emit(EventKind::Asked {
            call: call.clone(),
            tool: "Tool".to_owned(),
            args,
            actions,
            why: "the mode asks".to_owned(),
            destructive: true,
            remember,
        })
        .await;
        let answer = self.answer().await;
        let told = answer.clone();
        self.emit(EventKind::Answered { call, answer: told, rules: Vec::new(), by: None }).await;
        match answer {
            Answer::Once | Answer::Session | Answer::Project | Answer::Always => {
                self.end("edit-1", CallOutcome::Ran, output).await;
            }
            Answer::Deny { .. } | Answer::Unavailable => {
                self.end("edit-1", CallOutcome::Denied, ToolOutput::failure("denied")).await;
            }
            Answer::Cancel => {
                let stopped = ToolOutput::failure("interrupted");
                self.end("edit-1", CallOutcome::Interrupted, stopped).await;
                return Outcome::Cancelled;
            }
        }
        Outcome::Answered { stop_reason: StopReason::EndTurn }
    }

    async fn agent(&mut self) {
        self.begin("task-1", &json!({"prompt": "look"}), &[], Decision::Allow).await;
        let within =
            Some(Subconversation { call: CallId("task-1".to_owned()), agent: "scout".to_owned() });
        let call = ToolCall {
            id: CallId("inner".to_owned()),
            name: "Grep".to_owned(),
            args: json!({"pattern": "fn"}),
            opaque: None,
        };
        self.emit_within(within, EventKind::ToolCalled { call }).await;
        self.end("task-1", CallOutcome::Ran, ToolOutput::success("found")).await;
    }
}

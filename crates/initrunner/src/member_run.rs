//! The runs of the members of a document: each opens a conversation, sends one prompt and closes it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::compose::Composed;
use crate::host::{RoleRun, RoleRunner};
use crate::role::{ModelSettings, Role};

pub struct MemberRun {
    pub name: String,
    pub prompt: String,
    pub run: RoleRun,
}

impl MemberRun {
    /// A line for the user.
    pub fn line(&self) -> String {
        let Self { name, run, .. } = self;
        let status = if run.error.is_none() { "OK" } else { "FAIL" };
        let (read, written, time) = (run.input_tokens, run.output_tokens, run.duration_ms);
        format!("{status} {name}  {read}in/{written}out  {time}ms")
    }
}

/// The result of a team or a flow.
#[derive(Default)]
pub struct ComposedRun {
    pub output: String,
    pub error: Option<String>,
    /// Every run, in the order in which they ended.
    pub runs: Vec<MemberRun>,
    pub is_interrupted: bool,
    pub votes: Vec<VoteRecord>,
}

/// The choice of one answer among several.
pub struct VoteRecord {
    pub task: String,
    pub winner: String,
    /// The mode, and the score of each answer.
    pub details: Value,
    /// What a judge said about each answer; null without a judge.
    pub verdicts: Value,
}

/// The program's part in a run.
pub struct RunHost<'a> {
    pub runner: &'a dyn RoleRunner,
    /// Called at the end of each member's run.
    pub on_end: &'a dyn Fn(&MemberRun),
    /// The model that chooses an agent; the document's if none is set.
    pub sense_model: Option<ModelSettings>,
    /// The outputs of runs that are not repeated, by member and prompt.
    pub finished: BTreeMap<(String, String), String>,
}

impl ComposedRun {
    /// The input and output tokens of all runs.
    pub fn tokens(&self) -> (u64, u64) {
        let sum = |of: fn(&RoleRun) -> u64| self.runs.iter().map(|it| of(&it.run)).sum();
        (sum(|run| run.input_tokens), sum(|run| run.output_tokens))
    }

    pub fn to_json(&self, composed: &Composed, duration: Duration) -> Value {
        let (read, written) = self.tokens();
        let calls = self.runs.iter().flat_map(|it| &it.run.calls);
        let names: Vec<&str> = calls.map(|(name, _)| name.as_str()).collect();
        let member = |MemberRun { name, run, .. }: &MemberRun| {
            json!({
                "name": name, "output": run.output, "error": run.error,
                "success": run.error.is_none(), "tokens_in": run.input_tokens,
                "tokens_out": run.output_tokens, "duration_ms": run.duration_ms,
            })
        };
        json!({
            "name": composed.name,
            "kind": composed.kind.name(),
            "output": self.output,
            "error": self.error,
            "success": self.error.is_none(),
            "tokens_in": read,
            "tokens_out": written,
            "total_tokens": read + written,
            "tool_calls": names.len(),
            "tool_call_names": names,
            "duration_ms": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            "members": self.runs.iter().map(member).collect::<Vec<_>>(),
        })
    }
}

/// The runs of one task, and their limits.
pub(crate) struct MemberRuns<'a> {
    pub(crate) host: &'a RunHost<'a>,
    deadline: Option<Instant>,
    runs: RefCell<Vec<MemberRun>>,
    pub(crate) votes: RefCell<Vec<VoteRecord>>,
}

impl<'a> MemberRuns<'a> {
    pub(crate) fn new(host: &'a RunHost<'a>, time: Option<Duration>) -> Self {
        let deadline = time.map(|time| Instant::now() + time);
        Self { host, deadline, runs: RefCell::default(), votes: RefCell::default() }
    }

    /// Sends one prompt to a role. The time of the role ends with that of the task.
    pub(crate) async fn run(&self, name: &str, role: &Role, prompt: &str) -> RoleRun {
        let (name, prompt) = (name.to_owned(), prompt.to_owned());
        let key = (name.clone(), prompt.clone());
        if let Some(output) = self.host.finished.get(&key).cloned() {
            let run = RoleRun { output, ..RoleRun::default() };
            self.runs.borrow_mut().push(MemberRun { name, prompt, run: run.clone() });
            return run;
        }
        let mut role = role.clone();
        if let Some(deadline) = self.deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            role.guardrails.time = role.guardrails.time.min(left);
        }
        let run = match self.host.runner.open(role).await {
            Ok(mut conversation) => {
                let run = conversation.run(&prompt).await;
                conversation.close().await;
                run
            }
            Err(error) => RoleRun { error: Some(error), ..RoleRun::default() },
        };
        let ended = MemberRun { name, prompt, run: run.clone() };
        (self.host.on_end)(&ended);
        self.runs.borrow_mut().push(ended);
        run
    }

    pub(crate) fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.runs.borrow().iter().any(|it| it.run.is_interrupted)
    }

    pub(crate) fn tokens(&self) -> u64 {
        let runs = self.runs.borrow();
        runs.iter().map(|it| it.run.input_tokens + it.run.output_tokens).sum()
    }

    /// The result of the task.
    pub(crate) fn end(self, output: String, error: Option<String>) -> ComposedRun {
        let is_interrupted = self.is_interrupted();
        let error = if is_interrupted { Some(String::from("interrupted")) } else { error };
        let (runs, votes) = (self.runs.into_inner(), self.votes.into_inner());
        ComposedRun { output, error, runs, is_interrupted, votes }
    }
}

#[cfg(test)]
pub(crate) mod fake {
    //! A runner that answers from a function.

    use async_trait::async_trait;

    use super::*;
    use crate::host::RoleConversation;

    type Answer = dyn Fn(&str, &str) -> Result<String, String>;

    /// Answers a role (by its name) and a prompt. Each run takes 10 tokens.
    pub(crate) struct FakeRunner {
        pub(crate) answer: std::rc::Rc<Answer>,
        pub(crate) prompts: std::rc::Rc<RefCell<Vec<(String, String)>>>,
    }

    impl FakeRunner {
        pub(crate) fn new(answer: impl Fn(&str, &str) -> Result<String, String> + 'static) -> Self {
            Self { answer: std::rc::Rc::new(answer), prompts: std::rc::Rc::default() }
        }

        pub(crate) fn prompts_of(&self, role: &str) -> Vec<String> {
            let prompts = self.prompts.borrow();
            let own = prompts.iter().filter(|(name, _)| name == role);
            own.map(|(_, prompt)| prompt.clone()).collect()
        }

        /// Has the members of a document work on the task `do it`.
        pub(crate) async fn run(&self, yaml: &str) -> ComposedRun {
            let directory = tempfile::tempdir().unwrap();
            let file = directory.path().join("document.yaml");
            std::fs::write(&file, yaml).unwrap();
            let document = crate::compose::open(&file, &|_, _| Ok(())).unwrap();
            let crate::compose::Document::Composed(reading) = document else { panic!("{yaml}") };
            let composed = reading.composed.unwrap_or_else(|| panic!("{:?}", reading.findings));
            let finished = BTreeMap::new();
            let host = RunHost { runner: self, on_end: &|_| (), sense_model: None, finished };
            composed.run("do it", &host).await
        }
    }

    #[async_trait(?Send)]
    impl RoleRunner for FakeRunner {
        async fn open(&self, role: Role) -> Result<Box<dyn RoleConversation>, String> {
            let (answer, prompts) =
                (std::rc::Rc::clone(&self.answer), std::rc::Rc::clone(&self.prompts));
            Ok(Box::new(FakeConversation { role: role.name, answer, prompts }))
        }

        async fn ask(&self, _: Option<&str>, _: &str) -> Result<String, String> {
            Err(String::from("no model is asked without a role"))
        }
    }

    struct FakeConversation {
        role: String,
        answer: std::rc::Rc<Answer>,
        prompts: std::rc::Rc<RefCell<Vec<(String, String)>>>,
    }

    #[async_trait(?Send)]
    impl RoleConversation for FakeConversation {
        async fn run(&mut self, prompt: &str) -> RoleRun {
            self.prompts.borrow_mut().push((self.role.clone(), prompt.to_owned()));
            // Members that run at once take turns.
            tokio::task::yield_now().await;
            let (output, error) = match (self.answer)(&self.role, prompt) {
                Ok(output) => (output, None),
                Err(error) => (String::new(), Some(error)),
            };
            let is_interrupted = error.as_deref() == Some("stopped");
            let (input_tokens, output_tokens) = (7, 3);
            RoleRun {
                output,
                error,
                input_tokens,
                output_tokens,
                is_interrupted,
                ..RoleRun::default()
            }
        }

        async fn compact(&mut self) -> Result<(), String> {
            Ok(())
        }

        fn scope(&self) -> crate::task::RunScope {
            crate::task::RunScope::default()
        }

        async fn wait(&mut self, _: std::time::Duration) -> Option<u8> {
            None
        }

        async fn close(self: Box<Self>) {}
    }
}

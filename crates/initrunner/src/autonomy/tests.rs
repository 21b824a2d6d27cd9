use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use contract::tool::Tool;

use super::*;
use crate::builtin::{self, finish_task, fixture};
use crate::role::{ToolEntry, test_role};

/// One scripted iteration: the calls that it makes, and its error.
#[derive(Default)]
struct Turn {
    calls: Vec<(&'static str, Value)>,
    error: Option<&'static str>,
}

fn calls(calls: &[(&'static str, Value)]) -> Turn {
    Turn { calls: calls.to_vec(), error: None }
}

/// Plays turns; a turn without calls follows the last.
struct Script {
    tools: Vec<Arc<dyn Tool>>,
    scope: RunScope,
    turns: VecDeque<Turn>,
    prompts: Vec<String>,
    waits: Vec<Duration>,
}

impl Script {
    fn new(turns: Vec<Turn>) -> Self {
        let tool_host = fixture::tool_host(Path::new("/"));
        let fields = json!({"type": "todo"}).as_object().unwrap().clone();
        let entry = ToolEntry { kind: "todo".to_owned(), fields };
        let mut tools = builtin::build(&entry, &tool_host).unwrap().tools;
        tools.push(finish_task(&tool_host));
        let (prompts, waits) = (Vec::new(), Vec::new());
        Self { tools, scope: tool_host.run.clone(), turns: turns.into(), prompts, waits }
    }
}

#[async_trait(?Send)]
impl RoleConversation for Script {
    async fn run(&mut self, prompt: &str) -> RoleRun {
        self.scope.advance();
        self.prompts.push(prompt.to_owned());
        let turn = self.turns.pop_front().unwrap_or_default();
        let mut called = Vec::new();
        for (name, args) in turn.calls {
            let tool = self.tools.iter().find(|tool| tool.spec().name == name).unwrap();
            fixture::output(tool, args.clone()).await;
            called.push((name.to_owned(), args));
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        RoleRun {
            output: format!("answer {}", self.prompts.len()),
            error: turn.error.map(str::to_owned),
            calls: called,
            input_tokens: 900,
            output_tokens: 100,
            ..RoleRun::default()
        }
    }

    fn scope(&self) -> RunScope {
        self.scope.clone()
    }

    async fn wait(&mut self, time: Duration) -> Option<u8> {
        self.waits.push(time);
        (time == Duration::from_secs(9)).then_some(130)
    }

    async fn close(self: Box<Self>) {}
}

async fn played(more: &str, turns: Vec<Turn>) -> (Script, AutonomousRun) {
    let role = test_role(more);
    let mut script = Script::new(turns);
    let result = run(&mut script, &role, "Do it.").await;
    (script, result)
}

fn add(text: &str) -> (&'static str, Value) {
    ("add_todo", json!({"description": text}))
}

fn finish(summary: &str, status: &str) -> (&'static str, Value) {
    ("finish_task", json!({"summary": summary, "status": status}))
}

#[tokio::test(start_paused = true)]
async fn state_lasts_until_finish_task_ends_the_run() {
    let more = "autonomy: {continuation_prompt: Go on., iteration_delay_seconds: 1.5}\n\
                guardrails: {autonomous_token_budget: 50000, autonomous_timeout_seconds: 300}";
    let turns = vec![calls(&[add("read")]), Turn::default(), calls(&[finish("All read.", "")])];
    let (script, result) = played(more, turns).await;
    assert_eq!((result.status, result.summary.as_str()), (Status::Completed, "All read."));
    assert_eq!(script.prompts[0], "Do it.");
    let third = &script.prompts[2];
    assert!(third.starts_with("Go on.\n\nCURRENT STATUS:\nTodo List:\n  [ ] "), "{third}");
    let budget = "\n\nBUDGET:\n- Iteration: 3/10 (30%)\n- Tokens: 2,000/50,000 (4%)\
                  \n- Time: 4s/300s (1%)";
    assert!(third.ends_with(budget), "{third}");
    assert_eq!(script.waits, [Duration::from_millis(1500); 2]);
    let wanted = "Status: completed | Iterations: 3/10 | Tokens: 3,000\nSummary: All read.";
    assert_eq!(result.report(), wanted);
    let object = result.to_json("id");
    assert_eq!((&object["output"], &object["iterations"]), (&json!("answer 3"), &json!(3)));
    assert_eq!(object["tool_call_names"], json!(["add_todo", "finish_task"]));
}

#[tokio::test(start_paused = true)]
async fn run_without_calls_is_blocked() {
    let (script, result) = played("", vec![calls(&[add("x")])]).await;
    assert_eq!((result.status, result.iterations), (Status::Blocked, 3));
    assert_eq!(result.summary, "Stopped: no tool calls for 2 consecutive iterations.");
    assert!(script.prompts[1].starts_with(PLAIN_CONTINUATION), "{}", script.prompts[1]);
    let (script, result) = played("autonomy: {max_no_tool_call_iterations: 1}", vec![]).await;
    assert_eq!((result.status, script.prompts.len()), (Status::Blocked, 1));
}

#[tokio::test(start_paused = true)]
async fn limits_end_a_run() {
    let busy = || (0..5).map(|_| calls(&[add("x")])).collect::<Vec<_>>();
    for (more, status, iterations) in [
        ("guardrails: {max_iterations: 2}", Status::MaxIterations, 2),
        ("guardrails: {autonomous_token_budget: 1500}", Status::BudgetExceeded, 2),
        ("guardrails: {autonomous_timeout_seconds: 3}", Status::Timeout, 2),
        ("autonomy: {iteration_delay_seconds: 9}", Status::Interrupted, 1),
    ] {
        let (_, result) = played(more, busy()).await;
        assert_eq!((result.status, result.iterations), (status, iterations), "{more}");
        assert_eq!(result.is_success(), status == Status::MaxIterations);
    }
}

#[tokio::test(start_paused = true)]
async fn failures_and_done_lists_end_a_run() {
    let failed = Turn { error: Some("no model"), ..Turn::default() };
    let (_, result) = played("", vec![failed]).await;
    assert_eq!((result.status, result.summary.as_str()), (Status::Error, "no model"));
    let (_, result) = played("", vec![calls(&[finish("No key.", "blocked")])]).await;
    assert_eq!((result.status, result.summary.as_str()), (Status::Blocked, "No key."));
    let mut script = Script::new(vec![]);
    let id = fixture::output(&script.tools[0], add("x").1).await[7..15].to_owned();
    let done = json!({"item_id": id, "status": "skipped"});
    fixture::output(&script.tools[2], done).await;
    assert_eq!(script.scope.with_task(|task| task.end()).unwrap().status, TaskStatus::Completed);
    let result = run(&mut script, &test_role(""), "Again.").await;
    assert_eq!(result.status, Status::Blocked, "an earlier run's list does not count");
}

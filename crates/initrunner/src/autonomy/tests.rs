use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use contract::tool::Tool;

use super::*;
use crate::builtin::{self, fixture, task_tools};
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
    fn new(role: &Role, turns: Vec<Turn>) -> Self {
        let tool_host = fixture::tool_host(Path::new("/"));
        let fields = json!({"type": "todo"}).as_object().unwrap().clone();
        let entry = ToolEntry { kind: "todo".to_owned(), fields };
        let mut tools = builtin::build(&entry, &tool_host).unwrap().tools;
        tools.extend(task_tools(role, &[], &tool_host));
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

    async fn compact(&mut self) -> Result<(), String> {
        self.prompts.push(String::from("compact"));
        Ok(())
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

/// Gives its replies, then errors.
#[derive(Default)]
struct Judge {
    replies: Vec<&'static str>,
    prompts: RefCell<Vec<String>>,
}

#[async_trait(?Send)]
impl RoleRunner for Judge {
    async fn open(&self, _: Role) -> Result<Box<dyn RoleConversation>, String> {
        Err(String::from("not needed"))
    }

    async fn ask(&self, _: Option<&str>, prompt: &str) -> Result<String, String> {
        let mut prompts = self.prompts.borrow_mut();
        prompts.push(prompt.to_owned());
        let reply = self.replies.get(prompts.len() - 1);
        reply.map(|reply| (*reply).to_owned()).ok_or_else(|| String::from("no reply"))
    }
}

async fn played(more: &str, turns: Vec<Turn>) -> (Script, AutonomousRun) {
    judged(more, turns, &Judge::default()).await
}

async fn judged(more: &str, turns: Vec<Turn>, judge: &Judge) -> (Script, AutonomousRun) {
    let role = Role { is_autonomous: true, ..test_role(more) };
    let mut script = Script::new(&role, turns);
    let result = run(&mut script, Some(judge), &role, "Do it.").await;
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
    assert!(script.prompts[1].starts_with("Continue. Call finish_task"), "{}", script.prompts[1]);
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
    let role = Role { is_autonomous: true, ..test_role("") };
    let mut script = Script::new(&role, vec![]);
    let id = fixture::output(&script.tools[0], add("x").1).await[7..15].to_owned();
    let done = json!({"item_id": id, "status": "skipped"});
    fixture::output(&script.tools[2], done).await;
    assert_eq!(script.scope.with_task(|task| task.end()).unwrap().status, TaskStatus::Completed);
    let result = run(&mut script, None, &role, "Again.").await;
    assert_eq!(result.status, Status::Blocked, "an earlier run's list does not count");
}

#[tokio::test(start_paused = true)]
async fn todo_driven_run_begins_with_a_list() {
    let more = "tools: [todo]\nautonomy: {}\nreasoning: {auto_plan: true}";
    let turns = vec![calls(&[add("x")]), calls(&[finish("Done.", "")])];
    let (script, result) = played(more, turns).await;
    assert_eq!(result.status, Status::Completed);
    assert!(script.prompts[0].starts_with("Before you begin, make a todo list"));
    assert!(script.prompts[0].ends_with("\n\nTask: Do it."), "{}", script.prompts[0]);
    assert!(script.prompts[1].starts_with("Call get_next_todo, do that item"));
}

#[tokio::test(start_paused = true)]
async fn plan_is_executed_once_it_is_final() {
    let more = "tools: [todo]\nreasoning: {pattern: plan_execute}";
    let plan = || ("finalize_plan", json!({}));
    let turns = vec![calls(&[plan()]), calls(&[add("x"), plan()]), calls(&[finish("Done.", "")])];
    let (script, result) = played(more, turns).await;
    assert_eq!((result.status, result.iterations), (Status::Completed, 3));
    let phases = ["PHASE 1 - PLANNING\nOnly", "PHASE 1 - PLANNING\nThe", "PHASE 2 - EXECUTION\n"];
    for (prompt, phase) in script.prompts.iter().zip(phases) {
        assert!(prompt.starts_with(phase), "{prompt}");
    }
    let empty = fixture::output(
        &Script::new(&Role { is_autonomous: true, ..test_role(more) }, vec![]).tools[7],
        json!({}),
    )
    .await;
    assert_eq!(empty, "Create at least one todo item before finalizing the plan.");
}

#[tokio::test(start_paused = true)]
async fn completed_task_is_judged_and_reflected_on() {
    let more = "reasoning:\n  reflection_rounds: 3\n  reflection_dimensions:\n  \
                - {name: short, prompt: Is it short?}\n";
    let judge = Judge {
        replies: vec![
            r#"{"results": [{"passed": false, "reason": "too long"}]}"#,
            r#"{"results": [{"passed": true, "reason": ""}]}"#,
        ],
        ..Judge::default()
    };
    let turns = vec![calls(&[finish("Long.", "")]), calls(&[finish("Short.", "")])];
    let (script, result) = judged(more, turns, &judge).await;
    assert_eq!((result.status, result.summary.as_str()), (Status::Completed, "Short."));
    assert_eq!(result.iterations, 4);
    let first = "REFLECTION (1/3) -- short:\nIs it short?\n\nYour summary was:\nLong.\n\n\
                 A judge found criteria that are not met:\n- short: too long\n\n";
    assert!(script.prompts[1].starts_with(first), "{}", script.prompts[1]);
    assert!(script.prompts[2].contains("[VERIFIED]"), "{}", script.prompts[2]);
    assert!(!script.prompts[3].contains("judge"), "{}", script.prompts[3]);
    assert_eq!(judge.prompts.borrow().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn failing_judge_is_switched_off() {
    let more = "reasoning: {pattern: reflexion, reflection_rounds: 3, success_criteria: [good]}";
    let judge = Judge::default();
    let (script, result) = judged(more, vec![calls(&[finish("Done.", "")])], &judge).await;
    assert_eq!((result.status, script.prompts.len()), (Status::Completed, 4));
    assert_eq!(judge.prompts.borrow().len(), 2);
    let told = "\nThe judge of the success criteria did not answer: no reply";
    assert!(result.report().ends_with(told), "{}", result.report());
    let names = ["correctness", "completeness", "clarity"];
    for (prompt, name) in script.prompts[1..].iter().zip(names) {
        assert!(prompt.contains(&format!("-- {name}:\n")), "{prompt}");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_reflection_ends_the_run() {
    let more = "reasoning: {reflection_rounds: 2}";
    let failed = Turn { error: Some("no model"), ..Turn::default() };
    let (_, result) = played(more, vec![calls(&[finish("Done.", "")]), failed]).await;
    assert_eq!((result.status, result.iterations), (Status::Error, 2));
    let more = "reasoning: {reflection_rounds: 2}\nguardrails: {max_iterations: 2}";
    let (_, result) = played(more, vec![calls(&[finish("Done.", "")])]).await;
    assert_eq!((result.status, result.iterations), (Status::Completed, 2));
}

#[tokio::test(start_paused = true)]
async fn long_history_is_compacted() {
    let busy = || vec![calls(&[add("x")]), calls(&[add("x")]), calls(&[finish("Done.", "")])];
    for (autonomy, count) in [
        ("{compaction: {enabled: true, threshold: 8}}", 1),
        ("{compaction: {enabled: false, threshold: 8}}", 0),
        ("{max_history_messages: 4, compaction: {enabled: true}}", 2),
    ] {
        let (script, result) = played(&format!("autonomy: {autonomy}"), busy()).await;
        assert_eq!(result.status, Status::Completed);
        let compactions = script.prompts.iter().filter(|it| *it == "compact").count();
        assert_eq!(compactions, count, "{autonomy}");
    }
}

//! Hooks as a conversation asks them, with real processes.

mod failures;
mod fixture;
mod sources;

use std::sync::LazyLock;
use std::time::Duration;

use contract::event::CompactionStrategy;
use contract::hook::{
    CallView, CompactCause, CompactVerdict, CompactView, ContextVerdict, Moment, Notification,
    OnFailure, ResultView, TextVerdict, ToolVerdict, WordsVerdict,
};
use contract::id::CallId;
use contract::policy::{Decision, Mode};
use contract::sandbox::Access;
use contract::tool::ToolOutput;
use serde_json::{Value, json};

use fixture::Rig;

/// A call that the policy allows and that does nothing.
pub(crate) fn call<'a>(tool: &'a str, args: &'a Value) -> CallView<'a> {
    static ID: LazyLock<CallId> = LazyLock::new(|| CallId("c1".to_owned()));
    CallView { id: &ID, tool, args, original: args, actions: &[], decision: Decision::Allow }
}

async fn before_tool(rig: &Rig, args: &Value) -> ToolVerdict {
    let hook = rig.hook();
    hook.before_tool(&rig.context(), call("Bash", args)).await.unwrap().verdict
}

#[tokio::test]
async fn exit_codes_become_decisions() {
    let args = json!({"command": "ls"});
    let verdict = async |entry: &str| before_tool(&Rig::with("pre_tool_use", entry), &args).await;
    let block = |text: &str| ToolVerdict::Block(text.to_owned());
    assert_eq!(verdict("type: command\ncommand: echo fine").await, ToolVerdict::Proceed);
    let skipped = ToolVerdict::Answer(ToolOutput::success("[skipped by pre_tool_use hook]"));
    assert_eq!(verdict("type: command\ncommand: exit 2").await, skipped);
    assert_eq!(
        verdict("type: command\ncommand: echo out; echo err >&2; exit 1").await,
        block("err")
    );
    assert_eq!(verdict("type: command\ncommand: echo out; exit 1").await, block("out"));
    assert_eq!(
        verdict("type: command\ncommand: exit 7").await,
        block("Hook 'test' blocked (exit 7)")
    );
    assert_eq!(
        verdict("type: command\ncommand: echo x; exit 1\nmessage: not here").await,
        block("not here")
    );
    assert_eq!(
        verdict("type: command\ncommand: kill -9 $$").await,
        block("Hook 'test' blocked (exit 137)")
    );
}

#[tokio::test]
async fn command_gets_the_event_in_environment_and_input() {
    let command = r#"printf '%s|%s|%s|' "$BRYNHILD_EVENT" "$BRYNHILD_TOOL_NAME" \
"$BRYNHILD_TOOL_INPUT"; cat; pwd; exit 1"#;
    let rig = Rig::with(
        "pre_tool_use",
        &format!("type: command\ncommand: |\n  {}", command.replace('\n', "\n  ")),
    );
    let args = json!({"command": "ls"});
    let ToolVerdict::Block(text) = before_tool(&rig, &args).await else { panic!("not blocked") };
    let cwd = rig.context().cwd.display().to_string();
    let told = json!({
        "event": "pre_tool_use", "session_id": "one", "cwd": cwd, "tool": "Bash",
        "tool_input": {"command": "ls"},
    });
    assert_eq!(text, format!("pre_tool_use|Bash|{{\"command\":\"ls\"}}|{told}{cwd}"));
}

#[tokio::test]
async fn a_script_reads_json_and_answers_with_json() {
    let script = "import json, sys\n\
        c = json.load(sys.stdin)\n\
        json.dump({'action': 'continue', 'modified_input': {**c['tool_input'], 'timeout': 30},\n\
                   'inject_system_message': 'careful with ' + c['tool']}, sys.stdout)\n";
    let rig = Rig::with("pre_tool_use", "type: script\nscript: ./check.py");
    rig.write("config/check.py", script);
    let args = json!({"command": "ls"});
    let call = call("Bash", &args);
    let advice = rig.hook().before_tool(&rig.context(), call).await.unwrap();
    let rewritten = json!({"command": "ls", "timeout": 30});
    assert_eq!(advice.verdict, ToolVerdict::Rewrite(rewritten));
    assert_eq!(advice.inject.as_deref(), Some("careful with Bash"));
}

#[tokio::test]
async fn script_of_another_language_runs_by_its_shebang() {
    let rig = Rig::with("pre_tool_use", "type: script\nscript: check.sh");
    rig.program("project/check.sh", "#!/bin/sh\necho '{\"action\": \"block\"}'\n");
    let verdict = before_tool(&rig, &json!({})).await;
    assert_eq!(verdict, ToolVerdict::Block("Blocked by pre_tool_use hook".to_owned()));
}

#[tokio::test]
async fn a_hook_that_does_not_match_does_not_run() {
    let entry = "type: command\ncommand: exit 1\nmatch: {tool: Write}";
    let rig = Rig::with("pre_tool_use", entry);
    assert_eq!(before_tool(&rig, &json!({})).await, ToolVerdict::Proceed);
}

/// A hook that answers with `value` whatever it is asked.
fn answering(event: &str, value: &Value) -> Rig {
    let rig = Rig::with(event, "type: script\nscript: answer.sh");
    rig.program("config/answer.sh", &format!("#!/bin/sh\ncat <<'END'\n{value}\nEND\n"));
    rig
}

#[tokio::test]
async fn prompt_can_be_replaced_blocked_and_dropped() {
    for (event, moment) in
        [("user_prompt_submit", Moment::BeforePrompt), ("pre_message", Moment::BeforeMessage)]
    {
        let verdict = async |value: Value| {
            let rig = answering(event, &value);
            let (hook, context) = (rig.hook(), rig.context());
            assert!(hook.wants(moment));
            let advice = if moment == Moment::BeforePrompt {
                hook.before_prompt(&context, "hi").await
            } else {
                hook.before_message(&context, "hi").await
            };
            advice.unwrap().verdict
        };
        assert_eq!(verdict(json!({})).await, WordsVerdict::Keep);
        let empty = json!({"modified_message": ""});
        assert_eq!(verdict(empty).await, WordsVerdict::Replace(String::new()));
        let generic = WordsVerdict::Block(format!("Blocked by {event} hook"));
        assert_eq!(verdict(json!({"action": "block"})).await, generic);
        assert_eq!(verdict(json!({"action": "skip"})).await, WordsVerdict::Skip);
    }
}

#[tokio::test]
async fn replies_outputs_and_strategies_can_be_changed() {
    let rig = answering("post_message", &json!({"modified_response": "R"}));
    let advice = rig.hook().after_reply(&rig.context(), "p", "r").await.unwrap();
    assert_eq!(advice.verdict, TextVerdict::Replace("R".to_owned()));

    let rig = answering("pre_compact", &json!({"modified_strategy": "s", "summary": "so far"}));
    let history = CompactView {
        strategy: CompactionStrategy::Truncate,
        messages: 9,
        cause: CompactCause::Length,
    };
    let advice = rig.hook().before_compact(&rig.context(), history).await.unwrap();
    let verdict = CompactVerdict {
        strategy: Some("s".into()),
        summary: Some("so far".into()),
        refusal: None,
    };
    assert_eq!(advice.verdict, verdict);

    let rig = answering("post_tool_use", &json!({"modified_output": ""}));
    let output = ToolOutput::success("long");
    let args = json!({});
    let call = call("Bash", &args);
    let result = ResultView { call, output: &output, duration: Duration::from_millis(5) };
    let advice = rig.hook().after_tool(&rig.context(), result).await.unwrap();
    assert_eq!(advice.verdict, TextVerdict::Replace(String::new()));
}

#[tokio::test]
async fn metrics_count_each_call_once() {
    let hook =
        |name: &str| format!("    - {{name: {name}, type: command, command: 'cat > {name}'}}\n");
    let rig = Rig::new(&format!("hooks:\n  post_tool_use:\n{}{}", hook("a"), hook("b")));
    let args = json!({});
    let output = ToolOutput::failure("no");
    for _ in 0..2 {
        for hook in rig.hooks() {
            let call = call("Bash", &args);
            let result = ResultView { call, output: &output, duration: Duration::ZERO };
            hook.after_tool(&rig.context(), result).await.unwrap();
        }
    }
    for name in ["a", "b"] {
        let told: Value = serde_json::from_str(&rig.read(&format!("project/{name}"))).unwrap();
        assert_eq!(told["tool_metrics"]["call_count"], 2);
        assert_eq!(told["tool_metrics"]["failure_count"], 2);
        assert_eq!(told["session_metrics_summary"]["total_calls"], 2);
        assert_eq!(told["tool_result"], json!({"success": false, "output": "", "error": "no"}));
    }
}

#[tokio::test]
async fn system_prompt_additions_reach_later_hooks() {
    let rig = Rig::new(
        "hooks:\n  context_build:\n    - {name: first, type: script, script: first.sh}\n    \
         - {name: second, type: script, script: second.sh}\n",
    );
    for (name, location) in [("first", "prepend"), ("second", "append")] {
        let script = format!(
            "#!/bin/sh\ncat >> {name}.json\necho >> {name}.json\necho \
             '{{\"context_injection\": \"{name}\", \"context_location\": \"{location}\", \
             \"inject_system_message\": \"once\"}}'\n"
        );
        rig.program(&format!("config/{name}.sh"), &script);
    }
    for round in 0..2 {
        let mut verdicts = Vec::new();
        for hook in rig.hooks() {
            let advice = hook.before_request(&rig.context(), "base").await.unwrap();
            assert_eq!(advice.inject.is_some(), round == 0);
            verdicts.push(advice.verdict);
        }
        let first = ContextVerdict { prepend: Some("first".into()), append: None };
        let second = ContextVerdict { prepend: None, append: Some("second".into()) };
        assert_eq!(verdicts, [first, second]);
    }
    let lines = rig.read("project/second.json");
    let told: Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(told["base_system_prompt"], "base");
    let before = json!([
        {"source": "hook", "location": "prepend", "content": "first", "origin": "first"}
    ]);
    assert_eq!(told["injections_so_far"], before);
}

#[tokio::test]
async fn notifications_reach_only_hooks_of_their_event() {
    let rig = Rig::new(
        "hooks:\n  \
         session_start: [{name: s, type: command, command: 'echo start >> log'}]\n  \
         session_end: [{name: e, type: command, command: 'echo end >> log'}]\n  \
         error: [{name: x, type: command, command: 'echo $BRYNHILD_ERROR_TYPE: $BRYNHILD_ERROR >> log'}]\n",
    );
    let failed = Notification::Failed { error: "broke".into(), kind: "ProviderError".into() };
    for notification in [Notification::SessionStarted, failed, Notification::SessionEnded] {
        for hook in rig.hooks().iter().filter(|hook| hook.wants(Moment::Notification)) {
            hook.notify(&rig.context(), &notification).await.unwrap();
        }
    }
    assert_eq!(rig.read("project/log"), "start\nProviderError: broke\nend\n");
}

#[tokio::test]
async fn block_of_an_unblockable_event_is_reported() {
    let rig = Rig::with("session_start", "type: command\ncommand: echo no; exit 1");
    rig.hook().notify(&rig.context(), &Notification::SessionStarted).await.unwrap();
    assert_eq!(
        rig.notices(),
        ["hook 'test' (global): tried to block session_start, which cannot be blocked: no"]
    );
}

#[tokio::test]
async fn prompt_hook_sends_the_filled_question() {
    let entry = "type: prompt\nprompt: 'Is {{tool_input.command}} safe?'\nmodel: small";
    let rig = Rig::with("pre_tool_use", entry);
    rig.reply("{\"safe\": false, \"reason\": \"it deletes\"}");
    let verdict = before_tool(&rig, &json!({"command": "rm"})).await;
    assert_eq!(verdict, ToolVerdict::Block("it deletes".to_owned()));
    assert_eq!(rig.questions(), ["small: Is rm safe?"]);
}

#[tokio::test]
async fn missing_verdict_fails_only_hooks_with_on_failure() {
    let rig = Rig::with("pre_message", "type: prompt\nprompt: 'Classify {{message}}'");
    rig.reply("question");
    let verdict = rig.hook().before_message(&rig.context(), "hi").await.unwrap().verdict;
    assert_eq!(verdict, WordsVerdict::Keep);
    let strict = Rig::with("pre_message", "type: prompt\nprompt: x\non_failure: block");
    strict.reply("question");
    let error = strict.hook().before_message(&strict.context(), "hi").await.unwrap_err();
    assert!(error.to_string().contains("holds no verdict: question"), "{error}");
    assert_eq!(strict.hook().on_failure(), OnFailure::Block);
}

#[tokio::test]
async fn hooks_cannot_write_in_read_only_mode() {
    let rig = Rig::with("pre_tool_use", "type: command\ncommand: 'true'");
    before_tool(&rig, &json!({})).await;
    rig.ledger.set_mode(Mode::ReadOnly);
    before_tool(&rig, &json!({})).await;
    let accesses: Vec<Access> = rig.profiles().iter().map(|profile| profile.access).collect();
    assert_eq!(accesses, [Access::Workspace, Access::ReadOnly]);
}

#[test]
fn reference_lists_every_event() {
    use super::event::Event;
    use std::fmt::Write as _;
    let meaning = |event: Event| match event {
        Event::PluginInit => "A plugin starts; only for hooks of that plugin",
        Event::PluginShutdown => "A plugin ends; only for hooks of that plugin",
        Event::SessionStart => "A session starts",
        Event::SessionEnd => "A session ends",
        Event::UserPromptSubmit => "You sent a prompt",
        Event::PreMessage => "The prompt goes to the model",
        Event::PostMessage => "The model replied",
        Event::PreToolUse => "A tool is about to run; permission rules were applied",
        Event::PostToolUse => "A tool has run",
        Event::ContextBuild => "The system prompt is built",
        Event::PreCompact => "The history is about to be summarized",
        Event::Error => "Something failed",
    };
    let changes = |event: Event| match event {
        Event::UserPromptSubmit | Event::PreMessage => "`modified_message`",
        Event::PostMessage => "`modified_response`",
        Event::PreToolUse => "`modified_input`",
        Event::PostToolUse => "`modified_output`",
        Event::ContextBuild => "`context_injection`",
        Event::PreCompact => "`modified_strategy`, `summary`",
        _ => "",
    };
    let mut text =
        String::from("| event | when | can block | answer can change |\n|---|---|---|---|\n");
    for event in Event::ALL {
        let blocks = if event.can_block() { "yes" } else { "no" };
        let (name, when, changes) = (event.name(), meaning(event), changes(event));
        writeln!(text, "| `{name}` | {when} | {blocks} | {changes} |").unwrap();
    }
    text += "\n| event | fields beside the shared ones |\n|---|---|\n";
    let shared = Event::PluginInit.fields();
    for event in Event::ALL {
        let own: Vec<String> = event
            .fields()
            .iter()
            .filter(|it| !shared.contains(it))
            .map(|it| format!("`{it}`"))
            .collect();
        writeln!(text, "| `{}` | {} |", event.name(), own.join(", ")).unwrap();
    }
    let shared: Vec<String> = shared.iter().map(|it| format!("`{it}`")).collect();
    let shared = shared.join(", ");
    writeln!(text, "\nEvery event has these fields, as far as they apply: {shared}.").unwrap();
    crate::tests::fixture::check_reference("hooks.md", "events", &text);
}

#[test]
fn reference_lists_every_variable() {
    use std::fmt::Write as _;
    let mut text = String::from("| variable | field |\n|---|---|\n");
    for (variable, field) in super::context::VARIABLES {
        writeln!(text, "| `BRYNHILD_{variable}` | `{}` |", field.replace('/', ".")).unwrap();
    }
    crate::tests::fixture::check_reference("hooks.md", "variables", &text);
}

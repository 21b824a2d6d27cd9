//! Calls, prompts and resources, and servers that fail.

use contract::action::Action;
use contract::tool::ToolError;
use mcp::CatalogState;
use serde_json::{Value, json};

use crate::{SERVER, TestWorkspace, entry, run, sent, text, tool};

#[tokio::test]
async fn cached_tools_are_listed_without_starting_the_server() {
    let workspace = TestWorkspace::new();
    let state = workspace.work().join("starts");
    let mut document = entry(&[]);
    document["test"]["env"] = json!({"STATE": state});
    let starts = || std::fs::read_to_string(&state).unwrap_or_default().lines().count();
    let servers = workspace.servers(&document);
    assert_eq!(servers.statuses()[0].state, CatalogState::Unknown);
    assert!(servers.tools().is_empty());
    servers.fetch_catalogs().await;
    assert_eq!(workspace.notices(), "");
    assert_eq!(text(&servers, "mcp__test__echo", json!({"text": "hi"})).await, "said: hi");
    servers.shutdown().await;
    assert_eq!(starts(), 1);

    let again = workspace.servers(&document);
    assert_eq!(again.statuses()[0].state, CatalogState::Known);
    let echo = tool(&again, "mcp__test__echo");
    assert_eq!(echo.spec().description, "Says it again.");
    assert!(echo.spec().requires_permission && echo.spec().parallel);
    assert_eq!(echo.spec().source, "mcp:test");
    let actions = echo.actions(&json!({})).unwrap().actions;
    assert_eq!(actions, [Action::Opaque { what: "echo of MCP server test".to_owned() }]);
    assert_eq!(starts(), 1, "a start needs no server");
    assert_eq!(run(&echo, json!({"text": "x"})).await.unwrap().output, "said: x");
    assert_eq!(starts(), 2);
    again.shutdown().await;
}

#[tokio::test]
async fn results_of_every_kind_reach_the_model() {
    let workspace = TestWorkspace::new();
    let servers = workspace.server(&["garbage"]);
    servers.fetch_catalogs().await;
    let failed = run(&tool(&servers, "mcp__test__fail"), json!({})).await.unwrap();
    assert_eq!((failed.success, failed.for_model().as_str()), (false, "it went wrong"));
    assert_eq!(
        text(&servers, "mcp__test__picture", json!({})).await,
        "[image: image/png, 6 bytes, not in this text]"
    );
    assert_eq!(text(&servers, "mcp__test__count", json!({})).await, "{\n  \"count\": 7\n}");
    assert_eq!(
        text(&servers, "mcp__test__strange_name_1", json!({})).await,
        "called strange name/1"
    );
    let asked = text(&servers, "mcp__test__ask", json!({})).await;
    assert!(asked.contains("decline") || asked.contains("-32"), "{asked}");
    servers.shutdown().await;
}

#[tokio::test]
async fn progress_is_reported_while_a_call_runs() {
    let workspace = TestWorkspace::new();
    let servers = workspace.server(&[]);
    servers.fetch_catalogs().await;
    let mut sent = sent("1", json!({}));
    let output = tool(&servers, "mcp__test__slow").run(&sent.call, &sent.context).await.unwrap();
    assert_eq!(output.output, "done");
    let mut lines = Vec::new();
    while let Ok(line) = sent.progress.try_recv() {
        lines.push(line);
    }
    assert_eq!(lines, ["step 1", "step 2"]);
    servers.shutdown().await;
}

#[tokio::test]
async fn crashed_server_shows_the_cause_and_is_restarted() {
    let workspace = TestWorkspace::new();
    let servers = workspace.server(&[]);
    servers.fetch_catalogs().await;
    let failed = text(&servers, "mcp__test__crash", json!({})).await;
    assert!(failed.contains("ended (exit code 3)"), "{failed}");
    assert!(failed.contains("about to fall over"), "{failed}");
    assert_eq!(text(&servers, "mcp__test__echo", json!({"text": "back"})).await, "said: back");
    servers.shutdown().await;
}

#[tokio::test]
async fn late_and_cancelled_calls_end() {
    let workspace = TestWorkspace::new();
    let mut document = entry(&[]);
    document["test"]["tool_timeout_sec"] = json!(0.05);
    let servers = workspace.servers(&document);
    servers.fetch_catalogs().await;
    let late = text(&servers, "mcp__test__hang", json!({})).await;
    assert!(late.contains("did not run `hang` within 50ms"), "{late}");
    servers.shutdown().await;
    let servers = workspace.server(&[]);
    servers.fetch_catalogs().await;
    let sent = sent("1", json!({}));
    sent.context.cancel.cancel();
    let stopped = tool(&servers, "mcp__test__hang").run(&sent.call, &sent.context).await;
    assert!(matches!(stopped, Err(ToolError::Cancelled)), "{stopped:?}");
    servers.shutdown().await;
}

#[tokio::test]
async fn failed_start_names_the_missing_grant() {
    let workspace = TestWorkspace::new();
    let servers = workspace.server(&["refuse"]);
    servers.fetch_catalogs().await;
    let text = workspace.notices();
    assert!(text.contains("ENOTFOUND registry.example"), "{text}");
    assert!(text.contains("`brynhild mcp grant test --network`"), "{text}");
    let again = workspace.server(&["refuse"]);
    assert_eq!(again.statuses()[0].state, CatalogState::Failed);
    let missing = workspace.servers(&json!({"m": {"command": "no-such-program-at-all"}}));
    assert!(missing.test("m").await.unwrap_err().to_string().contains("no-such-program-at-all"));
}

#[tokio::test]
async fn silent_server_times_out() {
    let workspace = TestWorkspace::new();
    let mut document = entry(&["silent"]);
    document["test"]["startup_timeout_sec"] = json!(0.2);
    workspace.servers(&document).fetch_catalogs().await;
    let failure = workspace.notices();
    assert!(failure.contains("did not list its tools"), "{failure}");
}

#[tokio::test]
async fn server_sees_only_configured_environment_variables() {
    let workspace = TestWorkspace::new();
    let mut document = entry(&[]);
    document["test"]["env"] = json!({"MINE": "1"});
    let plain = workspace.servers(&document);
    plain.fetch_catalogs().await;
    let seen = text(&plain, "mcp__test__environment", json!({})).await;
    assert!(seen.contains("MINE=1") && !seen.contains("hush"), "{seen}");
    plain.shutdown().await;
    document["test"]["sandbox"] = json!({"env": ["SECRET"]});
    let granted = workspace.servers(&document);
    granted.fetch_catalogs().await;
    let seen = text(&granted, "mcp__test__environment", json!({})).await;
    assert!(seen.contains("SECRET=hush"), "{seen}");
    granted.shutdown().await;
}

#[tokio::test]
async fn prompts_are_commands_and_resources_can_be_read() {
    let workspace = TestWorkspace::new();
    let servers = workspace.server(&[]);
    servers.fetch_catalogs().await;
    let command = &servers.commands()[0];
    assert_eq!((command.name.as_str(), command.usage.as_str()), ("mcp__test__greet", "<who>"));
    assert_eq!(
        servers.prompt("mcp__test__greet", "Ada").await.unwrap().as_deref(),
        Some("Greet Ada.")
    );
    let missing = servers.prompt("mcp__test__greet", "").await.unwrap_err();
    assert_eq!(missing.to_string(), "the prompt needs `who`");
    let args = json!({"server": "test", "uri": "note:one"});
    assert_eq!(text(&servers, "ListMcpResources", args.clone()).await, "note:one (one): A note.");
    assert_eq!(text(&servers, "ReadMcpResource", args).await, "[note:one]\nthe note");
    servers.shutdown().await;
}

#[tokio::test]
async fn a_filter_hides_tools() {
    let workspace = TestWorkspace::new();
    let mut document = entry(&[]);
    document["test"]["enabled_tools"] = json!(["echo", "fail"]);
    document["test"]["disabled_tools"] = json!(["fail"]);
    document["off"] = json!({"command": "python3", "args": [SERVER], "enabled": false});
    let servers = workspace.servers(&document);
    servers.fetch_catalogs().await;
    let names: Vec<String> = servers.tools().iter().map(|it| it.spec().name.clone()).collect();
    assert_eq!(names, ["ListMcpResources", "ReadMcpResource", "mcp__test__echo"]);
    let rows = servers.statuses();
    assert_eq!(rows[0].state, CatalogState::Disabled);
    let row: Value = serde_json::to_value(&rows[1]).unwrap();
    assert_eq!(row["server"], "test 1");
    assert_eq!(row["protocol"], "2025-11-25");
    servers.shutdown().await;
}

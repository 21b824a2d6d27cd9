//! Hooks of LMAO plugins in whole conversations.

use super::*;

/// A plugin without a tool of use, with these hooks.
fn hooks(project: &Project, declared: &str, functions: &str) {
    let text = format!("{}\n{functions}\nHOOKS = {declared}\n", text(&manifest("nothing"), ECHO));
    write(&directory(project).join("watch"), &text);
}

fn reading() -> ModelServer {
    let call = Reply::calls([("Read", json!({"file_path": "a.txt"}))]);
    ModelServer::start([call, Reply::text("Done.")])
}

#[test]
fn hook_blocks_changes_and_answers_any_tool() {
    if !has_bubblewrap() {
        return;
    }
    for (body, wanted) in [
        ("ctx.cancel('not today')", "tool execution cancelled by hook: not today"),
        ("return HookResult(should_skip=True, data={'result': 'mine'})", "mine"),
        ("return HookResult(should_skip=True)", "tool execution skipped by hook"),
        ("ctx.tool_target = 'b.txt'", "text of b"),
        ("raise ValueError('hm')", "text of a"),
        ("return {'some': 'data'}", "text of a"),
        ("__import__('os')._exit(9)", "its hooks could not be asked"),
    ] {
        let server = reading();
        let project = project_with(&server);
        project.file("a.txt", "text of a\n").file("b.txt", "text of b\n");
        let function = format!("from lmao.hooks import HookResult\ndef see(ctx):\n    {body}\n");
        hooks(&project, "{'pre_tool_execution': 'see'}", &function);
        project.brynhild(&["chat", "Read it"]).success();
        assert!(result(&server).contains(wanted), "{body}: {}", result(&server));
    }
}

#[test]
fn hook_rewrites_results_and_gets_session_events() {
    if !has_bubblewrap() {
        return;
    }
    let server = reading();
    let project = project_with(&server);
    project.file("a.txt", "text of a\n");
    let functions = "def shout(ctx):\n    ctx.tool_result = ctx.tool_result.upper()\n\
                     def begin(ctx):\n    print('begun', ctx.hook_type)\n";
    let declared = "{'post_result_transform': {'name': 'shout', 'priority': 3}, \
                     'on_session_start': ['begin'], 'agent_shutdown': 'begin', 'odd_one': begin}";
    hooks(&project, declared, functions);
    let run = project.brynhild(&["chat", "Read it"]);
    assert!(result(&server).contains("TEXT OF A"), "{}", result(&server));
    for wanted in ["begun on_session_start", "begun agent_shutdown"] {
        assert!(run.success().stderr.contains(wanted), "{run}");
    }
}

#[test]
fn hook_is_notified_of_requests_and_refusals() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::calls([("Read", json!({"nope": 1}))]),
        Reply::calls([("Bash", json!({"command": "touch made"}))]),
        Reply::text("Done."),
    ]);
    let project = project_with(&server);
    let functions =
        "def see(ctx):\n    print('heard', ctx.hook_type, getattr(ctx, 'tool_name', ''))\n";
    let declared = "{'on_llm_request': 'see', 'on_llm_response': 'see', 'pre_agent_think': 'see', \
                     'on_tool_validation_error': 'see', 'on_tool_permission_error': 'see'}";
    hooks(&project, declared, functions);
    let run = project.brynhild(&["chat", "--mode", "ask", "go"]);
    let count = |words: &str| run.stderr.matches(words).count();
    for kind in ["on_llm_request", "pre_agent_think", "on_llm_response"] {
        assert_eq!(count(&format!("heard {kind}")), 3, "{kind}: {run}");
    }
    assert_eq!(count("heard on_tool_validation_error Read"), 1, "{run}");
    assert_eq!(count("heard on_tool_permission_error Bash"), 1, "{run}");
}

#[test]
fn hook_is_notified_of_compaction_and_invalid_calls() {
    if !has_bubblewrap() {
        return;
    }
    let server = ModelServer::start([
        Reply::default().call_text("Read", "{\"file_path\": a.txt"),
        Reply::text("long ".repeat(2_000)),
        Reply::text("more ".repeat(2_000)),
        Reply::text("the gist"),
    ]);
    let project = project_with(&server);
    let functions = "def see(ctx):\n    facts = [getattr(ctx, name, None) for name in \
                     ('message_count', 'strategy', 'dropped', 'raw_message')]\n    \
                     print('heard', ctx.hook_type, type(ctx).__name__, *facts)\n";
    let kinds = [
        "on_memory_estimate",
        "memory_compact_start",
        "memory_compact_end",
        "on_protocol_error",
        "on_protocol_parse_error",
    ];
    let declared: Vec<String> = kinds.iter().map(|kind| format!("'{kind}': 'see'")).collect();
    hooks(&project, &format!("{{{}}}", declared.join(", ")), functions);
    let run = project.command(&["--plain", "--yes"]).stdin("first\nsecond\n/compact\n").run();
    let heard = |kind: &str| -> Vec<&str> {
        let start = format!("heard {kind} ");
        let lines = run.stderr.lines().filter_map(|line| line.split_once(&start));
        lines.map(|(_, rest)| rest).collect()
    };
    run.success();
    assert_eq!(heard("on_memory_estimate").len(), 4, "one for each request: {run}");
    assert!(heard("on_memory_estimate")[0].starts_with("MemoryHookContext "), "{run}");
    for kind in ["on_protocol_error", "on_protocol_parse_error"] {
        let told = heard(kind);
        assert_eq!(told.len(), 1, "{kind}: {run}");
        assert!(told[0].starts_with("ProtocolHookContext ") && told[0].contains("a.txt"), "{run}");
    }
    assert_eq!(heard("memory_compact_start").len(), 1, "{run}");
    assert!(heard("memory_compact_start")[0].starts_with("MemoryHookContext "), "{run}");
    let end = heard("memory_compact_end");
    assert_eq!(end.len(), 1, "{run}");
    assert!(!end[0].contains("None None None"), "it says how much was dropped: {run}");
}

#[test]
fn crashing_file_keeps_other_tools_and_guards() {
    if !has_bubblewrap() {
        return;
    }
    let server = reading();
    let project = project_with(&server);
    project.file("a.txt", "text of a\n");
    let guard = "def see(ctx):\n    ctx.cancel('not today')\n";
    hooks(&project, "{'pre_tool_execution': 'see'}", guard);
    let bad = format!("{}\nimport os\nos._exit(3)\n", text(&manifest("bad"), ECHO));
    write(&directory(&project).join("bad"), &bad);
    let run = project.brynhild(&["chat", "Read it"]);
    assert!(run.success().stderr.contains("bad/tool.py"), "{run}");
    assert!(result(&server).contains("not today"), "{}", result(&server));
}

/// A call that a guard sees, and what became of it.
fn guarded(project: &Project) -> Run {
    project.brynhild(&["--yes", "tools", "exec", "Glob", "--input", r#"{"pattern": "*"}"#])
}

/// The crash may come from another file and be fixed there.
#[test]
fn guard_returns_with_its_repaired_helper() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let guard = "import os, sys\nsys.path.insert(0, os.path.dirname(__file__))\nimport helper\n\
                 def see(ctx):\n    ctx.cancel('not today')\n";
    hooks(&project, "{'pre_tool_execution': 'see'}", guard);
    let helper = directory(&project).join("watch/helper.py");
    for (text, wanted) in [
        ("", "not today"),
        ("import os\nos._exit(9)\n", "tool.py: it was not loaded"),
        ("", "not today"),
    ] {
        std::fs::write(&helper, text).unwrap();
        let run = guarded(&project);
        assert!(run.stderr.contains(wanted), "{run}");
    }
}

#[test]
fn unloadable_guard_blocks() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let guard = "import os\nif os.path.exists('flag'):\n    raise ValueError('a flag')\n\
                 def see(ctx):\n    pass\n";
    hooks(&project, "{'pre_tool_execution': 'see'}", guard);
    guarded(&project).success();
    project.file("flag", "");
    let run = guarded(&project);
    run.code(1);
    assert!(run.stderr.contains("could not be asked") && run.stderr.contains("a flag"), "{run}");
}

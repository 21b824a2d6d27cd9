//! Plugins that fail in every way there is: one clear message each, and everything else goes on.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{ModelServer, Reply};

use super::{error, exec, output, plugin, results, runs, tool, write};
use crate::{has_bubblewrap, project, project_with};

#[test]
fn each_unloadable_file_is_one_message_with_cause_and_hint() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let good = tool("good", "return ToolResult(True, 'fine')");
    let clash = tool("Read", "return ToolResult(True, 'mine')");
    let odd = tool("odd name!", "return 1");
    let files = [
        ("tools/good.py", good.as_str()),
        ("tools/imports.py", "import nonexistent_thing\n"),
        ("tools/syntax.py", "def broken(:\n"),
        ("tools/leaves.py", "import sys\nsys.exit(3)\n"),
        ("tools/empty.py", "x = 1\n"),
        (
            "tools/halfway.py",
            "from brynhild.tools.base import Tool as B\nclass Tool(B):\n    name = 'halfway'\n",
        ),
        ("tools/clash.py", &clash),
        ("tools/odd.py", &odd),
    ];
    plugin(&project, "bad", &files);
    let run = project.brynhild(&["tools", "list"]);
    assert!(run.success().stdout.contains("good"), "{run}");
    let wanted = [
        ("imports.py", "nonexistent_thing", "dependencies"),
        ("syntax.py", "SyntaxError", "line 1"),
        ("leaves.py", "SystemExit", "line 2"),
        ("empty.py", "no tool in it", "name the class `Tool`"),
        ("halfway.py", "abstract", "implement every abstract member"),
        ("odd.py", "`odd name!`", "letters, digits"),
        ("tool `Read` of bad", "left out", "builtin"),
        ("tools/clash.py) is left out", "tool `Read`", "rename it"),
    ];
    for (file, cause, remedy) in wanted {
        let lines: Vec<&str> = run.stderr.lines().filter(|line| line.contains(file)).collect();
        assert_eq!(lines.len(), 1, "{file}: {run}");
        assert!(lines[0].contains(cause) && lines[0].contains(remedy), "{file}: {}", lines[0]);
    }
    assert_eq!(output(&exec(&project, "good", &json!({}))), "fine");
}

#[test]
fn misbehaving_tool_call_has_one_result() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    project.config("plugins: {wild: {timeout: 1}}\n");
    let tools = [
        ("raises", "raise ValueError('not like this')"),
        ("number", "return 42"),
        ("nothing", "return None"),
        (
            "garbage",
            "sys.stdout.buffer.write(b'\\xff{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\\n')\nsys.stdout.flush()\nos.write(1, b'raw\\n')\nsubprocess.run(['echo', 'child'])\nreturn ToolResult(True, 'ok')",
        ),
        ("sleeps", "await asyncio.sleep(1000)"),
        ("blocks", "time.sleep(1000)"),
        (
            "stubborn",
            "while True:\n    try:\n        await asyncio.sleep(1000)\n    except asyncio.CancelledError:\n        pass",
        ),
        ("forks", "os.fork()\nreturn ToolResult(True, 'forked')"),
        ("exits", "os._exit(7)"),
        ("leaves", "sys.exit(5)"),
        ("dies", "os.kill(os.getpid(), 9)"),
        ("closes", "os.closerange(0, 300)\nreturn ToolResult(True, 'closed')"),
        ("surrogate", "return ToolResult(True, '\\udc80 ok')"),
    ];
    let files: Vec<(String, String)> =
        tools.iter().map(|(name, body)| (format!("tools/{name}.py"), tool(name, body))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    plugin(&project, "wild", &files);
    project.brynhild(&["tools", "list"]).success();
    let call = |name: &str| exec(&project, name, &json!({}));
    assert_eq!(error(&call("raises")), "ValueError: not like this");
    let told = "the tool returned a int where a ToolResult belongs";
    assert_eq!(error(&call("number")), told);
    assert_eq!(output(&call("nothing")), "");
    let garbage = call("garbage");
    assert_eq!(output(&garbage), "ok");
    assert!(garbage.stderr.contains("raw") && garbage.stderr.contains("child"), "{garbage}");
    for name in ["sleeps", "blocks", "stubborn"] {
        let told = error(&call(name));
        assert!(told.contains("within 1 s") && told.contains("plugins.wild.timeout"), "{told}");
    }
    assert_eq!(output(&call("forks")), "forked");
    assert!(error(&call("exits")).contains("exit code 7"));
    assert!(error(&call("leaves")).contains("SystemExit: 5"));
    assert!(error(&call("dies")).contains("signal 9"));
    assert!(error(&call("closes")).contains("the Python worker of the plugin `wild` ended"));
    assert!(output(&call("surrogate")).ends_with(" ok"));
}

#[test]
fn large_tool_output_is_cut() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let large = tool("large", "return ToolResult(True, 'x' * 200_000_000)");
    plugin(&project, "large", &[("tools/large.py", &large)]);
    let said = output(&exec(&project, "large", &json!({})));
    assert!(said.len() < 11_000_000 && said.contains("200000000 characters"));
}

#[test]
fn conversation_continues_after_crash_fork_and_hang() {
    if !has_bubblewrap() {
        return;
    }
    let names = ["fork", "good", "crash", "good", "hang", "good"];
    let calls =
        names.iter().enumerate().map(|(at, name)| Reply::calls([(*name, json!({"at": at}))]));
    let server = ModelServer::start(calls.chain([Reply::text("Through.")]));
    let project = project_with(&server);
    project.config_more("plugins: {rough: {timeout: 1}}\n");
    let bodies = [
        ("fork", "os.fork()\nreturn ToolResult(True, 'forked')"),
        ("good", "return ToolResult(True, 'good')"),
        ("crash", "sys.stderr.write('last words\\n')\nsys.stderr.flush()\nos._exit(9)"),
        ("hang", "time.sleep(100)"),
    ];
    let files: Vec<(String, String)> =
        bodies.iter().map(|(name, body)| (format!("tools/{name}.py"), tool(name, body))).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(file, text)| (file.as_str(), text.as_str())).collect();
    plugin(&project, "rough", &files);
    let run = project.brynhild(&["chat", "Go"]);
    assert_eq!(run.success().stdout.trim(), "Through.", "{run}");
    let told = results(&server, 6);
    assert_eq!((told[0].as_str(), told[2].as_str(), told[4].as_str()), ("good", "good", "good"));
    assert!(told[1].contains("within 1 s"), "{told:?}");
    assert!(told[3].contains("exit code 9") && told[3].contains("last words"), "{told:?}");
    assert_eq!(told[5], "forked");
}

#[test]
fn tool_children_end_with_a_killed_program() {
    if !has_bubblewrap() {
        return;
    }
    let mark = format!("{}.25", 200_000 + std::process::id());
    let body = format!(
        "subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n\
         if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '{mark}'])\n\
         print('both sleep', flush=True)\nawait asyncio.sleep(1000)"
    );
    let server = ModelServer::start([Reply::calls([("spawner", json!({}))])]);
    let project = project_with(&server);
    plugin(&project, "spawning", &[("tools/spawner.py", &tool("spawner", &body))]);
    let mut running = project.command(&["chat", "Go"]).spawn();
    running.close_stdin();
    running.wait_for_stderr("both sleep");
    // A program that has just been started has no name yet for a moment.
    let deadline = Instant::now() + Duration::from_secs(20);
    while !runs(&mark) {
        assert!(Instant::now() < deadline, "no child was started");
        std::thread::yield_now();
    }
    running.kill();
    running.wait();
    let deadline = Instant::now() + Duration::from_mins(1);
    while runs(&mark) {
        assert!(Instant::now() < deadline, "a child is alive");
        std::thread::yield_now();
    }
}

#[test]
fn invalid_manifest_is_one_message() {
    let project = project();
    let manifest = "name: wrong\nversion: '1'\ntools: yes\ncommands: {a: b}\nskills: 5\nrules: [1, {a: 2}]\n\
                    providers: 3\nhooks: maybe\nbrynhild_version: nonsense\ndependencies: 5\nsandbox: all\n\
                    description: [1]\nauthor: {}\nlicense: 3\nflavor: sweet\n";
    plugin(&project, "wrong", &[("plugin.yaml", manifest)]);
    let run = project.brynhild(&["plugin", "list", "--json"]);
    assert_eq!(run.success().json()["plugins"][0]["name"], "wrong");
    let lines: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(lines.len(), 1, "{run}");
    for key in [
        "tools",
        "commands",
        "skills",
        "rules",
        "providers",
        "hooks",
        "dependencies",
        "sandbox",
        "description",
        "author",
        "flavor",
    ] {
        assert!(lines[0].contains(&format!("`{key}`")), "{key}: {}", lines[0]);
    }
}

#[test]
fn missing_declared_directory_is_reported_with_a_hint() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let root = plugin(&project, "bare", &[]);
    std::fs::remove_dir(root.join("tools")).unwrap();
    let run = project.brynhild(&["tools", "list"]);
    let wanted = "tools: the manifest declares tools, and this directory is not there";
    assert!(run.success().stderr.contains(wanted), "{run}");
    assert!(run.stderr.contains("take `tools` out of plugin.yaml"), "{run}");
}

#[test]
fn empty_error_of_a_successful_call_is_ignored() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let body = "return ToolResult(True, 'fine', '')";
    plugin(&project, "mute", &[("tools/mute.py", &tool("mute", body))]);
    let run = project.brynhild(&["--mode", "yolo", "tools", "exec", "mute"]);
    assert_eq!(run.success().stdout, "fine\n");
    assert!(!run.stderr.contains("error:"), "{run}");
}

/// A file that crashes the loading process affects no other file, and is not retried.
#[test]
fn file_that_crashes_python_fails_alone() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    let good = |name: &str| tool(name, "return ToolResult(True, 'fine')");
    let bad = "import os\nopen('/tmp/x', 'w')\nos._exit(3)\n";
    let made = "def __init__(self):\n        os._exit(3)\n\n    async def execute";
    let made = good("made").replace("async def execute", made);
    plugin(
        &project,
        "mixed",
        &[
            ("tools/a.py", &good("first")),
            ("tools/b.py", bad),
            ("tools/c.py", &made),
            ("tools/d.py", &good("last")),
        ],
    );
    for _ in 0..2 {
        let list = project.brynhild(&["tools", "list"]);
        assert!(list.stdout.contains("first") && list.stdout.contains("last"), "{list}");
        for file in ["tools/b.py", "tools/c.py"] {
            let told = list.stderr.lines().filter(|line| line.contains(file)).count();
            assert_eq!(told, 1, "{list}");
        }
        assert!(list.stderr.contains("exit code 3"), "{list}");
    }
    assert_eq!(output(&exec(&project, "last", &json!({}))), "fine");
    let path = project.config_directory().join("plugins/mixed/tools/b.py");
    std::fs::write(path, good("mended")).unwrap();
    let list = project.brynhild(&["tools", "list"]);
    assert!(list.stdout.contains("mended") && !list.stderr.contains("tools/b.py"), "{list}");
}

#[test]
fn manifest_and_python_faults_are_listed_together() {
    let project = project();
    let root = plugin(&project, "both", &[("tools/t.py", "import nosuch\n")]);
    let manifest = "name: both\nversion: '1'\ntools: [t]\nsandbox: {zork: 1}\n";
    write(&root.join("plugin.yaml"), manifest);
    let run = project.brynhild(&["plugin", "validate", &root.display().to_string()]);
    for words in ["sandbox.zork", "No module named 'nosuch'"] {
        assert!(run.code(1).stderr.contains(words), "{words}: {run}");
    }
}

//! Files that plugins read beside their own, and changes of them during a conversation.

use super::*;

/// A plugin whose file begins with what it reads from `facts.json` beside it.
fn reading(project: &Project, name: &str, facts: &Value, more: &str) {
    plugin(project, name, &manifest(name), ECHO);
    state(project, name, &facts.to_string());
    let file = directory(project).join(name).join("tool.py");
    let text = fs::read_to_string(&file).unwrap();
    let read = "FACTS = json.load(open(os.path.dirname(__file__) + '/facts.json'))\n";
    fs::write(&file, format!("{text}{read}{more}")).unwrap();
}

/// Changes what it reads.
fn state(project: &Project, name: &str, facts: &str) {
    fs::write(directory(project).join(name).join("facts.json"), facts).unwrap();
}

/// The results of the first two calls, with `change` made between their turns.
fn two_turns(server: &ModelServer, project: &Project, change: impl FnOnce()) -> [String; 2] {
    let mut running = project.command(&["--plain", "--yes"]).spawn();
    running.send("one\n");
    running.wait_for_stdout("first answer");
    let first = result(server);
    change();
    running.send("two\n");
    running.wait_for_stdout("second answer");
    running.close_stdin();
    running.wait().success();
    [first, result(server)]
}

fn calling(first: (&str, Value), second: (&str, Value)) -> ModelServer {
    ModelServer::start([
        Reply::calls([first]),
        Reply::text("first answer"),
        Reply::calls([second]),
        Reply::text("second answer"),
    ])
}

/// A hook that stops all calls while the facts say so.
const GUARD: &str = "def see(ctx):\n    if FACTS['deny']:\n        ctx.cancel('not today')\n\
                     HOOKS = {'pre_tool_execution': 'see'}\n";

fn read(file: &str) -> (&'static str, Value) {
    ("Read", json!({"file_path": file}))
}

#[test]
fn unloadable_guard_blocks_after_repeated_descriptions() {
    if !has_bubblewrap() {
        return;
    }
    let project = project();
    plugin(&project, "other", &manifest("other"), ECHO);
    reading(&project, "guard", &json!({"deny": true}), GUARD);
    let guarded = |wanted: &str| {
        let run = exec(&project, "Glob", &json!({"pattern": "*"}), &["--yes"]);
        assert!(run.code(1).stderr.contains(wanted), "{wanted}: {run}");
    };
    guarded("not today");
    state(&project, "guard", "{\"deny\": tru");
    guarded("could not be asked");
    guarded("could not be asked");
    // With settings of its own it is served, and described, under another name.
    project.config("plugins: {guard: {timeout: 60}}\n");
    guarded("could not be asked");
    state(&project, "guard", "{\"deny\": true}");
    guarded("not today");
    // A file that once loaded without hooks is not a guard, even if it fails to load later.
    let file = directory(&project).join("guard/tool.py");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace(GUARD, "")).unwrap();
    exec(&project, "Glob", &json!({"pattern": "*"}), &["--yes"]).success();
    state(&project, "guard", "{\"deny\": tru");
    exec(&project, "Glob", &json!({"pattern": "*"}), &["--yes"]).success();
}

#[test]
fn guard_that_stops_loading_blocks() {
    if !has_bubblewrap() {
        return;
    }
    let server = calling(read("a.txt"), read("a.txt"));
    let project = project_with(&server);
    project.file("a.txt", "text of a\n");
    reading(&project, "guard", &json!({"deny": true}), GUARD);
    let [first, second] =
        two_turns(&server, &project, || state(&project, "guard", "{\"deny\": tru"));
    assert!(first.contains("not today"), "{first}");
    assert!(second.contains("could not be asked"), "{second}");
}

#[test]
fn tool_added_with_another_file_can_be_called() {
    if !has_bubblewrap() {
        return;
    }
    let server = calling(("ta", json!({"target": ""})), ("tb", json!({"target": ""})));
    let project = project_with(&server);
    let several = "PLUGINS = [dict(PLUGIN, name=name) for name in FACTS]\n\
                   def run(target, args, base, extra_roots, skill_roots, tool_name=None):\n    \
                   return json.dumps({'success': True, 'data': tool_name})\n";
    reading(&project, "several", &json!(["ta"]), several);
    let [first, second] =
        two_turns(&server, &project, || state(&project, "several", "[\"ta\", \"tb\"]"));
    assert_eq!(first, r#"{"success": true, "data": "ta"}"#);
    assert_eq!(second, r#"{"success": true, "data": "tb"}"#);
}

#[test]
fn guard_added_with_another_file_is_asked() {
    if !has_bubblewrap() {
        return;
    }
    let server = calling(("later", json!({"target": ""})), read("a.txt"));
    let project = project_with(&server);
    project.file("a.txt", "text of a\n");
    let later = GUARD.replace("HOOKS =", "if FACTS['deny']:\n    HOOKS =");
    reading(&project, "later", &json!({"deny": false}), &later);
    let [first, second] =
        two_turns(&server, &project, || state(&project, "later", "{\"deny\": true}"));
    assert!(first.contains(r#""success": true"#), "{first}");
    assert!(second.contains("not today"), "{second}");
}

//! `plugin dev`: calls and conversations with a plugin that changes.

use testkit::Project;

use super::new;
use crate::project;

const CALL: [&str; 6] = ["plugin", "dev", "greeter", "--call", "greeter", r#"{"name": "Ann"}"#];

/// A project with the plugin `greeter`, whose tool begins with a line of Python.
fn greeter(line: &str) -> Project {
    let project = project();
    new(&project, "greeter", "tool");
    let begin = "    async def execute(self, input):\n";
    replace(&project, begin, &format!("{begin}        {line}\n"));
    project
}

fn replace(project: &Project, from: &str, to: &str) {
    let text = project.read("greeter/tools/greeter.py");
    assert!(text.contains(from), "{text}");
    project.file("greeter/tools/greeter.py", text.replace(from, to));
}

#[test]
fn dev_calls_a_tool_again_on_each_save() {
    let project = greeter("pass");
    let run = project.command(&CALL).spawn();
    run.wait_for_stderr("Hello, Ann!");
    run.wait_for_stderr("hint: waiting for a change in greeter");
    replace(&project, "Hello, ", "Goodbye, ");
    run.wait_for_stderr("Goodbye, Ann!");
    replace(&project, "import Tool as Base", "import Tool as");
    run.wait_for_stderr("SyntaxError");
    replace(&project, "import Tool as", "import Tool as Base");
    replace(&project, "Goodbye, ", "Welcome, ");
    run.wait_for_stderr("Welcome, Ann!");
    run.interrupt();
    run.wait().code(130);
}

#[test]
fn dev_shows_output_events_and_blocked_requests() {
    let project = greeter("import sys; print('a debug line', file=sys.stderr)");
    let run = project.brynhild(&[&CALL[..], &["--once"]].concat());
    let shown = &run.success().stderr;
    assert!(shown.contains("● greeter(name: Ann)"), "{run}");
    assert!(shown.contains("plugin greeter: a debug line"), "{run}");
    assert!(shown.contains("✓ greeter"), "{run}");
    for address in ["http://example.org/", "https://example.org/"] {
        let fetch = format!("import urllib.request; urllib.request.urlopen({address:?})");
        let run = greeter(&fetch).brynhild(&[&CALL[..], &["--once"]].concat());
        let hint = "the user can grant it with `brynhild plugin grant greeter --network`";
        let shown = run.code(1).stderr.split("✗ greeter").nth(1).unwrap();
        assert!(shown.contains("403") && shown.contains(hint), "{run}");
    }
}

#[test]
fn dev_conversation_uses_saved_changes() {
    let project = greeter("pass");
    let turn = "  - tool_calls: [{ name: greeter, input: { name: Ann } }]\n  \
                - text: \"The tool says: {{last_tool_result}}\"\n";
    project.file("script.yaml", format!("turns:\n{turn}{turn}"));
    let args = ["plugin", "dev", "greeter", "--provider", "script", "--model", "script.yaml"];
    let mut run = project.command(&args).spawn();
    run.send("Greet Ann.\n");
    run.wait_for_stdout("The tool says: Hello, Ann!");
    replace(&project, "Hello, ", "Goodbye, ");
    run.send("Greet Ann again.\n");
    run.wait_for_stdout("The tool says: Goodbye, Ann!");
    run.close_stdin();
    let run = run.wait();
    assert!(run.success().stderr.contains("● greeter(name: Ann)"), "{run}");
}

#[test]
fn plugin_dev_rejects_wrong_arguments() {
    let project = project();
    new(&project, "greeter", "tool");
    new(&project, "reviewer", "role");
    let cases: [(&[&str], &str); 5] = [
        (&["nowhere"], "there is no directory nowhere"),
        (&["reviewer"], "reviewer is a role, not a plugin"),
        (&["greeter", "--call", "greeter", "{"], "`--call` is not valid JSON"),
        (&["greeter", "--call", "greeter"], "2 values required"),
        (&["greeter", "--once"], "--call <TOOL> <JSON>"),
    ];
    for (args, message) in cases {
        let run = project.brynhild(&[&["plugin", "dev"], args].concat());
        assert!(run.code(2).stderr.contains(message), "{run}");
    }
    let run = project.brynhild(&["plugin", "dev", "greeter", "--call", "other", "{}", "--once"]);
    assert!(run.code(1).stderr.contains("Tool 'other' not found"), "{run}");
}

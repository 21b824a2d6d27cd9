//! What the question says of commands whose scripts trust does not cover, and which files count because
//! of patterns, or do not because they are only written.

use std::fs;

use serde_json::{Value, json};
use testkit::{ModelServer, Project, Reply};

use super::{SIZE, list, trust};
use crate::{project, project_with};

fn with_hook(project: &Project, event: &str, command: &str) {
    let hook = json!({"name": "a", "type": "command", "command": command});
    project.file(".brynhild/hooks.yaml", json!({"hooks": {event: [hook]}}).to_string());
}

fn told(project: &Project) -> Value {
    project.brynhild(&["trust", "--json"]).json()["unfollowed"].clone()
}

#[test]
fn a_command_whose_scripts_no_reading_finds_is_named_in_the_question() {
    for command in [
        "find tools -type f | xargs -n1 sh",
        "sh /proc/self/cwd/tools/x.sh",
        "base64 -d <<E | sh\nc2ggdG9vbHMveC5zaA==\nE",
        "sh [t]ools/x.sh",
        "cp -r tools /tmp/zt; sh /tmp/zt/x.sh",
        "python3 -c \"exec(open(chr(116)+'ools/x.sh').read())\"",
        "git -c core.hooksPath=tools commit -m x",
        "mypy .",
    ] {
        let project = project();
        with_hook(&project, "session_start", command);
        project.file("tools/x.sh", "true\n");
        let named = told(&project);
        assert_eq!(named[0]["file"], ".brynhild/hooks.yaml", "{command}: {named}");
        let shown = project.brynhild(&["trust"]);
        assert!(shown.stderr.contains("a change of such a file is not noticed"), "{shown}");
    }
}

#[test]
fn what_runs_nothing_or_just_what_is_covered_is_not_named() {
    for command in ["exit 1", "sh tools/x.sh", "jq -r .a | grep -q b && exit 2 || true"] {
        let project = project();
        with_hook(&project, "session_start", command);
        project.file("tools/x.sh", "echo a\n");
        assert_eq!(told(&project), json!([]), "{command}");
    }
    let project = project();
    let server = json!({"command": "node", "args": ["s.js"], "env": {"KEY": "x"}, "cwd": "."});
    let servers = json!({"mcpServers": {"a": server, "b": {"url": "https://h/x"}}});
    project.file(".mcp.json", servers.to_string()).file("s.js", "");
    assert_eq!(told(&project), json!([]));
}

/// The hook that runs a script of this text, in a project with what it may run.
fn with_script(text: &str) -> Project {
    let project = project();
    with_hook(&project, "session_start", "bash run.sh");
    project.file("run.sh", text).file("tools/x.sh", "true\n").file("lib/a.sh", "true\n");
    project
}

#[test]
fn a_hook_that_hides_what_it_runs_is_named_however_it_is_written() {
    for command in [
        "sh \"-c\" 'sh $(printf %s to ols/x.sh)'",
        "find . -name \"[x].sh\" \"-exec\" sh {} \\;",
        "cat <<E >&2\n$(sh $(printf %s to ols/x.sh))\nE\nexit 2",
        "set sh $(printf %s to ols/x.sh); \"$@\"",
        "r() { \"$@\"; }; r sh $(printf %s to ols/x.sh)",
        "m=$(printf %s ../to ols/x); . lib/$m.sh",
        "cd \"$(printf %s to ols $dirname)\"; sh x.sh",
        "cat() { printf \"sh %s%s\" too ls/x.sh; }; cat steps | sh",
        "BASH_ENV=$(printf %s to ols/x.sh) bash steps",
        "python3 -c \"from os import system as get; get('sh to'+'ols/x.sh')\"",
        "npm run lint --workspaces",
        "npm test -ws",
        "npm run lint -w a",
        "npm -w a run lint",
        "export \"$(cat steps)\"; cat /dev/null",
        "cat steps > lib/json.py; sh tools/x.sh; rm lib/json.py",
    ] {
        let project = project();
        with_hook(&project, "session_start", command);
        project.file("tools/x.sh", "true\n").file("steps", "true\n");
        let named = told(&project);
        assert_eq!(named[0]["file"], ".brynhild/hooks.yaml", "{command}: {named}");
    }
    for text in [
        ": ${x#'}'}; sh $(printf %s to ols/x.sh); : \\'",
        "echo $'\\''; sh $(printf %s to ols/x.sh); echo \\'",
        "let 'a[$(sh $(printf %s to ols/x.sh))0]=1'",
        "x='a[$(sh $(printf %s to ols/x.sh))0]'; i=$((x))",
        "[[ -v 'a[$(sh $(printf %s to ols/x.sh))0]' ]]",
        "unset 'a[$(sh $(printf %s to ols/x.sh))0]'",
        "cat <<E\n$(sh t[o]ols/x.sh)\nE",
        "printf 'abc%ln' PATH; cat /dev/null",
        "read -r x < data; export $x; sh lib/a.sh",
        "if [ -n \"$NOPE\" ]; then DIR=\"$(dirname \"$0\")\"; fi\n. \"$DIR/lib/a.sh\"",
        "TERM=\"$(dirname \"$0\")\"\n. \"$TERM/lib/a.sh\"",
        "GROUPS=\"$(dirname \"$0\")\"\n. \"$GROUPS/lib/a.sh\"",
    ] {
        let project = with_script(text);
        let named = told(&project);
        assert_eq!(named[0]["file"], "run.sh", "{text}: {named}");
    }
}

const GUARD: &str = r#"#!/bin/sh
# Keeps secrets out of commits; it's strict.
set -eu
input=$(cat)
tool=$(printf '%s' "$input" | jq -r '.tool_name // empty')
file=$(echo "$input" | jq -r .tool_input.file_path)
[ -n "$file" ] || exit 0
if [ "$tool" = "Bash" ] && echo "$input" | grep -qE 'rm -rf|sudo (a|b)$'; then
  echo "blocked: $tool" >&2
  exit 2
fi
case "$file" in
  *.env | */secrets/*) echo "no: $file" >> .claude/guard.log; exit 2 ;;
  *) ;;
esac
for word in $file; do
  [ "$word" = "--force" ] && exit 2
done
cat <<EOF
{"decision": "approve", "file": "$file"}
EOF
"#;

#[test]
fn the_usual_guards_are_not_named() {
    for (command, path, text) in [
        ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", ".claude/hooks/guard.sh", GUARD),
        ("cd \"$CLAUDE_PROJECT_DIR\" && sh lib/guard.sh", "lib/guard.sh", GUARD),
        (
            "python3 .claude/hooks/guard.py",
            ".claude/hooks/guard.py",
            "import json, re, sys\ndata = json.load(sys.stdin)\nif re.compile('x').search(str(data)):\n    sys.exit(2)\n",
        ),
        (
            "python3 .claude/hooks/guard.py",
            ".claude/hooks/guard.py",
            "import sys\n# evaluate the system prompt; globals are fine\nsys.exit(0)\n",
        ),
        (
            "node $CLAUDE_PROJECT_DIR/hooks/guard.js",
            "hooks/guard.js",
            "const fs = require('fs')\nconst data = JSON.parse(fs.readFileSync(0))\nif (/x/.exec(data.a)) process.exit(2)\n",
        ),
        (
            "bash lib/guard.sh \"$CLAUDE_FILE_PATHS\"",
            "lib/guard.sh",
            "DIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\nsource \"$DIR/more.sh\"\n",
        ),
    ] {
        let project = project();
        let hook = json!({"type": "command", "command": command});
        let settings = json!({"hooks": {"PreToolUse": [{"matcher": "", "hooks": [hook]}]}});
        project.file(".claude/settings.json", settings.to_string());
        project.file(path, text).file("lib/more.sh", "true\n");
        assert_eq!(told(&project), json!([]), "{command}");
    }
}

#[test]
fn what_runs_scripts_by_rules_of_its_own_is_named() {
    for command in [
        "npm run lint",
        "make check",
        "cargo test",
        "npx tool",
        "cd lib && sh a.sh",
        "f() { :; }; f",
    ] {
        let project = project();
        with_hook(&project, "session_start", command);
        project
            .file("package.json", r#"{"scripts": {"lint": "true"}}"#)
            .file("Makefile", "check:\n\ttrue\n");
        project.file("lib/a.sh", "true\n");
        let wanted =
            json!([{"file": ".brynhild/hooks.yaml", "command": command.split(" && ").next()}]);
        assert_eq!(told(&project), wanted, "{command}");
    }
}

#[test]
fn of_a_script_that_is_not_understood_the_line_is_shown() {
    let project = with_script("echo first\necho ${!name}\necho last\n");
    assert_eq!(told(&project), json!([{"file": "run.sh", "command": "echo ${!name}"}]));
}

#[test]
fn what_fits_a_pattern_is_covered_also_what_comes_to_fit_it() {
    for change in ["tools/x.sh", "toolbox/x.sh"] {
        let project = project();
        with_hook(&project, "session_start", "sh too*/x.sh");
        project.file("tools/x.sh", "true\n");
        trust(&project);
        project.brynhild(&["--require-trust", "hooks", "list"]).success();
        project.file(change, "touch evil\n");
        project.brynhild(&["--require-trust", "hooks", "list"]).code(3);
    }
}

#[test]
fn a_file_that_a_hook_only_writes_is_no_script_of_it() {
    for command in ["touch .stamp", "echo x | tee -a hook.log", "mkdir -p made; touch made/a"] {
        let call = || Reply::calls([("Bash", json!({"command": "true"}))]);
        let server = ModelServer::start([call(), call(), Reply::text("done")]);
        let project = project_with(&server);
        with_hook(&project, "pre_tool_use", command);
        trust(&project);
        let run = project.brynhild(&["chat", "--yes", "go"]);
        run.success();
        assert!(!run.stderr.contains("came to scripts"), "{command}: {run}");
        assert_eq!(list(&project)[0]["state"], "unchanged", "{command}");
    }
}

#[test]
fn a_file_that_a_hook_only_looks_at_is_no_script_of_it() {
    for (command, file) in [
        ("grep -q FORBIDDEN src/app.ts && exit 1 || exit 0", "src/app.ts"),
        ("cat docs/rules.md", "docs/rules.md"),
        ("black app.py", "app.py"),
        ("shellcheck scripts/deploy.sh", "scripts/deploy.sh"),
        ("wc -l src/*.ts > count.txt", "src/app.ts"),
        ("echo see src/app.ts", "src/app.ts"),
        ("curl -s -d @data.json http://localhost", "data.json"),
    ] {
        let project = project();
        project.file(file, "a\n");
        with_hook(&project, "pre_tool_use", command);
        trust(&project);
        project.file(file, "b\n");
        assert_eq!(list(&project)[0]["state"], "unchanged", "{command}");
    }
}

#[test]
fn a_file_that_is_run_counts_though_it_is_looked_at_too() {
    for command in [
        "touch tools/x.sh; sh to\"ols\"/x.sh",
        "touch tools/x.sh; sh tools\\/x.sh",
        "grep -q a tools/x.sh && sh tools/x\"\".sh",
        "cat tools/x.sh | sh",
    ] {
        let project = project();
        project.file("tools/x.sh", "true\n");
        with_hook(&project, "pre_tool_use", command);
        trust(&project);
        project.file("tools/x.sh", "false\n");
        assert_eq!(list(&project)[0]["state"], "changed", "{command}");
    }
}

#[test]
fn what_a_shell_is_given_is_read_as_what_a_shell_runs_whatever_it_is_called() {
    for (command, file) in [
        ("bash steps", "steps"),
        (". ./lib.py", "lib.py"),
        ("sh rules.md", "rules.md"),
        ("./run", "run"),
    ] {
        let project = project();
        with_hook(&project, "session_start", command);
        project.file(file, "echo a\nsh $(printf %s to ols/x.sh)\n").file("tools/x.sh", "");
        let named = told(&project);
        let wanted = json!([{"file": file, "command": "sh $(printf %s to ols/x.sh)"}]);
        assert_eq!(named, wanted, "{command}");
        project.file(file, "echo a\n");
        assert_eq!(told(&project), json!([]), "{command}");
    }
}

/// Waits for the question that follows the warning.
fn asked_again(terminal: &testkit::Terminal) -> String {
    let is_asked = |screen: &str| {
        let after = screen.split_once("changed while you were asked");
        after.is_some_and(|(_, after)| after.contains("[N]o: "))
    };
    terminal.wait_until("a second question", |screen| is_asked(&screen.contents()))
}

#[test]
fn what_changes_while_the_question_waits_is_told_and_asked_about_again() {
    let project = project();
    with_hook(&project, "pre_tool_use", "sh go.sh");
    project.file("go.sh", "exit 1\n");
    let terminal = project.terminal(&["trust"], SIZE);
    terminal.wait_for("[N]o: ");
    project.file("go.sh", "exit 0 # other\n");
    terminal.send("y\r");
    asked_again(&terminal);
    terminal.send("n\r");
    assert_eq!(terminal.wait_for_end(), Some(3));
    assert!(list(&project).is_empty());
}

#[test]
fn a_chat_asks_again_about_what_changed_while_its_question_waited() {
    let call = Reply::calls([("Bash", json!({"command": "touch made"}))]);
    let server = ModelServer::start([call, Reply::text("done")]);
    let project = project_with(&server);
    with_hook(&project, "pre_tool_use", "sh go.sh");
    project.file("go.sh", "exit 0\n");
    let terminal = project.terminal(&["--yes", "chat", "hi"], SIZE);
    terminal.wait_for("[N]o: ");
    fs::write(project.path().join("go.sh"), "exit 1 # other\n").unwrap();
    terminal.send("y\r");
    let screen = asked_again(&terminal);
    assert!(screen.contains("Changed since your decision"), "{screen}");
    terminal.send("y\r");
    assert_eq!(terminal.wait_for_end(), Some(0));
    assert!(!project.path().join("made").exists(), "the guard of the second answer counts");
}

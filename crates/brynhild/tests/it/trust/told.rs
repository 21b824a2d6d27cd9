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
        "read -r data < data.txt\nn=$(echo data \\| wc -l)\necho $((n + 1))",
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

/// The same with what Bash has for it.
const BASH_GUARD: &str = r#"#!/usr/bin/env bash
set -euo pipefail
log() { echo "guard: $1" >&2; }
is_secret() {
  [[ "$1" =~ \.(env|pem)$ ]] && return 0
  return 1
}
t=$(mktemp)
trap 'rm -f "$t"' EXIT
cat > "$t"
file=`jq -r .tool_input.file_path "$t"`
if [[ "$file" =~ ^/etc/ ]] || is_secret "$file"; then
  log "not $file"
  exit 2
fi
n=0
while IFS= read -r line; do n=$((n + 1)); done < "$file"
[ $((n + 1)) -gt 500 ] && log "long"
sed -n 's/a/b/p' README.md
kept=(secrets 'two words' x.pem)
is_kept() {
  local name="$1" answer=1
  for one in "${kept[@]}"; do
    if [ "$one" = "$name" ]; then answer=0; fi
  done
  return "$answer"
}
if is_kept "$file"; then exit 2; fi
"#;

#[test]
fn the_usual_guards_are_not_named() {
    for (command, path, text) in [
        ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", ".claude/hooks/guard.sh", GUARD),
        ("cd \"$CLAUDE_PROJECT_DIR\" && sh lib/guard.sh", "lib/guard.sh", GUARD),
        ("\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/guard.sh", ".claude/hooks/guard.sh", BASH_GUARD),
        ("bash lib/guard.sh", "lib/guard.sh", BASH_GUARD),
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
fn of_a_file_three_lines_are_named_those_that_run_something_first() {
    let project = with_script("x+=(a)\nPATH=$x\nnpm test\nsh \"$x\"\nexport \"$x\"\n");
    let named: Vec<String> =
        told(&project).as_array().unwrap().iter().map(|it| it["command"].to_string()).collect();
    assert_eq!(named, [r#""npm test""#, r#""sh \"$x\"""#, r#""x+=(a)""#]);
    assert_eq!(told(&project)[2]["more"], 2);
    let shown = project.brynhild(&["trust"]).stderr;
    assert!(
        shown.contains("  run.sh: npm test\n") && shown.contains("  run.sh: and 2 more\n"),
        "{shown}"
    );
}

#[test]
fn what_a_hook_writes_by_the_name_of_data_and_runs_is_named_or_covered() {
    let with_link = |name: &str| {
        let project = project();
        with_hook(&project, "pre_tool_use", "cat data > x.log; sh lib/b.sh");
        project.file("lib/b.sh", "true\n").file("data", "true\n");
        std::os::unix::fs::symlink("lib/b.sh", project.path().join(name)).unwrap();
        project
    };
    assert_eq!(told(&with_link("other.log")), json!([]));
    let project = with_link("x.log");
    assert_eq!(told(&project)[0]["command"], "cat data > x.log");
    assert!(project.brynhild(&["trust"]).stderr.contains("x.log (a link, never followed)"));
    // One that comes later is noticed.
    let project = with_link("other.log");
    trust(&project);
    assert_eq!(list(&project)[0]["state"], "unchanged");
    std::os::unix::fs::symlink("lib/json.py", project.path().join("x.log")).unwrap();
    assert_eq!(list(&project)[0]["state"], "changed");
}

#[test]
fn what_a_hook_writes_by_another_name_of_a_script_is_named_or_covered() {
    let with_hard_link = |name: &str| {
        let project = project();
        with_hook(&project, "pre_tool_use", "cat data > x.log; sh lib/b.sh");
        project.file("lib/b.sh", "true\n").file("data", "true\n");
        fs::hard_link(project.path().join("lib/b.sh"), project.path().join(name)).unwrap();
        project
    };
    assert_eq!(told(&with_hard_link("x.log"))[0]["command"], "cat data > x.log");
    // One that comes later is noticed.
    let project = with_hard_link("other.log");
    assert_eq!(told(&project), json!([]));
    trust(&project);
    assert_eq!(list(&project)[0]["state"], "unchanged");
    fs::hard_link(project.path().join("lib/b.sh"), project.path().join("x.log")).unwrap();
    assert_eq!(list(&project)[0]["state"], "changed");
}

#[test]
fn what_a_package_or_script_loads_by_other_letters_is_named() {
    for (package, wanted) in [
        (r##"{"imports": {"#x": "./\u0064eep/c.mjs"}}"##, "imports: ./deep/c.mjs"),
        (r##"{"imports": {"#x": {"node": "./d%65ep/c.mjs"}}}"##, "imports: ./d%65ep/c.mjs"),
    ] {
        let project = project();
        with_hook(&project, "session_start", "node lib/a.mjs");
        project.file("lib/a.mjs", "import '#x'\n").file("package.json", package);
        project.file("deep/c.mjs", "1\n");
        let wanted = json!([{"file": "package.json", "command": wanted}]);
        assert_eq!(told(&project), wanted, "{package}");
    }
    for (text, line) in [
        ("await import\n(process.env.X)\n", "await import"),
        ("import 'data:text/javascript,1'\n", "import 'data:text/javascript,1'"),
    ] {
        let project = project();
        with_hook(&project, "session_start", "node lib/a.mjs");
        project.file("lib/a.mjs", text);
        assert_eq!(told(&project), json!([{"file": "lib/a.mjs", "command": line}]), "{text}");
    }
}

#[test]
fn scripts_that_write_what_is_run_are_named() {
    for (command, file, line) in [
        ("ruff check -o lib/json.py src", "", ""),
        ("sort -o lib/b.sh data", "", ""),
        ("sed -i s/a/b/ lib/b.sh", "", ""),
        ("sed 's/a/b/w lib/b.sh' data", "", ""),
        ("python3 lib/a.py", "lib/a.py", "open('lib/b.sh', 'w').write(open('data').read())"),
        ("python3 lib/a.py", "lib/a.py", "# coding: utf-7"),
        ("node lib/a.js", "lib/a.js", "fs.copyFileSync('data', 'lib/b.sh')"),
        ("node lib/a.mjs", "lib/a.mjs", "import x from '\\x2e./y.js'"),
    ] {
        let project = project();
        with_hook(&project, "session_start", &format!("{command}; sh lib/b.sh"));
        project.file("lib/b.sh", "true\n").file("data", "true\n");
        if !file.is_empty() {
            project.file(file, line);
        }
        let (file, line) =
            if file.is_empty() { (".brynhild/hooks.yaml", command) } else { (file, line) };
        assert_eq!(told(&project), json!([{"file": file, "command": line}]), "{command}");
    }
}

#[test]
fn a_written_file_that_is_loaded_is_named_whatever_its_ending() {
    for (package, loaded) in [
        (r#"{"name": "p", "exports": {"./*": "./out/*.txt"}}"#, "p/x"),
        (r##"{"name": "p", "imports": {"#x": "./out/x.txt"}}"##, "#x"),
        (r#"{"name": "other"}"#, "../out/x.txt"),
    ] {
        let project = project();
        with_hook(&project, "session_start", "cat data > out/x.txt; node lib/a.js");
        project.file("data", "1\n").file("out/x.txt", "1\n").file("package.json", package);
        project.file("lib/a.js", format!("require('{loaded}')\n"));
        let wanted = json!([{"file": ".brynhild/hooks.yaml", "command": "cat data > out/x.txt"}]);
        assert_eq!(told(&project), wanted, "{package}");
    }
}

#[test]
fn modules_are_covered_whatever_follows_their_path_in_an_address() {
    for name in ["./b.mjs#v", "./b.mjs?v", "./b.mjs?a/b", "./b.mjs?a#b/c", "../deep/b.mjs#v/w"] {
        let project = project();
        let path = if name.contains("deep") { "deep/b.mjs" } else { "lib/b.mjs" };
        with_hook(&project, "session_start", "node lib/a.mjs");
        project.file("lib/a.mjs", format!("import '{name}'\n")).file(path, "1\n");
        assert_eq!(told(&project), json!([]), "{name}");
        trust(&project);
        assert_eq!(list(&project)[0]["state"], "unchanged", "{name}");
        project.file(path, "2\n");
        assert_eq!(list(&project)[0]["state"], "changed", "{name}");
    }
}

/// Words of other languages that start programs, or run texts that do not stand there.
#[test]
fn scripts_of_other_languages_are_named_by_their_words() {
    for (interpreter, file, line) in [
        ("perl", "a.pl", "print readpipe(\"sh t[o]ols/x.sh\");"),
        ("perl", "a.pl", "BEGIN { push @INC, 'pe' . 'rl' } use Foo;"),
        ("perl", "a.pl", "do \"./$x\";"),
        ("python3", "a.py", "from sys import path; path.insert(0, 'p' + 'y'); import zz"),
        (
            "python3",
            "a.py",
            "import code; code.InteractiveInterpreter().runsource(open('c').read())",
        ),
        ("python3", "a.py", "logging.config.fileConfig('log.ini')"),
        ("python3", "a.py", "import imp; imp.load_source('x', 'to' + 'ols/x')"),
        ("python3", "a.py", "base.enable_load_extension(True)"),
        ("node", "a.js", "require('./to' + 'ols/x')"),
        ("python3", "a.py", "import yaml; yaml.load(open('d.yaml'), Loader=yaml.Loader)"),
        ("python3", "a.py", "import profile; profile.run(open('d.txt').read())"),
        ("python3", "a.py", "import trace; trace.Trace().run(open('d.txt').read())"),
        ("python3", "a.py", "typing.get_type_hints(made)"),
        ("python3", "a.py", "pandas.read_pickle('d.bin')"),
        ("python3", "a.py", "joblib.load('d.bin')"),
        ("python3", "a.py", "dill.load(open('d.bin', 'rb'))"),
        ("node", "a.js", "const r = require"),
        ("node", "a.js", "const session = new (require('inspector').Session)()"),
        ("node", "a.js", "require('repl').start()"),
        ("node", "a.mjs", "import '../d%65ep/c.mjs'"),
        ("node", "a.mjs", "import '../de\tep/c.mjs'"),
        ("ruby", "a.rb", "require_relative name"),
        ("ruby", "a.rb", "autoload :A, 'to' + 'ols/x'"),
    ] {
        let project = project();
        with_hook(&project, "session_start", &format!("{interpreter} lib/{file}"));
        project.file(format!("lib/{file}"), format!("# nothing yet\n{line}\n"));
        let wanted = json!([{"file": format!("lib/{file}"), "command": line}]);
        assert_eq!(told(&project), wanted, "{line}");
    }
}

#[test]
fn what_runs_scripts_by_rules_of_its_own_is_named() {
    for command in ["npm run lint", "make check", "cargo test", "npx tool", "f() { sh x; }"] {
        let project = project();
        with_hook(&project, "session_start", command);
        project
            .file("package.json", r#"{"scripts": {"lint": "true"}}"#)
            .file("Makefile", "check:\n\ttrue\n");
        project.file("lib/a.sh", "true\n");
        let first = told(&project)[0].clone();
        assert_eq!(first["file"], ".brynhild/hooks.yaml", "{command}: {first}");
        assert!(command.contains(first["command"].as_str().unwrap()), "{command}: {first}");
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

//! Which commands the question tells of, and which shapes it does not.

mod tables;

use std::path::Path;

use super::super::super::snapshot::Part;
use super::*;
use tables::{FOLLOWED, HIDING};

fn entry(path: &str, text: &[u8]) -> Entry {
    let is_named = !path.starts_with('.');
    let part = Part { path: path.to_owned(), kind: Kind::File, is_named };
    Entry { part, mode: 0o755, hash: String::new(), bytes: text.to_vec() }
}

/// What is told of these files, beside some that are covered and run nothing.
fn told_of(files: &[(&str, &[u8])]) -> Vec<(String, String)> {
    let mut entries: Vec<Entry> =
        ["lib/a.sh", "lib/b.sh", "t/x.sh"].iter().map(|it| entry(it, b"true\n")).collect();
    entries.retain(|it| files.iter().all(|(path, _)| *path != it.part.path));
    entries.extend(files.iter().map(|(path, text)| entry(path, text)));
    flat(told(Place::Project(Path::new("/w")), &entries))
}

/// Each line that is told with its file.
fn flat(told: Vec<Told>) -> Vec<(String, String)> {
    let lines = |told: Told| told.lines.into_iter().map(move |line| (told.path.clone(), line));
    told.into_iter().flat_map(lines).collect()
}

fn in_hook(command: &str) -> Vec<(String, String)> {
    let hooks = serde_json::json!({"hooks": {"a": [{"command": command}]}}).to_string();
    told_of(&[(".brynhild/hooks.yaml", hooks.as_bytes())])
}

/// The same of a script that Bash runs.
fn in_script(text: &str) -> Vec<(String, String)> {
    let hooks = b"hooks: {a: [{command: bash run.sh}]}";
    told_of(&[
        (".brynhild/hooks.yaml", hooks),
        ("run.sh", format!("#!/bin/bash\n{text}\n").as_bytes()),
    ])
}

#[test]
fn every_text_that_hides_what_it_runs_is_told() {
    for text in HIDING {
        assert!(!in_hook(text).is_empty(), "{text}");
        assert!(!in_script(text).is_empty(), "{text}");
    }
}

#[test]
fn what_would_have_to_be_followed_is_told() {
    for text in FOLLOWED {
        assert!(!in_hook(text).is_empty(), "{text}");
        assert!(!in_script(text).is_empty(), "{text}");
    }
}

#[test]
fn programs_that_run_nothing_and_single_covered_files_are_not_told() {
    for text in [
        "# eval x",
        "echo cargo $x",
        "exit 1",
        "touch .stamp",
        "jq -r .tool_input.command | grep -q 'rm -rf' && exit 2 || true",
        "if [ -f x ]; then echo a; else exit 0; fi",
        "case $1 in\n  a) echo b ;;\n  *) exit 1 ;;\nesac",
        "cat <<E\nsome words\nE\nexit 2",
        "command -v jq >/dev/null || exit 0",
        "date >> log.txt 2>&1 &",
        "[ $# -lt 1 ] && exit 1",
        "[ $? -eq 0 ]",
        "[[ $# -gt 0 ]]",
        "set -euo pipefail",
        "{ echo a; echo b; } > x.log",
        "sh \"${CLAUDE_PROJECT_DIR}/lib/a.sh\" --flag \"$x\"",
        "uname -s | tr a b",
        "if command -v jq >/dev/null 2>&1; then echo; fi",
        "printf \"%s\\n\" \"$x\"",
        "[[ \"$f\" == *.py ]] || exit 0",
        "jq -n --arg a \"$x\" '{a: $a}'",
        "cat <<EOF\n{\"x\": \"$y\"}\nEOF",
        "cat <<EOF | jq .\n{\"x\": \"$(date)\"}\nEOF",
        "echo \"$x\" >&2; exit 2",
        "test -x lib/a.sh && lib/a.sh",
        "echo \"a\" > out.txt; sh lib/a.sh",
        "printf \"%s\" \"a\" | tee -a x.log; bash lib/a.sh",
        "./t/x.sh",
        "bash lib/a.sh \"$CLAUDE_FILE_PATHS\" --flag",
        "sh /w/lib/a.sh",
        "\"$CLAUDE_PROJECT_DIR\"/t/x.sh --flag",
        "sh $CLAUDE_PROJECT_DIR/lib/a.sh; . ./lib/b.sh",
        "cd \"$CLAUDE_PROJECT_DIR\" && sh lib/a.sh",
        "cat x | sed -n 's/a/b/p' | awk '{ print $1 }' | sort -u | uniq -c",
        "curl -s -H \"A: $b\" -d \"$(jq -c .)\" -o /dev/null https://h/x",
        "A=b sh lib/a.sh",
        "[ -n \"$x\" ] && [ ! -f \"$x\" ] && [ \"$x\" != y ]",
        "git rev-parse --show-toplevel",
        "LC_ALL=C sort -u; export LC_ALL=C",
        "printf '%s: %d%%\\n' a 1",
        "while IFS= read -r line; do echo \"$line\"; done < x",
        "[[ \"$file\" =~ ^/etc/ ]] && exit 2",
        "[[ $file =~ \\.env$ ]] || exit 0",
        "log() { echo \"$1\" >&2; }\nlog \"blocked: $x\"; exit 2",
        "log() { echo \"$1\" >> x.log; }; die() { log \"$1\"; exit 2; }; [ -f x ] || die \"no x\"",
        "is_code() { case \"$1\" in *.rs) return 0 ;; esac; return 1; }; if is_code \"$f\"; then exit 2; fi",
        "log() { sh lib/a.sh \"$1\"; }; log x",
        "n=0; while read -r line; do n=$((n + 1)); done < x; [ \"$n\" -gt 500 ] && exit 2",
        "n=3; m=\"$((n * 2))\"; [ $((m + 1)) -gt 500 ] || echo \"$((m - n))\"",
        "echo $(( 1 + 2 ))",
        "n=$(wc -l < README.md); if [ $((n + 1)) -gt 500 ]; then exit 2; fi",
        "n=$(jq -r .a | sort -u | wc -l); t=\"$(date +%s)\"; echo $((n + t))",
        "n=$(cat x 2>/dev/null | wc -w); m=$(wc -c < x 2>/dev/null); echo $((n + m))",
        "t=$(mktemp); trap 'rm -f \"$t\"' EXIT; cat > \"$t\"; jq . \"$t\" | tee \"$t\"",
        "x=`date`; echo \"a `jq -r .x` b\"",
        "trap 'rm -f \"$t\"' EXIT INT TERM",
        "cleanup() { rm -f \"$t\"; }; trap cleanup EXIT; trap - INT; trap '' HUP",
        "sed -n 's/a/b/p' README.md",
        "ruff check --fix --select=E,F \"$f\"; ruff format -q src",
        "gofmt -l -w x.go; base64 -d < x; aplay -q x.wav",
        "o=-q; grep \"$o\" a x",
        "names=(a 'b c' d.e)\nfor name in \"${names[@]}\"; do echo \"$name\"; done",
        "names=(\n  a # one\n  b\n)\necho \"${names[0]} of ${#names[@]}\"",
        "say() { local x=1 y; local message=\"$1: b\"; echo \"$message\"; }; say a",
    ] {
        assert_eq!(in_hook(text), [], "{text}");
        assert_eq!(in_script(text), [], "{text}");
    }
}

#[test]
fn what_only_bash_takes_for_a_test_is_silent_where_only_bash_reads_it() {
    let text = "[[ \"$a\" == x || -z \"$b\" ]] && exit 0";
    assert_eq!(in_script(text), []);
    assert!(!in_hook(text).is_empty());
    let pattern = "[[ \"$f\" =~ \\.(js|ts)$ ]] || exit 0";
    assert_eq!(in_script(pattern), []);
    assert!(!in_hook(pattern).is_empty());
    let script = format!("#!/bin/bash\n{text}\n");
    for (hook, is_told) in [("./run.sh", false), ("sh run.sh", true), (". ./run.sh", true)] {
        let hooks = format!("hooks: {{a: [{{command: {hook}}}]}}");
        let found =
            told_of(&[(".brynhild/hooks.yaml", hooks.as_bytes()), ("run.sh", script.as_bytes())]);
        assert_eq!(!found.is_empty(), is_told, "{hook}: {found:?}");
    }
}

/// What is told of a hook that runs `bash run.sh`, with these files.
fn with_files(files: &[(&str, &str)]) -> Vec<(String, String)> {
    let hooks: (&str, &[u8]) = (".brynhild/hooks.yaml", b"hooks: {a: [{command: bash run.sh}]}");
    let files = files.iter().map(|(path, text)| (*path, text.as_bytes()));
    told_of(&std::iter::once(hooks).chain(files).collect::<Vec<_>>())
}

#[test]
fn a_script_s_own_folder_is_known_where_nothing_else_sets_it() {
    let here = "DIR=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")\" && pwd)\"\n";
    let run = format!("{here}. \"$DIR/lib/a.sh\"\nsource \"$DIR\"/lib/b.sh\n");
    assert_eq!(with_files(&[("run.sh", &run)]), []);
    assert_eq!(with_files(&[("run.sh", "here=$(dirname \"$0\")\n. \"$here/lib/a.sh\"\n")]), []);
    assert!(!with_files(&[("run.sh", &run), ("lib/a.sh", "DIR=t\n")]).is_empty());
    assert!(!with_files(&[("run.sh", &format!("{run}read -r DIR\n"))]).is_empty());
    assert!(!with_files(&[("run.sh", &format!("DIR=t\n{run}"))]).is_empty());
    let sourced = "d=\"$(dirname \"$0\")\"\n. \"$d/x.sh\"\n";
    assert!(!with_files(&[("run.sh", ". t/y.sh\n"), ("t/y.sh", sourced)]).is_empty());
}

#[test]
fn a_script_s_own_folder_is_not_known_where_it_may_not_be_set() {
    let here = "=\"$(dirname \"$0\")\"";
    let use_of = |name: &str| format!(". \"${name}/lib/a.sh\"\n");
    assert_eq!(with_files(&[("run.sh", &format!("DIR{here}\n{}", use_of("DIR")))]), []);
    for name in ["TERM", "LANG", "REPLY", "GROUPS", "_", "D", "USER", "PATH", "Dir"] {
        let run = format!("{name}{here}\n{}", use_of(name));
        assert!(!with_files(&[("run.sh", &run)]).is_empty(), "{run}");
    }
    for run in [
        format!("if [ -n \"$x\" ]; then DIR{here}; fi\n{}", use_of("DIR")),
        format!("[ -z \"$x\" ] || DIR{here}\n{}", use_of("DIR")),
        format!("while [ -n \"$x\" ]; do DIR{here}; done\n{}", use_of("DIR")),
        format!("( DIR{here} )\n{}", use_of("DIR")),
        format!("DIR{here} | cat\n{}", use_of("DIR")),
        format!("DIR{here} &\n{}", use_of("DIR")),
        format!("DIR{here} :\n{}", use_of("DIR")),
        format!("{}DIR{here}\n", use_of("DIR")),
    ] {
        assert!(!with_files(&[("run.sh", &run)]).is_empty(), "{run}");
    }
}

#[test]
fn a_file_that_is_written_and_run_is_told() {
    for (run, other) in [
        ("cat data > lib/b.sh; . lib/b.sh", ""),
        ("cat data | tee lib/b.sh; . lib/b.sh", ""),
        ("cat data >> \"$x\"; . lib/b.sh", ""),
        ("cat data > \"$x/B.sh\"; . lib/b.sh", ""),
        ("sh lib/a.sh; . lib/b.sh", "cat data > lib/b.sh\n"),
        ("sh lib/a.sh gen; . lib/b.sh", "cat data > \"$1\"\n"),
        ("/usr/bin/tee lib/b.sh < data; . lib/b.sh", ""),
        ("cat data > log", ""),
        ("cat data > lib/json.py", ""),
        ("cat data > \"$x/json.py\"", ""),
        ("tee lib/Y.pm < data > /dev/null", ""),
        ("curl -s \"file://$PWD/data\" > lib/b.js", ""),
        ("cat data > lib/Package.json", ""),
        ("cat data > /tmp/../w/lib/json.py", ""),
        ("cat data > /tmp/w/lib/json.py", ""),
        ("cat data > notes.txt; . ./notes.txt", ""),
    ] {
        assert!(!with_files(&[("run.sh", run), ("lib/a.sh", other)]).is_empty(), "{run}");
    }
    for run in ["echo a >> \"$HOME/x.log\"; . lib/b.sh", "cat > /tmp/x; cat a 2> /dev/stderr"] {
        assert_eq!(with_files(&[("run.sh", run)]), [], "{run}");
    }
    let run = ("run.sh", "cat data > lib/Y.txt\n");
    assert_eq!(with_files(&[run, ("a.js", "require('./z.txt')")]), []);
    assert!(!with_files(&[run, ("a.js", "require('./y.txt')")]).is_empty());
    assert!(!with_files(&[run, ("package.json", "{\"main\": \"lib/Y.txt\"}")]).is_empty());
    assert!(!with_files(&[run, ("lib/y.txt", "1\n")]).is_empty(), "it is covered");
    for (pattern, is_told) in
        [("lib/*.txt", true), ("lib/*y.txt", true), ("lib/*", false), ("lib/*.js", false)]
    {
        let package = format!("{{\"exports\": {{\"./*\": \"./{pattern}\"}}}}");
        let found = with_files(&[run, ("package.json", &package)]);
        assert_eq!(!found.is_empty(), is_told, "{pattern}");
    }
}

#[test]
fn what_a_package_names_by_other_letters_is_told() {
    for (package, is_told) in [
        (r#"{"main": "lib/b.js", "scripts": {"a": "echo \"50%\""}}"#, false),
        (r#"{"main": "lib/\u0062.js"}"#, true),
        (r#"{"m\u0061in": "lib\/b.js"}"#, true),
        (r#"{"exports": {"./x": {"import": ["./lib/%62.js"]}}}"#, true),
        (r##"{"imports": {"#x": "./lib\\b.js"}}"##, true),
        (r#"{"bin": {"x": "./lib/\tb.js"}}"#, true),
    ] {
        let found = with_files(&[("run.sh", "true"), ("package.json", package)]);
        assert_eq!(!found.is_empty(), is_told, "{package}: {found:?}");
    }
}

#[test]
fn a_link_that_is_written_through_is_told() {
    let hooks: (&str, &[u8]) = (".brynhild/hooks.yaml", b"hooks: {a: [{command: bash run.sh}]}");
    for (text, is_told) in [
        ("cat data > x.log", true),
        ("cat data >> \"$CLAUDE_PROJECT_DIR/x.log\"", true),
        ("cat data | tee -a ./X.log", true),
        ("cat data > y.log", false),
        ("cat x.log", false),
    ] {
        let part = Part { path: String::from("x.log"), kind: Kind::Link, is_named: true };
        let link = Entry { part, mode: 0, hash: String::new(), bytes: b"lib/b.sh".to_vec() };
        let entries = [entry(hooks.0, hooks.1), entry("run.sh", text.as_bytes()), link];
        let found = told(Place::Project(Path::new("/w")), &entries);
        assert_eq!(!found.is_empty(), is_told, "{text}");
    }
}

#[test]
fn a_script_of_another_language_that_writes_what_is_run_is_told() {
    for (path, text) in [
        ("a.py", "open('lib/b.sh', 'w').write(x)"),
        ("a.py", "with open(p / 'b.sh', mode=m) as f: pass"),
        ("a.py", "Path('lib', 'B.sh').write_text(x)"),
        ("a.py", "shutil.copy('data', 'lib/b.sh')"),
        ("a.py", "os.replace('data', 'lib/b.sh')"),
        ("a.py", "open('lib/json.py', 'a').write(x)"),
        ("a.js", "fs.writeFileSync('lib/b.sh', x)"),
        ("a.js", "fs.renameSync('data', './b.sh')"),
        ("a.js", "fs.writeFileSync(__dirname + '/y.mjs', x)"),
        ("a.rb", "File.write('lib/b.sh', x)"),
        ("a.pl", "rename 'data', 'lib/b.sh';"),
    ] {
        let wanted = [(path.to_owned(), text.to_owned())];
        assert_eq!(with_files(&[("run.sh", "sh lib/b.sh"), (path, text)]), wanted);
    }
    let apart = "name = 'lib/b.sh'\nopen(name, 'w')\n";
    assert_eq!(with_files(&[("run.sh", "sh lib/b.sh"), ("a.py", apart)])[0].1, "open(name, 'w')");
    for (path, text) in [
        ("a.py", "open('x.log', 'a').write(file.replace('x', 'b'))"),
        ("a.py", "if name.endswith('.py'): open('hook.log', 'a')"),
        (
            "a.js",
            "const b = require('./b.sh')\nfs.appendFileSync('hook.log', x)\nif (f === 'z.ts') process.exit(2)",
        ),
    ] {
        assert_eq!(with_files(&[("run.sh", "sh lib/b.sh"), (path, text)]), [], "{text}");
    }
}

#[test]
fn what_runs_something_is_named_before_what_is_only_a_form() {
    let told_of = |text: &str| {
        let hooks = b"hooks: {a: [{command: bash run.sh}]}";
        let entries = [entry(".brynhild/hooks.yaml", hooks), entry("run.sh", text.as_bytes())];
        told(Place::Project(Path::new("/w")), &entries)
    };
    for (text, lines, more) in [
        ("x+=(a)\nsh \"$y\"\n", &["sh \"$y\"", "x+=(a)"][..], 0),
        ("sh \"$y\"\nx+=(a)\nnpm test\n", &["sh \"$y\"", "npm test", "x+=(a)"], 0),
        ("f() { :; }\nPATH=x\nmake\nf\n", &["make", "f", "f() { :; }"], 1),
        ("a1\na2\na3\na4\na4\na5\n", &["a1", "a2", "a3"], 2),
    ] {
        let path = String::from("run.sh");
        let lines = lines.iter().map(|it| (*it).to_owned()).collect();
        assert_eq!(told_of(text), [Told { path, lines, more }], "{text}");
    }
}

#[test]
fn what_one_text_runs_is_read_as_what_runs_it() {
    for (run, path) in [
        ("bash steps", "steps"),
        (". ./x.py", "x.py"),
        ("./tool", "tool"),
        ("sh notes.md", "notes.md"),
    ] {
        let found = with_files(&[("run.sh", run), (path, "echo a\neval x\n")]);
        assert_eq!(found.first().map(|it| it.0.as_str()), Some(path), "{run}: {found:?}");
        assert_eq!(with_files(&[("run.sh", run), (path, "echo a\n")]), [], "{run}");
    }
    // Two that lead to each other, and one that takes back what led to it.
    let taken = "d=\"$(dirname \"$0\")\"\n. \"$d/steps\"\n";
    assert!(!with_files(&[("run.sh", taken), ("steps", "d=x\n. ./run.sh\n")]).is_empty());
}

#[test]
fn first_lines_and_bytes_that_are_not_plain_are_told() {
    for first in [
        "#!/usr/bin/env -S bash",
        "#!/usr/bin/env -S A=1 bash",
        "#!/bin/sh -e",
        "#!./lib/a.sh",
        "#!/bin/zsh",
        "#!/usr/bin/env bash x",
    ] {
        let text = format!("{first}\ntrue\n");
        assert_eq!(with_files(&[("run.sh", "./tool"), ("tool", &text)])[0].1, first);
    }
    let hooks: (&str, &[u8]) = (".brynhild/hooks.yaml", b"hooks: {a: [{command: ./tool}]}");
    for bytes in [&b"true\n\0"[..], b"\xef\xbb\xbftrue\n", b"\x7fELF\xff", b". lib/a\xff.sh\n"] {
        assert!(!told_of(&[hooks, ("tool", bytes)]).is_empty(), "{bytes:?}");
    }
    for first in ["#!/bin/sh", "#! /usr/bin/bash", "#!/usr/bin/env python3", "#!/usr/bin/env node"]
    {
        let text = format!("{first}\nexit\n");
        assert_eq!(with_files(&[("run.sh", "./tool"), ("tool", &text)]), [], "{first}");
    }
}

#[test]
fn scripts_of_other_languages_are_told_by_words() {
    for (path, text) in [
        ("a.py", "import subprocess"),
        ("a.py", "x = os.system"),
        ("a.py", "os.execvp(a, b)"),
        ("a.py", "getattr(os, a)"),
        ("a.py", "ｅxec(a)"),
        ("a.py", "sys.path.insert(0, a)"),
        ("a.js", "require(name)"),
        ("a.js", "const r = require"),
        ("a.js", "require('a' + b)"),
        ("a.mjs", "await import(`./${x}`)"),
        ("a.js", "require('child_process')"),
        ("a.js", "new Function(a)"),
        ("a.pl", "my $x = `ls`;"),
        ("a.pl", "do 'x';"),
        ("a.rb", "%x(ls)"),
        ("a.rb", "require_relative x"),
        ("a.rb", "require_relative 'a' + x"),
        ("a.rb", "require_relative \"#{x}/a\""),
        ("a.rb", "autoload :A, x"),
        ("a.rb", "$LOAD_PATH << x"),
        ("a.pl", "print readpipe(\"sh x\");"),
        ("a.pl", "syscall 1;"),
        ("a.pl", "unshift @INC, 'p'.'l';"),
        ("a.py", "from sys import path"),
        ("a.py", "from sys import *"),
        ("a.py", "import sys as s"),
        ("a.py", "import json, code"),
        ("a.py", "x.runsource(a)"),
        ("a.py", "logging.config.fileConfig('log.ini')"),
        ("a.py", "import imp"),
        ("a.py", "x.enable_load_extension(True)"),
        ("a.py", "x = '#'; os.system(a)"),
        ("a.py", "x = f\"{y[\"#\"]}\"; os.system(a)"),
        ("a.py", "# \"\"\"; os.system(a)"),
        ("a.py", "# {os.system(a)}"),
        ("a.py", "os.system(a) # b"),
        ("a.py", "# -*- coding: utf-7 -*-"),
        ("a.py", "# vim: set fileencoding=rot13 :"),
        ("a.py", "#coding:cp037"),
        ("a.py", "# coding: utf-8 coding: utf-7"),
        ("a.mjs", "import x from '\\x2e./y'"),
        ("a.mjs", "import '\\u002e./y'"),
        ("a.mjs", "export * from \"\\x2e./y\""),
        ("a.mjs", "import x from /* */ '\\x2e./y'"),
        ("a.js", "ev\\u0061l(x)"),
        ("a.js", "requir\\u{65}(x)"),
        ("a.mjs", "import './%62.mjs'"),
        ("a.mjs", "export * from'../d%65ep/c.mjs'"),
        ("a.mjs", "import '../de\tep/c.mjs'"),
        ("a.mjs", "await import('./%62.mjs')"),
        ("a.mjs", "import 'data:text/javascript,1'"),
        ("a.mjs", "await import(\"data:text/javascript;base64,MQ==\")"),
        ("a.mjs", "export * from 'file:///w/%79.mjs'"),
        ("a.mjs", "await import('./de\tep/c.mjs')"),
        ("a.js", "new (require('inspector').Session)()"),
        ("a.mjs", "import { Session } from 'node:inspector/promises'"),
        ("a.js", "require('repl').start()"),
        ("a.py", "yaml.load(f)"),
        ("a.py", "yaml.load(f, Loader=yaml.Loader)"),
        ("a.py", "yaml.load_all(f, loader)"),
        ("a.py", "load(f, Loader = Loader)"),
        ("a.py", "x = y.FullLoader"),
        ("a.py", "from yaml import load"),
        ("a.py", "import json, profile"),
        ("a.py", "profile.run(x)"),
        ("a.py", "profile.runctx(x, {}, {})"),
        ("a.py", "import trace"),
        ("a.py", "trace.Trace().run(x)"),
        ("a.py", "typing.get_type_hints(x)"),
        ("a.py", "pandas.read_pickle('x')"),
        ("a.py", "import joblib"),
        ("a.py", "import dill"),
    ] {
        assert_eq!(
            with_files(&[("run.sh", "true"), (path, text)]),
            [(path.to_owned(), text.to_owned())]
        );
    }
}

#[test]
fn what_is_loaded_by_a_name_on_another_line_is_told() {
    for text in ["await import\n(name)", "x = require\n\n  (name)"] {
        let found = with_files(&[("run.sh", "true"), ("a.mjs", text)]);
        assert_eq!(found, [("a.mjs".to_owned(), text.lines().next().unwrap().to_owned())]);
    }
}

#[test]
fn what_only_looks_like_such_a_word_is_not_told() {
    for (path, text) in [
        ("a.py", "import json, re, sys\npattern = re.compile('x')\nsys.exit(2)"),
        ("a.py", "# evaluate the system prompt; globals are fine\nx = 1 # exec"),
        (
            "a.py",
            "from sys import argv, stdin\nfrom os import path\ncode = sys.argv\nimport sys, os",
        ),
        ("a.rb", "require_relative 'b'\nputs 1"),
        ("a.py", "#!/usr/bin/env python3\n# -*- coding: UTF-8 -*-\nx = 1\n# coding: utf-7"),
        ("a.py", "# coding: latin_1\nencoding = 'utf-7'"),
        ("a.mjs", "import {\n  a,\n} from './y'\nx = Array.from('\\n')\ny = '\\u2014 \\x1b[31m'"),
        ("a.js", "const fs = require('node:fs')\nimport path from 'path'\n/x/.exec(a)"),
        ("a.mjs", "import './b.mjs#v'\nimport './b.mjs?v'\nconst x = '100%'"),
        (
            "a.py",
            "import yaml\nyaml.load(f, Loader=yaml.SafeLoader)\nyaml.load(f, Loader = CSafeLoader)\nyaml.safe_load(f)",
        ),
        ("a.py", "profile = user.profile\nprofile.name = 'x'\ntrace = [1]"),
    ] {
        assert_eq!(with_files(&[("run.sh", "true"), (path, text)]), [], "{text}");
    }
}

#[test]
fn words_that_no_shell_reads_are_taken_as_they_are() {
    let server = |server: serde_json::Value| {
        let servers = serde_json::json!({"mcpServers": {"s": server}}).to_string();
        told_of(&[(".mcp.json", servers.as_bytes()), ("sub dir/s.sh", b"true\n"), ("5", b"true\n")])
    };
    for entry in [
        serde_json::json!({"command": "sh", "args": ["s.sh"], "cwd": "sub dir"}),
        serde_json::json!({"command": "./s.sh", "cwd": "sub dir", "env": {"KEY": "$(x)"}}),
        serde_json::json!({"command": "sh", "args": ["sub dir/s.sh", "$(x)", "a;b"]}),
        serde_json::json!({"command": ["sh", "lib/a.sh"]}),
    ] {
        assert_eq!(server(entry.clone()), [], "{entry}");
    }
    for entry in [
        serde_json::json!({"command": "sh", "args": ["s.sh"], "cwd": "other"}),
        serde_json::json!({"command": "sh", "args": ["-c", "true"]}),
        serde_json::json!({"command": "sh", "args": [7, "lib/a.sh"]}),
        serde_json::json!({"command": "sh", "args": ["${X}"]}),
        serde_json::json!({"command": "sh", "args": ["lib/a.sh"], "env": {"BASH_ENV": "x"}}),
        serde_json::json!({"command": "sh lib/a.sh"}),
    ] {
        assert!(!server(entry.clone()).is_empty(), "{entry}");
    }
}

#[test]
fn a_plugin_s_scripts_are_found_from_its_own_folder_only() {
    let hooks =
        |command: &str| serde_json::json!({"hooks": {"a": [{"command": command}]}}).to_string();
    let of = |command: &str| {
        let entries = [
            entry("tools/hooks/hooks.json", hooks(command).as_bytes()),
            entry("tools/x.sh", b"true\n"),
        ];
        flat(told(Place::Folder, &entries))
    };
    assert_eq!(of("sh ${CLAUDE_PLUGIN_ROOT}/x.sh"), []);
    assert!(!of("sh tools/x.sh").is_empty());
    assert!(!of("sh \"$CLAUDE_PROJECT_DIR\"/tools/x.sh").is_empty());
}

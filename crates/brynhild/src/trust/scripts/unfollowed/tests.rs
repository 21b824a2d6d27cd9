//! What the question tells of, and what it does not.

use super::*;

fn in_shell(text: &str) -> Option<String> {
    super::in_shell(text, &Ran::default())
}

fn in_script(path: &str, text: &str) -> Option<String> {
    super::in_script(path, text, &Ran::default())
}

fn in_package(bytes: &[u8]) -> Option<String> {
    super::in_package(bytes, &Ran::default())
}

#[test]
fn what_no_reading_finds_is_named() {
    for text in [
        "eval \"$x\"",
        "set -e\n. $part",
        "for f in a b; do sh \"$dir/$f\"; done",
        "cargo run -q",
        "cd x && docker build .",
        "\"${TOOL}\" --check",
        "python3 -m unittest discover -s tests",
        "PYTHONPATH=vend python3 -W ignore -mpytest",
        "env A=b npx tool",
        "python3 -I x.py",
        "eslint .",
        "find . -type f -exec sh {} +",
        "find \"$dir\" -name '*.sh' -exec bash {} +",
        "java -cp classes Check",
        "a-program-that-nobody-knows",
        "./gradlew test",
        "nix develop -c x",
        "mypy .",
        "set -- sh x; \"$@\"",
        "a=(sh x); \"${a[@]}\"",
        "sh 'an open quote",
    ] {
        assert!(in_shell(text).is_some(), "{text}");
    }
}

#[test]
fn patterns_listings_copies_and_names_that_are_put_together_are_named() {
    for text in [
        "sh [t]ools/x.sh",
        "sh {tools,x}/x.sh",
        "sh *",
        "sh */*",
        "cd t*; ./x.sh",
        "cat too*/* | sh",
        "sh -c \"$(cat too*/x.sh)\"",
        "dd if=too*/x.sh | sh",
        "cp too*/x.sh /tmp/z; sh /tmp/z",
        "run-parts too*",
        "cat a > b; sh b",
        "find tools -type f | xargs -n1 sh",
        "find . -name 'x*' | xargs sh",
        "git ls-files tools | xargs -n1 sh",
        "ls tools | (cd tools; xargs sh)",
        "find tools | while read f; do . ./$f; done",
        "sh $(find . -name x.sh)",
        "sh \"$(git ls-files | grep x.sh)\"",
        "grep -h '' -r tools | sh",
        "find \"$(dirname \"$0\")\"/d -type f | xargs -n1 sh",
        "cp -r tools /tmp/zt; sh /tmp/zt/x.sh",
        "tar c . | (cd /tmp; tar x)",
        "git clone . /tmp/zt; sh /tmp/zt/x.sh",
        "sh /proc/self/cwd/tools/x.sh",
        "sh /proc/$$/cwd/tools/x.sh",
        "D=/proc/self/cwd/tools; sh $D/x.sh",
        "sh ~+/tools/x.sh",
        "curl file://$PWD/tools/x.sh | sh",
        "rev <<< hs.x/sloot | xargs sh",
        "printf %s too ls/x.sh | xargs sh",
        "base64 -d <<E | sh\nc2g=\nE",
        "sh <<E\nsh tools/x.sh\nE",
        "x=$(echo tools); sh $x/x.sh",
        "a=too; sh ${a}ls/x.sh",
        "python3 -c \"exec(open(chr(116)+'ools/x.sh').read())\"",
        "perl -e 'do \"too\".\"ls/x.sh\"'",
        "node -e 'require(\"./to\"+\"ols/x.sh\")'",
        "ruby -e 'Dir[\"t*/*\"].each{|f| load f}'",
        "php -r 'foreach(glob(\"t*/*\") as $f) include $f;'",
        "awk 'BEGIN{system(\"sh x\")}'",
        "sed -n '1e sh x' /etc/hosts",
        "git -c core.hooksPath=tools commit",
        "git config core.hooksPath tools; git commit",
        "LD_LIBRARY_PATH=tools ls",
        "PATH=bin:$PATH foo",
        "echo \"$(eslint .)\"",
        "echo `eslint .`",
        "sh -c '\"$@\"' x sh [t]ools/x.sh",
        "bash --rcfile a [t]ools/x.sh",
        "python3 -Werror [t]ools/x.py",
        "ruby -r ./a [t]ools/x.rb",
        "xargs -I cat sh cat",
        "function f { sh [t]ools/x.sh; }",
        "export \"D=$(echo tools)\"; sh $D/x.sh",
        ": \"${D:=$(echo tools)}\"; sh $D/x.sh",
        "sh $D/x.sh",
        "printf -v PATH tools",
        "npm exec foo test",
        "make --eval='$(shell sh x)'",
    ] {
        assert!(in_shell(text).is_some(), "{text}");
    }
}

#[test]
fn what_runs_nothing_or_what_is_covered_is_not_named() {
    for text in [
        "./x.sh",
        "# eval x",
        "for m in a b; do . lib/$m.sh; done",
        "sh \"$(dirname \"$0\")/x.sh\"",
        "here=$(cd \"$(dirname \"$0\")\" && pwd)\n. \"$here/lib.sh\"",
        "echo cargo $x",
        "python3 -c 'import x'",
        "python3 -c 'import json, sys; print(json.load(sys.stdin)[\"a\"])' < a",
        "PYTHONPATH=vend python3 x.py -m pytest",
        "python3 -m lib.tool",
        "find checks -exec sh {} +",
        "find . -name '*.o' -exec rm {} +",
        "java -jar x.jar",
        "sh too*/x.sh",
        "sh \"$CLAUDE_PROJECT_DIR\"/a/x.sh",
        "\"$CLAUDE_PROJECT_DIR\"/a/x.sh --flag",
        "cat steps | sh -e",
        "sh < steps",
        "bash -euo pipefail x.sh",
        "sh -c 'touch a; ./x.sh'",
        "exit 1",
        "touch .stamp",
        "jq -r .tool_input.command | grep -q 'rm -rf' && exit 2 || true",
        "if [ -f x ]; then echo a; else exit 0; fi",
        "case $1 in\n  a) echo b ;;\n  *) exit 1 ;;\nesac",
        "f() { echo a; }\nf",
        "cat <<E\nsome words\nE\nexit 2",
        "git status --short",
        "sed -n 's/a/b/p' x",
        "awk '{ print $1 }' x",
        "make -C tools check",
        "npm run lint",
        "cd tools && ./x.sh",
        "env A=b node t/x.js 2>/dev/null",
        "command -v jq >/dev/null || exit 0",
        "trap 'rm -f x' EXIT",
        "date >> log.txt 2>&1 &",
        "i=$((i + 1))",
        "D=lib; sh $D/a.sh \"$1\"",
        "npm --prefix tools run x",
    ] {
        assert_eq!(in_shell(text), None, "{text}");
    }
}

#[test]
fn what_a_word_is_counts_and_not_how_it_is_written() {
    for text in [
        "\"sh\" [t]ools/x.sh",
        "s\"\"h [t]ools/x.sh",
        "$'sh' lib/a.sh",
        "echo a | sh",
        "cat <(sh [t]ools/x.sh)",
        "echo \"${x:-$(sh [t]ools/x.sh)}\"",
        "echo ${x:=`sh [t]ools/x.sh`}",
        "cat <<< \"$(sh [t]ools/x.sh)\"",
        "a=(`sh [t]ools/x.sh`)",
        "case $(sh [t]ools/x.sh) in a) ;; esac",
        "case a in $(sh [t]ools/x.sh)) ;; esac",
        "for i in $(sh [t]ools/x.sh); do :; done",
        "echo > \"$(sh [t]ools/x.sh)\"",
        "[[ a =~ $(sh [t]ools/x.sh) ]]",
        "(( $(sh [t]ools/x.sh) + 1 ))",
        "export X=$(sh [t]ools/x.sh)",
        "declare -i x='a[$(sh lib/a)0]'",
        "read 'a[$(sh [t]ools/x.sh)]'",
        "printf -v 'a[$(sh x)]' a",
        "echo ${a['$(sh x)']}",
        "echo ${!x}",
        "echo ${x@P}",
        "PS4='$(sh x)'; set -x",
        "trap \"sh [t]ools/x.sh\" EXIT",
        "alias ls='sh x'",
        "mapfile -C 'sh x' -c 1",
        "cd lib; cd sub; sh x.sh",
        "D=lib; E=$D/sub; sh $E/x.sh",
        "cat a > b.sh; sh b.sh",
        "base64 -d a | tee b.sh; sh b.sh",
        "x=b.sh; cat a > $x; sh b.sh",
        "m=b; cat a > lib/$m.sh; sh lib/b.sh",
        "git -C lib/bare status",
        "cd lib/bare && git status",
        "xargs -I% %",
        "echo x | xargs -I{} sh {}",
        "env -S \"sh x\"",
        "x=-exec; find \"$x\" sh {} \\;",
        "find $x",
        "sed -n p x \"$f\"",
        "sort \"$f\"",
        "cat - | sh",
        "(cd lib; sh a.sh); (cd lib; cd sub; sh x.sh)",
        ". ./$x",
        "sh -c \"echo $x\"",
        "IFS=b; D=lib; sh $D/x.sh",
        "sh lib/{a,b}.sh",
        "sh ~/x.sh",
        "cat a &>x sh [t]ools/x.sh",
        "[ $x ]",
        "[ -v \"$x\" ]",
        "[ \"$a\" \"$b\" ]",
        "test -v \"a[0]\"",
        "x=$(cat d); echo $((x+1))",
        "echo ${a[x]}; x=$(cat d)",
        "x=$(cat d); echo ${a[$x]}",
        "let x=y",
        "(( sh lib/x.sh ))",
        "[[ $x -eq 3 ]]",
        "git config core.hooksPath tools",
        "git --git-dir=lib/bare log",
        "git fetch ./lib/bare",
        "function cd { :; }; cd x",
        "declare -n x=y",
    ] {
        assert!(in_shell(text).is_some(), "{text}");
    }
}

#[test]
fn what_is_not_shown_to_be_covered_is_named_wherever_it_stands() {
    for text in [
        "export -f f",
        "node -r \"$x\" lib/a.js",
        "node -e \"require(1)\"",
        "python3 -m \"$x\"",
        "python3 - < $x",
        "make -C \"$x\"",
        "make SHELL=$x",
        "npm --prefix \"$x\" run a",
        "osascript -e 'do shell script \"x\"'",
        "wget -e use_askpass=x url",
        "awk \"$x\" y",
        "awk -f \"$x\"",
        "sed \"$x\" y",
        "sed -f lib/x y",
        "sed --expression=1e y",
        "sed -e1e\\ sh y",
        "exec \"$@\"",
        "eval x",
        ". \"$1\"",
        "$1 a",
        "\"${a[@]}\" x",
        "`sh [t]ools/x.sh`",
        "echo \"`sh [t]ools/x.sh`\"",
        "echo \\`; sh [t]ools/x.sh #`",
        "a() { sh [t]ools/x.sh; }",
        "if sh [t]ools/x.sh; then :; fi",
        "while sh [t]ools/x.sh; do :; done",
        "{ sh [t]ools/x.sh; }",
        "! sh [t]ools/x.sh",
        "time sh [t]ools/x.sh",
        "true && sh [t]ools/x.sh",
        "true & sh [t]ools/x.sh",
        "true | sh [t]ools/x.sh",
        "select x in a; do sh [t]ools/x.sh; done",
        "case a in a) sh [t]ools/x.sh;; esac",
        "case a in (a) sh [t]ools/x.sh;; esac",
        "case a in b) ;; a) sh [t]ools/x.sh; esac",
        "echo a;#\nsh [t]ools/x.sh",
        "cat <<'E'\nE\nsh [t]ools/x.sh",
        "cat <<-E\n\ta\n\tE\nsh [t]ools/x.sh",
        "cat <<\"E\"; sh [t]ools/x.sh\nE",
        "echo \"a\" \"b\nc\"; sh [t]ools/x.sh",
        "for ((i=0;i<3;i++)); do sh [t]ools/x.sh; done",
        "python3 -c \"print=exec; print(1)\"",
        "python3 -c \"import pickle; pickle.load(x)\"",
        "python3 -c \"import os; x=os.system; x(1)\"",
        "python3 -c \"print(f'{1}')\"",
        "python3 -c \"ｅxec(1)\"",
        "perl -e \"system 1\"",
        "D=$(cat x); . \"$D/lib/a.sh\"",
        "CLAUDE_PROJECT_DIR=tools; sh \"$CLAUDE_PROJECT_DIR/x.sh\"",
        "read PWD; sh \"$PWD/x.sh\"",
        "for f in lib/*; do . \"$f\"; done",
        "for f in $(ls lib); do . lib/$f; done",
        "nice -n 1 sh [t]ools/x.sh",
        "timeout -k 1 2 sh [t]ools/x.sh",
        "env -u A sh [t]ools/x.sh",
        "env BASH_ENV=$x bash lib/a.sh",
        "env PATH=lib x",
        "sh lib/../tools/x.sh",
        "cd ..; sh proj/tools/x.sh",
        "cd; sh x.sh",
        "pushd \"$x\"",
        "sh \"$HOME/x.sh\"",
    ] {
        assert!(in_shell(text).is_some(), "{text}");
    }
}

#[test]
fn the_usual_lines_of_hooks_are_not_named() {
    for text in [
        "for f in lib/*.sh; do . \"$f\"; done",
        "sed -i s/a/b/ -- \"$f\"",
        "sed -i s/a/b/ \"./$f\"",
        "find \"$CLAUDE_PROJECT_DIR\" -name \"*.o\" -delete",
        "find . -name \"$x\"",
        "find \"$x\" -type f",
        "sort -u \"$PWD/x\"",
        "wait \"${a[@]}\"; a=(1)",
        "pid=$!; wait $pid",
        "git log -1 --format=%H",
        "x=$(date +%s); echo $((x - 1))",
        "n=0; for i in 1 2 3; do n=$((n + i)); done; echo $n",
        "[ $# -lt 1 ] && exit 1",
        "[ $? -eq 0 ]",
        "[[ $# -gt 0 ]]",
        "[[ -z \"$a\" || \"$b\" == x ]]",
        "set -euo pipefail",
        "local x=\"$1\"",
        "export FOO=bar",
        "export NODE_ENV=test",
        "trap 'rm -f \"$t\"' EXIT",
        "echo \"${x:-default}\" \"${x:+y}\" \"${x#a}\" \"${x%%.*}\" \"${x/a/b}\" \"${x//\\//_}\" \"${x:0:3}\" \"${#x}\" \"${x^^}\"",
        "exec 3>&1",
        "exec 2>/dev/null",
        "{ echo a; echo b; } > log",
        "(cd lib && sh a.sh)",
        "cd lib && sh sub/a.sh",
        "(cd a; make); (cd b; make)",
        "D=\"$(cd \"$(dirname \"$0\")/..\" && pwd)\"; . \"$D/lib/a.sh\"",
        ". \"$(dirname \"$0\")/../lib/a.sh\"",
        "sh \"${CLAUDE_PROJECT_DIR}/lib/a.sh\" --flag \"$x\"",
        "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/a.sh",
        "uname -s | tr a b",
        "if command -v jq >/dev/null 2>&1; then echo; fi",
        "while read -r a b; do echo \"$a\"; done < <(git diff --name-only)",
        "mapfile -t a < <(git ls-files)",
        "read -r -p \"x? \" a",
        "printf \"%s\\n\" \"$x\"",
        "x=`date`",
        "echo $(( 1 + 2 ))",
        "[[ $x == a* && ! -f b ]]",
        "[[ \"$f\" == *.py ]] || exit 0",
        "case \"$f\" in *.ts|*.tsx) npm run lint ;; esac",
        "python3 \"$CLAUDE_PROJECT_DIR/.claude/hooks/a.py\"",
        "python3 $CLAUDE_PROJECT_DIR/hooks/a.py",
        "bash -c 'sh lib/a.sh'",
        "jq -n --arg a \"$x\" '{a: $a}'",
        "cat <<EOF\n{\"x\": \"$y\"}\nEOF",
        "cat <<EOF | jq .\n{\"x\": \"$(date)\"}\nEOF",
        "git diff --name-only | xargs -r ruff check",
        "echo \"$x\" >&2; exit 2",
        "f() { local a=\"$1\"; echo \"$a\"; }; f x",
        "test -x lib/a.sh && lib/a.sh",
        "xs=(a b); for x in \"${xs[@]}\"; do echo \"$x\"; done; xs+=(c)",
        "echo \"a\" > out.txt; sh lib/a.sh",
        "a[0]=x",
        "printf \"%s\" \"a\" | tee -a log; bash lib/a.sh",
    ] {
        assert_eq!(in_shell(text), None, "{text}");
    }
}

#[test]
fn of_a_text_that_is_not_understood_the_line_is_named() {
    assert_eq!(in_shell("echo a\nsh 'an open quote\n"), Some("sh 'an open quote".to_owned()));
    assert_eq!(in_shell("echo a\n\n  echo $'\\''\nexit"), Some("echo $'\\''".to_owned()));
}

#[test]
fn scripts_and_packages_are_read_by_what_they_are() {
    assert!(in_script("a.js", "require(name)").is_some());
    assert!(in_script("a.js", "require('./x')").is_none());
    assert!(in_script("run", "#!/bin/sh\neval x").is_some());
    assert!(in_script("run", "eval x").is_none());
    assert!(in_script("a/Makefile", "check:\n\t@cargo test\n").is_some());
    assert!(in_script("a/Makefile", "A := $(shell ls)\ncheck:\n\ttrue\n").is_none());
    assert!(in_script("a/Makefile", "A := $(shell sh [t]ools/x)\ncheck:\n\ttrue\n").is_some());
    assert!(in_script("a/Makefile", "check: ; sh [t]ools/x\n").is_some());
    assert!(in_script("a/Makefile", "check: a b\n\tsh x.sh\n").is_none());
    assert!(in_package(br#"{"scripts": {"a": "jest"}}"#).is_some());
    assert!(in_package(br#"{"scripts": {"a": "node x.js"}}"#).is_none());
}

#[test]
fn texts_of_nothing_but_signs_end() {
    for text in ["$(", "`a`", "(", "'", "a|", "<<E\n", "${", "\"$(a)\" ", "a=$b/c "] {
        in_shell(&text.repeat((1 << 16) / text.len()));
    }
}

//! After `cd folder &&` only that folder counts, where the folder is there and nothing leads back.

use contract::policy::{Decision, Mode};

use crate::sweeps::decisions;

const DENY: &[&str] = &["Read(/w/.env)", "Read(/w/secret/**)", "Write(/w/secret/**)"];

#[test]
fn behind_a_cd_that_has_worked_only_the_new_folder_counts() {
    let commands = [
        "cd src && grep -rn foo .",
        "cd src && tar czf ../x.tgz .",
        "cd src && rm -f * && ls",
        "cd src && sed -i s/a/b/ *",
        "cd './src' && chmod 644 *",
        "(cd src && rm -f *)",
        "pushd src && rm -f * && popd",
        "cd src || exit 1; rm -f *",
        "cd src || exit 1\nrm -f *",
        "set -e; cd src; rm -f *",
        "set -euo pipefail\ncd src\nrm -f *\nls",
        "cd src && find . -type f -delete",
        "cd src && find . -delete 2>&1 | head -3",
        "cd d && cd 1 && rm -f *",
        "cd src >/dev/null && grep -rn foo .",
        "cd -- src && grep -rn foo .",
        "pushd src > /dev/null && rm -f * && popd > /dev/null",
        "cd src > /dev/null || exit 1; rm -f *; cd - >/dev/null",
        "cd src && cat .env",
        "cd /w/src && cat .env",
        "cd src && cd .. && cd src && rm -f *",
    ];
    for (command, decision) in decisions(DENY, Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn of_a_long_text_nothing_is_proven() {
    let long = format!("cd src && rm -f *{}", " && ls".repeat(1000));
    let rulings = decisions(DENY, Mode::Yolo, &[&long]);
    assert!(rulings.iter().all(|(_, decision)| *decision == Decision::Deny), "{rulings:?}");
}

#[test]
fn what_runs_though_the_folder_was_not_gone_to_counts_by_itself() {
    let commands = [
        "cd src && grep -rn foo . || true",
        "cd src && grep -rn foo . || echo none",
        "cd src && grep -rn foo . ; echo done",
        "cd src && rm -f x.* y/z.?",
        "cd src && grep -rn 'foo.*' . && grep -rn '.*foo' .",
        "cd src && find . -name '*.py' -print0 | xargs -0 sed -i s/a/b/",
        "cd src && grep -rlZ foo . | xargs -0 sed -i s/a/b/",
        "cd src && tar czf ../x-$(date +%F).tgz .",
        "cd src && cat > x.py <<'EOF'\ncd ..\nEOF\nls",
        "cd src && rm -f * && npm test && RUST_LOG=debug cargo test -p x",
        "cd src && grep -rn foo .\necho \"exit: $?\"",
        "cd src && rm -f *; cd ..",
        "cd src && rm -f * && cd ..",
        "cd src && rm -f *\ncd -",
        "cd src && for f in *; do wc -l \"$f\"; done",
        "cd src && for f in *; do sed -i s/a/b/ $f; done",
        "cd src && for f in *; do [ -f $f ] && rm -f \"$f\"; done",
        "cd src && for d in a b; do grep -rn foo $d; done; ls",
        "cd src && if grep -rn foo .; then echo a; fi",
        "cd src && { grep -rn foo .; ls; }",
        "cd src && find . -type f -exec sed -i s/a/b/ {} +",
        "cd src && grep -rn foo --include=*.{ts,tsx} .",
        "cd src && grep -rn \"${X}\" .",
        "cd src && grep -rn ${X} .",
        "cd src && grep -rn \"a\\\"b\" .",
        "cd src && grep -rn foo . # what follows",
        "# look\ncd src && grep -rn foo .",
        "ls && cd src && grep -rn foo .",
        "[ -d src ] && cd src && grep -rn foo .",
        "mkdir -p build && cd build && rm -f *",
        "cd \"$PWD/src\" && grep -rn foo .",
        "cd $PWD/src && grep -rn foo .",
        "cd src &&\n  grep -rn foo .",
        "cd src && grep -rn dirname . | head",
        "cd src && grep -rn parent .",
        "cd src && grep -rn cwd .",
        "cd src && grep -rn 'cd foo' .",
        "cd src && grep -rn '..' .",
        "cd src && grep -rn 'import.*eval' .",
        "cd src && rm -f * && echo $(nproc) $((1 + 2)) $(git rev-parse HEAD)",
        "cd src && rg link . && find . -name 'mount*'",
    ];
    for (command, decision) in decisions(DENY, Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_follows_may_run_in_each_folder_that_was_left() {
    let commands = [
        "cd src && ls; cat .env",
        "cd src && ls || cat .env",
        "cd src && ls\ncat .env",
        "cd src && ls || true; cat .env",
        "cd src && ls; rm -f secret/*",
        "cd d && cd 1 && ls; cat ../.env",
        "cd d && cd 1 && ls; cat .env",
        "cd src && set -e; cd d; cat .env",
        "cd src && ls & wait; cat .env",
        "cd src && for f in *; do ls; done; cat .env",
        "cd src && { ls; } ; cat .env",
        "cd src && ls # x\ncat .env",
        "cd src && echo a\\\n#b; cat .env",
        "cd src && ls; x=.env; cat $x",
        "cd src && ls; for f in .env; do cat $f; done",
        "ls && cd src && ls; cat .env",
        "mkdir -p build && cd build && ls; cat .env",
        "mkdir -p link && cd link && cat .env",
        "mkdir -p build && cd new && cat .env",
        "x=1 && cd src && cat ../.env",
        "# look\ncd src && ls; cat .env",
        "cd \"$PWD/..\" && cat w/.env",
        "cd '$PWD/src' && cat .env",
    ];
    for (command, decision) in decisions(DENY, Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn where_it_is_not_certain_every_folder_counts() {
    let commands = [
        "cd nothere && cat .env",
        "cd src; cat .env",
        "cd src && ls; cat .env",
        "cd src && ls || cat .env",
        "cd src && ls & cat .env",
        "cd src && ls\ncat .env",
        "cd src || true; cat .env",
        "cd src || echo exit; cat .env",
        "cd src && cd .. && cat .env",
        "cd src && cd - && cat .env",
        "cd src && cd \"-\" && cat .env",
        "cd src && cd $OLDPWD && cat .env",
        "cd src && a=c && $a\"d\" - && cat .env",
        "cd src && c'd' - && cat .env",
        "cd src && \\cd - && cat .env",
        "cd src && command cd - && cat .env",
        "cd src && eval 'c''d -' && cat .env",
        "pushd src && popd && cat .env",
        "pushd src && ls && popd && cat .env",
        "cd src && cat ../.env",
        "cd src && cat /w/.env",
        "cd src && (cd ..; cat .env)",
        "(cd src && ls) && cat .env",
        "(cd src) && (cat .env)",
        "set -x; cd src; cat .env",
        "set +e; cd src; cat .env",
        "cd link && cat .env",
        "CDPATH=. cd src && cat .env",
        "CDPATH=/w/d; cd src && cat .env",
        "cd src && echo \"${x#'\"'}\" ; cat .env #'",
        "cd src && cat <<'EOF'\nx\nEOF\ncat .env",
        "cd src && { ls; cd ..; cat .env; }",
        "cd - && cat .env",
        "cd && cat .env",
        "cd src extra && cat .env",
        "cd -P src && cat .env",
        "cd src&&cat ../.env",
        "cd src && cat <<'EOF' || cat .env\nx\nEOF",
        "cd src && cat <<'EOF' & cat .env\nx\nEOF",
        "cd src && cat <<'EOF' && cd - && cat .env\nx\nEOF",
        "cd src && sh -c 'cd -; cat .env'",
        "cd src && sh -c \"cd - && cat .env\"",
        "cd src && bash <<'EOF'\ncd ..\ncat .env\nEOF",
        "cd src && python3 -c \"import os; os.chdir('/w'); print(open('.env').read())\"",
        "cd src && python3 -c \"import os; print(open(os.path.join('..', '.env')).read())\"",
        "set -e; cd src; sh -c 'cd -; cat .env'",
        "cd d/1/2 || exit 1; until [ -d .git ]; do cd ..; done; grep -rn K .",
        "cd d/1 && (while [ ! -d .git ]; do cd ..; done; cat .env)",
        "set -e; cd d/1; while [ ! -d .git ]; do cd ..; done; cat .env",
        "cd d/1 || exit 1; for i in 1 2; do pushd ..; done; cat .env",
        "cd d/1 && ln -s ../.. up && grep -rn K up/",
        "cd d/1 && env l''n -s ../.. up && grep -rn K up/",
        "cd d/1 && /bin/ln -s ../.. up && cat up/.env",
        "cd d/1 && mount --bind ../.. x && grep -rn K x/",
        "cd d/1 && f() (cd ..; cd ..; cat .env) && f",
        "cd d/1 || exit 1; eval x; cat .env",
        "cd d/1 || exit 1; . ./x; cat .env",
        "cd d/1 || exit 1; source x; cat .env",
        "cd d/1 && grep -rn K $(git rev-parse --show-toplevel)",
        "cd d/1 && grep -rn K $(realpath ../..)",
        "cd d/1 && grep -rn K $(git rev-parse --show-cdup)",
        "cd d/1 && grep -rn K $(ls -d ../..)",
        "cd d/1 && grep -rn K $(npm prefix)",
        "cd d/1 && grep -rn K \"$(realpath ../..)\"",
        "cd d/1 && grep -rn K $(dirname $(dirname $PWD))",
        "cd d/1 && until [ -d .git ]; do cd ..; done; grep -rn K .",
        "cd d/1 && ls || for i in 1 2; do cd ..; done; cat .env",
        "cd d/1 && { cd ..; cd ..; cat .env; } || true",
        "cd d/1 && grep -rn K ~-/",
        "cd src && grep -h 'cd ..' x | sh; cat .env",
        "cd src && find . -name x -exec sh -c 'cd ..; cat .env' \\;",
        "cd src && f() { cat .env; }; cd ..; f",
        "cd src && env l{n,x} -s .. up && cat up/.env",
        "cd src && cat \"${PWD%/*}/.env\"",
        "cd src && grep -rn K $(printf '.%s' .)",
        "cd src && grep -rn K $(echo . . | tr -d ' ')",
        "cd src && cat $(printf '.%s' .)/.env",
        "cd src && grep -rn K $(cat up)",
        "cd src && grep -rn K `cat up`",
        "cd src && printf '.%s' . > up && read d < up && grep -rn K $d",
        "cd src && read d < up && grep -rn K \"$d\"",
        "cd src && printf -v d '.%s' . && grep -rn K $d",
        "cd src && printf -v d .%s . && cat $d/.env",
        "cd src && d=. && grep -rn K $d$d",
        "cd src && d=. && grep -rn K ${d}.",
        "cd src && for d in . ..; do grep -rn K $d; done",
        "cd src && for d in .; do grep -rn K .$d; done",
        "cd src && mapfile d < up && grep -rn K $d",
        "cd src && cat up | xargs grep -rn K",
        "cd src && xargs grep -rn K < up",
        "cd src && xargs -a up grep -rn K",
        "cd src && xargs -I{} cat {}/.env < up",
        "cd src && grep -rn K --file=x .{.,}",
        "cd src && tar cf /tmp/x -T up",
        "cd src && rsync -a --files-from=up . /tmp/x",
        "cd src && git -C .. grep K",
        "cd src && git grep K -- :/",
        "cd src && git grep K -- ':(top)'",
        "cd src && git show HEAD:.env",
        "cd src && git archive HEAD -o x.tar",
        "cd src && env -C .. cat .env",
        "cd src && sudo -D .. cat .env",
        "cd src && perl -e 'chdir q(..); print `cat .env`'",
        "cd src && sh -c 'a=.; cat $a./.env'",
        "cd src && sh ../x.sh; cat .env",
        "cd src && diff -r . $(cat up)",
        "cd src && cat < $(cat up)/.env",
        "cd src && true; X=. ; cat .env",
        "cd src && let 'x=1' && cat ${X}/.env",
        "cd src && while read d; do grep -rn K $d; done < up",
        "cd src && cat up | while read -r d; do cat $d/.env; done",
        "cd src && select d in x; do cat $d/.env; done",
        "cd src && getopts a: d && cat $d/.env",
        "cd src && declare d=$(cat up) && cat $d/.env",
        "cd src && export d=$(cat up) && cat $d/.env",
        "cd src && d=$(cat up) && cat $d/.env",
        "cd src && d=$(cat up) && grep -rn K $d",
        "cd src && cat <(cat up)/.env",
        "cd src && unlink x && cat .env; true && cat .env",
        "mkdir -p src && rmdir src && cd src && cat .env",
        "mkdir -p a && cd a && cat ../.env",
        "touch x && cd x && cat .env || cat .env",
        "cd src && test -f .env || cat ../.env",
        "cd src && ls & cd .. && cat .env",
        "cd src &&\ncat ../.env",
        "cd src && ls |& tee x; cat .env",
        "cd src && ls; (cat .env)",
        "cd src && ls; { cat .env; }",
        "cd src && ls; if true; then cat .env; fi",
        "cd src && if false; then ls; fi; cat .env",
        "cd src && ! ls; cat .env",
        "! cd src && cat .env",
        "cd src && ls \\\n; cat .env",
        "cd src && ls #'\ncat .env #'",
        "cd src && echo a#b; cat .env",
        "cd src && echo \"a\\\\\"; cat .env",
        "cd src && echo $'a\\'b'; cat .env",
        "cd src && echo $((1;2)); cat .env",
        "cd src && echo ${#x}; cat .env",
    ];
    for (command, decision) in decisions(&["Read(/w/.env)"], Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn ways_out_of_the_folder_are_seen_however_they_are_written() {
    let commands = [
        // What prints the folder above, and what takes names from that.
        "cd src && ls -a | xargs grep -rn K",
        "cd src && ls -a | while read d; do grep -rn K \"$d\"; done",
        "cd src && ls .. && grep -rn K $_",
        "cd src && : .. && grep -rn K $_",
        "cd src && ls .. && grep -rn K ${_}",
        "cd src && ls .. && grep -rn K $BASH_EXECUTION_STRING",
        "pushd src && grep -rn K ~1",
        "pushd src && grep -rn K ~0/..",
        "pushd src && dirs -l +1 | xargs grep -rn K",
        "cd src && grep -rn K $(git rev-parse --short --show-toplevel)",
        "cd src && grep -rn K $(git rev-parse --abbrev-ref HEAD --show-toplevel)",
        "cd src && grep -rn K $(git rev-parse HEAD --show-toplevel)",
        "cd src && find -files0-from up0 -type f -exec cat {} +",
        "cd src && find . -name x -printf '..\\0' | xargs -0 grep -rn K",
        "cd src && grep -lZ --label=.. K - < x | xargs -0 grep -rn K",
        "cd src && find . -print0 | xargs -0 grep -rn K < up",
        "cd src && find . -print0 | xargs -0 -a up grep -rn K",
        "cd src && { find . -print0; cat up; } | xargs -0 grep -rn K",
        "cd src && find . -print0 | sed s/x/../ | xargs -0 grep -rn K",
        "cd src && find . -print0 | xargs -0 sh go.sh",
        "cd src && wc --files0=up && grep -rn K .",
    ];
    for (command, decision) in decisions(&["Read(/w/.env)"], Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_other_programs_print_or_run_is_no_proof() {
    let commands = [
        "cd src && grep -rn K $(ls -a)",
        "cd src && for d in $(ls -a); do grep -rn K $d; done",
        "cd src || exit 1; for d in $(ls -f); do grep -rn K $d; done",
        "set -e; cd src; ls -a | xargs tar cf - | tar xO",
        "cd src && pwd | cut -d/ -f1-5 | xargs grep -rn K",
        "cd src && pwd | sed 's#/src##' | xargs grep -rn K",
        "cd src && env | grep OLD | cut -d= -f2 | xargs grep -rn K",
        "cd src && find . -maxdepth 0 -printf '.%p' | xargs grep -rn K",
        "cd src && echo . | sed s/./../ | xargs grep -rn K",
        "cd src && tar cf - --directory=.. . | tar xO",
        "cd src && tar cf - --directory=/w . | tar xO",
        "cd src && ls -a | python3 x.py && grep -rn K .",
        "cd src && make -f - <<'E' && grep -rn K .\nx:\n\tcat ../.env\nE",
        // A redirection before the program.
        "cd src && 2>/dev/null . ./go.sh && cat .env",
        "cd src && 2>&1 . ./go.sh && cat .env",
        "cd src && 0<up . ./go.sh && cat .env",
        "cd src && 2>/dev/null source ./go.sh && cat .env",
        "cd src && 2>/dev/null eval \"${x}\" && cat .env",
        "cd src && 2>/dev/null trap 'cat .env' EXIT && cd ..",
        // What runs the text that it is given.
        "cd src && mapfile -C '. ./go.sh; echo' -c 1 d < one && cat .env",
        "cd src && readarray -C '. ./go.sh; echo' -c 1 d < one && cat .env",
        "cd src && test -v 'x[$(. ./go.sh)]' && grep -rn K .",
        "cd src && [[ 'x[$(. ./go.sh)]' -eq 0 ]] && grep -rn K .",
        "cd d/1 && find . -maxdepth 0 -ex''ec sh -c 'until [ -d .git ]; do cd ..; done; grep -rn K .' \\;",
        "cd d/1 && find . -maxdepth 0 -e\\xec sh -c 'until [ -d .git ]; do cd ..; done; grep -rn K .' \\;",
        "cd d/1 && find /w/d -maxdepth 0 -execdir grep -rn K . \\;",
        "cd src && sed '1e cd ..; cat .env' x && grep -rn K .",
        "cd src && tar cf x --checkpoint-action=exec='sh go.sh' .",
        "cd src && tar cf x -C .. .",
        "cd src && tar cf x -C.. .",
        "cd src && rg -uuu --pre ./go.sh K .",
        "cd src && git grep -Osh K",
        // Blanks that are none to Bash.
        "cd src && echo x\u{c}#; . ./go.sh; cat .env",
        "cd src && echo x\u{b}#; . ./go.sh; cat .env",
        "cd src && echo x\r#; . ./go.sh; cat .env",
        "cd src && echo x\u{a0}#; . ./go.sh; cat .env",
        // A document that ends elsewhere.
        "cd src && cat <<'E'x\nEx\n. ./go.sh; cat .env\nE",
        "cd src && cat <<E\n$(. ./go.sh; cat .env)\nE",
        // Words that become the folder above.
        "cd src && grep -rn K .*",
        "cd src && grep -rn K .$X.",
        "cd src && grep -rn K \"${X}.\"/",
        "cd src && grep -rn K \"$X\"/../..",
        "cd src && for d in .; do grep -rn K $d$d; done",
        "cd src && for d in *; do grep -rn K $d; done",
        "cd src && for d in '.*/.env'; do cat $d; done",
        "cd src && for PATH in .; do grep -rn K x; done",
        "cd src && PATH=. grep -rn K .",
        // What goes elsewhere, or says so elsewhere.
        "cd src >/dev/null2 && cat ../.env",
        "cd src >/dev/null ; cat .env",
        "cd src >/dev/null extra && cat .env",
        "cd -- - && cat .env",
        // What does not end the text.
        "cd src || exit1; cat .env",
        "cd src || exit 1 2; cat .env",
        // What runs in another folder by itself.
        "cd src && npm run show -- .env",
        "cd src && npm test .env",
        "cd src && pnpm -w exec cat .env",
    ];
    for (command, decision) in decisions(&["Read(/w/.env)"], Mode::Yolo, &commands) {
        assert_ne!(decision, Decision::Allow, "{command}");
    }
}

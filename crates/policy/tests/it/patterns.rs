//! Patterns where the disk can be listed: they stand for what lies there, and words that are no files for none.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

/// A disk with nothing but these files.
struct Files(&'static [&'static str]);

impl Look for Files {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let plain: PathBuf = path.components().collect();
        // A file has nothing in it.
        let is_file = self.0.iter().any(|file| Path::new(file) == plain);
        let is_there = self.0.iter().any(|file| Path::new(file).starts_with(&plain));
        let ends_within = path.to_string_lossy().ends_with("/.");
        (is_there && !(is_file && ends_within)).then_some(plain)
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        if folder.ends_with("closed") {
            return None;
        }
        let below = self.0.iter().filter_map(|file| Path::new(file).strip_prefix(folder).ok());
        let first = below.filter_map(|path| path.components().next());
        let names: BTreeSet<String> =
            first.map(|it: Component<'_>| it.as_os_str().to_string_lossy().into_owned()).collect();
        (!names.is_empty()).then(|| names.into_iter().collect())
    }

    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        // What begins with a dot is ignored here.
        let is_seen = |path: &&Path| {
            let is_hidden = path.to_string_lossy().contains("/.");
            path.starts_with(folder) && (width == Width::Everything || !is_hidden)
        };
        let mut files = self.0.iter().map(Path::new).filter(is_seen);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }
}

const PLAIN: &[&str] = &["/w/a.c", "/w/README.md", "/w/.env", "/w/src/main.rs", "/w/tests/t.py"];
const GUARDED: &[&str] =
    &["/w/a.c", "/w/.env", "/w/src/main.rs", "/w/secret/k", "/w/keys/deep/s.pem"];

fn check(files: &'static [&'static str], deny: &[&str], wanted: Decision, commands: &[&str]) {
    let rules = rules(&json!({ "deny": deny }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Files(files)), ..bare() });
    let mut wrong = Vec::new();
    for command in commands {
        let ruling = run(&judge, command, Mode::Yolo);
        if ruling.decision != wanted {
            wrong.push(format!("{command}: {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "wanted {wanted:?} with {deny:?}:\n{}", wrong.join("\n"));
}

#[test]
fn patterns_that_stand_for_no_denied_file_are_not_denied() {
    let commands = [
        "ls src/*.rs",
        "wc -l *.c",
        "wc -l **/*.rs",
        "ls */*",
        "head -n 1 */package.json",
        "for f in */*.c; do gcc -c \"$f\"; done",
        "rm -f *.o",
        "rm -f **/*.pyc",
        "rm -rf build/*",
        "ls te*",
        "ls s*",
        "sed -i s/a/b/ src/*.rs",
        "python3 -c 'f(**kw); g(*a)'",
        "node -e 'require(\"glob\").sync(\"**/*.js\")'",
        "npx prettier --check '**/*.ts'",
        "cp -r * out",
        "tar czf x.tgz */",
        "grep -rn foo */",
    ];
    let rules = ["Read(**/id_rsa*)", "Read(**/*.pem)", "Read(secret/**)", "Read(.env)"];
    for rule in rules.into_iter().chain(["Write(**/*.lock)", "Write(locked/**)"]) {
        check(PLAIN, &[rule], Decision::Allow, &commands);
    }
}

#[test]
fn patterns_that_stand_for_no_secret_are_read_unasked() {
    let files: &[&str] = &["/w/a.c", "/w/.env", "/w/src/main.rs", "/w/src/lib.rs", "/w/keys/s.pem"];
    let judge = policy::policy(Settings { ground: Ground::new(Files(files)), ..bare() });
    let decide = |text: &str| run(&judge, text, Mode::Normal).decision;
    let harmless =
        ["cat src/*", "wc -l src/*", "grep -n x src/*", "cat src/m*", "head ./*/*.rs", "cat ./*"];
    for text in harmless.into_iter().chain(["cat nothing/*", "cat src/[lm]*"]) {
        assert_eq!(decide(text), Decision::Allow, "{text}");
    }
    for text in ["cat keys/*", "cat */*", "cat .e*", "cat k*/s*", "cat .*", "cat /etc/*"] {
        assert_eq!(decide(text), Decision::Ask, "{text}");
    }
}

#[test]
fn patterns_that_stand_for_a_denied_file_are_denied() {
    let commands = [
        "cat s*/k",
        "cat */k",
        "cat **/k",
        "cat s*/*",
        "cat secret/*",
        "cp -r * out",
        "grep -r x */",
        "rg x *",
        "shopt -s nocaseglob; cat S*/K",
        "python3 -c \"import os; os.system('cat s*/k')\"",
        "[[ x == s*/k ]]; python3 -c \"import os; os.system('cat s*/k')\"",
        "case x in s*/k) ;; esac; perl -e 'print `cat s*/k`'",
    ];
    check(GUARDED, &["Read(secret/**)"], Decision::Deny, &commands);
    let keys = ["cat **/*.pem", "cat k*/*/s*", "python3 -c 'glob(\"*.pem\")'"];
    check(GUARDED, &["Read(**/*.pem)"], Decision::Deny, &keys);
    let written = [
        "rm -rf *",
        "rm -rf keys/*",
        "chmod -R 777 *",
        "rm */k",
        "for d in s*; do touch \"$d/new\"; done",
    ];
    check(GUARDED, &["Write(**/*.pem)", "Write(secret/**)"], Decision::Deny, &written);
    let hidden = [
        "cat .e*",
        "cat .*",
        "shopt -s dotglob; cat *",
        "shopt -s extglob\ncat @(.|x)env",
        "bash -O extglob -c 'cat +(.)env'",
        "ls -A | xargs cat",
        "cat $(ls -A)",
        "for f in $(ls -a); do cat \"$f\"; done",
        "cp --target-directory=out -r .",
        "cp --target=out -r .",
        "cp -r --target-directory out .",
        "cp -rt out .",
    ];
    check(GUARDED, &["Read(.env)"], Decision::Deny, &hidden);
}

#[test]
fn patterns_that_no_listing_tells_may_stand_for_a_denied_file() {
    let closed = &["/w/a.c", "/w/closed/s.pem"];
    let commands = ["cat */s*", "cat c*/?.pem", "cat closed/s*", "wc -l **/*.pem"];
    check(closed, &["Read(**/*.pem)"], Decision::Deny, &commands);
    let adrift = ["cd \"$x\"; cat s*/k", "cd \"$x\"; cat */*/*", "cd $(f) && cat [s]ecret/k"];
    check(PLAIN, &["Read(secret/**)"], Decision::Ask, &adrift);
}

#[test]
fn words_that_are_no_files_are_not_denied() {
    let commands = [
        "ls | xargs cat",
        "rsync -rtv src/ .",
        "diff -r src tests",
        "diff a b",
        "diff <(sort a) <(sort b)",
        "git ls-files | xargs wc -l",
        "git diff --name-only HEAD -- src | xargs wc -l",
        "echo .env >> .gitignore",
        "grep -n .env .gitignore",
        "grep -q '^.env$' .gitignore || echo .env >> .gitignore",
    ];
    check(PLAIN, &["Read(.env)"], Decision::Allow, &commands);
    let denied = [
        "echo .env | xargs cat",
        "cat $(echo .env)",
        "echo .env | while read f; do cat \"$f\"; done",
        "echo cat .env > s; sh s",
        "grep .env .env",
        "grep -f .env src/main.rs",
    ];
    check(PLAIN, &["Read(.env)"], Decision::Deny, &denied);
}

#[test]
fn to_run_check_or_copy_a_file_is_not_to_write_it() {
    let commands = [
        "pytest tests",
        "pytest -q tests/t.py",
        "python3 -m pytest tests/",
        "npx jest tests/t.test.js",
        "go test ./tests/...",
        "ruff check tests",
        "npx eslint tests",
        "bash tests/run.sh",
        "./tests/run.sh",
        "cargo build --target-dir /tmp/t",
        "gcc -Itests -o t tests/t.c",
        "cp tests/t.py /tmp/x.py",
        "less tests/t.py",
        "cd tests && pytest",
        "cd tests && ls",
    ];
    check(PLAIN, &["Write(tests/**)"], Decision::Allow, &commands);
    let denied = [
        "rm tests/t.py",
        "nice rm tests/t.py",
        "cp x tests/t.py",
        "cp -t tests x",
        "ln tests/t.py x",
        "gcc -o tests/t a.c",
        "ruff check --fix tests",
        "npx eslint --fix tests",
        "pytest --junitxml tests/t.py",
        "cd tests && rm t.py",
        "env -C tests rm t.py",
        "strace -o tests/t.py ls",
        "cargo build --target-dir tests",
        "go test -coverprofile=tests/t.py ./...",
        "go test -cpuprofile tests/t.py",
        "bash -c 'echo > tests/t.py'",
    ];
    check(PLAIN, &["Write(tests/**)"], Decision::Deny, &denied);
    check(PLAIN, &["Write(tests/**)"], Decision::Ask, &["timeout 5 ./gen tests/t.py"]);
    let listed = [
        "rg -l L | xargs sed -i s/L/M/",
        "grep -rl L . | xargs sed -i s/L/M/",
        "grep -rl L . | while read f; do sed -i s/L/M/ \"$f\"; done",
    ];
    check(PLAIN, &["Write(tests/**)"], Decision::Deny, &listed);
}

#[test]
fn names_that_are_listed_lead_on_wherever_they_are_held() {
    let commands = [
        "a=($(find . -name k)); cat \"${a[@]}\"",
        "declare -a a=( $(find .) ); for f in \"${a[@]}\"; do cat \"$f\"; done",
        "a=(); a+=($(find . -name k)); cat \"${a[@]}\"",
        "a=(*); cat \"${a[@]}\"/k",
        "mapfile -t a < <(find . -name k); cat \"${a[@]}\"",
        "set -- $(ls -d */); cat \"$1/k\"",
        "set -- $(find . -name k); cat \"$1\"",
        "ls | while read d; do cat \"$d/k\"; done",
        "ls -d */ | while read d; do cat \"${d}k\"; done",
        "ls | sort | while read d; do [ -d \"$d\" ] && cat \"$d\"/k; done",
        "ls | while read d; do cd \"$d\"; cat k; cd ..; done",
        "ls | { read d; cat $d/k; }",
        "for d in $(ls); do cat \"$d/k\"; done",
        "for d in `ls`; do x=$d/k; cat $x; done",
        "while read d; do cat \"$d/k\"; done < <(ls)",
        "while read d; do cat < \"$d/k\"; done <<< \"$(ls)\"",
        "read -r d < <(ls); cat \"$d/k\"",
        "d=$(ls | grep sec); cat $d/k",
        "cat $(ls | grep sec)/k",
        "cat \"`ls -d s*`/k\"",
        "eval \"cat $(ls | grep sec)/k\"",
        "ls | xargs -I{} cat {}/k",
        "ls | xargs -I% sh -c 'cat %/k'",
        "ls -1 | parallel cat {}/k",
        "f(){ cat \"$1/k\"; }; for d in *; do f \"$d\"; done",
        "m[0]=secret; cat ${m[0]}/k",
    ];
    check(GUARDED, &["Read(secret/**)"], Decision::Deny, &commands);
    let hidden = [
        "set -- $(ls -A); cat \"$@\"",
        "ls -A | while read f; do cat \"./$f\"; done",
        "for f in $(ls --all); do cat \"/w/$f\"; done",
    ];
    check(GUARDED, &["Read(.env)"], Decision::Deny, &hidden);
    let asked = [
        "while IFS= read -r f; do cat \"$f\"; done < a.c",
        "while read d; do cat \"$d/k\"; done < a.c",
        "ls > l; while read d; do cat \"$d/k\"; done < l",
    ];
    check(GUARDED, &["Read(secret/**)"], Decision::Ask, &asked);
    let others = [
        "ls | while read f; do echo \"$f\"; done",
        "ls | while read f; do cat \"$f\"; done",
        "ls src | while read f; do cat \"src/$f\"; done",
        "ls *.c | while read f; do wc -l \"$f\"; done",
        "for d in $(ls -d */); do (cd \"$d\" && ls); done",
        "for d in $(ls -d */); do (cd \"$d\" && git status --short); done",
        "for p in $(ls src); do echo \"== $p\"; wc -l src/$p; done",
        "ls src/*.rs | xargs -I{} cp {} /tmp/",
        "ls | xargs -I{} echo {}",
        "set -- a b; echo \"$@\"",
        "a=(src tests); for d in \"${a[@]}\"; do ls \"$d\"; done",
        "while read v; do echo \"v$v\"; done < versions",
        "f() { mkdir -p \"$1/x\"; }; for d in a b; do f \"$d\"; done",
        "read -r a b < <(echo 1 2); echo \"$a $b\"",
    ];
    for rule in ["Read(secret/**)", "Read(**/*.pem)", "Write(**/*.lock)", "Read(.env)"] {
        check(GUARDED, &[rule], Decision::Allow, &others);
    }
}

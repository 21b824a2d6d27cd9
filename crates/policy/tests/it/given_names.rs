//! Names that one program finds and another is given: only what the first can name counts.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

/// A project in which `.env` and `secrets` are ignored, and `keys` is not.
struct Ignoring;

const FILES: &[&str] = &[
    "/w/.env",
    "/w/.gitignore",
    "/w/README.md",
    "/w/keys/server.pem",
    "/w/migrations/1.sql",
    "/w/secrets/api.key",
    "/w/src/a.ts",
    "/w/src/b.tsx",
];

fn is_ignored(path: &Path) -> bool {
    path.starts_with("/w/.env") || path.starts_with("/w/secrets")
}

impl Look for Ignoring {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let is_there = FILES.iter().any(|file| Path::new(file).starts_with(path));
        is_there.then(|| path.components().collect())
    }

    fn names(&self, folder: &Path) -> Option<Vec<String>> {
        let below = FILES.iter().filter_map(|path| Path::new(path).strip_prefix(folder).ok());
        let first = below.filter_map(|rest| rest.components().next());
        Some(first.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect())
    }

    fn git_keeps(&self, _folder: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let mut files = FILES.iter().map(Path::new).filter(|it| !is_ignored(it));
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }

    fn is_own(&self, _program: &str) -> bool {
        true
    }

    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let is_seen = |path: &&Path| {
            path.starts_with(folder) && (width == Width::Everything || !is_ignored(path))
        };
        let mut files = FILES.iter().map(Path::new).filter(is_seen);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }
}

fn check(deny: &str, wanted: &[Decision], commands: &str) {
    let rules = rules(&json!({ "deny": [deny] }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Ignoring), ..bare() });
    let mut wrong = Vec::new();
    for line in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let ruling = run(&judge, line, Mode::Yolo);
        if !wanted.contains(&ruling.decision) {
            wrong.push(format!("{line}: {:?}", ruling.deciding()));
        }
    }
    assert!(wrong.is_empty(), "{deny}, wanted {wanted:?}:\n{}", wrong.join("\n"));
}

#[test]
fn what_a_search_leaves_out_is_given_to_no_program() {
    let commands = r"
        rg -l TODO | xargs sed -i 's/TODO/DONE/g'
        rg -l TODO -t ts | xargs sed -i s/a/b/
        rg -l TODO -g '*.ts' | xargs sed -i s/a/b/
        rg -l0 TODO | xargs -0 sed -i s/a/b/
        for f in $(rg -l TODO); do sed -i s/a/b/ $f; done
        rg --files | xargs wc -l
        rg --files -g '*.ts' | xargs wc -l
        rg --files | xargs sed -i s/a/b/
        fd -e ts | xargs wc -l
        fd -e ts -x wc -l
        fd '\.ts$' src -x wc -l
        fd -g '*.ts' -x sed -i s/a/b/
        fd -tf -e ts -x sed -i s/a/b/
        grep -rl TODO --include='*.ts' . | xargs sed -i s/a/b/
        grep -rl TODO src | xargs sed -i s/a/b/
        git grep -l TODO | xargs sed -i s/a/b/
        git grep -l TODO -- '*.ts' | xargs sed -i s/a/b/
        git diff --name-only | xargs npx prettier --check
        git diff --name-only | xargs sed -i s/a/b/
        git diff --name-only --diff-filter=d HEAD | grep '\.ts$' | xargs npx eslint
        npx eslint $(git diff --name-only --diff-filter=ACM | grep -E '\.(ts|tsx)$')
        git diff --cached --name-only | xargs -I{} npx prettier --write {}
        git ls-files -m | xargs npx prettier --check
        git ls-files | xargs npx prettier --check
        git ls-files -o --exclude-standard | xargs wc -l
    ";
    for rule in ["Read(.env)", "Read(secrets/**)", "Write(.env)"] {
        check(rule, &[Decision::Allow], commands);
    }
}

#[test]
fn a_search_by_names_finds_only_these() {
    let commands = r"
        find . -type f \( -name '*.ts' -o -name '*.tsx' \) | xargs grep -n foo
        find . -name '*.ts' -o -name '*.tsx' | xargs wc -l
        find . \( -name '*.ts' -o -name '*.js' \) -exec cat {} +
        find . -path ./node_modules -prune -o -name '*.ts' -print | xargs wc -l
        find . -not -path './node_modules/*' -name '*.ts' -exec sed -i s/a/b/ {} +
        find . ! -name x -name '*.ts' -newer README.md -print0 | xargs -0 cat
        find -L . -maxdepth 3 -iname '*.ts' -mtime -2 -exec cat {} \;
    ";
    check("Read(.env)", &[Decision::Allow], commands);
    let denied = r"
        find . -name '*.ts' -o -type f -exec cat {} +
        find . -name '*.ts' -o -name '.e*' | xargs cat
        find . \( -name '*.ts' -o -type f \) -exec cat {} +
        find . ! -name '*.ts' -exec cat {} +
        find . -not \( -name '*.ts' \) -print | xargs cat
        find . -name '*.ts' -print -o -exec cat {} +
        find . -path ./node_modules -prune -o -print | xargs cat
        find . $X -name '*.ts' -exec cat {} +
        find . -name '*.ts' , -exec cat {} +
        find . -newer -name -o -type f -exec cat {} +
    ";
    check("Read(.env)", &[Decision::Deny], denied);
}

#[test]
fn what_a_search_does_not_leave_out_stays_denied() {
    let commands = r"
        rg -l TODO --hidden --no-ignore | xargs sed -i s/a/b/
        rg -uul TODO | xargs sed -i s/a/b/
        rg --files -uu | xargs wc -l
        rg --files --no-ignore --hidden | xargs cat
        rg --files -g '.e*' | xargs cat
        fd -HI | xargs cat
        fd -u -x cat
        fd -Hxcat
        fd -u --exec=cat
        fd -uXcat
        fd -u --exec-batch=cat
        fd -IHx cat
        fd -u -x cat \; -x true
        fd -u -x grep -e ts
        fd -u -e ts -He env -x cat
        fd -u $X -x cat
        grep -rl TODO . | xargs sed -i s/a/b/
        git ls-files -o | xargs cat
        git ls-files -co | xargs cat
        git ls-files -oi --exclude-standard | xargs cat
        git diff --no-index --name-only a . | xargs cat
        find . -type f | xargs sed -i s/a/b/
    ";
    check("Read(.env)", &[Decision::Deny], commands);
    let visible = r"
        rg -l TODO | xargs sed -i s/a/b/
        rg --files | xargs cat
        fd | xargs cat
        fd -x cat
        fd -xcat
        fd --exec=cat
        fd -tf -Xcat
        fd -e pem keys -x cat {}
        fd -tf . keys | xargs cat
    ";
    check("Read(keys/**)", &[Decision::Deny], visible);
    // What git names it may keep, or not.
    let kept = "git ls-files | xargs sed -i s/a/b/\ngit grep -l x | xargs rm";
    check("Write(migrations/**)", &[Decision::Ask], kept);
    let read = "git ls-files | xargs sed -i s/a/b/\ngit status -s | xargs cat";
    check("Read(keys/**)", &[Decision::Ask], read);
}

#[test]
fn what_only_checks_the_files_that_it_is_given_writes_none() {
    let rule = "Write(migrations/**)";
    let commands = r"
        git diff --name-only | xargs npx prettier --check
        npx eslint $(git diff --name-only --diff-filter=ACM | grep -E '\.(ts|tsx)$')
        git ls-files -m | xargs npx prettier --check
        rg --files | xargs npx eslint
        rg -l TODO -t ts | xargs sed -i s/a/b/
        rg -l -tts TODO src | xargs sed -i s/a/b/
        rg -l TODO --type=py --type ts | xargs sed -i s/a/b/
    ";
    check(rule, &[Decision::Allow], commands);
    let others = r"
        git diff --cached --name-only | xargs -I{} npx prettier --write {}
        rg --files | xargs npx eslint --fix
        rg -l TODO | xargs sed -i s/a/b/
        rg -l TODO -t sql | xargs sed -i s/a/b/
        rg -lt sql TODO -t ts | xargs sed -i s/a/b/
        rg -l TODO -t ts -t sql | xargs sed -i s/a/b/
        rg -l TODO --type-add 'ts:*.sql' -t ts | xargs sed -i s/a/b/
        rg -l TODO -e -t ts . | xargs sed -i s/a/b/
        rg -l TODO -t ts -g '*.sql' | xargs sed -i s/a/b/
    ";
    check(rule, &[Decision::Ask, Decision::Deny], others);
}

#[test]
fn what_fd_runs_is_run_however_it_is_joined() {
    let commands =
        "fd -xcurl x\nfd --exec=curl x\nfd -Hxcurl\nfd -tf -X curl\nfd --exec-batch=curl";
    check("Bash(curl:*)", &[Decision::Deny], commands);
    check("Bash(x:*)", &[Decision::Allow], "fd -tx\nfd -etsx | xargs wc -l\nfd --type x");
}

#[test]
fn whether_a_file_is_there_says_nothing_of_what_it_holds() {
    let commands = r#"
        [ -f .env ]
        [[ -f .env ]]
        [[ ! -f .env ]] && echo missing
        test -e .env
        [ -f .env ] && echo yes || echo no
        if [ ! -f .env ]; then cp .env.example .env; fi
        if [[ -f .env && -n "$x" ]]; then echo there; fi
        cp .env.example .env
        cp -n .env.example .env
        git check-ignore .env
        git rm --cached .env
        git ls-files .env
        git ls-files --error-unmatch .env
    "#;
    check("Read(.env)", &[Decision::Allow], commands);
    let denied = r#"
        [ "$(cat .env)" ]
        [ -f .env ] && cat .env
        [[ -f .env ]] && . .env
        [[ $(< .env) == x ]]
        test -f x < .env
        test() { cat "$2"; }; test -f .env
        cp .env x
        cp .env .env.local
        cp -t x .env
        cp -rt x .env
        cp --target-directory=x README.md .env
        cp -S .b .env x
        cp x .env; cat .env
        cp() { cat "$2"; }; cp x .env
        cat $(git ls-files .env)
        git ls-files .env | xargs cat
        git check-ignore .env | xargs cat
        git rm --cached .env; cat .env
    "#;
    check("Read(.env)", &[Decision::Deny], denied);
    check("Write(.env)", &[Decision::Deny], "cp .env.example .env");
}

#[test]
fn what_git_puts_aside_by_paths_is_not_all_of_the_project() {
    let rule = "Write(migrations/**)";
    check(rule, &[Decision::Allow], "git stash push -m x -- README.md\ngit stash -- src");
    let asked = "git stash\ngit stash push -- .";
    check(rule, &[Decision::Ask], asked);
}

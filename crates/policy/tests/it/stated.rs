//! Tools that only look and need no approval, such as a role's `git_show`: which program they run is their
//! own choice, and what it would show is judged as for a command.

use std::path::{Path, PathBuf};

use contract::policy::{Access, Decision, Mode, Policy};
use contract::tool::{Risk, ToolSpec};
use policy::Settings;
use policy::ground::{Ground, Look, Sought};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, command, rules, tool};

/// A repository whose settings start a program, with files that git keeps.
struct Repository(&'static [&'static str]);

impl Look for Repository {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }

    fn names(&self, _: &Path) -> Option<Vec<String>> {
        None
    }

    fn is_own(&self, _: &str) -> bool {
        true
    }

    fn git_runs(&self, _: &Path) -> Option<String> {
        Some(String::from("`core.fsmonitor`"))
    }

    fn git_keeps(&self, _: &Path, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let found = self.0.iter().map(Path::new).find(|path| wanted(path));
        found.map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }
}

/// Commands, and the decisions on them as those of a tool that only looks.
fn check(files: &'static [&'static str], rule: &str, mode: Mode, table: &[(&str, Decision)]) {
    let rules = rules(&json!({ "deny": [rule] }), Scope::User);
    let ground = Ground::new(Repository(files));
    let judge = policy::policy(Settings { rules, ground, ..bare() });
    let look = ToolSpec { source: "role:r".into(), ..tool("git_show", false, Risk::ReadOnly) };
    for (text, wanted) in table {
        let ruling = judge.judge(&look, &[command(text)], mode);
        assert_eq!(ruling.decision, *wanted, "{text} in {mode:?}: {:?}", ruling.deciding());
        assert_eq!(ruling.access, Access::ReadOnly, "{text}");
    }
}

const SHOW: &str = "git show --stat --patch --no-ext-diff --no-textconv";

#[test]
fn what_it_would_show_of_denied_files_is_asked_about_or_denied() {
    let [head, blob, whole] =
        ["HEAD --", "1234abcd --", "'HEAD^{/two}' --"].map(|it| format!("{SHOW} {it}"));
    let [staged, named] = [":0:secret/k --", "@:secret/k --"].map(|it| format!("{SHOW} {it}"));
    for mode in [Mode::ReadOnly, Mode::Normal, Mode::Yolo] {
        check(
            &["/w/a", "/w/secret/k"],
            "Read(secret/**)",
            mode,
            &[
                (&head, Decision::Ask),
                (&blob, Decision::Ask),
                (&whole, Decision::Ask),
                (&staged, Decision::Deny),
                (&named, Decision::Deny),
                ("git diff --no-ext-diff --no-textconv 'HEAD~1' --", Decision::Ask),
                ("git diff --no-ext-diff --no-textconv 'HEAD~1..HEAD' --", Decision::Ask),
                ("git diff --no-ext-diff --no-textconv 'HEAD~1' -- 's*'", Decision::Ask),
                ("git diff --no-ext-diff --no-textconv 'HEAD~1' -- :/", Decision::Ask),
                ("git diff 'HEAD~1:secret/k..HEAD:secret/k' --", Decision::Deny),
                ("git blame --no-textconv -- secret/k", Decision::Deny),
            ],
        );
    }
}

#[test]
fn nothing_else_is_asked_about() {
    let object = format!("{SHOW} HEAD:a --");
    let table = [
        (object.as_str(), Decision::Allow),
        ("git status --short --branch", Decision::Allow),
        ("git log --no-ext-diff --no-textconv --max-count=20 --oneline", Decision::Allow),
        ("git log --no-ext-diff --no-textconv '--pretty=format:%h %an %s'", Decision::Allow),
        ("git diff --no-ext-diff --no-textconv -- a", Decision::Allow),
        ("git diff --no-ext-diff --name-status 'HEAD~1' --", Decision::Allow),
        ("git blame --no-textconv -- a", Decision::Allow),
        ("git ls-files --", Decision::Allow),
    ];
    check(&["/w/a", "/w/secret/k"], "Read(secret/**)", Mode::Normal, &table);
    let head = format!("{SHOW} HEAD --");
    check(&["/w/a"], "Read(secret/**)", Mode::Normal, &[(&head, Decision::Allow)]);
}

#[test]
fn a_secret_that_git_keeps_is_asked_about_as_by_a_command() {
    let [head, staged] = ["HEAD --", ":0:.env --"].map(|it| format!("{SHOW} {it}"));
    let asked = [(head.as_str(), Decision::Ask), (&staged, Decision::Ask)];
    check(&["/w/.env"], "Read(secret/**)", Mode::Normal, &asked);
    check(&["/w/.env"], "Read(secret/**)", Mode::Yolo, &[(&head, Decision::Allow)]);
    let denied = [("git log --oneline", Decision::Deny)];
    check(&["/w/a"], "Bash(git log:*)", Mode::Yolo, &denied);
}

//! A rule for git does not mean what a repository names that lies in the project.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Mode};
use policy::Settings;
use policy::ground::{Ground, Look};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run};

const FILES: &[&str] = &[
    "/w/.git/HEAD",
    "/w/src/a.rs",
    "/w/named.git/HEAD",
    "/w/named.git/config",
    "/w/bare.git/HEAD",
    "/w/bare.git/hooks/pre-receive",
    "/w/plain/HEAD",
    "/w/sub/.git/HEAD",
    "/w/sub/src/b.rs",
    "/other/x.git/HEAD",
];

/// A project with repositories that are ordinary files, one of which names a program.
struct Brought;

impl Look for Brought {
    fn real(&self, path: &Path) -> Option<PathBuf> {
        FILES.iter().any(|file| Path::new(file).starts_with(path)).then(|| path.to_owned())
    }

    fn names(&self, _folder: &Path) -> Option<Vec<String>> {
        None
    }

    fn git_runs(&self, folder: &Path) -> Option<String> {
        folder.starts_with("/w/named.git").then(|| String::from("`core.sshcommand`"))
    }
}

fn check(allow: &[&str], wanted: Decision, lines: &str) {
    let rules = rules(&json!({ "allow": allow }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Brought), ..bare() });
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let wrong: Vec<&str> =
        lines.filter(|line| run(&judge, line, Mode::Normal).decision != wanted).collect();
    assert!(wrong.is_empty(), "not {wanted:?} with {allow:?}:\n{}", wrong.join("\n"));
}

const GIT: &[&str] = &[
    "Bash(git:*)",
    "Bash(git push:*)",
    "Bash(git fetch:*)",
    "Bash(git -C named.git:*)",
    "Bash(git * HEAD)",
    "Bash(xargs git:*)",
];

#[test]
fn a_rule_for_git_does_not_mean_a_repository_that_the_project_brings() {
    check(
        GIT,
        Decision::Ask,
        "
        git push ./bare.git HEAD
        git push bare.git HEAD
        git push bare HEAD
        git push ./bare HEAD
        git push plain HEAD
        git push file:///w/bare.git HEAD
        git push --repo=./bare.git
        git push ./bar* HEAD
        git push /other/x.git HEAD
        git fetch ./bare.git
        git pull ./bare.git main
        git clone ./bare.git y
        git ls-remote ./bare.git
        git remote add x ./bare.git
        git remote set-url origin bare.git
        git submodule add ./bare.git y
        git -C named.git fetch ssh://h/x
        git -C ./named.git fetch ssh://h/x
        git -C /w/named.git fetch ssh://h/x
        git -C src/../named.git fetch ssh://h/x
        git -C . -C named.git fetch ssh://h/x
        git --no-pager -C named.git fetch ssh://h/x
        git -C bare.git fetch ssh://h/x
        git -C bare.git/hooks fetch ssh://h/x
        git -C plain commit -m x
        cd named.git && git fetch ssh://h/x
        cd bare.git && git fetch ssh://h/x
        cd bare.git/hooks && git commit -m x
        timeout 5 git -C named.git fetch ssh://h/x
        xargs git -C named.git fetch ssh://h/x
        ",
    );
    check(
        GIT,
        Decision::Allow,
        "
        git push
        git push origin HEAD
        git push -u origin src
        git fetch origin
        git fetch . main:other
        git pull --rebase origin main
        git clone https://example.com/x.git y
        git clone git@example.com:x/y.git
        git remote add origin https://example.com/x.git
        git submodule update --init sub
        git add src/a.rs
        git commit -m x
        git archive HEAD src/a.rs
        git -C sub fetch origin
        git -C sub/src commit -m x
        cd sub && git pull
        cd src && git commit -m x
        timeout 5 git fetch origin
        ",
    );
}

#[test]
fn a_repository_that_a_rule_spells_out_is_the_persons_choice() {
    check(
        &["Bash(git push ./bare.git:*)", "Bash(git -C named.git fetch ssh://h/x)"],
        Decision::Allow,
        "
        git push ./bare.git HEAD
        git -C named.git fetch ssh://h/x
        ",
    );
}

//! What searches of whole folders come upon: rules and names of secrets hold for it all the same.

use std::path::{Path, PathBuf};

use contract::policy::{Decision, Hidden, Mode, Policy};
use contract::tool::Risk;
use policy::Settings;
use policy::ground::{Ground, Look, Sought, Width};
use policy::rules::Scope;
use serde_json::json;

use crate::setting::{bare, rules, run, tool};

const FILES: &[&str] = &[
    "/w/README.md",
    "/w/secret/k",
    "/w/src/a.rs",
    "/w/.env",
    "/w/keys/server.pem",
    "/w/src/b.rs",
    "/w/old/rust-toolchain.toml",
];

/// A disk with a few files, and `/w/link` that leads to one of them.
struct Fixed;

impl Look for Fixed {
    fn seek(&self, folder: &Path, width: Width, wanted: &mut dyn FnMut(&Path) -> bool) -> Sought {
        let is_seen = |path: &&Path| {
            path.starts_with(folder) && (width != Width::Visible || !path.ends_with(".env"))
        };
        let mut files = FILES.iter().map(Path::new).filter(is_seen);
        files.find(|path| wanted(path)).map_or(Sought::Nothing, |path| Sought::Found(path.into()))
    }

    fn real(&self, path: &Path) -> Option<PathBuf> {
        if path == Path::new("/w/link") {
            return Some(PathBuf::from("/w/secret/k"));
        }
        let is_there = FILES.iter().any(|file| Path::new(file).starts_with(path));
        is_there.then(|| path.to_owned())
    }

    fn names(&self, _folder: &Path) -> Option<Vec<String>> {
        None
    }

    fn git_runs(&self, _folder: &Path) -> Option<String> {
        None
    }

    fn git_obeys(&self, _path: &Path) -> Option<String> {
        None
    }

    fn is_own(&self, program: &str) -> bool {
        ["cargo", "python3", "make", "bash"].contains(&program)
    }
}

fn decisions(deny: &[&str], mode: Mode, commands: &[&str]) -> Vec<(String, Decision)> {
    let rules = rules(&json!({ "deny": deny }), Scope::User);
    let judge = policy::policy(Settings { rules, ground: Ground::new(Fixed), ..bare() });
    let judged = |text: &&str| ((*text).to_owned(), run(&judge, text, mode).decision);
    commands.iter().map(judged).collect()
}

#[test]
fn a_search_that_comes_upon_a_denied_file_is_denied_in_every_mode() {
    let commands = [
        "grep -r s .",
        "grep -r s",
        "grep -R -A 3 s .",
        "grep --recursive s ./",
        "timeout 5 grep -nr s .",
        "rg s",
        "rg s .",
        "rg -g k s",
        "rg s *",
        "diff -r src .",
        "cat link",
        "git show :secret/k",
        "git show HEAD:secret/k",
        "git cat-file -p :secret/k",
    ];
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in decisions(&["Read(secret/**)"], mode, &commands) {
            assert_eq!(decision, Decision::Deny, "{command} in {mode:?}");
        }
    }
    let elsewhere = ["grep -r s src", "rg s src", "rg -g '*.rs' s", "git show HEAD:src/a.rs"];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Normal, &elsewhere) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_one_program_finds_and_another_shows_is_come_upon_too() {
    let commands = [
        "find . -type f -exec cat {} +",
        "find . -type f | xargs cat",
        "find . -type f -print0 | xargs -0 head",
        "ls -R | xargs cat",
        "find -exec base64 {} \\;",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Yolo, &commands) {
        assert_eq!(decision, Decision::Deny, "{command}");
    }
    let others = [
        "find . -name '*.rs' -exec cat {} +",
        "find src -type f | xargs cat",
        "find . -type f | xargs ls -l",
        "ls | xargs wc -l",
    ];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Yolo, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn what_git_keeps_of_a_denied_file_is_asked_about_in_every_mode() {
    let commands = ["git diff", "git grep s", "git log -p", "git show HEAD", "git diff HEAD -- ."];
    for mode in [Mode::Normal, Mode::Yolo] {
        for (command, decision) in decisions(&["Read(secret/**)"], mode, &commands) {
            assert_eq!(decision, Decision::Ask, "{command} in {mode:?}");
        }
    }
    let others = ["git diff --stat", "git log", "git diff -- src", "git status"];
    for (command, decision) in decisions(&["Read(secret/**)"], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn a_search_that_comes_upon_a_secret_asks() {
    let commands = [
        "grep -r x .",
        "rg x",
        "rg --hidden -g .env x",
        "rg -uu x",
        "diff -r src .",
        "git grep --untracked x",
        "git grep --untracked -h ''",
        "rg x --iglob '.ENV'",
        "rg x --iglob '*.ENV'",
        "rg x --iglob '.Env*'",
        "rg --glob-case-insensitive -g .ENV x",
        "rg -g '{.env,x}' KEY",
        "rg -g '{*.rs,.env}' KEY src .",
    ];
    for (command, decision) in decisions(&[], Mode::Normal, &commands) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
    let others = [
        "grep -r x src",
        "grep -r --include='*.rs' x .",
        "rg -g '*.rs' x",
        "rg --files",
        "grep x README.md",
        "git diff",
        "git grep x",
        "rg -g '*.{rs,md}' x src",
    ];
    for (command, decision) in decisions(&[], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
}

#[test]
fn tools_leave_out_what_they_would_not_get_by_itself() {
    let list = json!({"deny": ["Read(secret/**)"], "allow": ["Read(keys/server.pem)"]});
    let rules = rules(&list, Scope::User);
    let judge = policy::policy(Settings { rules, ..bare() });
    let view = judge.view(&tool("Grep", false, Risk::ReadOnly));
    let hidden = |path: &str| view.hidden(Path::new(path));
    assert_eq!(hidden("/w/secret/k"), Some(Hidden::Ruled));
    assert_eq!(hidden("/w/.env"), Some(Hidden::Secret));
    assert_eq!(hidden("/w/keys/server.pem"), None);
    assert_eq!(hidden("/w/src/a.rs"), None);
}

#[test]
fn a_program_of_the_system_may_say_its_version_unless_the_project_chooses_it() {
    let judge = policy::policy(Settings { ground: Ground::new(Fixed), ..bare() });
    for (text, wanted) in [
        ("cargo --version", Decision::Allow),
        ("cargo -V && python3 -V; python3 --version", Decision::Allow),
        ("make --version | head -1", Decision::Allow),
        ("timeout 5 bash --version", Decision::Allow),
        ("cd src && cargo --version", Decision::Allow),
        ("cd old && cargo --version", Decision::Ask),
        ("cargo --version --verbose", Decision::Ask),
        ("cargo -v", Decision::Ask),
        ("make -v", Decision::Ask),
        ("./python3 --version", Decision::Ask),
        ("X=1 python3 --version", Decision::Ask),
        ("node --version", Decision::Ask),
        ("python3 --version x", Decision::Ask),
    ] {
        assert_eq!(run(&judge, text, Mode::Normal).decision, wanted, "{text}");
    }
}

#[test]
fn other_spellings_of_a_search_of_folders_are_one_too() {
    for text in ["grep -d recurse x .", "grep -drecurse x .", "diff src secret", "diff . src"] {
        let judged = decisions(&["Read(secret/**)"], Mode::Yolo, &[text]);
        assert_eq!(judged[0].1, Decision::Deny, "{text}");
    }
}

#[test]
fn a_way_up_is_followed_where_no_link_is_in_the_way() {
    let commands =
        ["cd src && ls && cd ..", "cat ./src/../README.md", "cd src && cat ../README.md"];
    for (command, decision) in decisions(&[], Mode::Normal, &commands) {
        assert_eq!(decision, Decision::Allow, "{command}");
    }
    let others = [
        "cat link/../x",
        "cat none/../README.md",
        "cd src && cd ../..",
        "cd src/../..",
        "git -C none status",
        "git -C link status",
        "git -C src show HEAD:.env",
        "git -C src grep x",
        "git -C src diff -- ../../x",
    ];
    for (command, decision) in decisions(&[], Mode::Normal, &others) {
        assert_eq!(decision, Decision::Ask, "{command}");
    }
}
